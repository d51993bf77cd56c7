"""Processes of this machine that start hosts and are their standard input: ssh, or srun of Slurm."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from drivelab.fleet.fingerprint import fingerprint
from drivelab.fleet.host import Joining
from drivelab.fleet.slurm import is_queued
from drivelab.fleet.start_failures import start_failure
from drivelab.model.errors import DrivelabError

_LINES_KEPT = 10
# between asking it to end, killing it, and no longer reading what it says
_END_WITHIN_S = 5
_LINE_BYTES_MAX = 1 << 20


@dataclass(slots=True)
class StartedHost:
    """A host that was started, for as long as its connection lasts.

    Attributes
    ----------
    process : asyncio.subprocess.Process
        What starts it.
    said : list of str
        The last lines that this and the host have said.
    is_queued : asyncio.Event
        Set once it waits in Slurm's queue.
    """

    process: asyncio.subprocess.Process
    said: list[str]
    is_queued: asyncio.Event
    _listening: asyncio.Task[None]

    async def ended(self) -> str:
        """Why its connection has ended, once it has."""
        code = await self.process.wait()
        await self._listening
        return start_failure(code, self.said)

    async def let_go(self, within_s: float) -> None:
        """Have it end, after it has put back what it changed; when the time is over, or this is cancelled, at once."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.process.wait(), within_s)
        finally:
            await asyncio.shield(self._end())

    async def _end(self) -> None:
        """End what starts it, whatever it does; the host then hears that nobody asks any more."""
        for ending in (self.process.terminate, self.process.kill):
            if self.process.returncode is None:
                with suppress(ProcessLookupError):
                    ending()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.process.wait(), _END_WITHIN_S)
        # what it has started may hold the pipe open
        with suppress(TimeoutError):
            await asyncio.wait_for(self._listening, _END_WITHIN_S)


async def start_host(words: Sequence[str], joining: Joining) -> StartedHost:
    """A host that is being started; whether it has joined is heard elsewhere.

    Parameters
    ----------
    words : sequence of str
        The command that starts it, which hands its standard input on to the host.
    joining : Joining
        Whom it joins.

    Raises
    ------
    DrivelabError
        F909: there is no such command.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            limit=_LINE_BYTES_MAX,
            # Ctrl-C of the terminal is ours: what started a host has to stay until all is put back
            start_new_session=True,
        )
    except OSError as error:
        what = f"{words[0]} cannot be started: {error.strerror}"
        raise DrivelabError("F909", what, do=f"install {words[0]} on this machine, or correct PATH") from error
    assert process.stdin is not None
    process.stdin.write(joining.to_line(fingerprint()))
    with suppress(OSError):
        await process.stdin.drain()
    said: list[str] = []
    queued = asyncio.Event()
    return StartedHost(process, said, queued, asyncio.ensure_future(_listen(process, said, queued)))


async def _listen(process: asyncio.subprocess.Process, said: list[str], queued: asyncio.Event) -> None:
    """Keep the last of what the command and the host say."""
    assert process.stderr is not None
    while True:
        try:
            raw = await process.stderr.readline()
        except ValueError:
            continue
        if not raw:
            return
        if line := raw.decode("utf-8", "replace").strip():
            said.append(line)
            del said[:-_LINES_KEPT]
            if is_queued(line):
                queued.set()
