"""Logs, segments and whole files: the same rows come out in every state, and memory does not grow."""

from __future__ import annotations

import os
import struct
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from counted_time import at_most_processor_s
from drivelab.model.errors import DrivelabError
from drivelab.store import compact, layout, parts
from drivelab.store.place import TrialPlace
from drivelab.store.read import open_run
from drivelab.store.write import RunWriter, continue_run, create_run

NOW = datetime(2026, 1, 31, 12, 0, 5, tzinfo=UTC)
TRIALS = 23


@pytest.fixture
def writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunWriter:
    """A writer whose logs are full with three trials."""
    monkeypatch.setattr(compact, "LOG_TRIALS_MAX", 3)
    made = create_run(tmp_path, "x", "y", NOW)
    made.write_run_json({})
    return made


def add(writer: RunWriter, make_trial: Callable, numbers: range) -> None:
    for number in numbers:
        place = TrialPlace(step=number, asked={("filesystem", "cache", "size")[number % 3]: str(number)})
        writer.add_trial(*make_trial(f"{number:04d}-x", seed=number), place=place)


def rows_of(writer: RunWriter) -> list[list[dict]]:
    run = open_run(writer.directory)
    by_trial = [("trial", "ascending")]
    tables = (
        run.trials,
        run.intervals.sort_by([*by_trial, ("interval", "ascending")]),
        run.histograms.sort_by(by_trial),
    )
    return [[{name: row[name] for name in sorted(row)} for row in table.to_pylist()] for table in tables]


def part_files(writer: RunWriter) -> list[str]:
    return sorted(path.name for path in (writer.directory / "parts").iterdir())


def test_every_state_has_the_same_rows(writer: RunWriter, make_trial: Callable) -> None:
    add(writer, make_trial, range(1, TRIALS + 1))
    files = part_files(writer)
    assert [name for name in files if name.endswith(".log")] == ["000007.log", "000008.log"]
    assert len([name for name in files if name.endswith(".trials.parquet")]) == 6
    going_on = rows_of(writer)
    assert [len(rows) for rows in going_on] == [TRIALS, 5 * TRIALS, TRIALS]
    assert [row["asked_cache"] for row in going_on[0][:3]] == ["1", None, None]
    writer.finish()
    assert rows_of(writer) == going_on
    assert not (writer.directory / "parts").exists()


