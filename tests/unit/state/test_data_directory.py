"""The directory for a run's files is removed when it still is the one that was made, and nothing else ever is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from drivelab.state.data_directory import make_data_directory, undo_data_directory
from drivelab.state.journal import Journal, begin_journal
from drivelab.state.undo import undo_all


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return begin_journal(tmp_path / "journals")


def a_link(path: Path, theirs: Path) -> None:
    path.symlink_to(theirs)


def another_directory(path: Path, theirs: Path) -> None:
    theirs.rename(path)


@pytest.mark.parametrize("put", [a_link, another_directory])
def test_what_was_put_in_its_place_is_left_alone(
    tmp_path: Path, journal: Journal, put: Callable[[Path, Path], None]
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "letter").write_text("precious")
    directory = make_data_directory(tmp_path, journal)
    directory.path.rename(tmp_path / "away")
    assert not directory.is_in_place
    put(directory.path, theirs)
    told = undo_all(journal)
    assert told == [f"left {directory.path} alone: it is not the directory that drivelab made"]
    assert (directory.path / "letter").read_text() == "precious"
    assert journal.outstanding == ()


def test_it_goes_with_all_that_is_in_it_and_no_link_is_followed(tmp_path: Path, journal: Journal) -> None:
    letter = tmp_path / "theirs" / "letter"
    letter.parent.mkdir()
    letter.write_text("precious")
    directory = make_data_directory(tmp_path, journal)
    (directory.path / "below").mkdir()
    (directory.path / "below" / "link").symlink_to(letter.parent)
    (directory.path / "link").symlink_to(letter.parent)
    (directory.path / "trial.data").write_text("data")
    assert undo_all(journal) == [f"removed {directory.path}"]
    assert not directory.path.exists()
    assert letter.read_text() == "precious"


def test_one_that_was_not_noted_any_further_is_removed_when_it_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "drivelab-data-1"
    path.mkdir()
    (path / "letter").write_text("precious")
    assert undo_data_directory(str(path)) == ""
    (path / "letter").unlink()
    assert undo_data_directory(str(path)) == f"removed {path}"
