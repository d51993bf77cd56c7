"""A run directory may come from somebody else: no link in it is followed, and no file of others in it is cut."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from drivelab.held_directory import HeldDirectory
from drivelab.model.errors import DrivelabError
from drivelab.store.durable import write_json, written_aside
from drivelab.store.layout import JOURNAL, RUN_JSON, TABLES
from drivelab.store.write import RunWriter, create_run
from unit.store.made_traces import events, operations

TRIAL = "0001-small-write-raw-r1"
FILES = (RUN_JSON, JOURNAL, *TABLES, "note.txt", "parts/000001.log", f"ios/{TRIAL}.parquet")
FILES_OF_TRACES = (f"operations/{TRIAL}.parquet", f"events/{TRIAL}.parquet", f"recordings/{TRIAL}")
FOLDERS = ("parts", "ios", "operations", "events", "recordings", "imported")


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """A run directory of somebody, with nothing in it yet."""
    writer = create_run(tmp_path / "runs", "small", "x", datetime.now(UTC))
    writer.close()
    (writer.directory / JOURNAL).unlink()
    return writer.directory


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A directory of another person, with what drivelab likes to remove and to write."""
    theirs = tmp_path / "theirs"
    (theirs / TRIAL).mkdir(parents=True)
    for name in ("letter", "000001.log", f"{TRIAL}.parquet", ".half.parquet.123", f"{TRIAL}/file"):
        (theirs / name).write_text("precious")
    return theirs


def contents(directory: Path) -> dict[str, str]:
    return {str(path.relative_to(directory)): path.read_text() for path in directory.rglob("*") if path.is_file()}


def write_everything(directory: Path, make_trial: Callable) -> None:
    """All that a writer does; where it refuses, the rest is tried all the same."""
    measured, summary = make_trial(TRIAL)

    def traced() -> None:
        with writer.trace_sink(TRIAL) as sink:
            (sink.recording / "loop0.blktrace.0").write_bytes(b"first")
            sink.keep(operations(3), events(3))

    def recorded() -> None:
        with writer.record_sink(TRIAL):
            pass

    writer = RunWriter(directory)
    for step in (
        lambda: writer.write_run_json({"a": 1}),
        lambda: writer.add_journal("event"),
        lambda: writer.add_file("note.txt", b"note"),
        lambda: writer.add_file("imported/results", b"results"),
        recorded,
        traced,
        lambda: writer.add_trial(measured, summary),
        writer.finish,
    ):
        try:
            step()
        except DrivelabError as error:
            assert error.code == "S501"
    writer.close()


@pytest.mark.provokes("S501")
@pytest.mark.parametrize("name", [*FILES, *FILES_OF_TRACES])
def test_a_link_in_the_place_of_a_file_is_refused_or_replaced(
    begun: Path, theirs: Path, make_trial: Callable, name: str
) -> None:
    before = contents(theirs)
    (begun / name).parent.mkdir(exist_ok=True)
    (begun / name).symlink_to(theirs / (TRIAL if name.endswith(TRIAL) else "letter"))
    with suppress(DrivelabError):
        write_everything(begun, make_trial)
    assert contents(theirs) == before


@pytest.mark.parametrize("name", FOLDERS)
def test_a_link_in_the_place_of_a_folder_is_refused(begun: Path, theirs: Path, make_trial: Callable, name: str) -> None:
    before = contents(theirs)
    (begun / name).symlink_to(theirs)
    with suppress(DrivelabError):
        write_everything(begun, make_trial)
    assert contents(theirs) == before


@pytest.mark.parametrize("name", [JOURNAL, "parts/000001.log"])
def test_a_second_name_of_a_file_gets_no_line_and_is_not_cut(
    begun: Path, theirs: Path, make_trial: Callable, name: str
) -> None:
    before = contents(theirs)
    (begun / name).parent.mkdir(exist_ok=True)
    (begun / name).hardlink_to(theirs / "letter")
    with suppress(DrivelabError):
        write_everything(begun, make_trial)
    assert contents(theirs) == before


def test_a_file_of_others_is_no_journal(begun: Path, theirs: Path) -> None:
    (theirs / "letter").rename(begun / JOURNAL)
    with pytest.raises(DrivelabError, match="no journal of a run") as caught:
        RunWriter(begun)
    assert caught.value.code == "S501"
    assert (begun / JOURNAL).read_text() == "precious"


def test_the_directory_that_was_made_is_written_whatever_its_name_leads_to(
    tmp_path: Path, theirs: Path, make_trial: Callable
) -> None:
    writer = create_run(tmp_path / "runs", "small", "x", datetime.now(UTC))
    before = contents(theirs)
    away = tmp_path / "away"
    writer.directory.rename(away)
    writer.directory.symlink_to(theirs)
    writer.write_run_json({"a": 1})
    writer.add_journal("event")
    writer.add_trial(*make_trial(TRIAL))
    assert contents(theirs) == before
    assert {"run.json", JOURNAL, "parts"} <= set(os.listdir(away))


def test_the_name_of_a_half_written_file_cannot_be_guessed_and_has_the_usual_permissions(tmp_path: Path) -> None:
    umask = os.umask(0o027)
    try:
        names = set()
        for _ in range(2):
            with written_aside(tmp_path / "page.html") as aside:
                aside.write_text("page")
                names |= {name for name in os.listdir(tmp_path) if name.startswith(".page.html.")}
    finally:
        os.umask(umask)
    assert len(names) == 2
    assert os.listdir(tmp_path) == ["page.html"]
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o640


def test_no_name_leads_out_of_a_directory(tmp_path: Path) -> None:
    with HeldDirectory.open(tmp_path) as held:
        for name in ("../x", "a/b", "", ".", ".."):
            for use in (held.new_file, held.make, held.below, held.remove_name, held.remove_directory):
                with pytest.raises(OSError, match="no name of something"):
                    use(name)


@pytest.mark.needs_root
def test_a_directory_is_reached_through_our_own_link_and_not_through_that_of_another_user(
    tmp_path: Path, theirs: Path
) -> None:
    own, foreign = tmp_path / "own", tmp_path / "foreign"
    own.symlink_to(theirs)
    foreign.symlink_to(theirs)
    os.chown(foreign, 65534, 65534, follow_symlinks=False)
    write_json(own / "page.json", {})
    with pytest.raises(DrivelabError, match="a link is in its way") as caught:
        write_json(foreign / "letter", {})
    assert caught.value.code == "S501"
    assert (theirs / "letter").read_text() == "precious"
