"""``drivelab fleet site``: which pages there are, what is made again, and what is left alone."""

from __future__ import annotations

import io
import json
import re
import shutil
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import pytest

from drivelab.answers.drive_values import NumbersOfRun, numbers_of_drives
from drivelab.cli.main import run
from drivelab.cli.site_entries import SiteEntry, make_entry
from drivelab.report.tables.fleet_drives import _signed
from drivelab.store.read import StoredRun
from made_up_fleet import BASE, made_up_drives, write_fleet

CHECK = BASE.parent / "check-directory"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two runs of each of five drives."""
    write_fleet(tmp_path / "runs", list(made_up_drives(5)), runs_each=2)
    return tmp_path / "runs"


@pytest.fixture(scope="module")
def first_site(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The runs, their site beside them, made once for all who copy both, and what the command told."""
    place = tmp_path_factory.mktemp("site")
    write_fleet(place / "runs", list(made_up_drives(5)), runs_each=2)
    with redirect_stdout(io.StringIO()) as told:
        make(place / "runs")
    return place, told.getvalue()


@pytest.fixture
def runs_of_site(first_site: tuple[Path, str], tmp_path: Path) -> Path:
    """Runs whose site has been made."""
    shutil.copytree(first_site[0], tmp_path, dirs_exist_ok=True)
    return tmp_path / "runs"


def make(runs: Path, *more: str) -> None:
    """Make the site again; what the command tells is printed by the caller's fixture."""
    assert run(["fleet", "site", str(runs), "--out", str(runs.parent / "site"), "--json", *more]) == 0


def pages(runs: Path) -> dict[str, int]:
    """The pages of runs, and when each was written."""
    return {path.name: path.stat().st_mtime_ns for path in (runs.parent / "site" / "runs").iterdir()}


def test_every_run_has_a_row_and_a_page_behind_it(first_site: tuple[Path, str]) -> None:
    place, printed = first_site
    told = json.loads(printed)
    assert (told["schema"], told["runs"], told["new"]) == (1, 10, 10)
    assert told["answer"].startswith("All 5 drives are alike")
    site = place / "site"
    index = (site / "index.html").read_text()
    links = re.findall(r'href="(runs/[^"]+)"', index)
    assert len(links) == index.count("data-place=") == 10
    assert all((site / link).is_file() for link in links)
    assert "SN000004" in (site / "fleet.html").read_text()
    assert "SN000004" in (site / "history.html").read_text()
    assert "All drives beside each other" in index
    assert "Each drive over time" in index


