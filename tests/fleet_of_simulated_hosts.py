"""A real ``drivelab fleet`` command that asks simulated hosts, and what it cost."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drivelab.fleet.certificates import write_keys
from drivelab.store.layout import RUN_JSON
from simulated_hosts import FAULTS, GOLDEN, Fault, SimulatedHost, told_to

HERE = Path(__file__).parent
_FILES = {path.name for path in GOLDEN.iterdir()}


@dataclass(frozen=True)
class Asked:
    """What a command of a fleet came to.

    Attributes
    ----------
    exit_code : int
        Its status.
    document : dict
        What it printed.
    complaints : str
        The last lines of its progress.
    seconds, processor_s : float
        How long it took, and of that the processor's time.
    peak_mb : float
        The most memory it had.
    """

    exit_code: int
    document: dict[str, Any]
    complaints: str
    seconds: float
    processor_s: float
    peak_mb: float


class SimulatedFleet:
    """Hosts that join over the loopback of this machine.

    Parameters
    ----------
    folder : Path
        Where everything lies.
    hosts : sequence of SimulatedHost
        Who they are.
    """

    def __init__(self, folder: Path, hosts: Sequence[SimulatedHost]) -> None:
        self.hosts = hosts
        self._folder = folder
        self._keys = folder / "keys"
        write_keys(self._keys)
        self.file = folder / "hosts.toml"
        entries = "\n".join(f'"{host.name}" = {{}}' for host in hosts)
        self.file.write_text(f'format = 1\n[defaults]\ndrives = [{{ transport = "nvme" }}]\n[hosts]\n{entries}\n')
        for host in hosts:
            Path(host.home).mkdir(parents=True)

    def state_of(self, host: SimulatedHost, asked: Asked) -> tuple[str, str]:
        """What became of the one drive of a host, and why it is not measured."""
        reason = asked.document["hosts"][host.name]["reason"]
        found = [item for item in asked.document["items"] if item["host"] == host.name]
        return (found[0]["state"], found[0]["reason"] or reason) if found else ("", reason)

    def is_here(self, host: SimulatedHost, asked: Asked) -> bool:
        """Whether the run of a host is here, whole, and of its drive."""
        gathered = next(item["gathered"] for item in asked.document["items"] if item["host"] == host.name)
        run = Path(asked.document["directory"]) / gathered
        return host.serial in (run / RUN_JSON).read_text() and {path.name for path in run.iterdir()} == _FILES

    def ask(
        self,
        *words: str,
        hosts: Sequence[SimulatedHost] | None = None,
        processes: int = 1,
        deadline_s: float,
        join_s: float,
        silent_s: float,
        profile: Path | None = None,
    ) -> Asked:
        """Have a command ask hosts, all of them or these."""
        port = free_port()
        address = f"tls://127.0.0.1:{port}"
        times = ("--join-within", f"{join_s}s", "--deadline", f"{deadline_s}s", "--silent-for", f"{silent_s}s")
        command = ["fleet", *words, "--scheduler", address, "--keys", str(self._keys), *times, "--json"]
        begin = time.monotonic()
        asking = self._started(["-m", "cProfile", "-o", str(profile)] if profile else [], command)
        theirs = [
            self._started_hosts(told_to(some, address, self._keys, silent_s, join_s))
            for some in ((hosts or self.hosts)[number::processes] for number in range(processes))
        ]
        try:
            _, status, usage = os.wait4(asking.pid, 0)
            asking.returncode = os.waitstatus_to_exitcode(status)
            seconds = time.monotonic() - begin
        finally:
            if asking.returncode is None:
                asking.kill()
            for process in theirs:
                process.kill()
                process.wait()
        document = json.loads((self._folder / "out").read_text() or "{}")
        complaints = (self._folder / "err").read_text()[-2000:]
        processor_s = usage.ru_utime + usage.ru_stime
        return Asked(asking.returncode, document, complaints, seconds, processor_s, usage.ru_maxrss / 1000)

    def _started(self, before: Sequence[str], words: Sequence[str]) -> subprocess.Popen[bytes]:
        environment = {**_environment(), "DRIVELAB_RUNS": str(self._folder / "runs")}
        with (self._folder / "out").open("wb") as out, (self._folder / "err").open("wb") as err:
            command = [sys.executable, *before, "-m", "drivelab", *words]
            return subprocess.Popen(command, stdout=out, stderr=err, env=environment)

    def _started_hosts(self, told: bytes) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(HERE / "simulated_hosts.py")]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env=_environment())
        assert process.stdin is not None
        process.stdin.write(told)
        process.stdin.close()
        return process


def made_up_hosts(
    folder: Path, count: int, *, work_s: float, failing: int, kinds: Sequence[Fault] = FAULTS, seed: int = 1
) -> list[SimulatedHost]:
    """Hosts, of which so many fail, each way as often as the others, but nobody knows which."""
    faults: list[Fault] = [kinds[number % len(kinds)] for number in range(failing)]
    faults += [""] * (count - failing)
    random.Random(seed).shuffle(faults)
    return [
        SimulatedHost(f"host-{number:05}", str(folder / "homes" / f"{number:05}"), work_s, fault)
        for number, fault in enumerate(faults)
    ]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def free_port() -> int:
    """A port of the loopback that nobody listens at now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
