"""Which processes are followed: by number, by the files they have open, or started for it."""

from __future__ import annotations

import errno
import os
import select
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from drivelab.model.errors import DrivelabError

_PROC = Path("/proc")
# waits until it is followed, then becomes the command, or tells why it cannot; without the word to go it ends. When
# drivelab dies the kernel asks it to end (PR_SET_PDEATHSIG), also as the command; what is another's child by then has
# missed that
_WAITING = (
    "import ctypes, os, signal, sys\n"
    "ctypes.CDLL(None).prctl(1, signal.SIGTERM)\n"
    "os.getppid() == int(sys.argv[2]) or sys.exit()\n"
    "failure = int(sys.argv[3])\n"
    "os.set_inheritable(failure, False)\n"
    "go = os.read(int(sys.argv[1]), 1)\n"
    "os.close(int(sys.argv[1]))\n"
    "signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
    "signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
    "try:\n"
    "    go and os.execvp(sys.argv[4], sys.argv[4:])\n"
    "except OSError as error:\n"
    "    os.write(failure, str(error.errno).encode())\n"
)
_END_S = 10
# what a shell, and nobody else, gives a meaning to
_OF_SHELLS = frozenset("|&;<>()$`*?\n")


def require_process(pid: int) -> None:
    """Make sure that a number is that of a program.

    Raises
    ------
    DrivelabError
        R442: of nothing, of a thread, of a thread of the kernel, or our own.
    """
    process = status_number(pid, "Tgid")
    if process is None:
        raise DrivelabError("R442", f"there is no process {pid}", where=f"--pid {pid}")
    if process != pid:
        do = f"follow its process, with all of its threads: --pid {process}"
        raise DrivelabError("R442", f"{pid} is a thread of process {process}", where=f"--pid {pid}", do=do)
    if is_of_kernel(pid):
        do = "follow the program that the kernel works for"
        raise DrivelabError("R442", f"{pid} ({name_of(pid)}) is a thread of the kernel", where=f"--pid {pid}", do=do)
    if pid == os.getpid():
        raise DrivelabError("R442", f"{pid} is this very drivelab", where=f"--pid {pid}")


def status_number(thread: int, key: str) -> int | None:
    """A number of ``/proc/N/status``; None for a thread that is not there."""
    with suppress(OSError):
        for line in (_PROC / str(thread) / "status").read_text(errors="replace").splitlines():
            if line.startswith(f"{key}:"):
                return int(line.split()[1])
    return None


def is_of_kernel(pid: int) -> bool:
    """Whether a process has no memory of its own."""
    return status_number(pid, "VmSize") is None and (status_number(pid, "PPid") in (0, 2)) and pid != 1


def name_of(thread: int) -> str:
    """Name of a thread; empty for one that is not there."""
    with suppress(OSError):
        return (_PROC / str(thread) / "comm").read_text(errors="replace").strip()
    return ""


def is_ring_worker(name: str) -> bool:
    """Whether a thread of this name does the requests that io_uring gives away."""
    return name.startswith("iou-wrk-")


def threads_of(pid: int) -> list[int]:
    """Threads of a process, as far as they are there."""
    with suppress(OSError):
        return sorted(int(entry) for entry in os.listdir(_PROC / str(pid) / "task"))
    return []


def with_descendants(pid: int) -> list[int]:
    """A process and all that it has started, as far as they are there; not this program, which a shell has started."""
    found = [pid]
    for process in found:
        for thread in threads_of(process):
            with suppress(OSError):
                children = (_PROC / str(process) / "task" / str(thread) / "children").read_text().split()
                found += [int(child) for child in children if int(child) not in (*found, os.getpid())]
    return found


def processes_with(path: Path) -> list[int]:
    """Processes that have a file open, or any below a directory.

    Raises
    ------
    DrivelabError
        R443: there is none. T101: there is no such file.
    """
    if not path.exists():
        raise DrivelabError("T101", f"{path} does not exist", where=f"--path {path}")
    wanted = str(path.resolve())
    below = wanted.rstrip("/") + "/"
    found = []
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            links = open_links(int(entry.name)).values()
            if any(link == wanted or link.startswith(below) for link in links):
                found.append(int(entry.name))
    if not found:
        raise DrivelabError("R443", f"no program has {path} open", where=f"--path {path}")
    return sorted(found)


