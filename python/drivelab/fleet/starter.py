"""What starts a host: its command, and what can be learned of a start that waits or has ended; as ssh has it here."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from drivelab.fleet.signals import send_signal

_ASK_WITHIN_S = 10


@dataclass(frozen=True, slots=True)
class Ending:
    """What is known of a start that has ended.

    Attributes
    ----------
    taken : str
        Why the host was taken back by whom it was had from; empty where it was not.
    left : str
        What may be left of it, and the command that removes it; empty where nothing is.
    """

    taken: str = ""
    left: str = ""


@dataclass(frozen=True, slots=True)
class Starter:
    """A command that starts a host and hands its standard input on to it; it waits in no queue, and leaves nothing.

    Attributes
    ----------
    words : list of str
        The command.
    """

    words: list[str]
    # whether it may wait for long and say nothing of it
    waits_in_silence: ClassVar[bool] = False

    def is_queued(self, _line: str) -> bool:
        """Whether a line that it says means that it has to wait."""
        return False

    async def why_it_waits(self, _said: Sequence[str]) -> str:
        """Why the host is not there yet, where who has the hosts knows; `said` are the last lines of the command."""
        return ""

    async def ended(self, _code: int, _said: Sequence[str]) -> Ending:
        """Clear away what the command has left, now that it has ended with this status and these lines."""
        return Ending()


async def answer_of(*words: str) -> tuple[str, str]:
    """What a command that asks prints, and why it could not; it says nothing where it is missing or slow."""
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            # Ctrl-C of the terminal is ours: what is asked then is for what is left
            start_new_session=True,
        )
    except OSError as error:
        return "", f"{words[0]} cannot be started: {error.strerror}"
    try:
        output, said = await asyncio.wait_for(process.communicate(), _ASK_WITHIN_S)
    except TimeoutError:
        return "", f"{words[0]} did not answer within {_ASK_WITHIN_S} s"
    finally:
        send_signal(process, signal.SIGKILL)
        await process.wait()
    lines = said.decode("utf-8", "replace").split("\n")
    why = next((line for line in reversed(lines) if line.strip()), f"exit code {process.returncode}")
    return output.decode("utf-8", "replace"), why.strip() if process.returncode else ""
