"""A drive is written to only when its owner named it and nothing uses it; here on made-up and recorded systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from drivelab.inventory.consent import Probes, erase_names, require_erase_consent, require_same_identity
from drivelab.inventory.identity import read_identity
from drivelab.inventory.openers import Opener
from drivelab.inventory.owned_loop import disown_scratch_file, is_owned_loop, own_scratch_file
from drivelab.inventory.system_paths import SystemPaths
from drivelab.model.errors import EXIT_REFUSED, DrivelabError
from drivelab.model.target import TargetFacts

MakeSystem = Callable[[Mapping[str, str]], SystemPaths]
DISK = "/sys/devices/pci0000:00/ata1/host0/target0:0:0/0:0:0:0/block/sda"
TWIN = DISK.replace("ata1", "ata2").replace("sda", "sdb")
FREE = Probes(is_claimed=lambda *_: False, openers=lambda *_: [], signatures=lambda *_: ())


def blank_disk(make_system: MakeSystem, extra: Mapping[str, str] | None = None) -> SystemPaths:
    """A system with one unused partitioned disk sda whose serial is S1."""
    files = {
        "/sys/class/block/sda": f"-> ../..{DISK.removeprefix('/sys')}",
        "/sys/class/block/sda1": f"-> ../..{DISK.removeprefix('/sys')}/sda1",
        "/sys/block/sda": f"-> ..{DISK.removeprefix('/sys')}",
        f"{DISK}/size": "2000000",
        f"{DISK}/dev": "8:0",
        f"{DISK}/diskseq": "3",
        f"{DISK}/device/serial": "S1",
        f"{DISK}/device/wwid": "naa.5000c500a1b2c3d4",
        f"{DISK}/sda1/partition": "1",
        f"{DISK}/sda1/size": "1000000",
        f"{DISK}/sda1/start": "2048",
        f"{DISK}/sda1/dev": "8:1",
        "/proc/self/mountinfo": "1 1 8:99 / / rw - ext4 /dev/root rw\n",
    }
    return make_system(files | dict(extra or {}))


def target(name: str, paths: SystemPaths) -> TargetFacts:
    path = f"/dev/{name}"
    identity = read_identity(name, paths)
    return TargetFacts(path, "block_device", path, True, None, (), (), identity.size_bytes, 512, False, identity)


def refusal(paths: SystemPaths, name: str, *erase: str, probes: Probes = FREE) -> DrivelabError:
    with pytest.raises(DrivelabError) as caught:
        require_erase_consent(target(name, paths), erase, paths, probes)
    assert caught.value.exit_code == EXIT_REFUSED
    assert "nothing was written" in caught.value.where
    assert caught.value.do
    return caught.value


@pytest.mark.parametrize("name", ["S1+contents", "0x5000c500a1b2c3d4+contents"])
def test_the_owner_may_name_a_drive_by_serial_or_wwn(make_system: MakeSystem, name: str) -> None:
    paths = blank_disk(make_system)
    require_erase_consent(target("sda", paths), [name], paths, FREE)


@pytest.mark.parametrize("typed", [(), ("sda",), ("/dev/sda",), ("s1",), ("S1-part1+contents",), ("",), ("S",)])
@pytest.mark.provokes("C201")
def test_anything_but_the_exact_name_is_refused(make_system: MakeSystem, typed: tuple[str, ...]) -> None:
    error = refusal(blank_disk(make_system), "sda", *typed)
    assert error.code == "C201"
    assert error.do.endswith("--erase S1")


def test_consent_for_a_drive_is_none_for_its_partition(make_system: MakeSystem) -> None:
    paths = blank_disk(make_system)
    assert refusal(paths, "sda1", "S1+contents").code == "C201"
    require_erase_consent(target("sda1", paths), ["S1-part1"], paths, FREE)


@pytest.mark.provokes("C202")
def test_a_drive_with_a_mounted_partition_is_refused_even_when_named(make_system: MakeSystem) -> None:
    paths = blank_disk(make_system, {"/proc/self/mountinfo": "1 1 8:1 / /home rw - ext4 /dev/sda1 rw\n"})
    error = refusal(paths, "sda", "S1+contents")
    assert (error.code, error.what) == ("C202", "sda1 is mounted on /home")
    assert "umount /home" in error.do


def test_nobody_is_told_to_unmount_what_the_system_runs_from(make_system: MakeSystem) -> None:
    paths = blank_disk(make_system, {"/proc/self/mountinfo": "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n"})
    assert refusal(paths, "sda", "S1+contents").do == "choose another drive"


def test_a_drive_mounted_outside_the_container_is_refused(make_system: MakeSystem) -> None:
    paths = blank_disk(make_system, {"/proc/1/mountinfo": "1 1 8:1 / /host/home rw - ext4 /dev/sda1 rw\n"})
    assert refusal(paths, "sda", "S1+contents").code == "C202"


def test_a_file_system_that_only_sysfs_lists_is_refused(make_system: MakeSystem) -> None:
    paths = blank_disk(make_system, {"/sys/fs/xfs/sda1/log/log_head_lsn": ""})
    error = refusal(paths, "sda", "S1+contents")
    assert error.code == "C202"
    assert "mounted xfs file system outside this container" in error.what


@pytest.mark.provokes("C203")
def test_a_drive_with_swap_is_refused(make_system: MakeSystem) -> None:
    error = refusal(blank_disk(make_system, {"/proc/swaps": "Filename\n/dev/sda1 partition 1 0 -2\n"}), "sda", "S1")
    assert error.code == "C203"
    assert "swapoff" in error.do
    assert "/dev/sda1" in error.do


@pytest.mark.parametrize(
    ("name", "erase", "holder"),
    [
        ("sdb", "LAB-d2+contents", "sdb is held by dm-0 (LVM volume vg-home)"),
        ("nvme0n1", "LAB-d0+contents", "nvme0n1 is held by md0 (raid1)"),
        ("sdd", "LAB-d3+contents", "sdd is mounted btrfs file system of sdc, sdd"),
    ],
)
@pytest.mark.provokes("C204")
def test_recorded_members_of_volumes_arrays_and_btrfs_are_refused(
    recorded_system: SystemPaths, name: str, erase: str, holder: str
) -> None:
    error = refusal(recorded_system, name, erase)
    assert (error.code, error.what) == ("C204", holder)


def test_a_partition_is_refused_while_its_disk_is_held_as_a_whole(make_system: MakeSystem) -> None:
    paths = blank_disk(make_system, {f"{DISK}/holders/dm-7/x": ""})
    error = refusal(paths, "sda1", "S1-part1")
    assert error.code == "C204"
    assert "dm-7" in error.what


@pytest.mark.provokes("C205")
def test_a_claimed_drive_is_refused(make_system: MakeSystem) -> None:
    probes = replace(FREE, is_claimed=lambda name, _: name == "sda")
    assert refusal(blank_disk(make_system), "sda", "S1+contents", probes=probes).code == "C205"


def test_a_claimed_sibling_does_not_keep_a_partition_from_being_erased(make_system: MakeSystem) -> None:
    paths = blank_disk(make_system)
    probes = replace(FREE, is_claimed=lambda name, _: name == "sda")
    require_erase_consent(target("sda1", paths), ["S1-part1"], paths, probes)


def test_a_drive_that_a_program_has_open_is_refused_and_the_program_is_named(make_system: MakeSystem) -> None:
    probes = replace(FREE, openers=lambda name, _: [Opener(77, "qemu")] if name == "sda1" else [])
    error = refusal(blank_disk(make_system), "sda", "S1+contents", probes=probes)
    assert error.code == "C205"
    assert "qemu (process 77)" in error.what


@pytest.mark.provokes("C211")
def test_a_drive_that_drivelab_measures_is_refused_with_its_run_and_without_advice_to_end_it(
    make_system: MakeSystem,
) -> None:
    probes = replace(FREE, openers=lambda name, _: [Opener(77, "python", "run Y")] if name == "sda" else [])
    error = refusal(blank_disk(make_system), "sda", "S1+contents", probes=probes)
    assert (error.code, error.what) == ("C211", "sda is being measured by drivelab (run Y)")
    assert error.do == "wait until it has ended, or choose another drive"


def test_a_program_that_looks_at_a_drive_for_a_moment_does_not_use_it(make_system: MakeSystem) -> None:
    looks = iter([[Opener(78, "blkid")], [Opener(79, "udev-worker")]])
    probes = replace(FREE, openers=lambda name, _: next(looks, []) if name == "sda" else [])
    paths = blank_disk(make_system)
    require_erase_consent(target("sda", paths), ["S1+contents"], paths, probes)
    assert next(looks, None) is None


@pytest.mark.provokes("C206")
def test_contents_need_a_consent_of_their_own(make_system: MakeSystem) -> None:
    paths = blank_disk(make_system)
    error = refusal(paths, "sda", "S1")
    assert error.code == "C206"
    assert "sda1: a partition" in error.what
    assert error.do.endswith("--erase S1+contents")
    signed = replace(FREE, signatures=lambda name, _: ("ext4",))
    assert "sda1: ext4" in refusal(paths, "sda1", "S1-part1", probes=signed).what
    require_erase_consent(target("sda1", paths), ["S1-part1+contents"], paths, signed)


@pytest.mark.parametrize(("attribute", "value"), [("diskseq", "4"), ("size", "1"), ("device/serial", "S2")])
@pytest.mark.provokes("C207")
def test_a_drive_that_was_exchanged_is_refused(make_system: MakeSystem, attribute: str, value: str) -> None:
    paths = blank_disk(make_system)
    resolved = target("sda", paths)
    (paths.root / DISK.lstrip("/") / attribute).write_text(value)
    with pytest.raises(DrivelabError) as caught:
        require_same_identity(resolved, paths)
    assert caught.value.code == "C207"
    assert value in caught.value.what


def test_a_drive_that_was_unplugged_is_refused(make_system: MakeSystem) -> None:
    paths = blank_disk(make_system)
    resolved = target("sda", paths)
    (paths.sys / "class/block/sda").unlink()
    with pytest.raises(DrivelabError, match="is gone"):
        require_erase_consent(resolved, ["S1+contents"], paths, FREE)


@pytest.mark.provokes("C208")
def test_a_serial_that_two_drives_share_names_neither_but_the_wwn_does(make_system: MakeSystem) -> None:
    twin = {
        "/sys/class/block/sdb": f"-> ../..{TWIN.removeprefix('/sys')}",
        "/sys/block/sdb": f"-> ..{TWIN.removeprefix('/sys')}",
        f"{TWIN}/size": "2000000",
        f"{TWIN}/dev": "8:16",
        f"{TWIN}/device/serial": "S1",
    }
    paths = blank_disk(make_system, twin)
    error = refusal(paths, "sda", "S1+contents")
    assert error.code == "C208"
    assert "sdb" in error.what
    assert refusal(paths, "sda1", "S1-part1").code == "C208"
    require_erase_consent(target("sda", paths), ["0x5000c500a1b2c3d4+contents"], paths, FREE)


@pytest.mark.provokes("C209")
def test_a_drive_that_cannot_be_looked_at_is_refused(make_system: MakeSystem) -> None:
    def refuse(name: str, paths: SystemPaths) -> bool:
        raise PermissionError(13, "Permission denied")

    error = refusal(blank_disk(make_system), "sda", "S1+contents", probes=replace(FREE, is_claimed=refuse))
    assert error.code == "C209"
    assert "Permission denied" in error.what


def test_files_directories_and_scratch_drives_need_no_consent(make_system: MakeSystem) -> None:
    paths = blank_disk(make_system)
    for kind in ("directory", "file", "missing_file", "scratch"):
        require_erase_consent(replace(target("sda", paths), kind=kind), [], paths, FREE)


@pytest.fixture
def scratch_file(recorded_system: SystemPaths, tmp_path: Path) -> Iterator[Path]:
    """The file of loop0 of the recorded system, which goes by the name of a scratch file."""
    path = tmp_path / "drivelab-scratch-a1.img"
    path.write_bytes(b"")
    (recorded_system.sys / "class/block/loop0/loop/backing_file").write_text(f"{path}\n")
    yield path
    disown_scratch_file(str(path))


def make_own(path: Path) -> None:
    with path.open("rb") as file:
        own_scratch_file(str(path), file.fileno())


def test_only_a_file_that_this_process_made_makes_a_loop_device_its_own(
    recorded_system: SystemPaths, scratch_file: Path
) -> None:
    assert not is_owned_loop("loop0", recorded_system), "a name proves nothing"
    make_own(scratch_file)
    assert is_owned_loop("loop0", recorded_system)
    assert not is_owned_loop("sda", recorded_system)
    scratch_file.rename(scratch_file.with_name("before.img"))
    scratch_file.write_bytes(b"")
    assert not is_owned_loop("loop0", recorded_system), "another file of the same name"
    scratch_file.with_name("before.img").replace(scratch_file)
    assert is_owned_loop("loop0", recorded_system)
    disown_scratch_file(str(scratch_file))
    assert not is_owned_loop("loop0", recorded_system)


def test_a_scratch_drive_of_this_process_needs_no_name_but_must_be_unused(
    recorded_system: SystemPaths, scratch_file: Path
) -> None:
    assert refusal(recorded_system, "loop0").code == "C201"
    make_own(scratch_file)
    require_erase_consent(target("loop0", recorded_system), [], recorded_system, FREE)
    mounts = recorded_system.proc / "self" / "mountinfo"
    mounts.write_text(mounts.read_text() + "900 1 7:0 / /mnt/scratch rw - ext4 /dev/loop0 rw\n")
    assert refusal(recorded_system, "loop0").code == "C202"


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("sda", ["LAB-d1"]),
        ("sda2", ["LAB-d1-part2"]),
        ("nvme0n1", ["LAB-d0", "nvme.1b36-4c41422d6430-51454d55204e564d65204374726c-00000001"]),
        ("dm-0", ["vg-home"]),
        ("md0", ["md0"]),
        ("loop1", ["loop1"]),
    ],
)
def test_every_kind_of_device_has_a_name_to_type(recorded_system: SystemPaths, name: str, names: list[str]) -> None:
    assert erase_names(name, recorded_system) == names
