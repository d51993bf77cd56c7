"""How many I/Os of a job file are outstanding, how many are sent with one call, and at which rate."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.interop.fio.translate import translate_file
from drivelab.interop.fio.translated import Environment, TranslatedJob
from drivelab.model.workload import TargetRange


def translated(folder: Path, lines: str) -> TranslatedJob:
    path = folder / "jobs.fio"
    path.write_text(f"[job]\nsize=1m\n{lines}\n")
    (job,) = translate_file(path, Environment()).jobs
    return job


def told(job: TranslatedJob, option: str) -> tuple[str, str]:
    return next((note.effect, note.what) for note in job.notes if note.option == option)


@pytest.mark.parametrize(
    ("lines", "batch"),
    [
        ("ioengine=libaio\niodepth=8", 1),
        ("ioengine=io_uring\niodepth=8\niodepth_batch=4", 4),
        ("ioengine=libaio\niodepth=8\niodepth_batch_submit=0", 0),
        ("ioengine=libaio\niodepth=8\niodepth_batch=99", 0),
        ("ioengine=libaio", 0),
        ("ioengine=psync\niodepth=8", 0),
    ],
)
def test_as_many_ios_are_sent_with_a_call_as_fio_sends(tmp_path: Path, lines: str, batch: int) -> None:
    assert translated(tmp_path, lines).pattern.submission_batch == batch


@pytest.mark.parametrize(
    ("lines", "batch"),
    [
        ("ioengine=libaio\niodepth=8", 1),
        ("ioengine=libaio\niodepth=8\niodepth_batch_complete_max=4", 4),
        ("ioengine=posixaio\niodepth=8\niodepth_batch_complete=3", 3),
        ("ioengine=io_uring\niodepth=8", 1),
        ("ioengine=io_uring\niodepth=8\niodepth_batch_complete_max=4", 4),
        ("ioengine=libaio\niodepth=8\niodepth_batch_complete_min=2\niodepth_batch_complete_max=8", 0),
        ("ioengine=libaio\niodepth=8\niodepth_batch_complete_max=99", 0),
        ("ioengine=libaio", 0),
        ("ioengine=psync\niodepth=8", 0),
        ("ioengine=null\niodepth=8", 0),
    ],
)
def test_a_look_takes_as_many_completions_as_fio_takes(tmp_path: Path, lines: str, batch: int) -> None:
    assert translated(tmp_path, lines).pattern.completion_batch == batch


@pytest.mark.parametrize(
    ("lines", "least", "low"),
    [
        ("ioengine=libaio\niodepth=8\niodepth_batch_complete_min=4", 4, 0),
        ("ioengine=io_uring\niodepth=8\niodepth_batch_complete=16\niodepth_low=3", 8, 3),
        # fio's defaults, and what is none at a depth
        ("ioengine=libaio\niodepth=8\niodepth_batch_complete_min=1\niodepth_low=8", 0, 0),
        ("ioengine=psync\niodepth=8\niodepth_batch_complete_min=4\niodepth_low=3", 0, 0),
    ],
)
def test_a_look_waits_and_slots_are_filled_again_as_with_fio(tmp_path: Path, lines: str, least: int, low: int) -> None:
    found = translated(tmp_path, lines)
    assert (found.pattern.completion_batch_min, found.pattern.refill_depth) == (least, low)
    for line in lines.splitlines():
        option = line.partition("=")[0].replace("complete", "complete_min").replace("min_min", "min")
        assert told(found, option)[0] in ("honoured", "noted")


def test_what_waits_in_the_c_library_is_as_deep_as_asked_for_and_synced_by_fsync(tmp_path: Path) -> None:
    posix = translated(tmp_path, "ioengine=posixaio\niodepth=8\nrw=randwrite\nfdatasync=4")
    assert (posix.pattern.backend, posix.pattern.queue_depth, posix.pattern.submission_batch) == ("posixaio", 8, 1)
    notes = [(note.option, note.effect) for note in posix.notes if note.option in ("ioengine", "fdatasync")]
    assert posix.pattern.durability == "fsync"
    assert ("fdatasync", "noted") in notes, "fio until 3.37 has as many at once as are free"
    assert ("fdatasync", "approximated") not in notes
    assert ("ioengine", "approximated") not in notes


def test_one_call_at_a_time_is_told_where_more_are_asked_for(tmp_path: Path) -> None:
    assert told(translated(tmp_path, "ioengine=psync\niodepth=8"), "iodepth")[0] == "noted"


def test_a_thread_of_the_kernel_takes_submissions_where_asked(tmp_path: Path) -> None:
    assert translated(tmp_path, "ioengine=io_uring\nsqthread_poll").pattern.polled_submission
    assert not translated(tmp_path, "ioengine=io_uring").pattern.polled_submission


@pytest.mark.parametrize(
    ("rates", "share", "rate_per_s", "is_told"),
    [
        ("rate_iops=100,300", 0.25, 400, True),
        ("rate=400k,1200k", 0.25, 400, True),
        ("rate=4m,4m\nbs=4k,16k", 0.8, 1280, True),
        ("rate_iops=100,300\nrwmixread=25", 0.25, 400, False),
        ("rate_iops=100", 0.5, 200, False),
    ],
)
def test_rates_of_reads_and_writes_decide_their_mix(
    tmp_path: Path, rates: str, share: float, rate_per_s: float, is_told: bool
) -> None:
    found = translated(tmp_path, f"filename=/dev/sdx\nrw=randrw\n{rates}")
    operations = {one.operation: one.weight for one in found.pattern.on(TargetRange(path=""), seed=0).operations}
    assert operations["read"] / sum(operations.values()) == pytest.approx(share)
    assert found.pattern.pacing.rate_per_s == pytest.approx(rate_per_s)
    assert ("the rates decide the mix" in told(found, rates.partition("=")[0])[1]) == is_told
