"""A discarded or purged drive really got the command; what a purge left behind is found."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from drivelab.inventory.drives import read_drives
from drivelab.inventory.identity import read_identity
from drivelab.inventory.target import resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.model.target import TargetFacts
from drivelab.state.journal import Journal, begin_journal
from drivelab.state.purge import purge, purge_reason
from drivelab.state.purge.catalogue import PURGES
from drivelab.state.purge.nvme_sanitize import NvmeSanitize
from drivelab.state.trim import discard_device, fstrim
from drivelab.state.undo import UNDO, undo_all
from fake_drive.system import ATA, FakeSystem

MakeLoopDevice = Callable[..., Path]
SIZE = 4 * 2**20
NVME_ABILITIES = {"oacs": 2, "fna": 0, "sanicap": 2, "cache": True, "looks": 3, "namespace": "nvme0n1"}

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup")]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    begun = begin_journal(tmp_path / "journals")
    yield begun
    begun.close()


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSystem:
    """A made-up computer; its drives' nodes lead to real loop devices."""
    made = FakeSystem(tmp_path / "system")
    search = os.pathsep.join((str(made.root / "bin"), os.environ["PATH"]))
    monkeypatch.setattr("drivelab.inventory.tools._SEARCH_PATH", search)
    return made


@pytest.fixture
def as_target(system: FakeSystem, make_loop_device: MakeLoopDevice) -> Callable[..., TargetFacts]:
    """Makes a drive of a kind over a loop device, and gives it as a target."""

    def make(name: str, kind: str, state: dict[str, object]) -> TargetFacts:
        device = make_loop_device(SIZE)
        number = Path(f"/sys/class/block/{device.name}/dev").read_text().strip()
        (system.root / "dev" / name).symlink_to(device)
        system.add(name, kind, {"dev": number, "size": str(SIZE // 512)}, state)
        block = (system.root / "sys/block" / name).resolve().relative_to(system.root)
        system.link(f"sys/dev/block/{number}", str(block))
        drive = read_drives([name], system.paths, ask_tools=False)[0]
        path = str(system.root / "dev" / name)
        identity = read_identity(name, system.paths)
        return TargetFacts(path, "block_device", path, True, None, (), (drive,), SIZE, 512, False, identity)

    return make


AsTarget = Callable[..., TargetFacts]


def test_every_block_is_discarded_and_counted(make_loop_device: MakeLoopDevice, journal: Journal) -> None:
    device = make_loop_device(64 * 2**20)
    backing = Path(Path(f"/sys/block/{device.name}/loop/backing_file").read_text().strip())
    device.write_bytes(b"x" * 64 * 2**20)
    subprocess.run(["sync", str(device)], check=True)
    filled = backing.stat().st_blocks
    discarded = discard_device(resolve_target(str(device)), journal)
    assert discarded.bytes == 64 * 2**20
    assert discarded.commands is not None
    assert discarded.commands >= 1
    assert backing.stat().st_blocks < filled // 100, "the blocks below are free again"


@pytest.mark.needs_tool("mkfs.ext4")
def test_a_signature_does_not_keep_a_device_from_being_discarded_once_it_was_consented_to(
    make_loop_device: MakeLoopDevice, journal: Journal
) -> None:
    device = make_loop_device()
    subprocess.run(["mkfs.ext4", "-q", str(device)], check=True)
    assert discard_device(resolve_target(str(device)), journal).bytes == 64 * 2**20


@pytest.mark.provokes("C205")
@pytest.mark.needs_tool("mkfs.ext4")
def test_a_mounted_device_is_not_discarded(
    mount_filesystem: Callable[..., Path], journal: Journal, tmp_path: Path
) -> None:
    directory = mount_filesystem("ext4", size_bytes=64 * 2**20)
    (directory / "file").write_text("kept")
    device = subprocess.run(["findmnt", "-no", "SOURCE", str(directory)], capture_output=True, text=True).stdout.strip()
    with pytest.raises(DrivelabError) as refusal:
        discard_device(resolve_target(device), journal)
    assert refusal.value.code == "C205"
    assert (directory / "file").read_text() == "kept"


@pytest.mark.alone
@pytest.mark.provokes("C207")
def test_another_device_in_its_place_is_not_discarded(
    make_loop_device: MakeLoopDevice, journal: Journal, tmp_path: Path
) -> None:
    device = make_loop_device()
    target = resolve_target(str(device))
    subprocess.run(["losetup", "--detach", str(device)], check=True)
    other = tmp_path / "other.img"
    other.write_bytes(b"kept" * 2**18)
    subprocess.run(["losetup", str(device), str(other)], check=True)
    with pytest.raises(DrivelabError) as refusal:
        discard_device(target, journal)
    assert refusal.value.code == "C207"
    assert other.read_bytes()[:4] == b"kept"


@pytest.mark.provokes("R410")
@pytest.mark.parametrize(
    ("hardware_bytes", "reason"),
    [("4294963200", "discards are switched off (queue/discard_max_bytes is 0)"), ("0", "knows no discard")],
)
def test_a_device_that_knows_no_discard_is_refused(
    system: FakeSystem, as_target: AsTarget, journal: Journal, hardware_bytes: str, reason: str
) -> None:
    target = as_target("sda", "sata", ATA)
    system.put("sys/block/sda/queue/discard_max_bytes", "0")
    system.put("sys/block/sda/queue/discard_max_hw_bytes", hardware_bytes)
    with pytest.raises(DrivelabError) as refusal:
        discard_device(target, journal, system.paths)
    assert refusal.value.code == "R410"
    assert reason in refusal.value.what


@pytest.mark.provokes("R411")
def test_a_discard_that_the_kernel_did_not_see_is_an_error(
    make_loop_device: MakeLoopDevice, journal: Journal, system: FakeSystem
) -> None:
    idle = system.root / "bin" / "blkdiscard"
    idle.write_text("#!/bin/sh\nexit 0\n")
    idle.chmod(0o755)
    with pytest.raises(DrivelabError, match="0 B of 67108864 B") as failure:
        discard_device(resolve_target(str(make_loop_device())), journal)
    assert failure.value.code == "R411"


@pytest.mark.needs_tool("mkfs.ext4")
def test_fstrim_says_how_much_the_file_system_trimmed(mount_filesystem: Callable[..., Path]) -> None:
    directory = mount_filesystem("ext4", size_bytes=64 * 2**20)
    assert fstrim(str(directory)) > 16 * 2**20


@pytest.mark.provokes("R410")
def test_fstrim_where_nothing_can_be_trimmed_is_refused(tmp_path: Path) -> None:
    mount = tmp_path / "memory"
    mount.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", str(mount)], check=True)
    try:
        with pytest.raises(DrivelabError) as refusal:
            fstrim(str(mount))
        assert refusal.value.code == "R410"
    finally:
        subprocess.run(["umount", str(mount)], check=True)


def test_a_sata_drive_is_erased_and_has_no_password_afterwards(
    system: FakeSystem, as_target: AsTarget, journal: Journal
) -> None:
    target = as_target("sda", "sata", ATA)
    done = purge(target, "ata-secure-erase", journal, paths=system.paths)
    assert (done.method, done.marks) == ("ata-secure-erase", 16)
    assert system.log == [
        "hdparm --user-master u --security-set-pass drivelab sda",
        "hdparm --user-master u --security-erase drivelab sda",
    ]
    assert not system.state("sda")["enabled"]
    assert journal.outstanding == ()


@pytest.mark.provokes("R403")
def test_an_erase_that_fails_leaves_no_password(system: FakeSystem, as_target: AsTarget, journal: Journal) -> None:
    target = as_target("sda", "sata", ATA)
    system.have_programs("fail", "--security-erase")
    with pytest.raises(DrivelabError) as failure:
        purge(target, "ata-secure-erase", journal, paths=system.paths)
    assert failure.value.code == "R403"
    assert system.log[-1] == "hdparm --user-master u --security-disable drivelab sda"
    assert not system.state("sda")["enabled"]
    assert journal.outstanding == ()


@pytest.mark.provokes("R406")
def test_a_password_that_stays_is_in_the_journal_until_it_is_gone(
    system: FakeSystem, as_target: AsTarget, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = as_target("sda", "sata", ATA)
    system.have_programs("fail", "--security-erase", "--security-disable")
    with pytest.raises(DrivelabError):
        purge(target, "ata-secure-erase", journal, paths=system.paths)
    assert [change.kind for change in journal.outstanding] == ["ata_password"]
    # the machine was switched off and on: the drive has locked itself, and the firmware has frozen it
    monkeypatch.setitem(UNDO, "ata_password", lambda drive: undo_password(drive, system))
    system.have_programs("fail")
    system.set_state("sda", system.state("sda") | {"locked": True, "frozen": True})
    with pytest.raises(DrivelabError, match="frozen") as failure:
        undo_all(journal)
    assert failure.value.code == "R406"
    assert "systemctl suspend" in failure.value.do
    system.set_state("sda", system.state("sda") | {"frozen": False})
    (sentence,) = undo_all(journal)
    assert sentence.startswith("took the password of an interrupted erase from ")
    assert not system.state("sda")["enabled"]
    assert not system.state("sda")["locked"]


def undo_password(drive: dict[str, object], system: FakeSystem) -> str:
    from drivelab.state.purge.ata_secure_erase import undo_ata_password

    return undo_ata_password(drive, paths=system.paths)


@pytest.mark.provokes("R411")
def test_a_drive_that_keeps_its_data_is_found_out(system: FakeSystem, as_target: AsTarget, journal: Journal) -> None:
    target = as_target("sda", "sata", ATA | {"keeps_data": True})
    with pytest.raises(DrivelabError, match="16 of 16 blocks") as failure:
        purge(target, "ata-secure-erase", journal, paths=system.paths)
    assert failure.value.code == "R411"


def test_an_nvme_namespace_is_formatted(system: FakeSystem, as_target: AsTarget, journal: Journal) -> None:
    target = as_target("nvme0n1", "nvme", NVME_ABILITIES)
    assert purge(target, "nvme-format", journal, paths=system.paths).marks == 16
    assert system.log == ["nvme format --ses=1 --force --timeout=10800000 nvme0n1"]


def test_a_sanitize_is_waited_for(
    system: FakeSystem, as_target: AsTarget, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PURGES, "nvme-sanitize", NvmeSanitize(poll_s=0.001))
    target = as_target("nvme0n1", "nvme", NVME_ABILITIES)
    seen: list[float] = []
    purge(target, "nvme-sanitize", journal, seen.append, paths=system.paths)
    assert seen == [0.0, pytest.approx(1 / 3, abs=1e-4), pytest.approx(2 / 3, abs=1e-4), 1.0]
    assert system.log == ["nvme sanitize --sanact=2 --ause nvme0"]


@pytest.mark.provokes("R411")
def test_a_sanitize_that_fails_leaves_a_drive_that_can_be_used(
    system: FakeSystem, as_target: AsTarget, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PURGES, "nvme-sanitize", NvmeSanitize(poll_s=0.001))
    target = as_target("nvme0n1", "nvme", NVME_ABILITIES | {"ends": "0x3", "sanicap": 1})
    with pytest.raises(DrivelabError, match="its sanitize failed"):
        purge(target, "nvme-sanitize", journal, paths=system.paths)
    assert system.log == ["nvme sanitize --sanact=4 --ause nvme0", "nvme sanitize --sanact=1 nvme0"]


def test_a_sanitize_that_does_not_end_in_time_says_how_far_it_is(
    system: FakeSystem, as_target: AsTarget, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PURGES, "nvme-sanitize", NvmeSanitize(timeout_s=0, poll_s=0))
    target = as_target("nvme0n1", "nvme", NVME_ABILITIES | {"looks": 1000})
    with pytest.raises(DrivelabError, match="has not ended within 0 s") as failure:
        purge(target, "nvme-sanitize", journal, paths=system.paths)
    assert "nvme sanitize-log" in failure.value.do


@pytest.mark.parametrize(
    ("name", "kind", "state", "method", "reason"),
    [
        ("sda", "sata", ATA | {"frozen": True}, "ata-secure-erase", "frozen it: suspend the computer"),
        ("sda", "sata", ATA | {"enabled": True}, "ata-secure-erase", "somebody has set a password"),
        ("sda", "sata", ATA | {"supported": False}, "ata-secure-erase", "the drive has no secure erase"),
        ("sdb", "scsi", {"cache": True}, "ata-secure-erase", "a SCSI drive has no ATA secure erase"),
        ("sda", "sata", ATA, "nvme-format", "a SATA drive has no NVMe controller"),
        ("nvme0n1", "nvme", NVME_ABILITIES | {"oacs": 0}, "nvme-format", "no Format command"),
        ("nvme0n1", "nvme", NVME_ABILITIES | {"sanicap": 0}, "nvme-sanitize", "no Sanitize command"),
    ],
)
@pytest.mark.provokes("R410")
def test_a_drive_that_cannot_be_purged_that_way_is_not_written_to(
    system: FakeSystem,
    as_target: AsTarget,
    journal: Journal,
    name: str,
    kind: str,
    state: dict[str, object],
    method: str,
    reason: str,
) -> None:
    target = as_target(name, kind, state)
    assert target.drive is not None
    assert reason in purge_reason(target.drive, method, system.paths)
    Path(target.path).write_bytes(b"k" * SIZE)
    with pytest.raises(DrivelabError) as refusal:
        purge(target, method, journal, paths=system.paths)
    assert refusal.value.code == "R410"
    assert Path(target.path).read_bytes() == b"k" * SIZE
    assert system.log == []


def test_other_namespaces_that_would_be_erased_keep_a_drive_from_it(system: FakeSystem, as_target: AsTarget) -> None:
    target = as_target("nvme0n1", "nvme", NVME_ABILITIES | {"fna": 2})
    assert target.drive is not None
    assert purge_reason(target.drive, "nvme-format", system.paths) == ""
    system.put("sys/devices/pci0/nvme/nvme0/nvme0n2/size", "1")
    for method in ("nvme-format", "nvme-sanitize"):
        assert "would erase nvme0n2 as well" in purge_reason(target.drive, method, system.paths)


def test_a_partition_is_never_purged(system: FakeSystem, as_target: AsTarget, journal: Journal) -> None:
    target = replace(as_target("sda", "sata", ATA), identity=None)
    system.put("sys/devices/pci0/ata1/host0/target0:0:0/0:0:0:0/block/sda/partition", "1")
    with pytest.raises(DrivelabError, match="is no whole drive"):
        purge(target, "ata-secure-erase", journal, paths=system.paths)
