"""Ordinary commands of drivelab, started on a host for a fleet and followed while they run."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from drivelab.fleet.signals import send_signal
from drivelab.streams import PROGRESS_AS_JSON

_PR_SET_PDEATHSIG = 1
# a plan of a thousand steps, and every number of theirs
_OUTPUT_BYTES_MAX = 256 * 1024**2
_LINE_BYTES_MAX = 1024**2
_LINES_KEPT = 20
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that has ended.

    Attributes
    ----------
    exit_code : int
        Its status; below 0 the signal that killed it.
    document : dict
        What it printed as JSON; empty where it printed none.
    error : str
        What went wrong, in one line; empty where nothing did.
    """

    exit_code: int
    document: dict[str, Any]
    error: str


class LocalCommands:
    """Starts commands, and can interrupt all that run."""

    def __init__(self) -> None:
        self._running: dict[int, asyncio.subprocess.Process] = {}
        self._named: dict[str, asyncio.subprocess.Process] = {}
        self._is_ending = False

    async def ended(
        self,
        words: Sequence[str],
        tell: Callable[[str], None] | None = None,
        *,
        pass_fds: Sequence[int] = (),
        name: str = "",
    ) -> Ended:
        """What a command came to.

        Parameters
        ----------
        words : sequence of str
            Its arguments; ``--json`` among them.
        tell : callable, optional
            Told each line that it writes about its progress.
        pass_fds : sequence of int
            Descriptors that it keeps open as long as it lives.
        name : str
            By which it can be told something; without one its standard input is empty.
        """
        if self._is_ending:
            return Ended(-signal.SIGINT, {}, "the host is going away")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "drivelab", *words),
            stdin=asyncio.subprocess.PIPE if name else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_LINE_BYTES_MAX,
            pass_fds=tuple(pass_fds),
            env=os.environ | PROGRESS_AS_JSON if tell else None,
            # Ctrl-C of a terminal that the worker has goes to the worker alone
            start_new_session=True,
            preexec_fn=_interrupted_with_parent,
        )
        self._running[process.pid] = process
        if name:
            self._named[name] = process
        try:
            output, lines = await asyncio.gather(_all_of(process), _told(process, tell))
            code = await process.wait()
        finally:
            self._running.pop(process.pid, None)
            self._named.pop(name, None)
        return Ended(code, _document(output), failure_in_words(code, lines) if code else "")

    def say(self, name: str, line: str) -> None:
        """Tell a command that runs something: one line, and then nothing more."""
        if (process := self._named.get(name)) is not None and process.stdin is not None:
            process.stdin.write(line.encode())
            process.stdin.close()

    async def interrupt(self) -> None:
        """Have all that runs put back what it changed, and wait until it has; start nothing more."""
        self._is_ending = True
        waiting = list(self._running.values())
        for process in waiting:
            send_signal(process, signal.SIGINT)
        await asyncio.gather(*(process.wait() for process in waiting))


def _interrupted_with_parent() -> None:
    """Ask the kernel for Ctrl-C when the worker is killed: then, too, everything is put back."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)


async def _all_of(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    found = bytearray()
    while piece := await process.stdout.read(1 << 16):
        if len(found) <= _OUTPUT_BYTES_MAX:
            found += piece
    return bytes(found)


async def _told(process: asyncio.subprocess.Process, tell: Callable[[str], None] | None) -> list[str]:
    """The last lines of its progress, each told as it comes."""
    assert process.stderr is not None
    lines: list[str] = []
    while True:
        try:
            raw = await process.stderr.readline()
        except ValueError:
            # a line without end
            continue
        if not raw:
            return lines
        line = raw.decode("utf-8", "replace").rstrip()
        lines = [*lines, line][-_LINES_KEPT:]
        if tell is not None and line:
            tell(line)


def _document(output: bytes) -> dict[str, Any]:
    try:
        found = json.loads(output)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def failure_in_words(code: int, lines: Sequence[str]) -> str:
    """What a command said of its failure: the error that it printed as JSON, else its last words."""
    for line in reversed(lines):
        with suppress(ValueError, KeyError, TypeError):
            error = json.loads(line)["error"]
            where = f" ({error['where']})" if error.get("where") else ""
            do = f"; {error['do']}" if error.get("do") else ""
            return f"{error['code']}: {error['what']}{where}{do}"
    if code < 0:
        # what it said last is how far it was
        return f"it was ended by {signal.Signals(-code).name}"
    return f"{lines[-1] if lines else 'it said nothing'} (exit code {code})"
