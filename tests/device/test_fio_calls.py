"""Small job files through fio and through drivelab, both under strace: the same calls, or it is told beforehand."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from device.fio_calls import STRACE, Calls, calls_by_file
from device.fio_jobs import JOBS, Aspect, FioJob
from device.program import Drivelab
from drivelab.interop.fio.host import environment_of_host
from drivelab.interop.fio.translate import translate_file

# both programs go through all jobs before the first test
pytestmark = [pytest.mark.needs_tool("fio", "strace")]

MakeLoopDevice = Callable[..., Path]
GLOBAL = "[global]\ndirectory={directory}\nsize=256k\nbs=4k\n"
JOB_COUNTS = {name: job.job_count for job in JOBS for name in job.file_names}
# how far what chance decides may lie apart, in standard deviations of a count; the least of them
SIGMAS = 6
# of 4 KiB in 256 KiB
BLOCKS = 64
PASS_BYTES = 8 * 2**20


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Calls], dict[str, Calls]]:
    """The calls of all jobs by their file: fio's, and drivelab's."""
    folder = tmp_path_factory.mktemp("calls")
    return _of_fio(folder), _of_drivelab(folder)


def job_file(folder: Path, name: str) -> Path:
    target = folder / name
    target.mkdir()
    path = folder / f"{name}.fio"
    path.write_text("".join([GLOBAL.format(directory=target), *(job.section for job in JOBS)]))
    return path


def _of_fio(folder: Path) -> dict[str, Calls]:
    log = folder / "fio.log"
    command = [*STRACE, "-o", str(log), "fio", str(job_file(folder, "of-fio"))]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    return calls_by_file(log, JOB_COUNTS)


def _of_drivelab(folder: Path) -> dict[str, Calls]:
    program, log = Drivelab(folder), folder / "drivelab.log"
    command = [*STRACE, "-o", str(log), sys.executable, "-m", "drivelab", "run", str(job_file(folder, "of-drivelab"))]
    answer = subprocess.run([*command, "--json"], capture_output=True, text=True, env=program.environment)
    assert answer.returncode in (0, 4), answer.stderr
    return calls_by_file(log, JOB_COUNTS, jobs_open=False)


def differences(job: FioJob, fio: Calls, own: Calls) -> Iterator[tuple[Aspect | None, str]]:
    """What drivelab called otherwise than fio, with the aspect of it that a deviation may name."""
    is_mapped = "mmap" in job.options
    if not fio.ios and not is_mapped:
        yield None, "nothing was seen of fio"
    if job.is_timed:
        yield from _of_passes(fio, own)
        return
    if (len(fio.ios), _bytes(fio)) != (len(own.ios), _bytes(own)) and not _moved_alike(fio, own):
        yield "count", f"{len(fio.ios)} I/Os of {_bytes(fio)} B, and {len(own.ios)} of {_bytes(own)} B"
    if own.syncs != fio.syncs:
        yield "syncs", f"{dict(fio.syncs)}, and {dict(own.syncs)}"
    # fio drops the pages when each job opens the file, drivelab once before the first of them
    if fio.drops and fio.drops - job.job_count != own.drops:
        yield "drops", f"{fio.drops} for {job.job_count} jobs, and one and {own.drops}"
    if not fio.drops and own.drops:
        yield "drops", f"none, and {own.drops}"
    if fio.flags != own.flags:
        yield None, f"opened {sorted(fio.flags)}, and {sorted(own.flags)}"
    if fio.hint != own.hint and "O_DIRECT" not in fio.flags:
        yield None, f"told that it is {fio.hint}, and {own.hint}"
    for operation in ("read", "write"):
        yield from _of_operation(job, operation, fio, own)


def _of_passes(fio: Calls, own: Calls) -> Iterator[tuple[Aspect | None, str]]:
    """What differs of a job that goes round until its time is over: each pass has each block once, and begins cold."""
    for calls, first_drops in ((fio, 1), (own, 0)):
        places = calls.places("read")
        passes = [places[begin : begin + BLOCKS] for begin in range(0, len(places), BLOCKS)]
        if any(len(set(one)) != len(one) for one in passes):
            yield "places", "a block comes again before all had their turn"
        if calls.drops - first_drops != len(passes) - 1:
            yield "drops", f"{calls.drops - first_drops} after the first, in {len(passes)} passes"


def _of_operation(job: FioJob, operation: str, fio: Calls, own: Calls) -> Iterator[tuple[Aspect | None, str]]:
    theirs, ours = fio.places(operation), own.places(operation)
    if {size for _, size in theirs} != {size for _, size in ours}:
        yield "sizes", f"{operation}s of {Counter(s for _, s in theirs)} B, and {Counter(s for _, s in ours)} B"
    is_certain = len({name for name, _, _ in fio.ios}) == 1 and "rand" not in job.options
    if is_certain:
        if fio.sequences(operation) != own.sequences(operation):
            yield "places", f"{operation}s at {theirs[:5]}..., and at {ours[:5]}..."
        return
    allowed = SIGMAS * math.sqrt(max(len(theirs), 1))
    distinct, own_distinct = len(set(theirs)), len(set(ours))
    counts = {
        f"{operation}s": (len(theirs), len(ours)),
        f"distinct {operation}s": (distinct, own_distinct),
        f"adjacent {operation}s": (fio.adjacent(operation), own.adjacent(operation)),
    }
    for what, (one, other) in counts.items():
        if abs(one - other) > allowed:
            yield "places", f"{one} {what}, and {other}"
    if distinct == len(theirs) and own_distinct != len(ours):
        yield "places", f"{operation}s come once each, and {len(ours) - own_distinct} come again"


def _bytes(calls: Calls) -> int:
    return sum(size for _, size, _ in calls.ios)


def _moved_alike(fio: Calls, own: Calls) -> bool:
    """Whether both end with the block in which the bytes are reached, where chance decides the sizes."""
    sizes = {size for _, size, _ in fio.ios}
    return len(sizes) > 1 and abs(_bytes(fio) - _bytes(own)) <= max(sizes)


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_the_calls_are_those_of_fio(job: FioJob, seen: tuple[dict[str, Calls], dict[str, Calls]]) -> None:
    for name in job.file_names:
        fio, own = (calls[name] for calls in seen)
        found = [what for aspect, what in differences(job, fio, own) if aspect not in job.deviations]
        assert found == [], name


@pytest.mark.parametrize("job", [job for job in JOBS if len(job.file_names) > 1], ids=lambda job: job.name)
def test_files_have_their_turns_as_in_fio(job: FioJob, seen: tuple[dict[str, Calls], dict[str, Calls]]) -> None:
    fio, own = (turns(job, calls) for calls in seen)
    if "random" not in job.options and "mix" not in job.name:
        assert own == fio
        return
    # a turn of random files goes to any of them
    changes = [sum(one[0] != next_one[0] for one, next_one in itertools.pairwise(found)) for found in (fio, own)]
    assert abs(changes[0] - changes[1]) <= SIGMAS * math.sqrt(len(fio))


def turns(job: FioJob, calls: dict[str, Calls]) -> list[tuple[str, str]]:
    """File and call of the I/Os and sync calls of a job, in the order in which they were made."""
    found = [(turn, name, call) for name in job.file_names for turn, call in calls[name].turns]
    return [(name, call.rstrip("2")) for _, name, call in sorted(found)]


def test_what_deviates_is_told(tmp_path: Path) -> None:
    translation = translate_file(job_file(tmp_path, "jobs"), environment_of_host())
    told = {job.name: {note.option for note in job.notes if note.what} for job in translation.jobs}
    for job in JOBS:
        assert set(job.deviations.values()) <= told[job.name], job.name


@pytest.mark.needs_root
def test_the_drive_reads_every_pass_again(make_loop_device: MakeLoopDevice, drivelab: Drivelab, tmp_path: Path) -> None:
    device = make_loop_device(size_bytes=PASS_BYTES)
    jobs = tmp_path / "again.fio"
    jobs.write_text(f"[again]\nfilename={device}\nrw=read\nbs=64k\nloops=3\n")

    def read_bytes() -> int:
        return 512 * int(Path(f"/sys/block/{device.name}/stat").read_text().split()[2])

    before = read_bytes()
    subprocess.run(["fio", str(jobs)], check=True, capture_output=True, cwd=tmp_path)
    between = read_bytes()
    assert drivelab.run("run", str(jobs)).returncode in (0, 4)
    # who looks at a device reads some of its blocks, and others than the two may look
    for read in (between - before, read_bytes() - between):
        assert 3 * PASS_BYTES <= read <= 3 * PASS_BYTES + PASS_BYTES // 4