def test_a_segment_is_never_written_again(writer: RunWriter, make_trial: Callable) -> None:
    add(writer, make_trial, range(1, 9))
    segment = writer.directory / "parts" / "000001.trials.parquet"
    before = segment.stat()
    add(writer, make_trial, range(9, TRIALS))
    assert (segment.stat().st_ino, segment.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_log_is_also_full_by_its_bytes(
    writer: RunWriter, make_trial: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compact, "LOG_TRIALS_MAX", 1000)
    monkeypatch.setattr(compact, "LOG_BYTES_MAX", 1)
    add(writer, make_trial, range(1, 7))
    # each trial fills a log, so segments are made as fast as logs are
    assert [name for name in part_files(writer) if name.endswith(".log")] == ["000005.log", "000006.log"]
    assert open_run(writer.directory).trials.num_rows == 6


def test_a_run_can_be_finished_and_continued_again_and_again(writer: RunWriter, make_trial: Callable) -> None:
    writer.write_run_json({"seed": 7})
    for first in range(1, 36, 7):
        add(writer, make_trial, range(first, first + 7))
        assert open_run(writer.directory).completed_trials() == {f"{n:04d}-x" for n in range(1, first + 7)}
        if first % 2:
            writer.finish(status="interrupted")
        else:
            writer.close()
        writer = continue_run(writer.directory)
    assert open_run(writer.directory).run_json["seed"] == 7
    trials, intervals, _ = rows_of(writer)
    assert [row["trial"] for row in trials] == [f"{n:04d}-x" for n in range(1, 36)]
    assert set(Counter(row["trial"] for row in intervals).values()) == {5}


def test_full_logs_that_a_killed_writer_left_become_segments(writer: RunWriter, make_trial: Callable) -> None:
    add(writer, make_trial, range(1, 8))
    writer.close()
    assert "000002.trials.parquet" not in part_files(writer)
    after = continue_run(writer.directory)
    add(after, make_trial, range(8, 14))
    files = part_files(after)
    assert {"000002.trials.parquet", "000003.trials.parquet"} <= set(files)
    assert [name for name in files if name.endswith(".log")] == ["000004.log", "000005.log"]
    assert open_run(after.directory).trials.num_rows == 13


def test_what_a_crash_left_half_written_goes_when_a_writer_comes(writer: RunWriter, make_trial: Callable) -> None:
    add(writer, make_trial, range(1, 3))
    writer.close()
    left = ["parts/.000001.trials.parquet.77", "ios/.0003-x.parquet.77", ".run.json.77", ".trials.parquet.77"]
    kept = [".report.html.77", ".gitignore", "notes.txt"]
    (writer.directory / "ios").mkdir()
    for name in [*left, *kept]:
        (writer.directory / name).write_bytes(b"PAR1 and then the power went")
    assert open_run(writer.directory).trial_names == ["0001-x", "0002-x"]
    continue_run(writer.directory)
    assert [name for name in [*left, *kept] if (writer.directory / name).exists()] == kept


def test_a_failure_to_make_a_segment_stores_nothing_of_the_next_trial(
    writer: RunWriter, make_trial: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(writer, make_trial, range(1, 4))

    def failing_sync(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", failing_sync)
    with pytest.raises(DrivelabError) as failure:
        add(writer, make_trial, range(4, 5))
    assert failure.value.code == "S502"
    assert open_run(writer.directory).trials.num_rows == 3
    monkeypatch.undo()
    add(writer, make_trial, range(4, 9))
    assert open_run(writer.directory).trials.num_rows == 8


def test_joining_takes_memory_by_the_row_group(
    writer: RunWriter, make_trial: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(writer, make_trial, range(1, 31))
    sources = parts.table_sources(writer.directory, layout.INTERVALS)
    pieces = [rows.nbytes for rows in parts.source_rows(sources, layout.INTERVALS)]
    monkeypatch.setattr(compact, "_ROW_GROUP_BYTES", 2 * max(pieces))
    writer.finish()
    groups = pq.ParquetFile(writer.directory / layout.INTERVALS).num_row_groups
    assert groups >= sum(pieces) // (3 * max(pieces)) > 2
    assert open_run(writer.directory).intervals.num_rows == 150


def test_memory_does_not_grow_with_the_number_of_trials(writer: RunWriter, make_trial: Callable) -> None:
    held = []
    for first in range(1, 120, 30):
        add(writer, make_trial, range(first, first + 30))
        held.append(pa.total_allocated_bytes())
    assert max(held) < held[0] + 2**20


def test_a_run_of_ten_thousand_trials_opens_quickly(writer: RunWriter, make_trial: Callable) -> None:
    add(writer, make_trial, range(1, 8))
    parts_folder = writer.directory / "parts"
    segments = {table: pq.read_table(parts_folder / f"000001.{table}") for table in (layout.TRIALS, layout.INTERVALS)}
    (parts_folder / "000003.log").rename(parts_folder / "000158.log")
    (parts_folder / "000002.log").unlink()
    trials = segments[layout.TRIALS].take([0] * 64)
    for generation in range(2, 158):
        names = pa.array([f"{generation:04d}-{number:02d}" for number in range(64)])
        pq.write_table(trials.set_column(0, "trial", names), parts_folder / f"{generation:06}.trials.parquet")
    with at_most_processor_s(1):
        assert len(open_run(writer.directory).completed_trials()) == 3 + 156 * 64 + 1
    with at_most_processor_s(2):
        assert len(open_run(writer.directory).trial_names) == 3 + 156 * 64 + 1


def test_a_reader_beside_a_busy_writer_sees_every_trial_that_was_stored(
    writer: RunWriter, make_trial: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(writer, make_trial, range(1, 10))
    going_on = [
        lambda: add(writer, make_trial, range(10, 12)),
        writer.finish,
        lambda: add(writer, make_trial, range(12, 20)),
    ]
    read_parquet = parts.read_parquet

    def read_while_it_goes_on(path: Path, table: str, columns: list[str] | None = None) -> pa.Table:
        if going_on:
            going_on.pop(0)()
        return read_parquet(path, table, columns)

    monkeypatch.setattr(parts, "read_parquet", read_while_it_goes_on)
    assert open_run(writer.directory).trial_names == [f"{number:04d}-x" for number in range(1, 20)]
    assert going_on == []


def test_files_that_never_stand_still_are_an_error(
    writer: RunWriter, make_trial: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(writer, make_trial, range(1, 2))
    number = iter(range(100))
    monkeypatch.setattr(parts, "part_names", lambda _: frozenset({f"{next(number) + 1:06}.log"}))
    with pytest.raises(DrivelabError) as failure:
        _ = open_run(writer.directory).trials
    assert failure.value.code == "S506"


def test_a_damaged_segment_is_an_error(writer: RunWriter, make_trial: Callable) -> None:
    add(writer, make_trial, range(1, 8))
    segment = writer.directory / "parts" / "000001.trials.parquet"
    segment.write_bytes(segment.read_bytes()[:-20])
    with pytest.raises(DrivelabError) as failure:
        open_run(writer.directory).completed_trials()
    assert failure.value.code == "S506"
    with pytest.raises(DrivelabError) as failure:
        writer.finish()
    assert failure.value.code == "S506"


def test_damage_anywhere_in_a_whole_file_is_an_error(writer: RunWriter, make_trial: Callable) -> None:
    add(writer, make_trial, range(1, 8))
    writer.finish()
    path = writer.directory / layout.INTERVALS
    whole = path.read_bytes()
    (footer_bytes,) = struct.unpack("<I", whole[-8:-4])
    harmless = []
    for position in range(4, len(whole) - footer_bytes - 8, 41):
        damaged = bytearray(whole)
        damaged[position] ^= 0x10
        path.write_bytes(damaged)
        try:
            rows = open_run(writer.directory).intervals
        except DrivelabError as error:
            assert error.code == "S506"
        else:
            # statistics in a page's header, which nobody reads
            harmless.append(rows)
    path.write_bytes(whole)
    expected = open_run(writer.directory).intervals
    assert all(rows.equals(expected) for rows in harmless)
    assert len(harmless) < len(whole) / 41 / 2


def test_what_a_whole_file_has_joined_is_asked_again_of_another_file(tmp_path: Path) -> None:
    whole = tmp_path / layout.TRIALS
    assert parts.joined_generation(whole) is None
    # of the same size, in the place of the one before, as a writer leaves it
    for generation in (b"3", b"4"):
        rows = pa.table({"trial": ["a"]}).replace_schema_metadata({parts.JOINED_KEY: generation})
        pq.write_table(rows, tmp_path / "new")
        (tmp_path / "new").replace(whole)
        assert parts.joined_generation(whole) == int(generation)
    whole.unlink()
    assert parts.joined_generation(whole) is None
