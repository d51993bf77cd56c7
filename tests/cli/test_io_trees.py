"""``drivelab io`` on the files of a directory: what it prints, what it leaves, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from drivelab.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs ``drivelab io`` in this process: exit status, stdout, stderr."""

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        status = main.run(["io", *map(str, arguments)])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


def refused(run: Run, *arguments: str | Path) -> str:
    status, out, err = run(*arguments, "--json")
    error = json.loads(err)["error"]
    assert out == ""
    assert error["do"]
    assert error["exit_code"] == status
    return str(error["code"])


def test_files_are_made_measured_and_removed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    sizes = ("--file-size", "4KiB", "--file-size-min", "1KiB", "--jobs", "2", "--directories", "6", "--depth", "2")
    status, out, err = run(tmp_path, "--operation", "create", "--files", "300", *sizes, "--json")
    document = json.loads(out)
    assert (status in (0, 4), err) == (True, "")
    created = document["operations"]["create"]
    assert created["count"] == 300
    assert 300 * 1024 <= created["bytes"] <= 300 * 4096
    assert document["iops"] == pytest.approx(300 / document["measured_ns"] * 1e9)
    assert document["stopped_by"] == "range_end"
    assert document["judged_operation"] == "create"
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("operation", ["stat", "read_file", "delete", "replace", "list", "create:1,delete:1,stat:2"])
def test_the_text_tells_the_operations(run: Run, tmp_path: Path, operation: str) -> None:
    status, out, _err = run(tmp_path, "--operation", operation, "--files", "50", "--access", "random")
    assert status in (0, 4)
    assert "50 files of 0 B" in " ".join(out.split())
    for share in operation.split(","):
        assert share.partition(":")[0].replace("_", " ") in out
    assert list(tmp_path.iterdir()) == []


def test_what_has_no_effect_is_said(run: Run, tmp_path: Path) -> None:
    _status, _out, err = run(tmp_path, "--operation", "delete", "--files", "5", "--durability", "fsync")
    assert "no file is written" in err
    _status, _out, err = run(tmp_path, "--operation", "stat", "--files", "5", "--sync-directory")
    assert "no directory changes" in err


@pytest.mark.provokes("E316")
def test_a_target_that_is_no_directory_is_refused(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    assert refused(run, file, "--operation", "create", "--files", "5") == "E316"
    assert refused(run, tmp_path / "missing", "--operation", "stat", "--files", "5") == "E316"
    assert file.read_text() == "mine"


@pytest.mark.provokes("E318")
def test_what_others_made_under_our_name_is_left_alone(run: Run, tmp_path: Path) -> None:
    theirs = tmp_path / "drivelab-tree" / "letters"
    theirs.parent.mkdir()
    theirs.write_text("mine")
    assert refused(run, tmp_path, "--operation", "create", "--files", "5") == "E318"
    assert theirs.read_text() == "mine"


def test_options_that_do_not_fit_are_refused(run: Run, tmp_path: Path) -> None:
    assert refused(run, tmp_path, "--operation", "create") == "U003"
    assert refused(run, tmp_path, "--files", "5") == "U004"
    assert refused(run, tmp_path, "--operation", "create:1,read:1", "--files", "5") == "U004"
    assert refused(run, tmp_path, "--operation", "create", "--files", "5", "--file-size-min", "1KiB") == "U003"
    assert refused(run, tmp_path, "--operation", "create", "--files", "5", "--jobs", "6") == "E301"
    assert refused(run, tmp_path, "--operation", "create", "--files", "5", "--queue-depth", "2") == "E313"
    assert refused(run, tmp_path) == "T105"
    assert list(tmp_path.iterdir()) == []
