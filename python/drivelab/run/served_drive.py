"""A simulated drive as a network block device: where clients come, and what they are answered."""

from __future__ import annotations

import os
import re
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from drivelab.model.errors import DrivelabError
from drivelab.model.target import TargetFacts
from drivelab.model.workload import TargetRange
from drivelab.run.engine import StopRequest, serve_simulated_drive
from drivelab.run.preconditioning import whole
from drivelab.run.simulated import SimulatedDrive

_PORT = re.compile(r"(?P<host>.*):(?P<port>\d{1,5})")
_PORT_MAX = 65_535
_REST_NS = 10**9


def serve_drive(
    target: TargetFacts,
    address: str,
    *,
    seed: int,
    contents_in: Path | None,
    is_filled: bool,
    stop: StopRequest,
    ready: Callable[[str], None],
) -> dict[str, Any]:
    """Serve a simulated drive until `stop` is set, and tell what it answered.

    Parameters
    ----------
    address : str
        ``HOST:PORT`` of this machine itself, or the path of a socket that is made.
    contents_in : Path or None
        Directory for what clients write; None is that of temporary files.
    is_filled : bool
        Whether all of it is written once before, in no time.
    ready : callable
        Told the address as an NBD URI once clients may come.

    Returns
    -------
    dict
        Of each kind of command its number, bytes, errors, the latency of the model and how late answers were.

    Raises
    ------
    DrivelabError
        T109: nobody can be served there. S501: nothing can be kept there. E301: no drive can be made of the model.
        E306, E314: contents or clients could not be taken.
    """
    assert target.simulated is not None, "only simulated drives are served"
    with _contents(contents_in) as contents, _listener(address) as (listener, uri):
        drive = SimulatedDrive(target.simulated, seed)
        if is_filled:
            fill = whole(TargetRange(path=target.path), "write", target.size_bytes, direct=False, seed=seed)
            drive.measure("fill", fill, target, stop=stop)
            # what its cache still holds has reached the flash when clients come
            drive.engine.rest(_REST_NS)
        before = drive.counters()
        ready(uri)
        answered = serve_simulated_drive(
            drive.engine,
            target.simulated,
            listener.fileno(),
            contents,
            is_port=listener.family != socket.AF_UNIX,
            goes_on=lambda: not stop.is_set(),
        )
        after = drive.counters()
    return answered | {"simulated": {key: after[key] - before[key] for key in after if key != "now_ns"}}


@contextmanager
def _contents(directory: Path | None) -> Iterator[int]:
    """The descriptor of a file without a name."""
    with ExitStack() as kept:
        try:
            file = kept.enter_context(tempfile.TemporaryFile(dir=directory))
        except OSError as error:
            what = f"nothing can be kept in {directory or tempfile.gettempdir()}: {error.strerror}"
            raise DrivelabError("S501", what, where="option --contents", do="name another directory") from error
        yield file.fileno()


@contextmanager
def _listener(address: str) -> Iterator[tuple[socket.socket, str]]:
    """A socket at which clients may come, and what they call it."""
    port = _PORT.fullmatch(address)
    with _at_port(port["host"], int(port["port"])) if port else _at_path(Path(address)) as made:
        yield made


@contextmanager
def _at_port(host: str, port: int) -> Iterator[tuple[socket.socket, str]]:
    name = "127.0.0.1" if host == "localhost" else host.strip("[]")
    try:
        is_own = ip_address(name).is_loopback
    except ValueError:
        is_own = False
    if not is_own or port > _PORT_MAX:
        what = f"{host}:{port} is no port of this machine itself: whoever reaches it could read and write the drive"
        raise DrivelabError("T109", what, where="ADDRESS", do="write 127.0.0.1:10809, or the name of a socket")
    family = socket.AF_INET6 if ":" in name else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((name, port))
            listener.listen()
        except OSError as error:
            what = f"{host}:{port} cannot be had: {error.strerror}"
            raise DrivelabError("T109", what, where="ADDRESS", do="choose another port") from error
        bound = listener.getsockname()[1]
        yield listener, f"nbd://{f'[{name}]' if ':' in name else name}:{bound}"


@contextmanager
def _at_path(path: Path) -> Iterator[tuple[socket.socket, str]]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        # of the socket as it will lie there: for its owner alone
        os.fchmod(listener.fileno(), 0o600)
        try:
            listener.bind(os.fspath(path))
            listener.listen()
        except OSError as error:
            reason = error.strerror or str(error)
            do = "remove it if nobody serves there, or name another" if os.path.lexists(path) else ""
            raise DrivelabError("T109", f"no socket can be made at {path}: {reason}", where="ADDRESS", do=do) from error
        made = os.lstat(path)
        try:
            yield listener, f"nbd+unix:///?socket={path.absolute()}"
        finally:
            with suppress(OSError):
                found = os.lstat(path)
                # somebody may have put another one there
                if (found.st_dev, found.st_ino) == (made.st_dev, made.st_ino):
                    path.unlink()
