"""Every refusal to write to a drive, provoked on real loop devices; nothing else may be lost to a bug here."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drivelab.inventory.consent import require_erase_consent, require_same_identity
from drivelab.inventory.openers import is_claimed
from drivelab.inventory.target import resolve_target
from drivelab.model.errors import EXIT_REFUSED, DrivelabError
from drivelab.state.journal import begin_journal
from drivelab.state.scratch import make_sparse_scratch
from drivelab.state.undo import undo_all
from partitions import two_partitions

MakeLoopDevice = Callable[..., Path]
pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "lsblk", "mkfs.ext4")]


def run(*command: str | Path) -> None:
    subprocess.run([str(word) for word in command], check=True, capture_output=True)


def refusal(device: Path, *erase: str) -> DrivelabError:
    with pytest.raises(DrivelabError) as caught:
        require_erase_consent(resolve_target(str(device)), erase)
    assert caught.value.exit_code == EXIT_REFUSED
    return caught.value


def allow(device: Path, *erase: str) -> None:
    require_erase_consent(resolve_target(str(device)), erase)


@pytest.fixture
def attach(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Attaches a new sparse file of a given name as a loop device that may have partitions."""
    attached: list[Path] = []

    def attach_file(name: str) -> Path:
        backing = tmp_path / name
        backing.write_bytes(b"")
        os.truncate(backing, 64 * 2**20)
        command = ["losetup", "--find", "--show", "--partscan", str(backing)]
        attached.append(Path(subprocess.check_output(command, text=True).strip()))
        return attached[-1]

    yield attach_file
    for device in attached:
        run("losetup", "--detach", device)


@pytest.mark.provokes("C201")
def test_an_unnamed_drive_is_refused_and_the_name_to_type_is_given(make_loop_device: MakeLoopDevice) -> None:
    device = make_loop_device()
    error = refusal(device)
    assert error.code == "C201"
    assert error.do.endswith(f"--erase {device.name}")
    allow(device, device.name)


def test_another_drives_name_is_no_consent(make_loop_device: MakeLoopDevice) -> None:
    device = make_loop_device()
    assert refusal(device, "loop999", str(device)).code == "C201"


@pytest.mark.provokes("C202")
def test_a_mounted_drive_is_refused(make_loop_device: MakeLoopDevice, tmp_path: Path) -> None:
    device = make_loop_device()
    run("mkfs.ext4", "-qF", device)
    place = tmp_path / "mounted here"
    place.mkdir()
    run("mount", device, place)
    try:
        error = refusal(device, f"{device.name}+contents")
        assert (error.code, error.what) == ("C202", f"{device.name} is mounted on {place}")
    finally:
        run("umount", place)
    allow(device, f"{device.name}+contents")


