"""Which file a descriptor of a followed program stood for, looked up in /proc while it runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from drivelab.run.following.mapped_files import mapped_files
from drivelab.run.following.opened_files import directory_of
from drivelab.run.following.processes import link_of, name_of, open_links, status_number, threads_of
from drivelab.run.following.ring_files import RingFiles
from drivelab.run.following.seen_file import SeenFile, seen_file

# programs open most of their files soon after they begin
_EAGER_S = 2.0
_EAGER_PAUSE_S, _PAUSE_S = 0.02, 0.2


class OpenFiles:
    """Looks again and again what the descriptors of processes stand for, in a thread of its own.

    Parameters
    ----------
    threads : callable
        Which threads are followed now.

    Attributes
    ----------
    seen : list of SeenFile
        What descriptors stood for.
    processes, names : dict of int
        By thread its process, and its name.
    directories : dict of int
        From where each process that was there at the beginning looked up names then.
    """

    def __init__(self, threads: Callable[[], list[int]]) -> None:
        self._threads = threads
        self.seen: list[SeenFile] = []
        self.processes: dict[int, int] = {}
        self.names: dict[int, str] = {}
        self.directories: dict[int, str | None] = {}
        self._current: dict[tuple[int, int], SeenFile] = {}
        self._in_rings = RingFiles()
        self._mapped: list[SeenFile] = []
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, name="drivelab-files", daemon=True)

    def begin(self) -> None:
        """Look once, and then again and again."""
        self.look()
        self.directories = {process: directory_of(process) for process in set(self.processes.values())}
        now_ns = time.monotonic_ns()
        self._mapped = [file for process in self.directories for file in mapped_files(process, now_ns)]
        self._thread.start()

    def end(self) -> None:
        """Look a last time, where that was not done before."""
        if self._ends.is_set():
            return
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
            began_ns = time.monotonic_ns()
            links = open_links(process)
            for descriptor, path in links.items():
                self._see(process, descriptor, path, began_ns)
            self._in_rings.look(process, links)

    @property
    def all_seen(self) -> tuple[SeenFile, ...]:
        """Everything that was seen, what rings know by numbers of their own, and what was mapped at the beginning."""
        return (*self.seen, *self._in_rings.certain(self.seen), *self._mapped)

    def now(self, process: int, descriptor: int) -> SeenFile | None:
        """What a descriptor stood for when it was looked at last."""
        return self._current.get((process, descriptor))

    def _see(self, process: int, descriptor: int, path: str, began_ns: int) -> None:
        """Note what a descriptor stood for after a moment: it may stand for something else by now."""
        key = (process, descriptor)
        known = self._current.get(key)
        if known is not None and known.path == path:
            known.last_ns = began_ns
            return
        found = seen_file(process, descriptor, path, time.monotonic_ns())
        # what was told in between is of this file only if it is still the one
        if found is not None and link_of(process, descriptor) == path:
            self._current[key] = found
            self.seen.append(found)
