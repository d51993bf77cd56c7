"""Signals to processes that asyncio waits for."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress


def send_signal(process: asyncio.subprocess.Process, number: int) -> None:
    """Send a signal to a process that was started here, if it has not ended.

    What asyncio has for it looks first whether the process has ended, and so takes away its status from the thread that
    waits for that, which then complains on stderr.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)
