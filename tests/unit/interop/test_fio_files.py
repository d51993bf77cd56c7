"""What becomes of nrfiles and of the turns of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.interop.fio.translate import translate_file
from drivelab.interop.fio.translated import Environment, TranslatedJob
from drivelab.model.job_files import JobFiles


def translated(folder: Path, lines: str) -> TranslatedJob:
    path = folder / "jobs.fio"
    path.write_text(f"[job]\nsize=1m\nrw=randwrite\n{lines}\n")
    (job,) = translate_file(path, Environment()).jobs
    return job


def effect(job: TranslatedJob, option: str) -> str:
    return next(note.effect for note in job.notes if note.option == option)


@pytest.mark.parametrize(
    ("lines", "files"),
    [
        ("nrfiles=4", JobFiles(count=4)),
        ("nrfiles=4\nopenfiles=2", JobFiles(count=4, open_max=2)),
        ("nrfiles=4\nopenfiles=4", JobFiles(count=4)),
        ("nrfiles=4\nfile_service_type=random", JobFiles(count=4, order="random")),
        ("nrfiles=4\nfile_service_type=random:8", JobFiles(count=4, order="random", ios_per_turn=8)),
        ("nrfiles=4\nfile_service_type=roundrobin:2", JobFiles(count=4, ios_per_turn=2)),
        ("nrfiles=4\nfile_service_type=sequential", JobFiles(count=4, order="sequential")),
    ],
)
def test_files_take_turns_as_asked(tmp_path: Path, lines: str, files: JobFiles) -> None:
    job = translated(tmp_path, lines)
    assert (job.pattern.job_files, job.pattern.range_size, job.pattern.bytes) == (files, 2**18, 2**20)
    assert {note.effect for note in job.notes} == {"honoured"}


@pytest.mark.parametrize(
    "lines",
    [
        "ioengine=mmap",
        "numjobs=100",
        "directory=/a:/b",
        "filename_format=$jobname.$jobnum",
        "zonemode=strided\nzonesize=64k",
    ],
)
def test_one_file_in_place_of_several_is_told(tmp_path: Path, lines: str) -> None:
    job = translated(tmp_path, f"nrfiles=4\n{lines}")
    assert (job.pattern.job_files, effect(job, "nrfiles")) == (JobFiles(), "approximated")


def test_names_that_filename_gives_are_those_that_there_are(tmp_path: Path) -> None:
    job = translated(tmp_path, "nrfiles=4\nfilename=/data/one")
    assert (job.pattern.job_files, job.pattern.range_size, effect(job, "nrfiles")) == (JobFiles(), 2**20, "noted")


def test_shares_of_files_and_calls_for_another_file_are_told(tmp_path: Path) -> None:
    assert effect(translated(tmp_path, "nrfiles=4\nfile_service_type=zipf:1.2"), "file_service_type") == "approximated"
    assert effect(translated(tmp_path, "nrfiles=4\nfsync=1"), "fsync") == "noted"
