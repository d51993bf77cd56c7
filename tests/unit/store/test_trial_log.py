"""A log holds each trial whole or not at all, wherever it was cut off, and tells damage from a cut."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from drivelab.held_directory import HeldDirectory
from drivelab.model.errors import DrivelabError
from drivelab.store import layout
from drivelab.store.trial_log import TrialLog, log_content, read_log

TABLES = {
    layout.TRIALS: pa.table({"trial": ["0001-x"], "asked_filesystem": ["ext4"]}),
    layout.INTERVALS: pa.table({"trial": ["0001-x"] * 3, "bucket": [[1, 2], [], [7]]}),
    layout.HISTOGRAMS: pa.table({"trial": pa.array([], pa.string())}),
}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log with three trials."""
    path = tmp_path / "000001.log"
    opened = TrialLog(HeldDirectory.open(tmp_path), path.name)
    for _ in range(3):
        opened.append(TABLES)
    assert path.stat().st_size == opened.size_bytes
    return path


def test_what_was_appended_comes_back(log: Path) -> None:
    for name, rows in TABLES.items():
        assert [stored.equals(rows) for stored in read_log(log, name)] == [True] * 3


def test_a_log_may_be_cut_off_anywhere(log: Path) -> None:
    whole = log.read_bytes()
    one_trial = len(whole) // 3
    for length in {*range(0, len(whole), 13), *range(one_trial - 60, one_trial + 60), 2 * one_trial}:
        log.write_bytes(whole[:length])
        content = log_content(log)
        assert len(content.frames) == length // one_trial
        assert content.size_bytes == length // one_trial * one_trial


@pytest.mark.parametrize("tail", [b"\0" * 5000, b"DLtrial1" + b"\xff" * 40, b"DLtri"], ids=["zeros", "nonsense", "cut"])
def test_the_next_trial_replaces_what_was_cut_off(log: Path, tail: bytes) -> None:
    whole = log.read_bytes()
    log.write_bytes(whole + tail)
    content = log_content(log)
    assert (len(content.frames), content.size_bytes) == (3, len(whole))
    opened = TrialLog(HeldDirectory.open(log.parent), log.name)
    assert (opened.trial_count, opened.size_bytes) == (3, len(whole))
    opened.append(TABLES)
    assert log.read_bytes() == whole + whole[: len(whole) // 3]


def test_the_last_trial_counts_only_when_all_its_bytes_arrived(log: Path) -> None:
    # after a power failure the length of a file may be ahead of its content
    whole = log.read_bytes()
    log.write_bytes(whole[:-100] + b"\0" * 100)
    assert len(log_content(log).frames) == 2


def test_damage_before_the_end_is_an_error(log: Path) -> None:
    whole = log.read_bytes()
    missed = []
    for position in range(0, len(whole) * 2 // 3, 11):
        damaged = bytearray(whole)
        damaged[position] ^= 0x10
        log.write_bytes(damaged)
        with pytest.raises(DrivelabError) as failure:
            missed.append([sum(1 for _ in read_log(log, name)) for name in layout.TABLES])
        assert failure.value.code == "S506"
    assert missed == []


def test_a_log_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "000001.log").mkdir()
    with pytest.raises(DrivelabError) as failure:
        log_content(tmp_path / "000001.log")
    assert failure.value.code == "S506"
