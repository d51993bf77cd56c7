"""How many I/Os of a job file are outstanding, and how many are sent with one call."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.interop.fio.translate import translate_file
from drivelab.interop.fio.translated import Environment, TranslatedJob


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


def test_what_the_c_library_does_one_after_the_other_is_one_at_a_time(tmp_path: Path) -> None:
    posix = translated(tmp_path, "ioengine=posixaio\niodepth=8\nrw=randwrite")
    assert (posix.pattern.backend, posix.pattern.queue_depth) == ("sync", 1)
    assert (told(posix, "ioengine")[0], told(posix, "iodepth")[0]) == ("approximated", "approximated")
    assert "one I/O of a file after another" in told(posix, "ioengine")[1]
    assert told(translated(tmp_path, "ioengine=psync\niodepth=8"), "iodepth")[0] == "noted"
