"""What fio wrote with verify, checked by drivelab: it is right where it is as fio left it, and damage is told."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from device.program import Drivelab

pytestmark = [pytest.mark.needs_tool("fio")]

BLOCK_BYTES = 8192
# within the second part of a block, behind its header
DAMAGED_BYTE = 2 * BLOCK_BYTES + 4096 + 700


def options(kind: str, *more: str) -> Sequence[str]:
    return ["--name=job", "--rw=write", f"--bs={BLOCK_BYTES}", "--size=64k", f"--verify={kind}", *more]


def written_by_fio(folder: Path, kind: str, *more: str) -> Path:
    command = ["fio", *options(kind, "--do_verify=0", *more)]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    return folder / "job.0.0"


def damage(file: Path, place: int) -> None:
    data = bytearray(file.read_bytes())
    data[place] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("crc32c", ()),
        ("crc32c-intel", ("--verify_interval=4k",)),
        ("crc32", ("--verify_interval=512",)),
        ("md5", ()),
        ("sha256", ()),
        ("xxhash", ()),
    ],
)
def test_damaged_data_are_found_where_they_are(
    drivelab: Drivelab, tmp_path: Path, kind: str, more: tuple[str, ...]
) -> None:
    file = written_by_fio(tmp_path, kind, *more)
    command = ["fio", *options(kind, "--verify_only", "--eta=never", *more), f"--directory={tmp_path}", "--strict"]
    intact = drivelab.run(*command)
    assert intact.returncode == 0, intact.stderr
    damage(file, DAMAGED_BYTE)
    damaged = drivelab.run(*command)
    assert damaged.returncode != 0
    told = " ".join(damaged.stderr.split())
    assert f"what was read at byte {2 * BLOCK_BYTES} is not what was written there" in told
    by_fio = subprocess.run(command[:-2], capture_output=True, text=True, cwd=tmp_path)
    assert "verify failed at file" in by_fio.stdout + by_fio.stderr


@pytest.mark.parametrize("kind", ["meta", "sha512", "crc16"])
def test_a_block_in_the_place_of_another_is_found_by_its_header(drivelab: Drivelab, tmp_path: Path, kind: str) -> None:
    file = written_by_fio(tmp_path, kind)
    command = ["fio", *options(kind, "--verify_only", "--eta=never"), f"--directory={tmp_path}"]
    intact = drivelab.run(*command)
    assert intact.returncode == 0, intact.stderr
    assert ("only the headers are checked" in intact.stderr) == (kind != "meta")
    data = file.read_bytes()
    file.write_bytes(data[:BLOCK_BYTES] + data[:BLOCK_BYTES] + data[2 * BLOCK_BYTES :])
    misplaced = drivelab.run(*command)
    assert misplaced.returncode != 0
    assert f"at byte {BLOCK_BYTES}" in misplaced.stderr


def test_a_pattern_is_said_not_to_be_checked(drivelab: Drivelab, tmp_path: Path) -> None:
    written_by_fio(tmp_path, "pattern", "--verify_pattern=0xdeadbeef")
    more = options("pattern", "--verify_pattern=0xdeadbeef", "--verify_only", "--eta=never")
    found = drivelab.run("fio", *more, f"--directory={tmp_path}")
    assert found.returncode == 0, found.stderr
    assert "nothing is checked" in found.stderr
    assert drivelab.run("fio", *more, f"--directory={tmp_path}", "--strict").returncode != 0
