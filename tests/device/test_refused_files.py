"""A file beneath a loop device is not overwritten, and no file takes the place of a device."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from device.program import Drivelab
from device.test_refusals import backing_file, call, digest, mounted

MakeLoopDevice = Callable[..., Path]
GOLDEN_RUN = Path(__file__).resolve().parents[1] / "golden" / "runs" / "check-hostile-names"
pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "mkfs.ext4")]


@pytest.mark.provokes("C204")
@pytest.mark.parametrize("name", ["loop-0.img", "hard.img", "link.img"])
def test_the_file_beneath_a_loop_device_is_not_overwritten(
    drivelab: Drivelab, make_loop_device: MakeLoopDevice, tmp_path: Path, name: str
) -> None:
    device = make_loop_device()
    backing = backing_file(device)
    os.link(backing, tmp_path / "hard.img")
    (tmp_path / "link.img").symlink_to(backing)
    with mounted(device, tmp_path / "place"):
        before = digest(device)
        answer = drivelab.run("io", "--operation", "write", str(tmp_path / name), "--overwrite-file")
        assert digest(device) == before
    assert answer.returncode == 3, answer.stderr
    assert f"is the file beneath {device.name}" in " ".join(answer.stderr.split())
    assert f"error[C204] {tmp_path}" in answer.stderr
    assert "nothing was written" in answer.stderr


@pytest.mark.provokes("O802")
@pytest.mark.parametrize("name", ["node", "link", "pipe"])
def test_a_report_takes_the_place_of_no_device(
    drivelab: Drivelab, make_loop_device: MakeLoopDevice, tmp_path: Path, name: str
) -> None:
    device = make_loop_device()
    call("mknod", tmp_path / "node", "b", *(str(part(device.stat().st_rdev)) for part in (os.major, os.minor)))
    (tmp_path / "link").symlink_to("node")
    os.mkfifo(tmp_path / "pipe")
    before = digest(device)
    answer = drivelab.run("report", str(GOLDEN_RUN), "--out", str(tmp_path / name))
    assert (answer.returncode, "error[O802]" in answer.stderr) == (1, True), answer.stderr
    assert ("is a pipe" if name == "pipe" else "is a drive") in answer.stderr
    assert (tmp_path / "node").is_block_device()
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "pipe").is_fifo()
    assert digest(device) == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
