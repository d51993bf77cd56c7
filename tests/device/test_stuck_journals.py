"""What a killed run left and nobody can put back: told, kept from, given up; other drives are measured meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from device.program import Drivelab
from drivelab.state.journal import Change
from drivelab.state.stuck import what_holds

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "mkfs.ext4")]

QUICK = """
format = 1
name = "quick"
question = "Does it run at all?"
repeats = { full = 1, quick = 1 }

[[workloads]]
name = "read"
operation = "read"
block_size = "4KiB"
backend = "sync"
count = 20
"""


def leave(drivelab: Drivelab, kind: str, **facts: str) -> Path:
    """A journal that a killed run of a later version has left."""
    directory = drivelab.folder / "state" / "drivelab" / "journals"
    directory.mkdir(mode=0o700, parents=True)
    lines = [{"event": "begin", "pid": 1}, {"event": "change", "number": 1, "kind": kind, "facts": facts}]
    path = directory / "99999999-0123abcd.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    path.chmod(0o600)
    return path


@pytest.mark.provokes("C213")
def test_only_the_drive_that_it_concerns_is_kept_from(drivelab: Drivelab, make_loop_device) -> None:
    left, other = make_loop_device(32 * 2**20), make_loop_device(32 * 2**20)
    journal = leave(drivelab, "filesystem", device=str(left), of_a_later_version="x")
    experiment = drivelab.folder / "quick.toml"
    experiment.write_text(QUICK)
    answer = drivelab.run("run", str(experiment), str(other))
    assert answer.returncode in (0, 4), answer.stderr
    assert "warning: a killed run left something changed: error[R408]" in answer.stderr
    assert str(journal) in answer.stderr
    answer = drivelab.run("run", str(experiment), str(left))
    assert answer.returncode == 3
    assert "error[C213]" in answer.stderr
    assert f"drivelab restore --forget {journal.name}" in answer.stderr
    answer = drivelab.run("restore")
    assert answer.returncode == 1
    assert "error[R408]" in answer.stderr
    answer = drivelab.run("restore", "--forget", journal.name)
    assert answer.returncode == 0, answer.stderr
    assert str(left) in answer.stdout
    left = drivelab.run("restore").stdout.splitlines()
    # traces are the kernel's: of a run that another test has killed meanwhile one may be left
    assert [line for line in left if "the trace instance" not in line] in ([], ["Nothing was left changed."])


def test_a_mount_that_does_not_go_is_named_with_who_uses_it(make_loop_device, tmp_path: Path) -> None:
    device = make_loop_device(32 * 2**20)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(device)], check=True)
    place = tmp_path / "mounted"
    place.mkdir()
    subprocess.run(["mount", str(device), str(place)], check=True)
    user = subprocess.Popen(["sleep", "600"], cwd=place)
    backing = Path(f"/sys/block/{device.name}/loop/backing_file").read_text().strip()
    try:
        changes = [
            Change(2, "mount", {"mount_point": str(place), "device": str(device)}),
            Change(1, "loop_device", {"backing_file": backing}),
        ]
        told = what_holds(changes)
    finally:
        user.kill()
        user.wait()
        subprocess.run(["umount", str(place)], check=True)
    assert f"{device} is mounted there, used by sleep (process {user.pid}): umount {place}" in told
    assert f"{device} is attached to {backing}, mounted on {place}" in told
    assert f"losetup --detach {device}" in told


def test_a_user_directory_does_not_take_roots_journals(drivelab: Drivelab) -> None:
    home = drivelab.folder / "home"
    home.mkdir()
    os.chown(home, 65534, 65534)
    experiment = drivelab.folder / "quick.toml"
    experiment.write_text(QUICK.replace("count = 20", 'count = 20\nfile_size = "1MiB"'))
    drivelab.environment["XDG_STATE_HOME"] = str(home)
    answer = drivelab.run("run", str(experiment), str(drivelab.scratch))
    assert answer.returncode == 1
    assert "error[R409]" in answer.stderr
    assert "sudo -i" in answer.stderr
    drivelab.environment["XDG_STATE_HOME"] = str(drivelab.folder / "state")
