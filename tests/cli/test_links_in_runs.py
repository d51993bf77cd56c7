"""Commands on a run directory of somebody else: what drivelab writes there by itself goes through no link."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from drivelab.cli.main import run

RUNS = Path(__file__).resolve().parents[1] / "golden" / "runs"


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    victim = tmp_path / "victim"
    victim.mkdir()
    for name in ("letter", "fio.json", "page-figures"):
        (victim / name).write_text("precious")
    return victim


def contents(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in directory.iterdir()}


def copied(name: str, place: Path) -> Path:
    return Path(shutil.copytree(RUNS / name, place / name))


@pytest.mark.parametrize(
    ("name", "run_name", "command"),
    [
        ("report.html", "check-directory", ("report", "RUN")),
        ("joint-report.html", "check-directory", ("report", "RUN", str(RUNS / "queue-depth-grid"))),
        ("report.html", "explained-appends", ("explain", "RUN")),
        ("report.html", "check-directory", ("report", "RUN", "--out", "RUN/report-of-it.html")),
    ],
)
def test_a_page_replaces_a_link_and_not_what_it_leads_to(
    tmp_path: Path, victim: Path, name: str, run_name: str, command: tuple[str, ...]
) -> None:
    directory, before = copied(run_name, tmp_path), contents(victim)
    (directory / name).unlink(missing_ok=True)
    (directory / name).symlink_to(victim / "letter")
    status = run([word.replace("RUN", str(directory)) if word.startswith("RUN") else word for word in command])
    assert status in (0, 1, 4)
    assert contents(victim) == before
    written = directory / ("report-of-it.html" if "--out" in command else name)
    assert written.read_text().startswith("<!doctype html>") or written.is_symlink()


def test_a_folder_of_an_export_is_not_made_through_a_link(
    tmp_path: Path, victim: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory, before = copied("queue-depth-grid", tmp_path), contents(victim)
    (directory / "fio").symlink_to(victim)
    assert run(["export", "fio", str(directory), "--no-logs"]) == 1
    assert "O812" in capsys.readouterr().err
    assert contents(victim) == before


def test_a_file_of_an_export_replaces_a_link(tmp_path: Path, victim: Path) -> None:
    directory, before = copied("queue-depth-grid", tmp_path), contents(victim)
    (directory / "fio").mkdir()
    (directory / "fio" / "fio.json").symlink_to(victim / "fio.json")
    assert run(["export", "fio", str(directory), "--no-logs"]) == 0
    assert contents(victim) == before
    assert not (directory / "fio" / "fio.json").is_symlink()


def test_names_that_drivelab_makes_up_below_a_typed_directory_go_through_no_link(tmp_path: Path, victim: Path) -> None:
    before = contents(victim)
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "results.csv").symlink_to(victim / "letter")
    assert run(["report", str(RUNS / "queue-depth-grid"), "--format", "csv", "--out", str(tmp_path / "tables")]) == 0
    assert contents(victim) == before


def test_a_link_that_was_typed_is_followed(tmp_path: Path, victim: Path) -> None:
    link = tmp_path / "page.html"
    link.symlink_to(victim / "letter")
    assert run(["report", str(RUNS / "check-directory"), "--out", str(link)]) == 0
    assert link.is_symlink()
    assert (victim / "letter").read_text().startswith("<!doctype html>")
