"""The journal knows what is to be put back, whatever happened to the process that wrote it."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from drivelab.model.errors import DrivelabError
from drivelab.state.journal import begin_journal, journal_directory, left_journals, take_journal
from drivelab.state.signals import signals_held
from drivelab.state.undo import UNDO, undo_all
from left_over import restore_left_over


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "journals"


@pytest.fixture
def undone(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a made-up kind of change was told to put back, in order."""
    names: list[str] = []

    def put_back(name: str) -> str:
        names.append(name)
        if name == "stuck":
            raise DrivelabError("R406", "it is stuck", where="here")
        return f"put back {name}"

    monkeypatch.setitem(UNDO, "test", put_back)
    return names


def test_changes_are_put_back_the_newest_first(directory: Path, undone: list[str]) -> None:
    journal = begin_journal(directory)
    for name in ("first", "second", "third"):
        journal.will_change("test", name=name)
    assert undo_all(journal) == ["put back third", "put back second", "put back first"]
    assert undone == ["third", "second", "first"]
    journal.close()


def test_a_journal_with_nothing_outstanding_is_deleted(directory: Path, undone: list[str]) -> None:
    journal = begin_journal(directory)
    journal.will_change("test", name="x")
    undo_all(journal)
    journal.close()
    assert list(directory.iterdir()) == []


def test_what_was_put_back_is_not_put_back_again(directory: Path, undone: list[str]) -> None:
    journal = begin_journal(directory)
    change = journal.will_change("test", name="x")
    journal.will_change("test", name="y")
    journal.was_undone(change)
    undo_all(journal)
    assert undone == ["y"]
    journal.close()


@pytest.mark.provokes("R406")
def test_one_that_cannot_be_put_back_keeps_no_other_from_it(directory: Path, undone: list[str]) -> None:
    journal = begin_journal(directory)
    for name in ("first", "stuck", "third"):
        journal.will_change("test", name=name)
    with pytest.raises(DrivelabError) as failure:
        undo_all(journal)
    assert failure.value.code == "R406"
    assert undone == ["third", "stuck", "first"]
    assert [change.facts["name"] for change in journal.outstanding] == ["stuck"]
    journal.close()
    assert len(list(left_journals(directory))) == 1


def test_the_journal_of_a_living_process_is_left_alone(directory: Path, undone: list[str]) -> None:
    journal = begin_journal(directory)
    journal.will_change("test", name="x")
    # a lock is the process's own: only another one is refused
    code = f"import pathlib, drivelab.state.journal as j; print(j.take_journal(pathlib.Path({str(journal.path)!r})))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=with_package())
    assert answer.stdout.strip() == "None", answer.stderr
    journal.close()


