"""A fleet of network namespaces in a place of its own: its hosts, and the commands that ask them."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from device.namespaces import Network, until
from drivelab.inventory.block_devices import backing_file_of
from drivelab.store.read import open_run

SIMULATED = "sim:disk-7200"
SMALL = """
format = 1
name = "small"
question = "What do many hosts measure?"
repeats = { full = 2, quick = 1 }

[[workloads]]
name = "write"
operation = "write"
block_size = "4 KiB"
direct = true
count = 100
interval = "10ms"
"""
_VARIED = """pacing = {{ kind = "fixed", rate_per_s = {per_s} }}

[[factors]]
setting = "scheduler"
levels = ["none", "mq-deadline"]
"""
_WRAPPER = """#!/bin/sh
{exports}
exec {python} -m drivelab "$@"
"""
_PATHS = os.pathsep.join(path for path in sys.path if path)


@dataclass
class Host:
    """A host as it is written in ``hosts.toml``, and its own place.

    Attributes
    ----------
    name : str
        What it is called.
    number : int
        Of its namespace.
    folder : Path
        Its runs, its state, and the program that starts drivelab there.
    keys : mapping of str to object
        What else ``hosts.toml`` says of it.
    """

    name: str
    number: int
    address: str
    folder: Path
    drives: Sequence[str] = ()
    targets: Sequence[str] = ()
    environment: dict[str, str] = field(default_factory=dict)
    command: str = ""
    keys: Mapping[str, object] = field(default_factory=dict)

    @property
    def runs(self) -> Path:
        """Where it keeps its runs."""
        return Path(self.environment["DRIVELAB_RUNS"])

    def directories(self) -> list[Path]:
        """Those of the runs that it has measured for fleets, also of those that are not complete."""
        return sorted(path.parent for path in self.runs.glob("fleets/*/*/*/*/run.json"))

    def write(self) -> str:
        """Make its program; what ``hosts.toml`` says of it."""
        wrapper = self.folder / "drivelab"
        exports = "\n".join(f"export {name}={shlex.quote(text)}" for name, text in self.environment.items())
        wrapper.write_text(_WRAPPER.format(exports=exports, python=sys.executable))
        wrapper.chmod(0o755)
        rules = ", ".join(f'{{ name = "{name}" }}' for name in self.drives)
        told = {
            "address": self.address,
            "drivelab": self.command or str(wrapper),
            "targets": list(self.targets),
        } | self.keys
        return "".join(
            (f"[hosts.{self.name}]\n", *(f"{key} = {json.dumps(value)}\n" for key, value in told.items()))
        ) + (f"drives = [{rules}]\n" if rules else "")

    def left_over(self) -> list[str]:
        """Every journal, mount and loop device that its runs have left."""
        found = [str(path) for path in (self.folder / "state" / "drivelab" / "journals").glob("*")]
        for name in Path("/sys/block").glob("loop*/loop/backing_file"):
            backing = backing_file_of(name.parts[3]) or ""
            found += [backing] if backing.startswith(str(self.folder)) else []
        found += [
            line
            for line in Path("/proc/mounts").read_text(errors="surrogateescape").splitlines()
            if f"{self.folder}/" in line
        ]
        return found + [str(path) for path in (self.folder / "scratch").iterdir()]


class Fleet:
    """Hosts of one network, and whoever asks them, in a folder."""

    def __init__(self, network: Network, folder: Path) -> None:
        self.network, self.folder = network, folder
        self.hosts: dict[str, Host] = {}
        self.erasable: list[str] = []
        self._asking: subprocess.Popen[bytes] | None = None
        # as whom, and with which view of this machine
        self.starting: Callable[[list[str]], list[str]] = list
        self.small = folder / "small.toml"
        self.small.write_text(SMALL)
        self.environment = {
            **os.environ,
            "PATH": f"{network.folder / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": _PATHS,
            "XDG_STATE_HOME": str(folder / "state"),
            "DRIVELAB_RUNS": str(folder / "runs"),
        }

    def vary(self, per_s: int) -> None:
        """Have a setting of real drives changed, too, and so many of the 100 writes of a trial made in a second."""
        self.small.write_text(SMALL + _VARIED.format(per_s=per_s))

    def add(
        self,
        number: int,
        *,
        drives: Sequence[str] = (),
        targets: Sequence[str] = (),
        command: str = "",
        **keys: object,
    ) -> Host:
        """A host with drives by their names, or other targets, and further keys of its entry."""
        name = f"host{number}"
        folder = self.folder / name
        (folder / "scratch").mkdir(parents=True)
        environment = {
            "PYTHONPATH": _PATHS,
            "DRIVELAB_RUNS": str(folder / "runs"),
            "XDG_STATE_HOME": str(folder / "state"),
            "DRIVELAB_SCRATCH": str(folder / "scratch"),
        }
        address = self.network.called(number)
        host = Host(name, number, address, folder, drives, targets, environment, command, keys)
        self.hosts[name] = host
        self.erasable += [f"{name}:{drive}" for drive in drives]
        return host

    def words(self, *arguments: str) -> list[str]:
        """A command of ``drivelab fleet`` as whoever asks starts it."""
        return self.network.inside(None, self.starting([sys.executable, "-m", "drivelab", "fleet", *arguments]))

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a command; what it says goes to a file, which takes any amount."""
        self._said = self.folder / f"{len(list(self.folder.glob('*.said')))}.said"
        with self._said.open("w") as said:
            self._asking = subprocess.Popen(self.words(*arguments), stdout=said, stderr=said, env=self.environment)
        return self._asking

    def said(self) -> str:
        """What the command that was started last has said until now."""
        return self._said.read_text()

    def ask(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(self.words(*arguments), capture_output=True, text=True, env=self.environment)

    def wait_until(self, is_so: Callable[[], object], what: str) -> None:
        """Return once something is so, while the command that was started last is at work."""
        asking = self._asking
        assert asking is not None, "nothing was started"
        try:
            until(lambda: is_so() or asking.poll() is not None, what)
        except AssertionError as error:
            raise AssertionError(f"{error}; it has said: {self.said()}") from None
        assert asking.poll() is None, f"it has ended, and never was it so that {what}: {self.said()}"

    def close(self) -> None:
        """End the command that was started last, and wait until its hosts have put all back."""
        if self._asking is not None:
            self._asking.kill()
            self._asking.wait()
        self.wait_until_idle()

    def run_words(self, *options: str) -> tuple[str, ...]:
        """What runs the small experiment on all hosts."""
        hosts, erasable = self.folder / "hosts.toml", self.folder / "erasable.txt"
        hosts.write_text("format = 1\n" + "\n".join(host.write() for host in self.hosts.values()))
        erasable.write_text("\n".join(self.erasable))
        return ("run", str(self.small), "--hosts", str(hosts), "--erase-list", str(erasable), *options)

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        """Run the small experiment on all hosts."""
        return self.ask(*self.run_words(*options))

    def resume(self, *options: str) -> subprocess.CompletedProcess[str]:
        """Go on with the newest fleet."""
        return self.ask("resume", "--erase-list", str(self.folder / "erasable.txt"), *options)

    @property
    def directory(self) -> Path:
        """Of the newest fleet."""
        return max(path.parent for path in (self.folder / "runs").glob("*/fleet.json"))

    def stored(self) -> dict[str, Any]:
        """What is kept of the newest fleet."""
        found: dict[str, Any] = json.loads((self.directory / "fleet.json").read_text())
        return found

    def items(self) -> dict[str, dict[str, Any]]:
        """Its items, by key."""
        return {item["key"]: item for item in self.stored()["items"]}

    def reason(self, host: str) -> str:
        """Why a host could not be asked."""
        return str(self.stored()["hosts"][host]["reason"])

    def kill_worker(self, host: Host) -> None:
        """Kill what a host was started as, without a warning."""
        for pid in self.network.processes(host.number):
            words = _words_of(pid)
            if b"worker" in words and b"-m" in words:
                os.kill(pid, signal.SIGKILL)

    def wait_until_idle(self) -> None:
        """Return once every host has put back what it changed and gone."""
        for host in self.hosts.values():
            until(lambda host=host: not self._is_busy(host), f"{host.name} has ended")  # type: ignore[misc]

    def _is_busy(self, host: Host) -> bool:
        return any(b"drivelab" in _words_of(pid) for pid in self.network.processes(host.number))


def assert_measured_once(host: Host, trials: int) -> None:
    """A host has one run, and every trial of it once."""
    (directory,) = host.directories()
    run = open_run(directory)
    assert run.run_json["status"] == "complete"
    assert len(run.trial_names) == len(set(run.trial_names)) == trials
    events = map(json.loads, (directory / "journal.jsonl").read_text().splitlines())
    assert sorted(event["trial"] for event in events if event["event"] == "step done") == sorted(run.trial_names)
    for name in run.trial_names:
        assert run.measurement(name).histograms["write", "total"].total_count == 100


@contextmanager
def no_space(directory: Path) -> Iterator[None]:
    """A directory in which there is hardly any space."""
    directory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(directory)], check=True)
    try:
        (directory / "full").write_bytes(bytes(1000 * 2**10))
        yield
    finally:
        until(lambda: subprocess.run(["umount", directory]).returncode == 0, f"{directory} is let go")


def _words_of(pid: int) -> list[bytes]:
    """The words that a process was started with; none where it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []
