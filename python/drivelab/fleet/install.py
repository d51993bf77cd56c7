"""Installs drivelab on many hosts over ssh: a wheel, and what it needs, in an environment of its own there."""

from __future__ import annotations

import asyncio
import re
import shlex
import signal
import sys
import tarfile
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from drivelab.fleet.local_commands import failure_in_words
from drivelab.fleet.signals import send_signal
from drivelab.fleet.ssh import ssh_words_of
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet_hosts import HostEntry

# name-version(-build)-python-abi-platform.whl: what goes into a path on the hosts
_WHEEL = re.compile(r"drivelab-([A-Za-z0-9._+!]+)-[A-Za-z0-9._+-]+\.whl$")
_AT_ONCE = 100
_CONNECT_S = 60
_WITHIN_S = 1800
_LINES_KEPT = 10


@dataclass(frozen=True, slots=True)
class Installed:
    """What became of one host.

    Attributes
    ----------
    command : str
        What ``hosts.toml`` calls drivelab there; empty where it is not installed.
    reason : str
        Why not.
    """

    command: str
    reason: str


async def install(
    wheel: Path, beside: Path | None, hosts: Mapping[str, HostEntry], tell: Callable[[str, Installed], None]
) -> dict[str, Installed]:
    """Install a wheel on hosts, many at once; one that fails holds up no other.

    Parameters
    ----------
    wheel : Path
        Of drivelab.
    beside : Path or None
        A directory with wheels of what it needs, for hosts without a network; None: from their own index.
    hosts : mapping of str to HostEntry
        Where.
    tell : callable
        Told each host with what became of it.

    Raises
    ------
    DrivelabError
        F912: no wheel of drivelab, or nothing beside it.
    """
    version = version_of(wheel)
    slots = asyncio.Semaphore(_AT_ONCE)
    found: dict[str, Installed] = {}
    with tempfile.NamedTemporaryFile(suffix=".tar") as packed:
        _pack(Path(packed.name), wheel, beside)

        async def one(name: str, entry: HostEntry) -> None:
            async with slots:
                words = ssh_words_of(entry, name, _CONNECT_S, _remote(version, wheel.name, beside is not None))
                found[name] = await _installed(words, Path(packed.name))
                tell(name, found[name])

        async with asyncio.TaskGroup() as group:
            for name, entry in hosts.items():
                group.create_task(one(name, entry))
    return {name: found[name] for name in hosts}


def version_of(wheel: Path) -> str:
    """The version that a wheel of drivelab is of, by its name.

    Raises
    ------
    DrivelabError
        F912: it is none, or not there.
    """
    named = _WHEEL.match(wheel.name)
    if named is None:
        raise DrivelabError("F912", f"{wheel.name} is not named as a wheel of drivelab", where=str(wheel))
    if not wheel.is_file():
        raise DrivelabError("F912", "there is no such wheel", where=str(wheel))
    return named[1]


def _pack(packed: Path, wheel: Path, beside: Path | None) -> None:
    others = sorted(beside.glob("*.whl")) if beside else []
    if beside and not others:
        do = f"fill it: pip download --dest {beside} 'drivelab[fleet]'"
        raise DrivelabError("F912", "there are no wheels in it", where=str(beside), do=do)
    with tarfile.open(packed, "w") as archive:
        for path in {path.name: path for path in (*others, wheel)}.values():
            archive.add(path, path.name, recursive=False)


def _remote(version: str, wheel: str, is_offline: bool) -> list[str]:
    script = files("drivelab.fleet").joinpath("install.sh").read_text(encoding="utf-8")
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return ["sh", "-c", script, "install", version, wheel, python, "offline" if is_offline else "online"]


async def _installed(words: list[str], packed: Path) -> Installed:
    try:
        async with _started(words, packed) as process, asyncio.timeout(_WITHIN_S):
            output, complaints = await process.communicate()
    except TimeoutError:
        return Installed("", f"it did not end within {_WITHIN_S // 60} min")
    except OSError as error:
        return Installed("", f"{words[0]} cannot be started: {error.strerror}")
    lines = [line for line in complaints.decode("utf-8", "replace").splitlines() if line.strip()]
    if process.returncode:
        return Installed("", failure_in_words(process.returncode, lines[-_LINES_KEPT:]))
    return Installed(shlex.quote(output.decode("utf-8", "replace").strip().rpartition("\n")[2]), "")


@asynccontextmanager
async def _started(words: list[str], packed: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    with packed.open("rb") as content:
        process = await asyncio.create_subprocess_exec(
            *words, stdin=content, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
    try:
        yield process
    finally:
        send_signal(process, signal.SIGKILL)
        await process.wait()
