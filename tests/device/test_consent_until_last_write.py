"""Somebody takes a drive between two steps of a command that writes to it: it ends there, and what they made stays.

What others do is done right after an I/O of ours has ended, in the same process, so that it is the same every time.
"""

from __future__ import annotations

import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from drivelab import _engine
from drivelab.cli import check
from drivelab.cli.main import run
from drivelab.inventory.mounts import read_mounts
from drivelab.inventory.target import resolve_target
from drivelab.model.errors import EXIT_REFUSED, DrivelabError
from drivelab.model.factor import FileSystemLevel
from drivelab.model.plan import PlannedStep
from drivelab.model.target import TargetFacts
from drivelab.plan.check import LAYOUT, CheckPlan, plan_check
from drivelab.run.preconditioning import precondition_device
from drivelab.state.filesystem import make_filesystem
from drivelab.state.held_device import held_if_device, look_before_writing
from drivelab.state.journal import begin_journal
from drivelab.state.trim import discard_device
from partitions import add_partition

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "mkfs.ext4")]
MakeLoopDevice = Callable[..., Path]
MIB = 2**20
# swap space of the fewest pages, behind the one that describes it: a kernel short of memory writes here
SWAPPED = range(4096, 40960)

EXPERIMENT = """
format = 1
name = "three-ways"
question = "Whose drive is it?"
repeats = { full = 2, quick = 1 }

[[factors]]
setting = "filesystem"
levels = ["raw", { type = "ext4", mkfs_options = ["-E", "nodiscard"] }]

[[workloads]]
name = "log"
block_size = "4KiB"
backend = "sync"
direct = true
access = "sequential"
durability = "fdatasync"
count = 20
file_size = "8MiB"
"""


def fill(target: TargetFacts) -> None:
    """Write all of a device once."""
    precondition_device("sequential", target, seed=1, stop=threading.Event(), progress=lambda _: None)


def program(*command: str | Path) -> str:
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout.strip()


def make_file_system(device: Path) -> None:
    program("mkfs.ext4", "-q", "-F", "-L", "THEIRS", device)


def is_theirs(device: Path) -> bool:
    """Whether the file system that somebody made is whole."""
    label = subprocess.run(["blkid", "-p", "-o", "value", "-s", "LABEL", device], capture_output=True, text=True)
    whole = subprocess.run(["fsck.ext4", "-nf", device], capture_output=True)
    return label.stdout.strip() == "THEIRS" and whole.returncode == 0


@dataclass
class Somebody:
    """Does something to a device as soon as drivelab has done its n-th I/O and has nothing mounted."""

    device: Path
    does: Callable[[Path], None]
    after: int
    ios: int = 0
    has_acted: bool = False

    def count(self) -> None:
        self.ios += 1
        if self.ios >= self.after and not self.has_acted and not is_mounted(self.device):
            self.has_acted = True
            self.does(self.device)


def is_mounted(device: Path) -> bool:
    return any(mount.source == str(device) for mount in read_mounts())


