"""``drivelab drives`` as a user runs it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from drivelab.cli.drives import describe_use, drive_lines
from drivelab.inventory.drives import list_drives
from drivelab.inventory.system_paths import SystemPaths
from drivelab.model.drive import BlockUse
from warm_program import warm_program

GUEST = Path(__file__).resolve().parents[1] / "golden" / "inventory" / "guest.json"


def drivelab(*arguments: str) -> subprocess.CompletedProcess[str]:
    return warm_program().run(["drives", *arguments], os.environ)


def test_json_has_every_drive_and_nothing_else_on_stdout() -> None:
    answer = drivelab("--json")
    assert (answer.returncode, answer.stderr) == (0, "")
    document = json.loads(answer.stdout)
    assert document["schema"] == 1
    assert document["hidden_count"] >= 0
    for drive in document["drives"]:
        assert drive["size_bytes"] > 0
        assert drive["touch"]["reasons"]


def test_everything_is_shown_on_request() -> None:
    some, everything = json.loads(drivelab("--json").stdout), json.loads(drivelab("--json", "--all").stdout)
    assert len(everything["drives"]) == len(some["drives"]) + some["hidden_count"]
    assert everything["hidden_count"] == 0


def test_text_fits_80_columns_and_has_no_colour_in_a_pipe() -> None:
    answer = drivelab()
    assert answer.returncode == 0
    assert "may be erased" in answer.stdout or "No drives" in answer.stdout
    assert "\x1b" not in answer.stdout
    assert max(map(len, answer.stdout.splitlines())) <= 80


def test_health_is_told_when_asked_for_and_only_then() -> None:
    without, told = json.loads(drivelab("--json").stdout), json.loads(drivelab("--json", "--smart").stdout)
    assert all("smart" not in drive for drive in without["drives"])
    for drive in told["drives"]:
        assert drive["smart"]["drive"] == drive["name"]
        assert drive["smart"]["health_passed"] is not None or drive["smart"]["unknown"]
    answer = drivelab("--smart")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.count("\n  health  ") == len(told["drives"])
    assert max(map(len, answer.stdout.splitlines())) <= 80


@pytest.fixture
def blocks(tmp_path: Path) -> dict[str, list[str]]:
    """The lines about each drive of the recorded machine."""
    for path, content in json.loads(GUEST.read_text()).items():
        place = tmp_path / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if "link" in content:
            place.symlink_to(content["link"])
        else:
            place.write_bytes(bytes.fromhex(content["hex"]) if "hex" in content else content["text"].encode())
    # no device nodes: the drives of the machine that runs this test stay out of it
    paths = SystemPaths(tmp_path / "sys", tmp_path / "proc", tmp_path / "no-dev", tmp_path)
    drives = [replace(drive, path=f"/dev/{drive.name}") for drive in list_drives(paths, ask_tools=False)]
    return {drive.name: [line.plain for line in drive_lines(drive, 80)] for drive in drives}


def test_a_block_tells_what_a_drive_is_what_sits_on_it_and_why_it_may_not_be_touched(
    blocks: dict[str, list[str]],
) -> None:
    assert blocks["sda"][:15] == [
        "/dev/sda  QEMU HARDDISK, 256 MiB, sata",
        "  identity      serial LAB-d1, firmware 2.5+",
        "  virtual       virtual drive of QEMU",
        "  link          SATA 1.5 Gbit/s, at most 150 MB/s",
        "  blocks        512 B logical, 512 B physical",
        "  discard       in units of 512 B, at most 2 GiB at once",
        "  write cache   drive: on (sysfs cache_type, as of the last scan); kernel: write",
        "                back, no FUA",
        "  scheduler     mq-deadline, 64 requests",
        "  holds         contents unknown",
        "                  sda1 48.8 MiB ext4 mounted on /mnt/data",
        "                  sda2 97.7 MiB contents unknown used as swap",
        "  may be erased no: sda1 is mounted on /mnt/data; sda2 is used as swap",
        "  unknown       wwn: not in sysfs; no tool was asked",
        "  unknown       write cache: no tool was asked",
    ]


def test_a_block_tells_what_could_not_be_known(blocks: dict[str, list[str]]) -> None:
    assert "  unknown       model, firmware, wwn: not in sysfs; no tool was asked" in blocks["vda"]
    assert any(line.startswith("  unknown       use: sda: ") for line in blocks["sda"])


def test_no_block_is_wider_than_the_terminal(blocks: dict[str, list[str]]) -> None:
    assert all(len(line) <= 80 for lines in blocks.values() for line in lines)


def test_many_mounts_are_counted_and_not_all_listed() -> None:
    use = BlockUse("sda1", "/dev/sda1", "part", 2**30, contents="ext4", mount_points=tuple("/abcdefg"))
    assert describe_use(use, is_drive=False) == "sda1 1 GiB ext4 mounted on /, a, b, and 5 more"


def test_help_names_the_options() -> None:
    answer = drivelab("--help")
    assert answer.returncode == 0
    assert re.search(r"--json", answer.stdout)
    assert re.search(r"--all", answer.stdout)
    assert re.search(r"--smart", answer.stdout)
