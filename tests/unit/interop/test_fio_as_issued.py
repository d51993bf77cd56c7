"""How much a job issues, and where: as fio 3.33 was seen to do it by its system calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from drivelab.interop.fio.translate import translate_file
from drivelab.interop.fio.translated import Environment, TranslatedJob

KIB = 2**10


@pytest.fixture
def jobs(tmp_path: Path) -> Any:
    """Translates the lines of a job file, beside which there are no files."""

    def translate(text: str) -> tuple[TranslatedJob, ...]:
        path = tmp_path / "jobs.fio"
        path.write_text(text)
        return translate_file(path, Environment()).jobs

    return translate


@pytest.mark.parametrize(
    ("lines", "issued_bytes"),
    [
        ("loops=3", 768 * KIB),
        ("loops=3\nio_size=100k", 300 * KIB),
        ("loops=2\nio_size=512k", 512 * KIB),
        ("loops=3\nio_size=512k", 768 * KIB),
        ("loops=3\nio_size=1m", 1024 * KIB),
        ("io_size=50%", 128 * KIB),
        # no block that is only partly in the range
        ("bs=8k\nsize=250k", 248 * KIB),
        ("bs=4k\nsize=10k\nnumjobs=2\nfilename=x", 16 * KIB),
    ],
)
def test_bytes_that_are_issued(jobs: Any, lines: str, issued_bytes: int) -> None:
    (job,) = jobs(f"[job]\nsize=256k\nrw=read\n{lines}\n")
    assert job.pattern.bytes == issued_bytes


def test_every_loop_has_its_number_of_ios(jobs: Any) -> None:
    (job,) = jobs("[job]\nsize=256k\nnumber_ios=10\nloops=3\n")
    assert job.pattern.count == 30


def test_jobs_that_begin_further_on_end_where_their_file_does(jobs: Any) -> None:
    copies = jobs("[job]\nfilename=x\nfilesize=1m\nsize=64k\nnumjobs=3\noffset_increment=128k\n")
    assert [each.layout.file_bytes for each in copies] == [1024 * KIB] * 3
    assert [each.pattern.offset for each in copies] == [0, 128 * KIB, 256 * KIB]
    assert [each.pattern.range_size for each in copies] == [1024 * KIB, 896 * KIB, 768 * KIB]
    assert [each.pattern.bytes for each in copies] == [64 * KIB] * 3


def test_a_file_that_is_read_meanwhile_is_written_before(jobs: Any) -> None:
    beside = "[global]\nfilename=x\nsize=1m\n[writer]\nrw=write\n[reader]\nrw=read\n"
    assert [each.pattern.file_state for each in jobs(beside)] == ["overwrite", "overwrite"]
    assert [each.pattern.file_state for each in jobs(beside + "stonewall\n")] == ["preallocated", "overwrite"]


def test_no_engine_needs_room_for_what_it_does_not_write(jobs: Any) -> None:
    (job,) = jobs("[job]\nioengine=null\nsize=200g\noffset=1g\nbs=1m\n")
    assert (job.pattern.range_size, job.pattern.offset, job.pattern.bytes) == (16 * KIB**2, 0, 200 * KIB**3)


def test_a_tree_is_not_told_of_options_that_nobody_wrote(jobs: Any) -> None:
    (job,) = jobs("[job]\nioengine=filecreate\nnrfiles=3\nfilesize=4k\n")
    assert [note.option for note in job.notes if note.effect == "noted"] == ["filesize"]


def test_jobs_are_called_by_their_own_section_and_files_by_its_head(jobs: Any) -> None:
    found = jobs("[global]\nname=all\nsize=64k\n[file1]\n[file2]\n[file3]\nname=own\n")
    assert [each.name for each in found] == ["file1", "file2", "own"]
    assert [each.targets for each in found] == [("file1.0.0",), ("file2.0.0",), ("file3.0.0",)]
    shared = [note for note in found[0].notes if note.option == "name"]
    assert [(note.effect, note.what) for note in shared] == [
        ("noted", "each job is called as its section is, as in fio")
    ]
