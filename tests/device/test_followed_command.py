"""A command that is started to be followed ends with drivelab, however that ends."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from pathlib import Path

import pytest

from device.program import Drivelab, wait_for_line

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "mkfs.ext4")]

# nobody but who has it end would wait for it
COMMAND = "import os, sys, time; open(sys.argv[1], 'w').write(f'{os.getpid()}\\n'); time.sleep(3600)"
_LIMIT_MS = 120_000


def test_a_command_is_asked_to_end_when_drivelab_is_killed(drivelab: Drivelab, mounted: Path) -> None:
    told = mounted / "pid"
    words = (sys.executable, "-c", COMMAND, str(told))
    following = drivelab.start("explain", "--path", str(mounted), "--command", "--", *words)
    wait_for_line(following, "following ")
    while not (told.exists() and told.read_text().endswith("\n")):
        time.sleep(0.01)
    command = os.pidfd_open(int(told.read_text()))
    try:
        following.kill()
        ended = select.poll()
        ended.register(command, select.POLLIN)
        assert ended.poll(_LIMIT_MS)
    finally:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(command, signal.SIGKILL)
        os.close(command)
        following.communicate()
        assert drivelab.run("restore").returncode == 0
