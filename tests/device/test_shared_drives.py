"""Commands that only read take part in locking: they do not measure under the hands of one that changes the drive."""

from __future__ import annotations

from pathlib import Path

import pytest

from device.program import Drivelab
from drivelab.inventory.drives import read_drives
from drivelab.state.drive_lock import LOCKS, held_drives

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup")]


def test_check_and_io_wait_for_nobody_and_measure_nothing_meanwhile(drivelab: Drivelab, make_loop_device) -> None:
    device: Path = make_loop_device(32 * 2**20)
    drive = read_drives([device.name], ask_tools=False)[0]
    commands = (("check", str(device), "--quick"), ("io", str(device), "--count", "10"))
    with held_drives([drive], alone=True):
        for command in commands:
            answer = drivelab.run(*command)
            assert answer.returncode == 3, answer.stderr
            assert "error[C211]" in answer.stderr
    with held_drives([drive], alone=False):
        answer = drivelab.run(*commands[1])
        assert answer.returncode in (0, 4), answer.stderr
    assert not list(LOCKS.glob(f"{device.name}-*"))
