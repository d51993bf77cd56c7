"""What a killed check, or a killed measurement of files, leaves in a directory is found and removed by `restore`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from drivelab.cli.main import run
from drivelab.model.errors import DrivelabError
from drivelab.state.working_files import undo_empty_directory, undo_working_files, undo_working_tree

PREFIX = ".drivelab-check-123-456-"


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to measure in, with a file of its owner's; runs and journals lie elsewhere."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    found = tmp_path / "data"
    found.mkdir()
    (found / "mine").write_text("untouched")
    return found


def kill_once(directory: Path, made: Callable[[], bool], *arguments: str) -> None:
    """Start the program, and kill it as soon as it has made something."""
    path = os.pathsep.join(one for one in sys.path if one)
    command = [sys.executable, "-m", "drivelab", *arguments]
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=nowhere, stderr=nowhere, env={**os.environ, "PYTHONPATH": path})
    while not made():
        assert process.poll() is None, "it ended before it had made anything"
        time.sleep(0.01)
    process.kill()
    process.wait()


def test_the_working_file_of_a_killed_check_is_removed(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kill_once(directory, lambda: any(directory.glob(".drivelab-check-*")), "check", str(directory), "--quick")
    assert len(list(directory.iterdir())) == 2
    assert run(["restore"]) == 0
    assert "removed 1 working file from" in capsys.readouterr().out
    assert [path.name for path in directory.iterdir()] == ["mine"]
    assert run(["restore"]) == 0
    assert capsys.readouterr().out == "Nothing was left changed.\n"


@pytest.mark.parametrize(
    ("command", "asked"),
    [("io", ("--operation", "stat", "--files", "500", "--runtime", "60s")), ("check", ("--quick", "--for", "sqlite"))],
    ids=["io", "check"],
)
def test_the_tree_of_a_killed_measurement_is_removed(
    command: str, asked: tuple[str, ...], directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = directory / "drivelab-tree"
    kill_once(directory, (tree / "files").is_dir, command, str(directory), *asked)
    assert tree.is_dir()
    assert run(["restore"]) == 0
    assert "removed the files that a measurement had made" in capsys.readouterr().out
    assert [path.name for path in directory.iterdir()] == ["mine"]


def test_a_command_that_ends_by_itself_leaves_no_journal(directory: Path, tmp_path: Path) -> None:
    assert run(["io", str(directory), "--operation", "create", "--files", "10"]) in (0, 4)
    assert list(tmp_path.glob("state/drivelab/journals/*")) == []
    assert [path.name for path in directory.iterdir()] == ["mine"]


def facts(directory: Path) -> tuple[str, int, int]:
    status = directory.stat()
    return str(directory), status.st_dev, status.st_ino


def test_links_and_files_of_others_stay(directory: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("theirs")
    (directory / f"{PREFIX}aa").symlink_to(secret)
    (directory / f"{PREFIX}bb").write_text("ours")
    (directory / ".drivelab-check-123-999-cc").write_text("of a process that lives")
    assert undo_working_files(*facts(directory), PREFIX) == f"removed 1 working file from {directory}"
    assert secret.read_text() == "theirs"
    assert sorted(path.name for path in directory.iterdir()) == [
        ".drivelab-check-123-456-aa",
        ".drivelab-check-123-999-cc",
        "mine",
    ]


def test_a_directory_in_the_place_of_the_one_that_was_used_is_left_alone(directory: Path, tmp_path: Path) -> None:
    before = facts(directory)
    directory.rename(tmp_path / "moved")
    directory.mkdir()
    (directory / f"{PREFIX}aa").write_text("theirs")
    assert undo_working_files(*before, PREFIX) == ""
    assert undo_working_tree(*before) == ""
    assert (directory / f"{PREFIX}aa").exists()


def test_of_a_directory_of_ours_only_that_one_is_removed_and_only_while_nothing_is_in_it(directory: Path) -> None:
    empty = directory / "20260101T000000Z-followed-etcd"
    empty.mkdir()
    before = facts(empty)
    (empty / "recording").mkdir()
    assert undo_empty_directory(*before) == ""
    (empty / "recording").rmdir()
    assert undo_empty_directory(before[0], before[1], before[2] + 1) == ""
    assert undo_empty_directory(*before) == f"removed {empty}, in which nothing was kept"
    assert not empty.exists()
    assert undo_empty_directory(*before) == ""


def test_a_tree_that_is_a_link_or_bears_no_mark_stays(directory: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "files").mkdir(parents=True)
    (directory / "drivelab-tree").symlink_to(elsewhere)
    assert undo_working_tree(*facts(directory)) == ""
    (elsewhere / "made-by-drivelab").write_text("")
    with pytest.raises(DrivelabError, match="cannot be removed") as refusal:
        undo_working_tree(*facts(directory))
    assert refusal.value.code == "R406"
    assert (elsewhere / "files").is_dir()


@pytest.mark.provokes("R408")
@pytest.mark.parametrize("prefix", ["", "mi", "../.drivelab-check-", ".drivelab-check-/../"])
def test_a_name_that_is_not_ours_is_refused(directory: Path, prefix: str) -> None:
    with pytest.raises(DrivelabError) as refusal:
        undo_working_files(*facts(directory), prefix)
    assert refusal.value.code == "R408"
    assert (directory / "mine").exists()
