"""A process that ends by itself just when it is told to has ended as it did, and nobody complains."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

from drivelab.fleet.starter import Starter
from drivelab.fleet.starting import StartedHost
from own_loop import in_own_loop


def test_the_status_of_what_has_just_ended_is_not_taken_from_who_waits_for_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    may_wait, wait = threading.Event(), os.waitpid

    async def ended() -> int | None:
        own = threading.get_ident()

        def late(pid: int, options: int) -> tuple[int, int]:
            # a thread that the machine has not let run yet
            assert threading.get_ident() == own or may_wait.wait(600)
            return wait(pid, options)

        monkeypatch.setattr(os, "waitpid", late)
        pipes = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE}
        process = await asyncio.create_subprocess_exec("sh", "-c", "exit 3", **pipes)
        started = StartedHost(Starter(["sh"]), process)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        # heard only once the first signal was sent
        asyncio.get_running_loop().call_soon(may_wait.set)
        await started._end()
        return process.returncode

    assert in_own_loop(ended()) == 3
    assert caplog.messages == []