def test_a_drive_mounted_in_another_namespace_only_is_refused(make_loop_device: MakeLoopDevice, tmp_path: Path) -> None:
    device = make_loop_device()
    run("mkfs.ext4", "-qF", device)
    script = f"mount {device} {tmp_path} && echo ready && read line; umount {tmp_path}"
    command = ["unshare", "--mount", "--propagation=private", "sh", "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as elsewhere:
        assert elsewhere.stdout is not None
        assert elsewhere.stdout.readline() == "ready\n"
        error = refusal(device, f"{device.name}+contents")
        elsewhere.communicate("\n")
    assert error.code == "C202"
    assert "outside this container" in error.what


def test_a_drive_with_a_mounted_partition_is_refused_but_its_other_partition_is_not(
    attach: Callable[..., Path], tmp_path: Path
) -> None:
    disk = attach("disk.img")
    first, second = two_partitions(disk)
    run("mkfs.ext4", "-qF", first)
    place = tmp_path / "first"
    place.mkdir()
    run("mount", first, place)
    try:
        error = refusal(disk, f"{disk.name}+contents")
        assert (error.code, error.what) == ("C202", f"{first.name} is mounted on {place}")
        assert refusal(second, disk.name).code == "C201"
        allow(second, f"{disk.name}-part2")
    finally:
        run("umount", place)


@pytest.mark.provokes("C203")
def test_swap_is_refused(make_loop_device: MakeLoopDevice) -> None:
    device = make_loop_device()
    device.write_bytes(bytes(16 * 2**20))
    run("mkswap", device, "40")
    run("swapon", device)
    try:
        assert refusal(device, f"{device.name}+contents").code == "C203"
    finally:
        run("swapoff", device)


@pytest.mark.provokes("C204")
def test_a_drive_that_a_loop_device_lies_on_is_refused(make_loop_device: MakeLoopDevice) -> None:
    device = make_loop_device()
    upper = subprocess.check_output(["losetup", "--find", "--show", str(device)], text=True).strip()
    try:
        error = refusal(device, device.name)
        assert error.code == "C204"
        assert f"losetup --detach {upper}" in error.do
    finally:
        run("losetup", "--detach", upper)


@pytest.mark.provokes("C205")
def test_a_drive_that_a_program_has_open_is_refused(make_loop_device: MakeLoopDevice) -> None:
    device = make_loop_device()
    with device.open("rb") as file, subprocess.Popen(["sleep", "600"], stdin=file) as sleeper:
        file.close()
        error = refusal(device, device.name)
        sleeper.kill()
    assert error.code == "C205"
    assert f"sleep (process {sleeper.pid})" in error.what


def test_the_kernel_tells_of_an_exclusive_claim(make_loop_device: MakeLoopDevice) -> None:
    device = make_loop_device()
    assert not is_claimed(device.name)
    descriptor = os.open(device, os.O_RDONLY | os.O_EXCL)
    assert is_claimed(device.name)
    os.close(descriptor)
    assert not is_claimed(device.name)


@pytest.mark.provokes("C206")
def test_a_file_system_needs_a_consent_of_its_own(make_loop_device: MakeLoopDevice) -> None:
    device = make_loop_device()
    run("mkfs.ext4", "-qF", device)
    error = refusal(device, device.name)
    assert error.code == "C206"
    assert "ext4" in error.what
    assert error.do.endswith(f"--erase {device.name}+contents")
    allow(device, f"{device.name}+contents")


def test_a_partition_table_needs_a_consent_of_its_own(attach: Callable[..., Path]) -> None:
    disk = attach("disk.img")
    two_partitions(disk)
    error = refusal(disk, disk.name)
    assert error.code == "C206"
    assert f"{disk.name}p1: a partition" in error.what
    allow(disk, f"{disk.name}+contents")


@pytest.mark.alone
@pytest.mark.provokes("C207")
def test_a_device_that_became_another_one_is_refused(attach: Callable[..., Path], tmp_path: Path) -> None:
    device = attach("first.img")
    resolved = resolve_target(str(device))
    assert require_same_identity(resolved) == device.name
    run("losetup", "--detach", device)
    other = tmp_path / "other.img"
    other.write_bytes(bytes(4096))
    os.truncate(other, 64 * 2**20)
    run("losetup", device, other)
    with pytest.raises(DrivelabError) as caught:
        require_erase_consent(resolved, [device.name])
    assert caught.value.code == "C207"
    assert "diskseq" in caught.value.what


@pytest.fixture
def scratch_drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A scratch drive that this very process made."""
    monkeypatch.setenv("DRIVELAB_SCRATCH", str(tmp_path))
    journal = begin_journal(tmp_path / "journals")
    yield Path(make_sparse_scratch(64 * 2**20, 0, journal))
    undo_all(journal)
    journal.close()


def test_a_scratch_drive_needs_no_name_in_the_process_that_made_it_unless_it_is_used(
    scratch_drive: Path, tmp_path: Path
) -> None:
    allow(scratch_drive)
    run("mkfs.ext4", "-qF", scratch_drive)
    allow(scratch_drive)
    place = tmp_path / "scratch"
    place.mkdir()
    run("mount", scratch_drive, place)
    try:
        assert refusal(scratch_drive).code == "C202"
    finally:
        run("umount", place)


def test_a_scratch_drive_needs_its_name_in_every_other_process(scratch_drive: Path) -> None:
    code = (
        "import sys\nfrom drivelab.inventory.consent import require_erase_consent\n"
        "from drivelab.inventory.target import resolve_target\n"
        "require_erase_consent(resolve_target(sys.argv[1]), sys.argv[2:])\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", code, str(scratch_drive)]
    unnamed = subprocess.run(command, env=environment, capture_output=True, text=True)
    named = subprocess.run([*command, scratch_drive.name], env=environment, capture_output=True, text=True)
    assert "error[C201]" in unnamed.stderr
    assert named.returncode == 0, named.stderr


def test_a_loop_device_over_a_file_with_the_name_of_a_scratch_file_needs_its_name(attach: Callable[..., Path]) -> None:
    device = attach("drivelab-scratch-1.img")
    assert refusal(device).code == "C201"
    run("mkfs.ext4", "-qF", device)
    assert refusal(device, device.name).code == "C206"
    allow(device, f"{device.name}+contents")


def test_what_this_process_has_open_itself_is_not_somebody_elses(make_loop_device: MakeLoopDevice) -> None:
    device = make_loop_device()
    with device.open("rb"):
        allow(device, device.name)


def test_a_second_loop_device_over_other_bytes_of_the_file_is_another_drive(
    make_loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    whole = make_loop_device()
    backing = Path(f"/sys/block/{whole.name}/loop/backing_file").read_text().strip()
    half = 32 * 2**20
    run("losetup", "--detach", whole)
    run("losetup", "--sizelimit", str(half), whole, backing)
    command = ["losetup", "--find", "--show", "--offset", str(half), backing]
    upper = Path(subprocess.check_output(command, text=True).strip())
    run("mkfs.ext4", "-qF", whole)
    place = tmp_path / "lower half"
    place.mkdir()
    run("mount", whole, place)
    try:
        allow(upper, upper.name)
    finally:
        run("umount", place)
        run("losetup", "--detach", upper)


def test_a_refused_drive_is_unchanged(make_loop_device: MakeLoopDevice) -> None:
    device = make_loop_device()
    run("mkfs.ext4", "-qF", device)
    before = device.read_bytes()
    refusal(device)
    refusal(device, device.name)
    assert device.read_bytes() == before