def test_the_journal_of_a_killed_process_is_put_back(directory: Path, undone: list[str]) -> None:
    code = (
        "import pathlib, sys, time, drivelab.state.journal as j\n"
        f"journal = j.begin_journal(pathlib.Path({str(directory)!r}), command='drivelab run x')\n"
        "journal.will_change('test', name='a')\n"
        "journal.will_change('test', name='b')\n"
        "print('ready', flush=True)\ntime.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=with_package())
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    assert restore_left_over(directory) == []
    process.kill()
    process.wait()
    process.stdout.close()
    (restored,) = restore_left_over(directory)
    assert (restored.command, restored.done) == ("drivelab run x", ("put back b", "put back a"))
    assert restore_left_over(directory) == []


def test_a_program_that_outlives_its_drivelab_keeps_the_journal(directory: Path, undone: list[str]) -> None:
    journal = begin_journal(directory)
    journal.will_change("test", name="x")
    child = subprocess.Popen(["sleep", "0.5"], pass_fds=(journal.descriptor,))
    path = journal.path
    os.close(journal.descriptor)
    assert take_journal(path) is None
    child.wait()
    taken = take_journal(path)
    assert taken is not None
    undo_all(taken)
    taken.close()


def test_a_line_cut_off_by_a_crash_announced_nothing(directory: Path, undone: list[str]) -> None:
    journal = begin_journal(directory)
    journal.will_change("test", name="whole")
    os.close(journal.descriptor)
    with journal.path.open("a") as file:
        file.write('{"event": "change", "number": 2, "kind": "te')
    restore_left_over(directory)
    assert undone == ["whole"]


def test_a_stump_is_cut_off_before_anything_is_written_behind_it(directory: Path, undone: list[str]) -> None:
    journal = begin_journal(directory)
    journal.will_change("test", name="first")
    journal.will_change("test", name="second")
    os.close(journal.descriptor)
    with journal.path.open("a") as file:
        file.write('{"event": "change", "number": 3, "kind": "te')
    taken = take_journal(journal.path)
    assert taken is not None
    taken.was_undone(taken.outstanding[0])
    # killed again in the midst of putting back
    os.close(taken.descriptor)
    restore_left_over(directory)
    assert undone == ["first"]


NAMED = {"name": 'é"', "old": None, "new": -1.5, "is": True}
ENTRY = {"event": "change", "number": 2, "kind": "test", "facts": NAMED}


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_stump_with_whole_entries_behind_it_announced_nothing(directory: Path, undone: list[str], end: str) -> None:
    whole = json.dumps(ENTRY)
    directory.mkdir()
    for length in range(1, len(whole)):
        path = directory / f"1-{length}.jsonl"
        entries = [ENTRY | {"number": number, "facts": {"name": f"n{number}"}} for number in (1, 3)]
        before, behind = (json.dumps(entry) for entry in entries)
        path.write_text(f"{before}\n{whole[:length]}{end}{behind}\n")
        undone.clear()
        restore_left_over(directory)
        assert undone == ["n3", "n1"], whole[:length]


def test_an_entry_that_lacks_only_its_line_end_counts(directory: Path, undone: list[str]) -> None:
    directory.mkdir()
    entries = [ENTRY | {"number": number, "facts": {"name": f"n{number}"}} for number in (1, 2)]
    (directory / "1-x.jsonl").write_text(f"{json.dumps(entries[0])}{json.dumps(entries[1])}\n")
    restore_left_over(directory)
    assert undone == ["n2", "n1"]


@contextmanager
def files_end_at(size_bytes: int) -> Iterator[None]:
    """A disk that is full beyond: writes up to there are taken in part, as on a disk that fills up."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.provokes("R409")
@pytest.mark.parametrize("room_bytes", [0, 1, 30])
def test_a_change_that_is_written_down_in_part_is_not_made_and_leaves_the_journal_as_it_was(
    directory: Path, undone: list[str], room_bytes: int
) -> None:
    journal = begin_journal(directory)
    journal.will_change("test", name="first")
    before = journal.path.read_bytes()
    with files_end_at(len(before) + room_bytes), pytest.raises(DrivelabError) as failure:
        journal.will_change("test", name="second")
    assert failure.value.code == "R409"
    assert journal.path.read_bytes() == before
    journal.will_change("test", name="third")
    os.close(journal.descriptor)
    restore_left_over(directory)
    assert undone == ["third", "first"]


@pytest.mark.parametrize("room_bytes", [0, 10])
def test_a_journal_whose_begin_has_no_room_leaves_no_file(directory: Path, room_bytes: int) -> None:
    descriptors = len(os.listdir("/proc/self/fd"))
    with files_end_at(room_bytes), pytest.raises(DrivelabError) as failure:
        begin_journal(directory)
    assert failure.value.code == "R409"
    assert list(directory.iterdir()) == []
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_a_journal_that_is_deleted_before_it_is_locked_is_nobodys(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = begin_journal(directory)
    path = journal.path
    os.close(journal.descriptor)

    def lock_after_another(descriptor: int, operation: int) -> None:
        monkeypatch.undo()
        path.unlink()
        fcntl.flock(descriptor, operation)

    monkeypatch.setattr("drivelab.state.journal.fcntl.flock", lock_after_another)
    descriptors = len(os.listdir("/proc/self/fd"))
    assert take_journal(path) is None
    assert len(os.listdir("/proc/self/fd")) == descriptors


@pytest.mark.provokes("R408")
@pytest.mark.parametrize(
    "content", ["not json\n", '{"event": "change"}\n', "[]\n", '{"event": "change, "number": 1}\n']
)
def test_a_journal_that_makes_no_sense_is_named(directory: Path, content: str) -> None:
    directory.mkdir()
    (directory / "1-x.jsonl").write_text(content)
    with pytest.raises(DrivelabError) as failure:
        restore_left_over(directory)
    assert failure.value.code == "R408"
    assert failure.value.where == str(directory / "1-x.jsonl")


def test_a_change_of_an_unknown_kind_is_not_forgotten(directory: Path) -> None:
    journal = begin_journal(directory)
    journal.will_change("of-the-future", name="x")
    os.close(journal.descriptor)
    with pytest.raises(DrivelabError, match="of-the-future"):
        restore_left_over(directory)
    assert len(list(left_journals(directory))) == 1


@pytest.mark.provokes("R409")
def test_a_place_that_takes_no_journal_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DrivelabError) as failure:
        begin_journal(tmp_path / "file" / "journals")
    assert failure.value.code == "R409"


def test_journals_lie_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert journal_directory() == Path("/state/drivelab/journals")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert journal_directory() == Path("/var/lib/drivelab/journals")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert journal_directory() == Path.home() / ".local/state/drivelab/journals"


def test_ctrl_c_waits_until_everything_is_put_back() -> None:
    reached = []

    def put_back_slowly() -> None:
        with signals_held():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
            reached.append("end")

    with pytest.raises(KeyboardInterrupt):
        put_back_slowly()
    assert reached == ["end"]


def with_package() -> dict[str, str]:
    """An environment in which another Python finds the package as this one does."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
