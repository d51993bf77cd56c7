"""A drive that somebody else takes over while a run goes on: the run ends, and what they made is still there."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from device.program import Drivelab, wait_for_line

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "mkfs.ext4")]
MakeLoopDevice = Callable[..., Path]

RAW = """
format = 1
name = "raw"
question = "Whose drive is it?"
repeats = { full = 40, quick = 1 }

[[workloads]]
name = "log"
block_size = "4KiB"
backend = "sync"
direct = true
access = "sequential"
durability = "fdatasync"
count = 100
interval = "5ms"
"""


@pytest.fixture
def begun(drivelab: Drivelab, make_loop_device: MakeLoopDevice) -> tuple[subprocess.Popen[str], Path]:
    """A run on a loop device, stopped in the middle at a moment when it does not measure."""
    device = make_loop_device(64 * 2**20)
    file = drivelab.folder / "raw.toml"
    file.write_text(RAW)
    process = drivelab.start("run", str(file), str(device), "--erase", device.name)
    wait_for_line(process, "step 2 of 40")
    return process, device


def between_trials(process: subprocess.Popen[str], *command: str | Path) -> None:
    """Run a program that wants the device for itself, while the run is stopped and has not claimed it."""
    for _ in range(200):
        process.send_signal(signal.SIGSTOP)
        answer = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if answer.returncode == 0:
            return
        process.send_signal(signal.SIGCONT)
        time.sleep(0.013)
    pytest.fail(f"never possible: {answer.stderr}")


def end(process: subprocess.Popen[str]) -> str:
    """Let the run go on to its end; what it said on stderr."""
    process.send_signal(signal.SIGCONT)
    _out, err = process.communicate()
    return err


def test_a_file_system_that_somebody_makes_is_not_overwritten(begun: tuple[subprocess.Popen[str], Path]) -> None:
    process, device = begun
    between_trials(process, "mkfs.ext4", "-q", "-F", "-L", "THEIRS", device)
    err = end(process)
    assert process.returncode == 3
    assert "error[C206] somebody made ext4" in err
    # trials have written to it
    assert "nothing was written" not in err
    assert "and wrote nothing since" in err
    label = subprocess.run(["blkid", "-p", "-o", "value", "-s", "LABEL", device], capture_output=True, text=True)
    assert label.stdout.strip() == "THEIRS"
    assert subprocess.run(["fsck.ext4", "-nf", device], capture_output=True).returncode == 0


def test_a_mount_of_somebody_else_ends_the_run(begun: tuple[subprocess.Popen[str], Path], tmp_path: Path) -> None:
    process, device = begun
    place = tmp_path / "theirs"
    place.mkdir()
    between_trials(process, "mkfs.ext4", "-q", "-F", device)
    subprocess.run(["mount", device, place], check=True)
    (place / "file").write_text("theirs")
    try:
        err = end(process)
        assert process.returncode == 3
        assert "error[C202]" in err
        assert (place / "file").read_text() == "theirs"
    finally:
        subprocess.run(["umount", place], check=True)


@pytest.mark.alone
def test_the_name_of_the_device_cannot_come_to_mean_another_one(
    begun: tuple[subprocess.Popen[str], Path], tmp_path: Path
) -> None:
    process, device = begun
    other = tmp_path / "other.img"
    other.write_bytes(b"theirs" * 2**20)
    before = hashlib.sha256(other.read_bytes()).hexdigest()
    for _ in range(5):
        process.send_signal(signal.SIGSTOP)
        subprocess.run(["losetup", "--detach", device], capture_output=True)
        swapped = subprocess.run(["losetup", device, other], capture_output=True)
        assert swapped.returncode != 0, "the run holds the device, so its name is not free"
        process.send_signal(signal.SIGCONT)
        time.sleep(0.05)
    end(process)
    assert hashlib.sha256(other.read_bytes()).hexdigest() == before
    # a detach that was asked for came about when the run let go
    subprocess.run(["losetup", device, tmp_path / "loop-0.img"], capture_output=True)


def test_two_runs_do_not_erase_one_drive(begun: tuple[subprocess.Popen[str], Path], drivelab: Drivelab) -> None:
    process, device = begun
    file = drivelab.folder / "raw.toml"
    second = drivelab.run("run", str(file), str(device), "--erase", device.name)
    assert second.returncode == 3
    assert "error[C211]" in second.stderr
    assert "drivelab (run " in second.stderr
    process.terminate()
    process.communicate()
    assert drivelab.left_over() == []
