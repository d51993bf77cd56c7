"""Starts hosts over ssh, with the user's own client: its configuration, its agent, its known hosts."""

from __future__ import annotations

import asyncio
import shlex
from contextlib import suppress
from dataclasses import dataclass

from drivelab.fleet.fingerprint import fingerprint
from drivelab.fleet.host import Joining
from drivelab.fleet.local_commands import failure_in_words
from drivelab.model.fleet_hosts import HostEntry

_OPTIONS = (
    *("-T", "-a", "-x"),
    # nobody is there to type a password for each of a thousand hosts
    *("-o", "BatchMode=yes"),
    *("-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"),
)
_LINES_KEPT = 10
_LINE_BYTES_MAX = 1 << 20


@dataclass(slots=True)
class StartedHost:
    """A host that was started, for as long as its connection lasts."""

    process: asyncio.subprocess.Process
    _said: list[str]
    _listening: asyncio.Task[None]

    async def ended(self) -> str:
        """Why its connection has ended, once it has."""
        code = await self.process.wait()
        await self._listening
        return failure_in_words(code, self._said)

    async def let_go(self, within_s: float) -> None:
        """Have it end: it puts back what it changed first."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), within_s)
        if self.process.returncode is None:
            with suppress(ProcessLookupError):
                self.process.terminate()
            await self.process.wait()
        await self._listening


async def start_over_ssh(entry: HostEntry, address: str, joining: Joining, *, connect_s: int) -> StartedHost:
    """A host that is being started; whether it has joined is heard elsewhere.

    Parameters
    ----------
    entry : HostEntry
        How it is reached.
    address : str
        Its address, or a name that the user's ssh knows.
    joining : Joining
        Whom it joins.
    connect_s : int
        How long ssh tries to connect.

    Raises
    ------
    OSError
        There is no ssh.
    """
    process = await asyncio.create_subprocess_exec(
        *ssh_words(entry, address, connect_s),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        limit=_LINE_BYTES_MAX,
        # Ctrl-C of the terminal is ours: ssh has to stay until all is put back
        start_new_session=True,
    )
    assert process.stdin is not None
    process.stdin.write(joining.to_line(fingerprint()))
    with suppress(OSError):
        await process.stdin.drain()
    said: list[str] = []
    return StartedHost(process, said, asyncio.ensure_future(_listen(process, said)))


def ssh_words(entry: HostEntry, address: str, connect_s: int) -> list[str]:
    """The command that starts a host; what runs there is quoted for its shell."""
    remote = [*shlex.split(entry.drivelab or "drivelab"), "fleet", "worker", "-", "--json"]
    if entry.sudo:
        remote = ["sudo", "-n", *remote]
    port = ["-p", str(entry.port)] if entry.port else []
    user = ["-l", entry.user] if entry.user else []
    return ["ssh", *_OPTIONS, "-o", f"ConnectTimeout={connect_s}", *port, *user, "--", address, shlex.join(remote)]


async def _listen(process: asyncio.subprocess.Process, said: list[str]) -> None:
    """Keep the last of what ssh and the host say."""
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
