"""Recorded loads are read as they were: every format, and what is wrong with a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from block_trace import READ as TRACED_READ
from block_trace import SDB, BlockTrace
from drivelab.model.errors import DrivelabError
from drivelab.model.recording import READ, SYNC, TRIM, WRITE, RecordedThread, Recording, deepest
from drivelab.recordings.issue import fitted, is_aligned, records_of, workload_of
from drivelab.recordings.read import read_recording
from drivelab.store.columns import RECORD_COLUMNS, arrow_schema

KIB, MIB = 1024, 2**20
V3 = """fio version 3 iolog
3 /a/f add
14 /a/f open
20 /a/f write 8192 4096
20 /a/f read 0 512
1500 /a/f sync 8192 0
1700 /a/g trim 4096 8192
2000 /a/f close
"""
V2 = """fio version 2 iolog
/a/f add
/a/f open
/a/f read 0 4096
/a/f wait 30 0
/a/f datasync 0 0
/a/f close
"""


def rows(thread: RecordedThread) -> list[tuple[int, ...]]:
    columns = (thread.start_ns, thread.operation, thread.offset_bytes, thread.size_bytes)
    return [tuple(map(int, row)) for row in zip(*columns, strict=True)]


def written(directory: Path, text: str | bytes) -> str:
    path = directory / "recording"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def refused(name: str, **options: str) -> DrivelabError:
    with pytest.raises(DrivelabError) as caught:
        read_recording(name, **options)
    return caught.value


def test_version_3_tells_starts_in_microseconds_and_its_files_lie_one_behind_the_other(tmp_path: Path) -> None:
    load = read_recording(written(tmp_path, V3), queue_depth=4)
    (thread,) = load.threads
    assert rows(thread) == [
        (0, WRITE, 8192, 4096),
        (0, READ, 0, 512),
        (1_480_000, SYNC, 0, 0),
        (1_680_000, TRIM, MIB + 4096, 8192),
    ]
    assert (load.sync, load.length_ns, load.end_bytes, thread.queue_depth) == ("fsync", 1_680_000, MIB + 12288, 4)
    assert load.notes == ("the 2 files of the recording lie one behind the other on the target",)


def test_a_wait_of_version_2_is_a_moment_in_milliseconds(tmp_path: Path) -> None:
    load = read_recording(written(tmp_path, V2))
    assert rows(load.threads[0]) == [(0, READ, 0, 4096), (30_000_000, SYNC, 0, 0)]
    assert (load.sync, load.has_latencies, load.queue_depth) == ("fdatasync", False, 1)


@pytest.mark.provokes("B921")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (V3[:-8], "line 8 is cut short"),
        (V3.replace("0 512", "0 -512"), "line 5: '-512' is no number"),
        (V3.replace("read 0 512", "read 0 0"), "line 5: '20 /a/f read 0 0' has a size"),
        (V3.replace("read 0 512", "read 0"), "line 5: '20 /a/f read 0' is no line"),
        (V3.replace("read 0 512", "seek 0 512"), "line 5: '20 /a/f seek 0 512' is no line"),
        (V3.replace("read 0 512", "wait 5 0"), "has a wait, which only version 2 knows"),
        (V3.replace("20 /a/f write", f"{'9' * 19} /a/f write"), "is beyond any place"),
        (V2.replace("wait 30", f"wait {'9' * 15}"), "too late for any recording"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, text: str, words: str) -> None:
    error = refused(written(tmp_path, text))
    assert error.code == "B921"
    assert words in error.what


@pytest.mark.provokes("B923")
def test_a_line_that_is_earlier_than_the_one_before_is_named(tmp_path: Path) -> None:
    error = refused(written(tmp_path, V3.replace("1500", "19")))
    assert (error.code, error.what) == ("B923", "line 6 is earlier than the one before: 19 us after 20 us")


@pytest.mark.provokes("B922")
@pytest.mark.parametrize("text", ["", "fio version 3 iolog\n", "fio version 3 iolog\n1 /f add\n5 /f sync 0 0\n"])
def test_a_recording_without_anything_to_issue(tmp_path: Path, text: str) -> None:
    assert refused(written(tmp_path, text)).code == "B922"


@pytest.mark.parametrize("version", ["1", "4", "33"])
def test_an_iolog_of_an_unknown_version(tmp_path: Path, version: str) -> None:
    assert refused(written(tmp_path, V3.replace("3 iolog", f"{version} iolog"))).code == "B906"


@pytest.mark.provokes("B920")
@pytest.mark.parametrize("content", [b"rw, 0, 4096\n", b"\0" * 4096, b"\x7fELF"])
def test_what_nobody_knows_is_no_recording(tmp_path: Path, content: bytes) -> None:
    assert refused(written(tmp_path, content)).code == "B920"
    assert refused(str(tmp_path / "nothing")).code == "B901"


@pytest.mark.provokes("B920")
def test_a_directory_without_a_recording_is_told_all_kinds(tmp_path: Path) -> None:
    error = refused(str(tmp_path))
    assert error.code == "B920"
    assert all(kind in error.do for kind in ("followed program", "--record", "iolog", "blktrace"))


@pytest.mark.provokes("B923")
def test_an_iolog_that_several_jobs_wrote_is_told_as_such(tmp_path: Path) -> None:
    error = refused(written(tmp_path, V3 + V3))
    line = V3.count("\n") + 1
    assert (error.code, error.what) == ("B923", f"line {line} begins another iolog: several jobs wrote into one file")


def test_a_block_trace_keeps_threads_depths_and_flushes(tmp_path: Path) -> None:
    trace = BlockTrace()
    trace.io(1_000_000, 8, pid=70)
    trace.io(1_010_000, 800, 8192, TRACED_READ, pid=70)
    trace.io(1_900_000, 16, pid=71)
    trace.flush(2_500_000)
    ended = trace.durable_write(3_000_000, 64, pid=71)
    trace.write(tmp_path)
    load = read_recording(str(tmp_path / "sda"))
    first, second = load.threads
    assert rows(first) == [(0, WRITE, 4096, 4096), (10_000, READ, 800 * 512, 8192), (1_500_000, SYNC, 0, 0)]
    assert first.latency_ns is not None
    assert first.latency_ns[0] == 55_000
    assert rows(second) == [
        (900_000, WRITE, 8192, 4096),
        (2_000_000, WRITE, 32768, 4096),
        (ended - 1_000_000, SYNC, 0, 0),
    ]
    assert (first.queue_depth, second.queue_depth, load.direct) == (2, 1, True)


def test_of_several_devices_of_a_block_trace_one_is_to_be_named(tmp_path: Path) -> None:
    trace = BlockTrace()
    trace.io(1_000_000, 8)
    trace.io(2_000_000, 16, device=SDB)
    name = str(trace.write_merged(tmp_path / "both.bin"))
    assert refused(name).code == "U005"
    assert refused(name, only="9:9").code == "U005"
    assert rows(read_recording(name, only="8:16").threads[0]) == [(0, WRITE, 8192, 4096)]


def test_a_block_trace_that_is_cut_short_is_no_load(tmp_path: Path) -> None:
    trace = BlockTrace()
    for number in range(4):
        trace.io(1_000_000 * (number + 1), 8 * number)
    path = trace.write_merged(tmp_path / "sda.bin")
    path.write_bytes(path.read_bytes()[:-20])
    assert refused(str(path)).code == "B904"


def test_the_most_that_were_outstanding_are_counted() -> None:
    starts = np.array([0, 10, 20, 30])
    assert deepest(starts, np.array([10, 10, 10, 10])) == 1
    assert deepest(starts, np.array([25, 25, 5, 5])) == 3
    assert deepest(np.array([5]), np.array([0])) == 1


def load_of(offsets: list[int], sizes: list[int]) -> Recording:
    count = len(offsets)
    numbers = [np.arange(count), np.zeros(count, int), np.array(offsets), np.array(sizes)]
    return Recording("r", "made up", (RecordedThread(*(each.astype(np.int64) for each in numbers)),))


def test_a_load_that_fits_stays_and_one_that_does_not_moves_together() -> None:
    load = load_of([0, 4096, 100 * MIB, 100 * MIB + 8192, 1000 * MIB], [4096, 4096, 8192, 4096, 65536])
    assert fitted(load, 1001 * MIB) is load
    small = fitted(load, 10 * MIB)
    places = small.threads[0].offset_bytes.tolist()
    assert places[:2] == [0, 4096]
    assert places[3] - places[2] == 8192
    assert places == sorted(places)
    assert small.end_bytes <= 10 * MIB
    assert all(place % 4096 == 0 for place in places)
    assert small.notes[0].startswith("places are scaled from ")
    assert is_aligned(small, 4096)


@pytest.mark.parametrize("size", [65536, 65536 + 512, 3 * MIB, 999 * MIB])
def test_a_scaled_load_lies_within_its_target(size: int) -> None:
    chance = np.random.default_rng(size)
    load = load_of(
        (chance.integers(0, 2**31, 300) // 512 * 512).tolist(), (chance.integers(1, 129, 300) * 512).tolist()
    )
    small = fitted(load, size)
    thread = small.threads[0]
    assert (thread.offset_bytes >= 0).all()
    assert small.end_bytes <= size
    assert is_aligned(small, 512)


def test_the_workload_sums_the_load_up_and_hands_its_records_on() -> None:
    load = load_of([0, 8192], [4096, 512])
    workload = workload_of(load, speed=2, direct=False, record_ios=True)
    assert [(share.operation, [size.bytes for size in share.block_sizes]) for share in workload.operations] == [
        ("read", [512, 4096])
    ]
    assert workload.limits.count == 2
    assert workload.is_open_loop
    with records_of(load, workload) as ready:
        assert ready.recording is not None
        assert len(Path(ready.recording.path).read_bytes()) == 64
        assert f'"path": "{ready.recording.path}"' in ready.to_engine_json()
        assert ready.recording.path not in ready.model_dump_json()


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("size_bytes", [4096, -1]),
        ("size_bytes", [4096, 2**30 + 1]),
        ("offset_bytes", [0, -4096]),
        ("issue_ns", [0, -1]),
        ("total_latency_ns", [2**63 - 1, 1]),
    ],
)
def test_rows_that_no_io_can_have_are_refused(tmp_path: Path, column: str, values: list[object]) -> None:
    path, schema = tmp_path / "kept.parquet", arrow_schema(RECORD_COLUMNS)
    pq.write_table(pa.table({name: [1, 1] for name in schema.names} | {column: values}, schema=schema), path)
    error = refused(str(path))
    assert error.code == "B921"
    assert column in error.what