def test_made_again_only_what_is_new_is_made(runs_of_site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = runs_of_site
    before = pages(runs)
    fleet = (runs.parent / "site" / "fleet.html").stat().st_mtime_ns
    make(runs)
    assert json.loads(capsys.readouterr().out)["new"] == 0
    assert pages(runs) == before
    assert (runs.parent / "site" / "fleet.html").stat().st_mtime_ns == fleet
    gone = next(runs.iterdir())
    shutil.rmtree(gone)
    write_fleet(runs, list(made_up_drives(6))[5:])
    make(runs)
    assert json.loads(capsys.readouterr().out)["new"] == 1
    after = pages(runs)
    assert len(after) == len(before) == 10
    assert len(before.items() & after.items()) == 9
    assert gone.name not in (runs.parent / "site" / "index.html").read_text()


def test_for_the_report_of_all_drives_only_runs_are_read_that_are_new(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make(runs, "--no-run-pages")
    write_fleet(runs, list(made_up_drives(6))[5:])
    read: list[str] = []

    def counting(one: StoredRun, host: str) -> NumbersOfRun:
        read.append(one.name)
        return numbers_of_drives(one, host)

    monkeypatch.setattr("drivelab.cli.site_entries.numbers_of_drives", counting)
    make(runs, "--no-run-pages")
    assert len(read) == 1
    site = runs.parent / "site"
    told = [(site / name).read_text() for name in ("index.html", "fleet.html")]
    shutil.rmtree(site)
    make(runs, "--no-run-pages")
    assert len(read) == 1 + 11
    assert told == [(site / name).read_text() for name in ("index.html", "fleet.html")]
    capsys.readouterr()


def test_a_run_that_goes_on_is_made_again(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = next(runs.iterdir()) / "run.json"
    document.write_text(document.read_text().replace('"status": "complete"', '"status": "running"'))
    make(runs, "--no-run-pages")
    capsys.readouterr()
    make(runs, "--no-run-pages")
    assert json.loads(capsys.readouterr().out)["new"] == 1
    assert "running; " in (runs.parent / "site" / "index.html").read_text().replace("not ended; ", "running; ")


def test_pages_of_runs_may_be_left_out_and_come_later(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for other in sorted(runs.iterdir())[2:]:
        shutil.rmtree(other)
    make(runs, "--no-run-pages")
    assert pages(runs) == {}
    assert 'href="runs/' not in (runs.parent / "site" / "index.html").read_text()
    make(runs)
    assert len(pages(runs)) == 2
    capsys.readouterr()


def test_one_run_alone_and_one_that_cannot_be_read(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, *others = sorted(runs.iterdir())
    for other in others:
        shutil.rmtree(other)
    (second / "run.json").write_text("{")
    make(runs)
    printed = capsys.readouterr()
    assert json.loads(printed.out)["runs"] == 1
    assert f"left out: {second.name}: run.json cannot be understood" in printed.err
    site = runs.parent / "site"
    assert first.name in (site / "index.html").read_text()
    assert not (site / "fleet.html").exists()
    assert not (site / "history.html").exists()
    (first / "run.json").write_text("{")
    assert run(["fleet", "site", str(runs), "--out", str(site)]) == 2
    assert "error[U009] none of these runs can be read" in capsys.readouterr().err


@pytest.mark.provokes("O802")
def test_a_directory_with_other_files_is_left_alone(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fleet", "site", str(runs), "--out", str(runs)]) == 1
    told = capsys.readouterr().err
    assert "error[O802] the directory is not empty, and holds no site" in told
    assert "name another place" in told
    assert len(list(runs.iterdir())) == 10


def test_made_again_it_removes_only_what_it_wrote_itself(
    runs_of_site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = runs_of_site
    before = pages(runs)
    site = runs.parent / "site"
    others = [site / "runs" / "minutes.html", site / "data" / "notes.json"]
    for other in others:
        other.write_text("of somebody else")
    shutil.rmtree(next(runs.iterdir()))
    make(runs)
    assert [other.read_text() for other in others] == ["of somebody else"] * 2
    after = pages(runs)
    assert len(before.keys() & after.keys()) == len(after) - 1 == 9
    assert len(list((site / "data").iterdir())) == 10
    capsys.readouterr()


def test_what_a_site_wrote_before_it_was_cut_off_is_its_own(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def cut_off(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("drivelab.cli.fleet_site._together", cut_off)
        run(["fleet", "site", str(runs), "--out", str(runs.parent / "site"), "--no-run-pages"])
    shutil.rmtree(next(runs.iterdir()))
    make(runs, "--no-run-pages")
    assert len(list((runs.parent / "site" / "data").iterdir())) == 9
    capsys.readouterr()


def test_a_site_that_is_interrupted_says_what_is_kept_and_counts_it_when_made_again(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[str] = []

    def interrupted_at_the_fifth(site: Path, directory: Path, name: str, *, with_page: bool) -> SiteEntry:
        made.append(name)
        if len(made) == 5:
            raise KeyboardInterrupt
        return make_entry(site, directory, name, with_page=with_page)

    site = runs.parent / "site"
    words = ["fleet", "site", str(runs), "--out", str(site), "--no-run-pages"]
    with monkeypatch.context() as patched:
        patched.setattr("drivelab.cli.site_entries.make_entry", interrupted_at_the_fifth)
        assert run(words) == 130
    assert capsys.readouterr().err.splitlines()[-3:] == [
        f"kept in {site}: what was made of 4 of 10 runs",
        "go on: the same command again, which makes the rest",
        "interrupted",
    ]
    assert run(words) == 0
    assert capsys.readouterr().out.splitlines()[0] == "10 runs: 6 new, 4 kept from before"


def test_its_front_page_says_how_drives_are_counted(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (drive,) = made_up_drives(1)
    write_fleet(runs / "moved", [replace(drive, host="host009")])
    write_fleet(runs / "check", [replace(drive, serial="SN000100", host="host010")], base=CHECK)
    make(runs, "--no-run-pages")
    capsys.readouterr()
    index = (runs.parent / "site" / "index.html").read_text().replace("\u00a0", " ")
    told = re.findall(r"<p[^>]*>([^<]*)</p>", index.partition("</section>")[0])
    assert "<h1>12 runs of 7 drives</h1>" in index
    assert told[0].startswith("All 6 drives are alike")
    assert told[0].endswith("; 1 more drive has no number in common with others.")
    assert "Serial SN000000 is known on several hosts: a drive in each of them." in told
    assert any(
        one.startswith("No drive of 6 can be judged yet (12 runs): it takes 7 runs of one kind ") for one in told
    )
    assert "1 drive with runs in several hosts counts once over time." in told


def test_no_share_is_less_than_nothing() -> None:
    assert [_signed(share) for share in (-0.0001, 0.0, 0.0204, -0.3)] == ["0.0 %", "0.0 %", "+2.0 %", "-30.0 %"]


def test_a_drive_of_a_run_of_several_has_an_answer_of_its_own(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    shutil.copytree(BASE.parent / "write-size-two-drives", runs / "both")
    make(runs, "--no-run-pages")
    ((_, kept),) = ((path, json.loads(path.read_text())) for path in (tmp_path / "site" / "data").iterdir())
    answers = [one["answer"] for one in kept["targets"]]
    assert len(set(answers)) == 2
    assert kept["answer"] not in answers
    assert all("sdb" not in answer or "sdc" not in answer for answer in answers)
    page = (tmp_path / "site" / "index.html").read_text()
    for name, answer in zip(("sdb", "sdc"), answers, strict=True):
        (row,) = (row for row in page.split("<tr role")[1:] if f">{name}<" in row)
        assert answer.split(",")[0] in row.replace("\u00a0", " ").replace("\u2009", " ")
        assert ("sdc" if name == "sdb" else "sdb") not in row
    assert "<h1>1 run of 2 drives</h1>" in page
