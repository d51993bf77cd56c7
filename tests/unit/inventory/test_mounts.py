"""Mounts and swaps are read as the kernel lists them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from drivelab.inventory.mounts import (
    mount_of_path,
    parse_mountinfo,
    parse_swaps,
    read_foreign_mounts,
    read_mounts,
    read_swaps,
)
from drivelab.inventory.system_paths import SystemPaths

MakeSystem = Callable[[Mapping[str, str]], SystemPaths]
MOUNTINFO = """\
27 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw,errors=remount-ro
60 27 0:44 /home /home ro,noatime - btrfs /dev/sdb rw,subvol=/home
61 27 8:17 / /mnt/with\\040blank rw - xfs /dev/sdb1 rw
62 27 0:50 / /mnt/with\\040blank rw - tmpfs none rw
nonsense
"""


def test_each_line_becomes_a_mount_and_nonsense_none() -> None:
    mounts = parse_mountinfo(MOUNTINFO)
    assert [mount.filesystem for mount in mounts] == ["ext4", "btrfs", "xfs", "tmpfs"]
    assert mounts[0].source == "/dev/sda2"
    assert mounts[0].device_number == "8:2"


def test_blanks_in_paths_are_decoded() -> None:
    assert parse_mountinfo(MOUNTINFO)[2].mount_point == "/mnt/with blank"


def test_a_read_only_mount_of_a_writable_file_system_is_read_only() -> None:
    options = parse_mountinfo(MOUNTINFO)[1].options
    assert "ro" in options
    assert "rw" not in options


def test_swaps_are_listed_without_the_heading() -> None:
    text = "Filename\tType\tSize\tUsed\tPriority\n/dev/sda3 partition 1 0 -2\n/swap\\040file file 1 0 -3\n"
    assert parse_swaps(text) == ["/dev/sda3", "/swap file"]
    assert parse_swaps("") == []


def test_names_of_any_byte_are_read_whole(make_system: MakeSystem) -> None:
    # a form feed, a line separator and a byte that is no UTF-8: the kernel escapes none of them
    odd = b"/mnt/a\x0cb\xe2\x80\xa8c\xe9"
    paths = make_system({"/proc/self/mountinfo": "", "/proc/swaps": ""})
    (paths.proc / "self" / "mountinfo").write_bytes(b"61 27 8:17 / %b rw - xfs /dev/sdb1 rw\n" % odd)
    (paths.proc / "swaps").write_bytes(b"Filename\tType\n%b                  file\t1\t0\t-3\n" % odd)
    assert [os.fsencode(mount.mount_point) for mount in read_mounts(paths)] == [odd]
    assert [os.fsencode(swap) for swap in read_swaps(paths)] == [odd]


def test_the_longest_mount_point_covers_a_path_and_the_last_one_hides_others(make_system: MakeSystem) -> None:
    paths = make_system({"/proc/self/mountinfo": MOUNTINFO})
    covering = {path: mount_of_path(Path(path), paths) for path in ("/mnt/with blank/x", "/homely", "/home/me")}
    assert {path: mount and mount.filesystem for path, mount in covering.items()} == {
        "/mnt/with blank/x": "tmpfs",
        "/homely": "ext4",
        "/home/me": "btrfs",
    }


def test_mounts_of_the_first_process_count_only_when_they_differ(make_system: MakeSystem) -> None:
    paths = make_system({"/proc/self/mountinfo": MOUNTINFO, "/proc/1/mountinfo": MOUNTINFO})
    assert read_foreign_mounts(paths) == []
    (paths.proc / "1" / "mountinfo").write_text("1 1 8:1 / /host rw - ext4 /dev/sda1 rw\n")
    assert [mount.mount_point for mount in read_foreign_mounts(paths)] == ["/host"]
