"""What a user types at a drive in use, or at the wrong one, is refused by every command, and nothing is written."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from device.program import Drivelab, wait_for_line
from partitions import two_partitions

MakeLoopDevice = Callable[..., Path]
pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "mkfs.ext4")]

RUN, IO, CHECK = "run", "io", "check"
COMMANDS = (RUN, IO, CHECK)
# swap space of the fewest pages, behind the one that describes it
SWAPPED = range(4096, 40960)


@dataclass(frozen=True)
class Typed:
    """A target and what was typed after ``--erase``; `protected` must not change, and `says` is in the message.

    The kernel alone may write to the bytes of `kernels` in it.
    """

    target: Path
    erase: tuple[str, ...]
    protected: Path
    says: str
    kernels: range = range(0)


Scene = Callable[[Path, Path], AbstractContextManager[Typed]]


def call(*command: str | Path) -> None:
    subprocess.run([str(word) for word in command], check=True, capture_output=True)


def digest(device: Path, besides: range = range(0)) -> str:
    """Of all bytes but those of one range."""
    with device.open("rb") as file:
        first = hashlib.sha256(file.read(besides.start)).hexdigest()
        file.seek(besides.stop)
        return first + hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def mounted(device: Path, place: Path, options: str = "ro") -> Iterator[Path]:
    """A device with a mounted file system; the kernel itself writes now and then to one that is not read-only."""
    place.mkdir()
    call("mkfs.ext4", "-qF", device)
    call("mount", "-o", options, device, place)
    try:
        yield place
    finally:
        call("umount", place)


@contextmanager
def mounted_drive(device: Path, folder: Path) -> Iterator[Typed]:
    with mounted(device, folder / "place") as place:
        yield Typed(device, (f"{device.name}+contents",), device, f"error[C202] {device.name} is mounted on {place}")


@contextmanager
def link_to_a_mounted_drive(device: Path, folder: Path) -> Iterator[Typed]:
    (folder / "first").symlink_to(device)
    (folder / "by-id").symlink_to("first")
    with mounted(device, folder / "place"):
        yield Typed(folder / "by-id", (f"{device.name}+contents",), device, f"error[C202] {device.name} is mounted")


@contextmanager
def another_node_of_a_mounted_drive(device: Path, folder: Path) -> Iterator[Typed]:
    call("mknod", folder / "node", "b", *(str(part(device.stat().st_rdev)) for part in (os.major, os.minor)))
    with mounted(device, folder / "place"):
        yield Typed(folder / "node", (f"{device.name}+contents",), device, f"error[C202] {device.name} is mounted")


@contextmanager
def swap(device: Path, folder: Path) -> Iterator[Typed]:
    """Swap space at the device's beginning; a kernel that is short of memory writes there, and nowhere behind."""
    device.write_bytes(bytes(16 * 2**20))
    call("mkswap", device, str(SWAPPED.stop // 1024))
    call("swapon", device)
    try:
        yield Typed(device, (f"{device.name}+contents",), device, f"error[C203] {device.name} is swap space", SWAPPED)
    finally:
        call("swapoff", device)


@contextmanager
def parent_of_a_mounted_partition(device: Path, folder: Path) -> Iterator[Typed]:
    first, _ = two_partitions(device)
    with mounted(first, folder / "place"):
        yield Typed(device, (f"{device.name}+contents",), device, f"error[C202] {first.name} is mounted")


@contextmanager
def partition_with_a_file_system(device: Path, folder: Path) -> Iterator[Typed]:
    first, _ = two_partitions(device)
    call("mkfs.ext4", "-qF", first)
    yield Typed(first, (f"{device.name}-part1",), device, f"--erase {device.name}-part1+contents")


@contextmanager
def partition_by_the_name_of_its_drive(device: Path, folder: Path) -> Iterator[Typed]:
    first, _ = two_partitions(device)
    yield Typed(first, (f"{device.name}+contents",), device, "error[C201]")


@contextmanager
def partition_by_the_name_of_its_sibling(device: Path, folder: Path) -> Iterator[Typed]:
    first, _ = two_partitions(device)
    yield Typed(first, (f"{device.name}-part2+contents",), device, "error[C201]")


@contextmanager
def the_begin_of_its_name(device: Path, folder: Path) -> Iterator[Typed]:
    yield Typed(device, (device.name[:-1], f"{device.name}0+contents"), device, "error[C201]")


@contextmanager
def contents_of_another_drive(device: Path, folder: Path) -> Iterator[Typed]:
    call("mkfs.ext4", "-qF", device)
    says = f"error[C206] {device} is not empty ({device.name}: ext4)"
    yield Typed(device, (device.name, f"{device.name}9+contents"), device, says)


@contextmanager
def open_for_writing(device: Path, folder: Path) -> Iterator[Typed]:
    with opened_by_sleep(device) as pid:
        yield Typed(device, (device.name,), device, f"error[C205] {device.name} is open in sleep (process {pid})")


@contextmanager
def opened_by_sleep(node: Path) -> Iterator[int]:
    """A process that has a device open for writing until the block ends."""
    with node.open("r+b") as file, subprocess.Popen(["sleep", "infinity"], stdin=file) as sleeper:
        file.close()
        try:
            yield sleeper.pid
        finally:
            sleeper.kill()


@contextmanager
def held_exclusively(device: Path, folder: Path) -> Iterator[Typed]:
    descriptor = os.open(device, os.O_RDONLY | os.O_EXCL)
    try:
        yield Typed(device, (device.name,), device, f"error[C205] {device.name} is")
    finally:
        os.close(descriptor)


@contextmanager
def attached(backing: Path, *options: str) -> Iterator[Path]:
    command = ["losetup", "--find", "--show", *options, str(backing)]
    device = Path(subprocess.check_output(command, text=True).strip())
    try:
        yield device
    finally:
        call("losetup", "--detach", device)


def backing_file(device: Path) -> Path:
    return Path(Path(f"/sys/block/{device.name}/loop/backing_file").read_text().strip())


@contextmanager
def second_loop_over_the_file_of_a_mounted_drive(device: Path, folder: Path) -> Iterator[Typed]:
    os.link(backing_file(device), folder / "second-name.img")
    with mounted(device, folder / "place") as place, attached(folder / "second-name.img") as second:
        says = f"error[C202] {device.name}, which lies on the same file as {second.name}, is mounted on {place}"
        yield Typed(second, (f"{second.name}+contents",), device, says)


@contextmanager
def second_loop_over_the_deleted_file_of_a_mounted_drive(device: Path, folder: Path) -> Iterator[Typed]:
    backing = backing_file(device)
    with mounted(device, folder / "place"), attached(backing) as second:
        backing.unlink()
        says = f"error[C202] {device.name}, which lies on the same file as {second.name}, is mounted"
        yield Typed(second, (f"{second.name}+contents",), device, says)


@contextmanager
def loop_over_a_drive_with_a_mounted_partition(device: Path, folder: Path) -> Iterator[Typed]:
    first, _ = two_partitions(device)
    with mounted(first, folder / "place"), attached(device) as upper:
        says = f"error[C202] {first.name}, beneath {upper.name}, is mounted"
        yield Typed(upper, (f"{upper.name}+contents",), device, says)


@contextmanager
def second_loop_over_the_file_of_a_swap_drive(device: Path, folder: Path) -> Iterator[Typed]:
    with swap(device, folder), attached(backing_file(device)) as second:
        says = f"error[C203] {device.name}, which lies on the same file as {second.name}, is swap space"
        yield Typed(second, (f"{second.name}+contents",), device, says, SWAPPED)


@contextmanager
def loop_over_a_mounted_drive_by_a_name_that_is_no_text(device: Path, folder: Path) -> Iterator[Typed]:
    node = folder / os.fsdecode(b"n\xe9")
    os.mknod(node, device.stat().st_mode, device.stat().st_rdev)
    with mounted(device, folder / "place") as place, attached(node) as upper:
        says = f"error[C202] {device.name}, beneath {upper.name}, is mounted on {place}"
        yield Typed(upper, (f"{upper.name}+contents",), device, says)


@contextmanager
def mounted_on_a_place_whose_name_is_no_text(device: Path, folder: Path) -> Iterator[Typed]:
    with mounted(device, folder / os.fsdecode(b"a\x0cb\xe9")):
        yield Typed(device, (f"{device.name}+contents",), device, f"error[C202] {device.name} is mounted on")


@contextmanager
def second_loop_over_the_file_of_an_open_drive(device: Path, folder: Path) -> Iterator[Typed]:
    with open_for_writing(device, folder) as opened, attached(backing_file(device)) as second:
        says = opened.says.replace("error[C205] ", "").replace(
            " is open", f", which lies on the same file as {second.name}, is open"
        )
        yield Typed(second, (second.name,), device, f"error[C205] {says}")


@contextmanager
def drive_of_somebody_over_a_file_with_the_name_of_a_scratch_file(device: Path, folder: Path) -> Iterator[Typed]:
    backing = folder / "drivelab-scratch-0123456789ab.img"
    backing.write_bytes(os.urandom(32 * 2**20))
    with attached(backing) as theirs:
        yield Typed(theirs, ("scratch",), backing, f"error[C201] {theirs} would be overwritten")


@contextmanager
def open_by_a_node_elsewhere(device: Path, folder: Path) -> Iterator[Typed]:
    os.mknod(folder / "node", device.stat().st_mode, device.stat().st_rdev)
    with opened_by_sleep(folder / "node") as pid:
        says = f"error[C205] {device.name} is open in sleep (process {pid})"
        yield Typed(device, (device.name,), device, says)


SCENES = (
    mounted_on_a_place_whose_name_is_no_text,
    loop_over_a_mounted_drive_by_a_name_that_is_no_text,
    second_loop_over_the_file_of_a_mounted_drive,
    second_loop_over_the_deleted_file_of_a_mounted_drive,
    second_loop_over_the_file_of_a_swap_drive,
    second_loop_over_the_file_of_an_open_drive,
    loop_over_a_drive_with_a_mounted_partition,
    drive_of_somebody_over_a_file_with_the_name_of_a_scratch_file,
    open_by_a_node_elsewhere,
    mounted_drive,
    link_to_a_mounted_drive,
    another_node_of_a_mounted_drive,
    swap,
    parent_of_a_mounted_partition,
    partition_with_a_file_system,
    partition_by_the_name_of_its_drive,
    partition_by_the_name_of_its_sibling,
    the_begin_of_its_name,
    contents_of_another_drive,
    open_for_writing,
    held_exclusively,
)


def command_line(command: str, drivelab: Drivelab, typed: Typed) -> list[str]:
    consent = [word for name in typed.erase for word in ("--erase", name)]
    before = {RUN: [RUN, str(drivelab.small)], IO: [IO, "--operation", "write"], CHECK: [CHECK, "--quick"]}
    return [*before[command], str(typed.target), *consent]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_it_is_refused_and_nothing_is_written(
    drivelab: Drivelab, make_loop_device: MakeLoopDevice, tmp_path: Path, scene: Scene, command: str
) -> None:
    with scene(make_loop_device(), tmp_path) as typed:
        before = digest(typed.protected, besides=typed.kernels)
        answer = drivelab.run(*command_line(command, drivelab, typed))
        assert digest(typed.protected, besides=typed.kernels) == before
        assert answer.returncode == 3, answer.stderr
        assert typed.says in " ".join(answer.stderr.split())
        assert "nothing was written" in answer.stderr
        assert "  do:    " in answer.stderr
        assert "Traceback" not in answer.stderr
        assert not drivelab.runs.exists()
        assert drivelab.left_over() == []


def test_none_of_two_drives_is_written_when_one_is_refused(
    drivelab: Drivelab, make_loop_device: MakeLoopDevice
) -> None:
    free, full = make_loop_device(), make_loop_device()
    call("mkfs.ext4", "-qF", full)
    before = digest(free), digest(full)
    names = ("--erase", f"{free.name}+contents", "--erase", full.name)
    answer = drivelab.run("run", str(drivelab.small), str(free), str(full), *names)
    assert (answer.returncode, "error[C206]" in answer.stderr) == (3, True), answer.stderr
    assert (digest(free), digest(full)) == before


@pytest.mark.parametrize(("use", "code"), [("--out", "C202"), ("target", "P710")])
def test_a_drive_that_holds_the_results_or_another_target_is_refused(
    drivelab: Drivelab, make_loop_device: MakeLoopDevice, tmp_path: Path, use: str, code: str
) -> None:
    device = make_loop_device()
    with mounted(device, tmp_path / "place", "rw") as place:
        targets = [str(device), "--out", str(place)] if use == "--out" else [str(place), str(device)]
        erase = f"{device.name}+contents"
        answer = drivelab.run("run", str(without_file_systems(drivelab)), *targets, "--erase", erase)
        assert (answer.returncode, f"error[{code}]" in answer.stderr) == (3, True), answer.stderr
        assert [path.name for path in place.iterdir()] == ["lost+found"]


def without_file_systems(drivelab: Drivelab) -> Path:
    """The small experiment without its factor: a directory cannot be given a file system."""
    text = drivelab.small.read_text()
    begin, end = text.index("[[factors]]"), text.index("[[workloads]]")
    path: Path = drivelab.folder / "plain.toml"
    path.write_text(text[:begin] + text[end:])
    return path


def test_a_file_system_made_since_the_run_was_killed_is_not_erased_by_resuming(
    drivelab: Drivelab, make_loop_device: MakeLoopDevice
) -> None:
    device = make_loop_device(32 * 2**20)
    process = drivelab.start("run", str(drivelab.small), str(device), "--erase", device.name)
    wait_for_line(process, "step 2 of 6")
    process.kill()
    process.communicate()
    assert drivelab.run("restore").returncode == 0
    call("mkfs.ext4", "-qF", "-L", "theirs", device)
    before = digest(device)
    (directory,) = drivelab.runs.iterdir()
    answer = drivelab.run("resume", str(directory), "--erase", device.name)
    assert (answer.returncode, "error[C206]" in answer.stderr) == (3, True), answer.stderr
    assert digest(device) == before


def test_a_drive_that_a_run_is_using_is_refused_to_every_other(
    drivelab: Drivelab, make_loop_device: MakeLoopDevice
) -> None:
    device = make_loop_device(32 * 2**20)
    process = drivelab.start("run", str(without_file_systems(drivelab)), str(device), "--erase", device.name)
    wait_for_line(process, "step 1 of 3")
    stop_while_open(process, device)
    says = f"error[C211] {device.name} is being measured by drivelab (run {next(drivelab.runs.iterdir()).name})"
    typed = Typed(device, (device.name,), device, "")
    answers = [drivelab.run(*command_line(command, drivelab, typed)) for command in COMMANDS]
    process.send_signal(signal.SIGCONT)
    process.communicate()
    assert [(answer.returncode, says in answer.stderr) for answer in answers] == [(3, True)] * 3
    assert process.returncode in (0, 4)
    assert drivelab.left_over() == []


def stop_while_open(process: subprocess.Popen[str], device: Path) -> None:
    """Stop a process at a moment at which it has a device open."""
    deadline = time.monotonic() + 120
    while True:
        process.send_signal(signal.SIGSTOP)
        # until it has really stopped it may still close what is open
        while "State:\tT" not in Path(f"/proc/{process.pid}/status").read_text():
            assert time.monotonic() < deadline, "it does not stop"
        if str(device) in {os.readlink(link) for link in Path(f"/proc/{process.pid}/fd").iterdir()}:
            return
        process.send_signal(signal.SIGCONT)
        assert time.monotonic() < deadline, f"{device} was never open"
        time.sleep(0.02)
