"""What tests on real loop devices share."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from device.program import Drivelab


@pytest.fixture
def drivelab(tmp_path: Path) -> Iterator[Drivelab]:
    program = Drivelab(tmp_path)
    yield program
    if program.left_over():
        program.run("restore")


@pytest.fixture
def mounted(make_loop_device: Callable[..., Path], tmp_path: Path) -> Iterator[Path]:
    """An ext4 on a loop device."""
    device = make_loop_device(256 * 2**20)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-E", "nodiscard", str(device)], check=True)
    directory = tmp_path / "mounted"
    directory.mkdir()
    subprocess.run(["mount", str(device), str(directory)], check=True)
    yield directory
    subprocess.run(["umount", str(directory)], check=True)