@pytest.fixture
def somebody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Somebody], Somebody]:
    """Lets somebody act; keeps runs, journals and checks short and out of the way."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(check, "plan_check", lambda *given, **named: short(plan_check(*given, **named)))
    really_run = _engine.run

    def let_act(who: Somebody) -> Somebody:
        def then_act(*arguments: Any) -> Any:
            found = really_run(*arguments)
            who.count()
            return found

        monkeypatch.setattr(_engine, "run", then_act)
        return who

    return let_act


def short(plan: CheckPlan) -> CheckPlan:
    """The same trials, over in a moment."""

    def cut(step: PlannedStep) -> PlannedStep:
        runtime = "1s" if step.trial == LAYOUT else "20ms"
        limits = {"runtime": runtime, "bytes": 8 * MIB, "count": 0, "ramp": "0s", "enough_after": "0s"}
        return replace(step, pattern=step.pattern.changed(**limits))

    return replace(plan, plan=replace(plan.plan, steps=tuple(cut(step) for step in plan.plan.steps)))


def commands(device: Path, folder: Path) -> dict[str, list[str]]:
    """What is typed to have the device written to."""
    experiment = folder / "three.toml"
    experiment.write_text(EXPERIMENT)
    erase = ["--erase", device.name]
    durable = ["--operation", "write", "--direct", "--durability", "fdatasync", "--count", "50"]
    return {
        "check": ["check", str(device), *erase],
        "io": ["io", str(device), *erase, *durable, "--size", "8MiB", "--count-commands"],
        "run": ["run", str(experiment), str(device), *erase],
        "explain": ["explain", str(device), *erase, *durable[:2], "--quick"],
    }


@pytest.mark.parametrize(
    ("command", "after"),
    [("check", 1), ("check", 4), ("check", 12), ("io", 1), ("run", 1), ("run", 2), ("run", 4), ("explain", 1)],
)
def test_a_file_system_that_somebody_makes_ends_every_command(
    make_loop_device: MakeLoopDevice,
    somebody: Callable[[Somebody], Somebody],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    command: str,
    after: int,
) -> None:
    device = make_loop_device()
    who = somebody(Somebody(device, make_file_system, after))
    status = run(commands(device, tmp_path)[command])
    told = capsys.readouterr().err
    assert who.has_acted, told
    assert "error[C206] somebody made ext4 on" in told
    assert "drivelab had begun to write to it" in told
    assert "nothing was written" not in told
    assert status == EXIT_REFUSED
    assert is_theirs(device)


@pytest.fixture
def undone() -> Iterator[ExitStack]:
    """What somebody did is undone when the test ends."""
    with ExitStack() as later:
        yield later


def mount_it(device: Path, later: ExitStack) -> None:
    place = Path(program("mktemp", "-d"))
    make_file_system(device)
    # mounted for writing, the file system itself would go on writing
    program("mount", "-o", "ro", device, place)
    later.callback(place.rmdir)
    later.callback(program, "umount", place)


def all_but_swapped(device: Path) -> bytes:
    contents = device.read_bytes()
    return contents[: SWAPPED.start] + contents[SWAPPED.stop :]


def swap_on_it(device: Path, later: ExitStack) -> None:
    program("mkswap", device, str(SWAPPED.stop // 1024))
    program("swapon", device)
    later.callback(program, "swapoff", device)


def put_a_loop_over_it(device: Path, later: ExitStack) -> None:
    later.callback(program, "losetup", "--detach", program("losetup", "--find", "--show", device))


def partition_table(*sectors: tuple[int, int]) -> bytes:
    """A first sector with partitions of Linux from one sector on, each with its length in sectors."""
    entries = [bytes([0, 0, 0, 0, 0x83, 0, 0, 0]) + struct.pack("<II", *one) for one in sectors]
    return bytes(446) + b"".join(entries).ljust(64, bytes(1)) + b"\x55\xaa"


def write_a_partition_table(device: Path, _later: ExitStack | None = None, *sectors: tuple[int, int]) -> None:
    with device.open("r+b", buffering=0) as disk:
        disk.write(partition_table(*(sectors or ((2048, 65536),))))


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize(
    ("does", "code"),
    [(mount_it, "C202"), (swap_on_it, "C203"), (put_a_loop_over_it, "C204"), (write_a_partition_table, "C206")],
)
def test_whatever_somebody_makes_of_the_drive_ends_the_command(
    make_loop_device: MakeLoopDevice,
    somebody: Callable[[Somebody], Somebody],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    undone: ExitStack,
    command: str,
    does: Callable[[Path, ExitStack], None],
    code: str,
) -> None:
    device = make_loop_device()
    seen: list[bytes] = []

    def act(found: Path) -> None:
        does(found, undone)
        seen.append(all_but_swapped(found))

    somebody(Somebody(device, act, after=3 if command == "check" else 1))
    status = run(commands(device, tmp_path)[command])
    assert f"error[{code}]" in capsys.readouterr().err
    assert status == EXIT_REFUSED
    assert all_but_swapped(device) == seen[0]


def test_a_new_table_on_the_disk_of_a_partition_is_noticed(make_loop_device: MakeLoopDevice) -> None:
    disk = make_loop_device()
    write_a_partition_table(disk, None, (2048, 32768), (34816, 32768))
    second = add_partition(disk, 2, 34816, 32768)
    target = resolve_target(str(second))
    with held_if_device(target, erase=[f"{disk.name}-part2"]):
        look_before_writing(str(second))
        # the kernel keeps its own view of the partitions, since nobody asks it to look again
        write_a_partition_table(disk, None, (2048, 98304))
        with pytest.raises(DrivelabError, match="a partition table") as refusal:
            look_before_writing(str(second))
    assert refusal.value.code == "C206"
    assert "drivelab had begun to write to it once" in refusal.value.where


@pytest.mark.needs_tool("mkfs.xfs")
@pytest.mark.parametrize("writes", ["mkfs", "discard", "fill"])
def test_whoever_writes_to_a_drive_looks_before(make_loop_device: MakeLoopDevice, tmp_path: Path, writes: str) -> None:
    device = make_loop_device(512 * MIB)
    target = resolve_target(str(device))
    journal = begin_journal(tmp_path)
    level = FileSystemLevel(type="xfs", name="xfs")
    way: dict[str, Callable[[], object]] = {
        "mkfs": lambda: make_filesystem(str(device), level, journal),
        "discard": lambda: discard_device(target, journal),
        "fill": lambda: fill(target),
    }
    with held_if_device(target, erase=[device.name]):
        make_file_system(device)
        with pytest.raises(DrivelabError, match="somebody made ext4") as refusal:
            way[writes]()
    assert refusal.value.where.endswith("nothing was written")
    assert is_theirs(device)
    assert journal.outstanding == ()
    journal.close()


def test_a_file_system_made_again_in_place_of_the_one_that_was_given_up_is_noticed(
    make_loop_device: MakeLoopDevice,
) -> None:
    device = make_loop_device()
    make_file_system(device)
    with held_if_device(resolve_target(str(device)), erase=[f"{device.name}+contents"]):
        look_before_writing(str(device))
        look_before_writing(str(device))
        make_file_system(device)
        with pytest.raises(DrivelabError, match="somebody made ext4"):
            look_before_writing(str(device))


@pytest.mark.provokes("C201")
def test_a_device_that_nobody_gave_up_is_not_written_to(make_loop_device: MakeLoopDevice) -> None:
    device = make_loop_device()
    with held_if_device(resolve_target(str(device))), pytest.raises(DrivelabError, match="has not given it up") as no:
        fill(resolve_target(str(device)))
    assert no.value.code == "C201"
    assert not any(device.read_bytes())
