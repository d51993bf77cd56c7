"""The command ``drivelab report``: where the page goes, what is printed, what goes wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from drivelab.cli.main import run
from drivelab.model.errors import EXIT_FAILED, EXIT_OK, EXIT_USAGE

RUNS = Path(__file__).resolve().parents[1] / "golden" / "runs"
HOSTILE = RUNS / "check-hostile-names"


def test_the_path_of_the_page_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(HOSTILE), "--out", str(tmp_path / "page.html")]) == EXIT_OK
    assert capsys.readouterr().out == f"{tmp_path / 'page.html'}\n"
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


def test_a_directory_takes_the_page_under_the_name_of_the_run(tmp_path: Path) -> None:
    assert run(["report", str(HOSTILE), "--out", str(tmp_path)]) == EXIT_OK
    assert [path.name for path in tmp_path.iterdir()] == ["check-hostile-names.html"]


def test_json_names_the_run_and_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert run(["report", str(HOSTILE), "--out", str(page), "--json"]) == EXIT_OK
    assert json.loads(capsys.readouterr().out) == {"schema": 1, "run": str(HOSTILE), "report": str(page)}


def test_the_answer_is_printed_instead_of_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(RUNS / "check-directory"), "--text"]) == EXIT_OK
    printed = capsys.readouterr().out
    assert printed.startswith("Is /var/lib/etcd fit, and can the numbers be trusted?\nPass  Yes")
    assert not (RUNS / "check-directory" / "report.html").exists()


def test_a_run_is_found_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(RUNS))
    assert run(["report", "check-hostile-names", "--out", str(tmp_path)]) == EXIT_OK


def test_what_is_no_run_is_a_mistake_of_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(tmp_path)]) == EXIT_USAGE
    assert "error[S504]" in capsys.readouterr().err


def test_a_page_that_cannot_be_written_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(HOSTILE), "--out", str(tmp_path / "missing" / "page.html")]) == EXIT_FAILED
    printed = capsys.readouterr().err
    assert "error[O802]" in printed
    assert "--out FILE" in printed
