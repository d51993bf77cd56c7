"""Which file a descriptor of a followed program stood for, looked up in /proc while it runs."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from drivelab.inventory.block_devices import disk_of, name_of_number, number_of_node
from drivelab.inventory.mounts import parse_mountinfo
from drivelab.inventory.sysfs import read_text
from drivelab.run.following.processes import name_of, open_links, status_number, threads_of

_PROC = Path("/proc")
_UPPER = "upperdir="
# programs open most of their files soon after they begin
_EAGER_S = 2.0
_EAGER_PAUSE_S, _PAUSE_S = 0.02, 0.2


@dataclass(slots=True)
class SeenFile:
    """What a descriptor stood for.

    Attributes
    ----------
    process, descriptor : int
        Whose, and which.
    path : str
        As the kernel names it; ``socket:[4711]`` for what is no file.
    device : str
        ``major:minor`` of the file system that it lies on, or of the device itself; empty for what is no file.
    is_durable : bool
        Whether each write is durable when it returns (O_DSYNC, O_SYNC).
    is_written : bool
        Whether it is open for writing.
    first_ns, last_ns : int
        When it was seen first and last, CLOCK_MONOTONIC.
    """

    process: int
    descriptor: int
    path: str
    device: str
    is_durable: bool
    is_written: bool
    first_ns: int
    last_ns: int


class OpenFiles:
    """Looks again and again what the descriptors of processes stand for, in a thread of its own.

    Parameters
    ----------
    threads : callable
        Which threads are followed now.

    Attributes
    ----------
    seen : list of SeenFile
        Everything that was seen.
    processes, names : dict of int
        By thread its process, and its name.
    """

    def __init__(self, threads: Callable[[], list[int]]) -> None:
        self._threads = threads
        self.seen: list[SeenFile] = []
        self.processes: dict[int, int] = {}
        self.names: dict[int, str] = {}
        self._current: dict[tuple[int, int], SeenFile] = {}
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, name="drivelab-files", daemon=True)

    def begin(self) -> None:
        """Look once, and then again and again."""
        self.look()
        self._thread.start()

    def end(self) -> None:
        """Look a last time."""
        self._ends.set()
        if self._thread.is_alive():
            self._thread.join()
        self.look()

    def _run(self) -> None:
        began = time.monotonic()
        while not self._ends.wait(_EAGER_PAUSE_S if time.monotonic() - began < _EAGER_S else _PAUSE_S):
            self.look()

    def look(self) -> None:
        """See what is open now."""
        for thread in self._threads():
            if thread not in self.processes and (process := status_number(thread, "Tgid")):
                self.processes[thread] = process
            if name := name_of(thread):
                self.names[thread] = name
        for process in set(self.processes.values()):
            # threads of io_uring are started without a word, and make no calls
            for thread in threads_of(process):
                if thread not in self.processes:
                    self.processes[thread], self.names[thread] = process, name_of(thread)
            for descriptor, path in open_links(process).items():
                self._see(process, descriptor, path, time.monotonic_ns())

    def now(self, process: int, descriptor: int) -> SeenFile | None:
        """What a descriptor stood for when it was looked at last."""
        return self._current.get((process, descriptor))

    def _see(self, process: int, descriptor: int, path: str, now_ns: int) -> None:
        key = (process, descriptor)
        known = self._current.get(key)
        if known is not None and known.path == path:
            known.last_ns = now_ns
            return
        if (found := seen_file(process, descriptor, path, now_ns)) is not None:
            self._current[key] = found
            self.seen.append(found)


def seen_file(process: int, descriptor: int, path: str, now_ns: int) -> SeenFile | None:
    """What a descriptor stands for; None where it is gone by now."""
    facts: dict[str, str] = {}
    with suppress(OSError):
        lines = (_PROC / str(process) / "fdinfo" / str(descriptor)).read_text().splitlines()
        facts = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if "flags" not in facts:
        return None
    flags = int(facts["flags"], 8)
    device = ""
    if path.startswith("/"):
        # nodes of devices only: to look at a file of a server that is gone would take for ever
        node = number_of_node(path) if path.startswith("/dev/") else None
        device = node or _device_of_mount(process, facts.get("mnt_id", ""))
    is_written = flags & os.O_ACCMODE != os.O_RDONLY
    # O_SYNC has the bit of O_DSYNC
    return SeenFile(process, descriptor, path, device, bool(flags & os.O_DSYNC), is_written, now_ns, now_ns)


def _device_of_mount(process: int, mount: str) -> str:
    mounts = parse_mountinfo(read_text(_PROC / str(process) / "mountinfo") or "")
    found = next((one for one in mounts if str(one.mount_id) == mount), None)
    if found is None:
        return ""
    # what a container writes into its own layer lies in a directory of its host
    upper = next((option.removeprefix(_UPPER) for option in found.options if option.startswith(_UPPER)), "")
    with suppress(OSError):
        if found.filesystem == "overlay" and upper:
            number = os.stat(upper).st_dev
            return f"{os.major(number)}:{os.minor(number)}"
    return found.device_number


def disk_of_number(number: str) -> str:
    """Kernel name of the whole disk of ``major:minor``; empty where there is none."""
    name = name_of_number(number) if number and not number.startswith("0:") else None
    return disk_of(name) if name else ""