def open_links(pid: int) -> dict[int, str]:
    """What each descriptor of a process stands for; of those that are gone by now, nothing."""
    found = {}
    with suppress(OSError):
        for entry in os.listdir(_PROC / str(pid) / "fd"):
            if path := link_of(pid, int(entry)):
                found[int(entry)] = path
    return found


def link_of(pid: int, descriptor: int) -> str:
    """What a descriptor of a process stands for; empty where it is gone by now."""
    with suppress(OSError):
        return os.readlink(_PROC / str(pid) / "fd" / str(descriptor))
    return ""


def command_words(typed: Sequence[str]) -> list[str]:
    """The program and its arguments, also where somebody quoted the whole of it as one word.

    Raises
    ------
    DrivelabError
        R444: what was quoted is a line that only a shell can carry out.
    """
    if len(typed) != 1 or len(typed[0].split()) < 2 or shutil.which(typed[0]) is not None:
        return list(typed)
    try:
        words = shlex.split(typed[0])
    except ValueError:
        words = []
    if not words or _OF_SHELLS & set(typed[0]):
        do = shlex.join(["drivelab", "explain", "--command", "--", "sh", "-c", typed[0]])
        raise DrivelabError("R444", f"{typed[0]!r} needs a shell", where="drivelab explain --command", do=do)
    return words


class StartedCommand:
    """A command that waits until it is told to begin, and ends with this program; what it prints goes to stderr.

    Parameters
    ----------
    words : sequence of str
        The program and its arguments.

    Raises
    ------
    DrivelabError
        R444: there is no such program.
    """

    def __init__(self, words: Sequence[str]) -> None:
        if shutil.which(words[0]) is None:
            raise DrivelabError("R444", f"there is no program {words[0]}", where="drivelab explain --command")
        self._words = list(words)
        reading, self._go = os.pipe()
        self._failure, writing = os.pipe()
        told = (str(reading), str(os.getpid()), str(writing))
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _WAITING, *told, *words],
                pass_fds=(reading, writing),
                stdout=sys.stderr.fileno(),
            )
        finally:
            os.close(reading)
            os.close(writing)
        self.pid = self._process.pid

    def begin(self) -> None:
        """Let it become the command.

        Raises
        ------
        DrivelabError
            R444: the kernel does not take it for a program.
        """
        os.write(self._go, b"!")
        # closed by becoming the command
        if not (told := os.read(self._failure, 16)):
            return
        do = ""
        if int(told) == errno.ENOEXEC:
            typed = shlex.join(["drivelab", "explain", "--command", "--", "sh", *self._words])
            do = f"begin it with a line that names what reads it (#!/bin/sh), or name that: {typed}"
        what = f"{self._words[0]} cannot be started: {os.strerror(int(told))}"
        raise DrivelabError("R444", what, where="drivelab explain --command", do=do)

    def end(self) -> int:
        """Ask it to end, where it still runs, and wait for it; its exit status."""
        for descriptor in (self._go, self._failure):
            with suppress(OSError):
                os.close(descriptor)
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
        return self._process.wait()


class Lives:
    """Tells when processes have ended; it holds them by descriptors, so no other can take their number."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._open: dict[int, int] = {}
        self._poll = select.poll()
        for pid in pids:
            # one that has ended is no longer waited for
            with suppress(ProcessLookupError):
                descriptor = os.pidfd_open(pid)
                self._open[descriptor] = pid
                self._poll.register(descriptor, select.POLLIN)

    def wait(self, seconds: float) -> bool:
        """Wait until all have ended, at most so long; whether any is left."""
        if self._open:
            for descriptor, _ in self._poll.poll(seconds * 1000):
                self._poll.unregister(descriptor)
                os.close(descriptor)
                del self._open[descriptor]
        return bool(self._open)

    def close(self) -> None:
        """Let go of them."""
        while self._open:
            os.close(self._open.popitem()[0])
