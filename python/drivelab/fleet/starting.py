"""Processes of this machine that start hosts and are their standard input: ssh, srun of Slurm, or kubectl."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from dataclasses import dataclass, field

from drivelab.fleet.fingerprint import fingerprint
from drivelab.fleet.host import Joining
from drivelab.fleet.signals import send_signal
from drivelab.fleet.start_failures import start_failure
from drivelab.fleet.starter import Ending, Starter
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
    starter : Starter
        What starts it.
    process : asyncio.subprocess.Process
        The command of that.
    said : list of str
        The last lines that this and the host have said.
    is_queued : asyncio.Event
        Set once it has said that it has to wait.
    ending : Ending or None
        What is known of its end, once it has ended.
    """

    starter: Starter
    process: asyncio.subprocess.Process
    said: list[str] = field(default_factory=list)
    is_queued: asyncio.Event = field(default_factory=asyncio.Event)
    ending: Ending | None = None
    _listening: asyncio.Future[None] = field(init=False)

    def __post_init__(self) -> None:
        self._listening = asyncio.ensure_future(self._listen())

    async def ended(self) -> str:
        """Why its connection has ended, once it has."""
        code = await self.process.wait()
        await self._listening
        ending = await self._clear_away(code)
        return ending.taken or start_failure(code, self.said)

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
        for ending in (signal.SIGTERM, signal.SIGKILL):
            if self.process.returncode is None:
                send_signal(self.process, ending)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.process.wait(), _END_WITHIN_S)
        # what it has started may hold the pipe open
        with suppress(TimeoutError):
            await asyncio.wait_for(self._listening, _END_WITHIN_S)
        code = self.process.returncode
        await self._clear_away(-signal.SIGKILL if code is None else code)

    async def _clear_away(self, code: int) -> Ending:
        """Learn what is known of its end, once."""
        if self.ending is None:
            self.ending = await self.starter.ended(code, self.said)
        return self.ending

    async def _listen(self) -> None:
        """Keep the last of what the command and the host say."""
        assert self.process.stdout is not None
        while True:
            try:
                raw = await self.process.stdout.readline()
            except ValueError:
                continue
            if not raw:
                return
            if line := raw.decode("utf-8", "replace").strip():
                self.said.append(line)
                del self.said[:-_LINES_KEPT]
                if self.starter.is_queued(line):
                    self.is_queued.set()


async def start_host(starter: Starter, joining: Joining) -> StartedHost:
    """A host that is being started; whether it has joined is heard elsewhere.

    Parameters
    ----------
    starter : Starter
        What starts it.
    joining : Joining
        Whom it joins.

    Raises
    ------
    DrivelabError
        F909: there is no such command.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *starter.words,
            stdin=asyncio.subprocess.PIPE,
            # also what a container has said before kubectl was attached to it
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=_LINE_BYTES_MAX,
            # Ctrl-C of the terminal is ours: what started a host has to stay until all is put back
            start_new_session=True,
        )
    except OSError as error:
        command = starter.words[0]
        what = f"{command} cannot be started: {error.strerror}"
        raise DrivelabError("F909", what, do=f"install {command} on this machine, or correct PATH") from error
    assert process.stdin is not None
    process.stdin.write(joining.to_line(fingerprint()))
    with suppress(OSError):
        await process.stdin.drain()
    return StartedHost(starter, process)
