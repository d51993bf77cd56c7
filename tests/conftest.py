"""What every test may use: markers that skip by name with a reason, and real loop devices.

With ``DRIVELAB_REQUIRE_ALL=1`` (the continuous integration sets it) nothing may
be skipped: a skip is then a failure with the same reason.
"""

from __future__ import annotations

import functools
import gc
import os
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import hypothesis
import pytest

from partitions import deletions
from shaped_drive.loop import LoopDrive
from system_packages import GOALS, SYSTEM_PATH, find_program

HERE = Path(__file__).parent
GUESTS = HERE / "vm"
_ALONE = (
    # traces of others: what a killed one left is removed by whoever traces next
    "tracing_undisturbed",
    # processors: who else is at work, what a latency is
    *("not_alone", "shaped_drive", "explained_latencies", "one_byte_page"),
    # commands for each operation: a file system adds some of its own every few seconds, however slow the operations
    # are, and who asks lsblk or wipefs what drives hold, as other tests do, reads some blocks of every drive
    *("trees", "counts", "check_trials", "fio_commands"),
)
ALONE = {HERE / "device" / f"test_{name}.py" for name in _ALONE}
# all drives that there are
ALONE |= {HERE / "cli" / "test_drives.py", HERE / "device" / "test_drives.py"}
RELEASE_S = 60
REQUIRE_ALL = os.environ.get("DRIVELAB_REQUIRE_ALL") == "1"
# ext4 is made whole: what mkfs leaves to the kernel's thread is written later, with a flush for each group of blocks
MKFS_OPTIONS = {
    "xfs": ["-f"],
    "btrfs": ["-f"],
    "ext4": ["-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
}
MakeLoopDevice = Callable[..., Path]


def pytest_configure(config: pytest.Config) -> None:
    """Give every test the same surroundings: 80 columns, no colour forced from outside, no deadlines."""
    for name in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "NO_COLOR"):
        os.environ.pop(name, None)
    os.environ.update(COLUMNS="80", LINES="24", TERM="xterm-256color", LC_ALL="C.UTF-8")
    os.environ["PATH"] += f":{SYSTEM_PATH}"
    # started in the background or by nohup we would inherit deafness to these, and so would every program under test
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    # no deadlines, because machines are busy; and what integration tries is the same every time
    hypothesis.settings.register_profile("drivelab", deadline=None, database=None, derandomize=REQUIRE_ALL)
    hypothesis.settings.load_profile("drivelab")


