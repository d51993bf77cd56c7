"""Targets of a recorded machine lead through every layer down to their drives."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.inventory.block_devices import read_layer
from drivelab.inventory.block_stack import devices_below, stack_under
from drivelab.inventory.filesystem import devices_of_mount, devices_of_path
from drivelab.inventory.mounts import parse_mountinfo
from drivelab.inventory.system_paths import SystemPaths


@pytest.mark.parametrize(
    ("path", "names", "drives"),
    [
        ("/mnt/data/db", ("sda", "sda1"), ("sda",)),
        ("/mnt/raid", ("nvme0n1", "vda", "md0"), ("nvme0n1", "vda")),
        ("/mnt/lv", ("sdb", "dm-0"), ("sdb",)),
        ("/mnt/pool/x/y", ("sdc", "sdd"), ("sdc", "sdd")),
    ],
)
def test_a_path_leads_to_its_drives(
    recorded_system: SystemPaths, path: str, names: tuple[str, ...], drives: tuple[str, ...]
) -> None:
    stack = stack_under(devices_of_path(Path(path), recorded_system).names, recorded_system)
    assert stack.names == names
    assert stack.drives == drives


def test_layers_say_what_they_are(recorded_system: SystemPaths) -> None:
    layers = {name: read_layer(name, recorded_system) for name in ("sda", "sda1", "dm-0", "md0", "loop0")}
    assert {name: layer.kind for name, layer in layers.items()} == {
        "sda": "disk",
        "sda1": "part",
        "dm-0": "dm",
        "md0": "md",
        "loop0": "loop",
    }
    assert layers["dm-0"].detail == "LVM volume vg-home"
    assert layers["md0"].detail == "raid1"
    assert layers["loop0"].detail == "/mnt/data/image.img"
    assert layers["sda1"].start_bytes == 2**20
    assert layers["sda1"].write_cache == "write back"


def test_a_loop_device_over_a_file_that_is_gone_lies_on_the_file_system_of_its_directory(
    recorded_system: SystemPaths, tmp_path: Path
) -> None:
    mounts = recorded_system.proc / "self" / "mountinfo"
    mounts.write_text(mounts.read_text() + f"900 1 8:1 / {tmp_path} rw - ext4 /dev/sda1 rw\n")
    backing = (recorded_system.sys / "class/block/loop0").resolve() / "loop" / "backing_file"
    backing.write_text(f"{tmp_path}/drivelab-scratch-1.img (deleted)\n")
    assert devices_below("loop0", recorded_system).names == ("sda1",)


def test_a_loop_device_over_an_invisible_file_says_so(recorded_system: SystemPaths) -> None:
    assert "not visible" in devices_below("loop0", recorded_system).reason


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1 1 0:50 / /t rw - tmpfs tmpfs rw", "in memory"),
        ("1 1 0:50 / /t rw - nfs4 server:/export rw", "on another machine (server:/export)"),
        ("1 1 0:50 / /t rw - fuse.sshfs me@host: rw", "on another machine"),
        ("1 1 0:50 / /t rw - fuse.encfs encfs rw", "run by a program"),
        ("1 1 0:50 / /t rw - 9p root rw", "machine around this one"),
        ("1 1 0:50 / /t rw - zfs tank/data rw", "ZFS pool tank"),
        ("1 1 0:50 / /t rw - overlay overlay rw,lowerdir=/l", "nothing can be written"),
        ("1 1 0:50 / /t rw - overlay overlay rw,lowerdir=/l,upperdir=/nowhere/u", "not visible from here"),
        ("1 1 9:99 / /t rw - ext4 /dev/md9 rw", "no block device"),
        ("1 1 0:50 / /t rw - btrfs /dev/sdz rw", "no block device"),
    ],
)
def test_file_systems_without_a_device_say_why(recorded_system: SystemPaths, line: str, reason: str) -> None:
    found = devices_of_mount(parse_mountinfo(line)[0], recorded_system)
    assert found.names == ()
    assert reason in found.reason


def test_an_overlay_leads_to_the_devices_of_its_upper_layer(recorded_system: SystemPaths, tmp_path: Path) -> None:
    mounts = recorded_system.proc / "self" / "mountinfo"
    mounts.write_text(f"900 1 8:1 / {tmp_path} rw - ext4 /dev/sda1 rw\n")
    line = f"901 1 0:60 / /merged rw - overlay overlay rw,lowerdir=/l,upperdir={tmp_path},workdir=/w"
    assert devices_of_mount(parse_mountinfo(line)[0], recorded_system).names == ("sda1",)


def test_bcachefs_names_all_its_devices_in_its_source(recorded_system: SystemPaths) -> None:
    mount = parse_mountinfo("1 1 0:50 / /t rw - bcachefs /dev/sda2:/dev/sdb rw")[0]
    assert devices_of_mount(mount, recorded_system).names == ("sda2", "sdb")
