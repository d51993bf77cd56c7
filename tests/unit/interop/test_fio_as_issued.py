"""How much a job issues, and where: as fio 3.33 was seen to do it by its system calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from drivelab.interop.fio.translate import translate_file
from drivelab.interop.fio.translated import Environment, TranslatedJob
from drivelab.model.errors import DrivelabError
from drivelab.model.workload import TargetRange

KIB = 2**10


@pytest.fixture
def jobs(tmp_path: Path) -> Any:
    """Translates the lines of a job file, beside which there are no files."""

    def translate(text: str, environment: Environment = Environment()) -> tuple[TranslatedJob, ...]:
        path = tmp_path / "jobs.fio"
        path.write_text(text)
        return translate_file(path, environment).jobs

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
        # the last gap ends with the range, so that it is gone over again; or it does not
        ("rw=read:4k", 256 * KIB),
        ("rw=read:8k", 22 * 4 * KIB),
        ("rw=read:8k\nloops=2", 2 * 22 * 4 * KIB),
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


def test_what_is_read_into_memory_before_is_not_given_up(jobs: Any) -> None:
    (job,) = jobs("[job]\nsize=1m\nloops=3\npre_read=1\n")
    assert (job.layout.page_cache, job.pattern.drop_cache_each_pass) == ("warm", False)


def test_engines_of_files_leave_alone_what_this_computer_has_cached(jobs: Any) -> None:
    (job,) = jobs("[job]\nioengine=filestat\nnrfiles=3\nfilesize=4k\n")
    assert job.layout.page_cache == "keep"


def test_jobs_are_called_by_their_own_section_and_files_by_its_head(jobs: Any) -> None:
    found = jobs("[global]\nname=all\nsize=64k\n[file1]\n[file2]\n[file3]\nname=own\n")
    assert [each.name for each in found] == ["file1", "file2", "own"]
    assert [each.targets for each in found] == [("file1.0.0",), ("file2.0.0",), ("file3.0.0",)]
    shared = [note for note in found[0].notes if note.option == "name"]
    assert [(note.effect, note.what) for note in shared] == [
        ("noted", "each job is called as its section is, as in fio")
    ]


def test_each_direction_has_its_own_share_of_random_places(jobs: Any) -> None:
    (writes,) = jobs("[job]\nsize=1m\nrw=randwrite\npercentage_random=0,20,0\n")
    assert (writes.pattern.access.kind, writes.pattern.access.random_fraction) == ("random", 0.2)
    (mix,) = jobs("[job]\nsize=1m\nrw=randrw\nrwmixread=30\npercentage_random=9,90\n")
    shares = {each.operation: each for each in mix.pattern.on(TargetRange(path="x"), seed=1).operations}
    assert {name: (each.weight, each.access.random_fraction) for name, each in shares.items()} == {
        "read": (0.3, 0.09),
        "write": (0.7, 0.9),
    }
    (half,) = jobs("[job]\nsize=1m\nrw=randrw\npercentage_random=0,100\n")
    orders = [each.access for each in half.pattern.operations]
    assert [(each.kind, each.covers_once) for each in orders] == [("sequential", False), ("random", True)]


def test_reads_and_writes_in_order_go_on_from_places_of_their_own(jobs: Any) -> None:
    (mix,) = jobs("[job]\nsize=1m\nrw=rw\n")
    assert [each.access.kind for each in mix.pattern.operations] == ["sequential", "sequential"]
    assert not [note for note in mix.notes if note.effect == "approximated"]
    (again,) = jobs("[job]\nsize=1m\nrw=rw\nloops=2\n")
    assert [note.option for note in again.notes if note.effect == "approximated"] == ["loops"]
    (trims,) = jobs("[job]\nfilename=/dev/sdx\nsize=1m\nrw=trimwrite\n")
    assert [note.what for note in trims.notes if note.option == "rw"] == [
        "half trims and half writes, each at a place of its own; fio writes each block right after its trim"
    ]


@pytest.mark.parametrize(
    ("lines", "advice", "drops"),
    [
        ("rw=read", "sequential", False),
        ("rw=randread", "random", False),
        ("rw=randread\nfadvise_hint=0", "none", False),
        ("rw=read\nfadvise_hint=random\nloops=2", "random", True),
        ("rw=read\ntime_based\nruntime=1", "sequential", True),
        ("rw=read\ntime_based\nruntime=1\ninvalidate=0", "sequential", False),
        ("rw=read\nio_size=4m\ndirect=1", "none", False),
        ("rw=randread\nioengine=mmap\ndirect=1", "random", False),
    ],
)
def test_the_page_cache_is_told_what_fio_tells_it(jobs: Any, lines: str, advice: str, drops: bool) -> None:
    (job,) = jobs(f"[job]\nsize=1m\n{lines}\n")
    assert (job.pattern.cache_advice, job.pattern.drop_cache_each_pass) == (advice, drops)


def test_nvme_commands_go_past_the_page_cache_and_may_be_polled_for(jobs: Any) -> None:
    of_device = "filename=/dev/ng0n1\nrw=randread\nsize=1m\nioengine=io_uring_cmd\ncmd_type=nvme\nhipri\nsqthread_poll"
    (job,) = jobs(f"[job]\n{of_device}\n")
    assert (job.pattern.backend, job.pattern.direct) == ("uring-cmd", True)
    assert job.pattern.polled_completion
    assert job.pattern.polled_submission
    assert not [note for note in job.notes if note.effect in ("approximated", "not-honoured")]


def test_a_file_that_is_written_through_a_mapping_holds_data_before(jobs: Any) -> None:
    (job,) = jobs("[job]\nsize=1m\nrw=randwrite\nioengine=mmap\n")
    assert job.pattern.file_state == "overwrite"


def test_jobs_begin_further_on_by_a_part_of_what_is_there(jobs: Any) -> None:
    here = Environment(size_of=lambda _path: 1024 * KIB)
    lines = "[job]\nfilename=x\nrw=read\nsize={size}\noffset_increment=50%\nnumjobs=2\n"
    copies = jobs(lines.format(size="25%"), here)
    assert [each.pattern.offset for each in copies] == [0, 512 * KIB]
    assert [each.pattern.range_size for each in copies] == [256 * KIB] * 2
    assert not [note for each in copies for note in each.notes if note.effect == "approximated"]
    assert [each.pattern.offset for each in jobs(lines.format(size="128k"), here)] == [0, 512 * KIB]
    with pytest.raises(DrivelabError) as caught:
        jobs(lines.format(size="75%"), here)
    assert caught.value.code == "U033"
    told = jobs(lines.format(size="64k") + "filesize=256k\n")
    assert [(each.pattern.offset, each.pattern.bytes) for each in told] == [(0, 64 * KIB), (128 * KIB, 64 * KIB)]
    (elsewhere,) = jobs(lines.format(size="25%"))
    assert [note.option for note in elsewhere.notes if note.effect == "approximated"] == ["offset_increment"]


def test_places_in_per_cent_are_aligned_and_those_in_bytes_are_not(jobs: Any) -> None:
    here = Environment(size_of=lambda _path: 1000 * KIB)
    lines = "[job]\nfilename=x\nrw=read\nsize=64k\nnumjobs=2\n"
    found = {
        "offset=33%": [332 * KIB],
        "offset=33%\noffset_align=64k": [384 * KIB],
        "offset=10001": [10001],
        "offset_increment=33%": [0, 332 * KIB],
        "offset_increment=10001": [0, 10001],
        "offset=10%\noffset_increment=33%": [100 * KIB, 432 * KIB],
    }
    for options, offsets in found.items():
        assert [each.pattern.offset for each in jobs(f"{lines}{options}\n", here)] == offsets, options


def test_jobs_that_reach_the_end_of_their_file_move_what_lies_before_it(jobs: Any) -> None:
    lines = "[job]\nfilename=x\nfilesize=256k\nsize=256k\noffset_increment=25%\nnumjobs=2\nrw=read\n"
    assert [each.pattern.bytes for each in jobs(lines)] == [256 * KIB, 192 * KIB]
    assert [each.pattern.bytes for each in jobs(lines + "loops=2\n")] == [512 * KIB, 384 * KIB]
    assert [each.pattern.bytes for each in jobs(lines + "io_size=1m\n")] == [1024 * KIB] * 2