@pytest.fixture(scope="session", autouse=True)
def runs_of_tests(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep what tests measure out of the runs of whoever starts them."""
    os.environ["DRIVELAB_RUNS"] = str(tmp_path_factory.mktemp("runs"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import only files with tests that are alone where these are asked for: all files would take longer than they."""
    is_file_of_tests = collection_path.suffix == ".py" and collection_path.name.startswith("test_")
    return True if config.option.markexpr == "alone" and is_file_of_tests and not has_alone(collection_path) else None


@functools.cache
def has_alone(path: Path) -> bool:
    """Whether tests of a file are alone; its text tells."""
    return path in ALONE or "pytest.mark.alone" in path.read_text()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what may run on several processors at once: all but guests, and tests that share what this machine has once.

    A test that detaches a loop device to attach something else under its name is marked ``alone``.
    """
    for item in items:
        if item.path in ALONE or item.get_closest_marker("alone") is not None:
            assert has_alone(item.path), f"{item.nodeid} is alone, and its file does not say @pytest.mark.alone"
            item.add_marker("alone")
        elif item.path.parent != GUESTS:
            item.add_marker("beside_others")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what this machine cannot do, saying why."""
    if any(item.iter_markers("needs_root")) and os.geteuid() != 0:
        pytest.skip("needs root")
    for marker in item.iter_markers("needs_tool"):
        for name in marker.args:
            if find_program(name) is None:
                pytest.skip(f"needs the program {name} ({package_hint(name)})")


def package_hint(program: str) -> str:
    """Which Debian package has a program."""
    packages = {tool.program: tool.debian for tool in GOALS["test"]}
    return f"Debian package {packages[program]}" if program in packages else "not listed in tools/system_packages.py"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Never look for garbage in ten thousand tests and what they import: they stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn every skip of a test into a failure where everything is required."""
    report = yield
    if REQUIRE_ALL and report.skipped and not hasattr(report, "wasxfail"):
        fail_instead(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn every skip of a whole file into a failure where everything is required."""
    report = yield
    if REQUIRE_ALL and report.skipped:
        fail_instead(report)
    return report


def fail_instead(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Make a report of a skip one of a failure, with the same reason."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    report.outcome = "failed"
    report.longrepr = f"DRIVELAB_REQUIRE_ALL=1 and this was skipped: {reason}"


def release(commands: list[list[str]]) -> None:
    """Run each of the commands until it succeeds, for a minute, and fail with what the others said.

    The kernel lets go of files that a ring had registered a little after the
    ring is gone (io_uring frees them from a work queue), so a mount may be busy
    for a moment with nobody in it.
    """
    complaints = []
    for command in commands:
        deadline = time.monotonic() + RELEASE_S
        while True:
            answer = subprocess.run(command, capture_output=True, text=True)
            if answer.returncode == 0:
                break
            if time.monotonic() > deadline:
                complaints.append(answer.stderr.strip())
                break
            time.sleep(0.05)
    assert complaints == [], f"not released: {'; '.join(complaints)}"


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_left_in_the_checkout() -> Iterator[None]:
    """Fail when a test, or a program that it started, has left a file in the folder of the checkout."""
    root = HERE.parent

    def files() -> set[str]:
        return {path.name for path in root.iterdir() if path.is_file() and not path.name.startswith(".")}

    before = files()
    yield
    assert files() <= before, f"left in {root.name}: {sorted(files() - before)}"


@pytest.fixture
def make_loop_device(tmp_path: Path) -> Iterator[MakeLoopDevice]:
    """Makes loop devices over sparse files, and detaches them when the test ends.

    Call it with ``size_bytes`` (default 64 MiB), ``sector_size_bytes`` (512) and
    ``direct`` (whether the loop bypasses the page cache of the file below).
    The test must be marked ``needs_root``.
    """
    made: list[Path] = []

    def make(size_bytes: int = 64 * 2**20, *, sector_size_bytes: int = 512, direct: bool = False) -> Path:
        backing = tmp_path / f"loop-{len(made)}.img"
        with backing.open("wb") as file:
            file.truncate(size_bytes)
        command = ["losetup", "--find", "--show", f"--sector-size={sector_size_bytes}"]
        command += [f"--direct-io={'on' if direct else 'off'}", str(backing)]
        answer = subprocess.run(command, capture_output=True, text=True)
        assert answer.returncode == 0, f"losetup: {answer.stderr.strip()}"
        made.append(Path(answer.stdout.strip()))
        as_new(made[-1])
        return made[-1]

    yield make
    release([command for device in made for command in (*deletions(device), ["losetup", "--detach", str(device)])])


def as_new(device: Path) -> None:
    """Give a loop device the queue of a new one: it keeps what was set while it was attached to another file."""
    for name, level in (("scheduler", "none"), ("nr_requests", "128")):
        attribute = Path(f"/sys/block/{device.name}/queue/{name}")
        now = attribute.read_text().strip()
        if level not in (now, now.partition("[")[2].partition("]")[0]):
            attribute.write_text(level)


@pytest.fixture
def mount_filesystem(make_loop_device: MakeLoopDevice, tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Mounts fresh file systems on loop devices: ``mount_filesystem("ext4", size_bytes=..., options="ro")``.

    The test must be marked ``needs_root`` and ``needs_tool("mkfs.<type>")``.
    """
    mounted: list[Path] = []

    def mount(filesystem: str, *, size_bytes: int = 512 * 2**20, options: str = "defaults") -> Path:
        device = make_loop_device(size_bytes)
        subprocess.run(
            [f"mkfs.{filesystem}", "-q", *MKFS_OPTIONS[filesystem], str(device)], check=True, capture_output=True
        )
        directory = tmp_path / f"mount-{len(mounted)}"
        directory.mkdir()
        subprocess.run(["mount", "-o", options, str(device), str(directory)], check=True, capture_output=True)
        mounted.append(directory)
        return directory

    yield mount
    release([["umount", str(directory)] for directory in reversed(mounted)])


@pytest.fixture
def shaped_drive(tmp_path: Path) -> Iterator[LoopDrive]:
    """A drive of 256 MiB with known latencies that counts its commands, as a loop device: ``shaped_drive.path``.

    The test must be marked ``needs_root`` and ``needs_tool("losetup", "qemu-storage-daemon")``.
    """
    drive = LoopDrive(tmp_path)
    yield drive
    drive.close()
