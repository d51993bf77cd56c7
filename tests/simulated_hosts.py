"""Many hosts of a fleet in a few processes: they join and answer as real ones do, and only their commands are made up.

A simulated host is the product's own (`drivelab.fleet.host.be_host` and `host_tasks`) with a home of its own. Where a
real one would start a local ``drivelab``, this one waits as long as a measurement takes and puts a copy of a stored
run there, with a serial of its own. Some fail in one of the ways of `FAULTS`.

``python simulated_hosts.py`` is one process of such hosts; what it has to be comes as JSON on its standard input.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from drivelab.fleet import host_tasks
from drivelab.fleet.certificates import read_keys
from drivelab.fleet.host import Joining, be_host
from drivelab.fleet.local_commands import Ended
from drivelab.fleet.nodes import HostWorker
from drivelab.model.errors import DrivelabError
from drivelab.store.layout import RUN_JSON

Fault = Literal["", "never joins", "leaves", "fails", "hangs", "falls silent"]
FAULTS: tuple[Fault, ...] = ("never joins", "leaves", "fails", "hangs", "falls silent")
GOLDEN = Path(__file__).parent / "golden" / "runs" / "fill-level-drive"
GOLDEN_SERIAL = "S45P"
# what of a home tells which measurements began, and which came to their end
BEGUN, ENDED = "begun", "ended"
_JOINED_AT_ONCE = 8
_LINES_OF_PROGRESS = 5
_NOT_LISTED = {"code": "C201", "what": "nobody listed it", "do": "--erase it"}


@dataclass(frozen=True)
class SimulatedHost:
    """A host, what goes wrong with it, how long its measurements take, and whether they erase its drive."""

    name: str
    home: str
    work_s: float
    fault: Fault = ""
    is_erased: bool = False

    @property
    def serial(self) -> str:
        """That of its one drive."""
        return f"S-{self.name}"


@dataclass
class _Life:
    host: SimulatedHost
    interrupted: asyncio.Event = field(default_factory=asyncio.Event)


_LIFE: ContextVar[_Life] = ContextVar("life")


class SimulatedCommands:
    """Takes the place of `LocalCommands`, for the host in whose context it is asked."""

    async def ended(
        self,
        words: Sequence[str],
        tell: Callable[[str], None] | None = None,
        *,
        pass_fds: Sequence[int] = (),
        name: str = "",
    ) -> Ended:
        """What a made-up command came to."""
        life = _LIFE.get()
        if words[0] == "drives":
            return Ended(0, {"drives": [_drive(life.host.serial)]}, "")
        assert words[0] == "run", words
        refused = [_NOT_LISTED] if life.host.is_erased and "--erase" not in words else []
        if "--dry-run" in words:
            return Ended(0, {"targets": [], "refused": refused, "expected_ns": 0, "bytes_written": 0}, "")
        if refused:
            return Ended(3, {}, ": ".join(map(_NOT_LISTED.__getitem__, ("code", "what"))))
        assert tell is not None
        return await _measured(life, Path(words[words.index("--out") + 1]), tell)

    async def interrupt(self) -> None:
        """End what is measured."""
        _LIFE.get().interrupted.set()


async def _measured(life: _Life, folder: Path, tell: Callable[[str], None]) -> Ended:
    _note(life.host, BEGUN)
    for line in range(_LINES_OF_PROGRESS):
        tell(f"{line} of {_LINES_OF_PROGRESS} trials")
        if await _is_interrupted_within(life, life.host.work_s / _LINES_OF_PROGRESS):
            return Ended(130, {}, "interrupted")
        if life.host.fault and line == _LINES_OF_PROGRESS // 2:
            if life.host.fault == "fails":
                return Ended(1, {}, "D101: the drive answers no more")
            await _gone(life)
            return Ended(130, {}, "interrupted")
    run = folder / "20260131T130000Z-made-up"
    shutil.copytree(GOLDEN, run)
    text = (run / RUN_JSON).read_text().replace(GOLDEN_SERIAL, life.host.serial)
    (run / RUN_JSON).write_text(text)
    _note(life.host, ENDED)
    return Ended(0, {"in_short": "11 us"}, "")


async def _gone(life: _Life) -> None:
    """Be lost, or say nothing any more, until those who ask make an end of it."""
    worker = next(worker for worker in HostWorker._instances if worker.name == life.host.name)
    if life.host.fault == "leaves":
        worker.batched_stream.comm.abort()
    if life.host.fault == "falls silent":
        worker.periodic_callbacks["heartbeat"].stop()
    await life.interrupted.wait()


async def _is_interrupted_within(life: _Life, seconds: float) -> bool:
    try:
        await asyncio.wait_for(life.interrupted.wait(), seconds)
    except TimeoutError:
        return False
    return True


def _note(host: SimulatedHost, what: str) -> None:
    with (Path(host.home) / what).open("a") as file:
        file.write("x\n")


def count_of(host: SimulatedHost, what: str) -> int:
    """How many measurements of a host began, or came to their end."""
    path = Path(host.home) / what
    return len(path.read_text().split()) if path.exists() else 0


def _drive(serial: str) -> dict[str, Any]:
    return {
        "name": "nvme0n1",
        "path": "/dev/nvme0n1",
        "model": "SAMSUNG MZ7LH480HAHQ",
        "firmware": "GXA7801Q",
        "serials": [serial],
        "wwn": None,
        "size_bytes": 480103981056,
        "is_rotational": False,
        "transport": "nvme",
        "virtual": "",
        "touch": {"verdict": "free", "reasons": []},
    }


def _home_of_this() -> Path:
    return Path(_LIFE.get().host.home)


async def _be(host: SimulatedHost, told: Mapping[str, Any], gate: asyncio.Semaphore) -> None:
    """One host, for as long as it lives; a few of a process join at once."""
    _LIFE.set(_Life(host))
    keys = read_keys(Path(told["keys"]), "host")
    joining = Joining(told["address"], host.name, keys, told["silent_s"], told["wait_s"])
    await gate.acquire()
    has_joined = asyncio.Event()
    released = asyncio.ensure_future(_released(gate, has_joined))
    try:
        await be_host(joining, has_joined.set)
    except DrivelabError as error:
        print(f"{host.name}: {error.what}", file=sys.stderr)
    finally:
        has_joined.set()
        await released


async def _released(gate: asyncio.Semaphore, has_joined: asyncio.Event) -> None:
    await has_joined.wait()
    gate.release()


async def _be_all(told: Mapping[str, Any]) -> None:
    gate = asyncio.Semaphore(_JOINED_AT_ONCE)
    hosts = [SimulatedHost(**host) for host in told["hosts"]]
    await asyncio.gather(*(_be(host, told, gate) for host in hosts if host.fault != "never joins"))


def told_to(hosts: Sequence[SimulatedHost], address: str, keys: Path, silent_s: float, wait_s: float) -> bytes:
    """What a process of hosts reads on its standard input."""
    told = {"address": address, "keys": str(keys), "silent_s": silent_s, "wait_s": wait_s}
    return json.dumps({**told, "hosts": [asdict(host) for host in hosts]}).encode()


def main() -> None:
    """Be the hosts that the standard input tells, until those who ask are gone."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    os.setpriority(os.PRIO_PROCESS, 0, 5)
    # the replacements: what is started, and where each host keeps its runs
    host_tasks.COMMANDS = SimulatedCommands()  # type: ignore[assignment]
    host_tasks.default_parent = _home_of_this  # type: ignore[attr-defined]
    asyncio.run(_be_all(json.load(sys.stdin)))


if __name__ == "__main__":
    main()
