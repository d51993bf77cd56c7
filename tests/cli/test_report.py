"""The command ``drivelab report``: where the page goes, what is printed, what goes wrong."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))

from compared_runs import write_compared_run

from drivelab.answers.result_set import result_set_of
from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run
from drivelab.cli import report_sources
from drivelab.cli.main import run
from drivelab.cli.run_results import print_screen
from drivelab.joint_report import joint_report
from drivelab.model.errors import EXIT_FAILED, EXIT_OK, EXIT_USAGE
from drivelab.model.result_set import ResultSet
from drivelab.reference.load import load_reference
from drivelab.report.headline import what_is_missing
from drivelab.store.read import open_run

RUNS = Path(__file__).resolve().parents[1] / "golden" / "runs"
HOSTILE = RUNS / "check-hostile-names"
EMPTY = ResultSet("reference:none", "", "", "", is_reference=True)
DIRECTORY = RUNS / "check-directory"
SCAN = RUNS / "settings-scan-drive"


def test_the_path_of_the_page_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(HOSTILE), "--out", str(tmp_path / "page.html")]) == EXIT_OK
    assert capsys.readouterr().out == f"{tmp_path / 'page.html'}\n"
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


def test_a_directory_of_runs_means_all_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("queue-depth-grid", "check-directory"):
        shutil.copytree(RUNS / name, tmp_path / name)
    assert run(["report", str(tmp_path), "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 2


def test_a_directory_takes_the_page_under_the_name_of_the_run(tmp_path: Path) -> None:
    assert run(["report", str(HOSTILE), "--out", str(tmp_path)]) == EXIT_OK
    assert [path.name for path in tmp_path.iterdir()] == ["check-hostile-names.html"]


def test_a_picture_is_the_card_of_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(HOSTILE), "--out", str(tmp_path / "card.svg")]) == EXIT_OK
    assert capsys.readouterr().out == f"{tmp_path / 'card.svg'}\n"
    card = (tmp_path / "card.svg").read_text()
    assert card.startswith("<svg ")
    assert run(["report", str(HOSTILE), "--format", "card"]) == EXIT_OK
    assert capsys.readouterr().out == card
    assert run(["report", str(HOSTILE), "--format", "card", "--out", str(tmp_path)]) == EXIT_OK
    assert (tmp_path / "check-hostile-names.svg").read_text() == card


def test_json_names_the_run_and_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert run(["report", str(HOSTILE), "--out", str(page), "--json"]) == EXIT_OK
    assert json.loads(capsys.readouterr().out) == {"schema": 1, "run": str(HOSTILE), "report": str(page)}


def test_the_answer_is_printed_instead_of_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(RUNS / "check-directory"), "--text"]) == EXIT_OK
    short = capsys.readouterr().out
    assert short.startswith("/var/lib/etcd")
    assert short.splitlines()[1].startswith("Yes  ")
    assert len(short.splitlines()) < 25
    assert run(["report", str(RUNS / "check-directory"), "--text", "--details"]) == EXIT_OK
    printed = capsys.readouterr().out
    assert printed.startswith("Is /var/lib/etcd fit, and can the numbers be trusted?\nYes  Yes")
    assert not (RUNS / "check-directory" / "report.html").exists()


def test_the_text_of_an_explained_run_is_where_the_time_goes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(RUNS / "explained-appends"), "--text"]) == EXIT_OK
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith(
        "4 KiB appended + fdatasync on sdb, ext4, write-cache on: where the time of a durable write"
    )
    assert "598 us is the cache flush" in shown


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


def test_several_runs_are_one_report_beside_the_first_that_leaves_its_own_page_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copies = [shutil.copytree(run, tmp_path / run.name) for run in (DIRECTORY, HOSTILE)]
    assert run(["report", *map(str, copies)]) == EXIT_OK
    path = copies[0] / "joint-report.html"
    assert capsys.readouterr().out == f"{path}\n"
    assert "How do these 2 runs compare?" in path.read_text()
    assert not (copies[0] / "report.html").exists()


def test_a_run_named_twice_is_one_run(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run(["report", str(DIRECTORY), f"{DIRECTORY}/", "--out", str(page)]) == EXIT_OK
    assert "<h1>Is /var/lib/etcd fit" in page.read_text()


def test_json_names_all_runs_and_pages_of_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [str(DIRECTORY), "reference:ssd-latency"]
    assert run(["report", *names, "--out", str(tmp_path), "--json"]) == EXIT_OK
    page = tmp_path / "joint-report.html"
    assert json.loads(capsys.readouterr().out) == {"schema": 1, "runs": names, "report": str(page)}
    assert page.exists()


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        ("markdown", "# How do these 2 runs compare?"),
        ("csv", "run,is_reference,drive,"),
        ("json", "{"),
        ("html", "<!doctype html>"),
    ],
)
def test_every_format_goes_to_stdout(name: str, begin: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(DIRECTORY), str(HOSTILE), "--format", name, "--out", "-"]) == EXIT_OK
    assert capsys.readouterr().out.startswith(begin)


@pytest.mark.parametrize("name", ["markdown", "csv", "json"])
def test_what_is_no_page_goes_to_stdout_unless_a_file_is_named(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(DIRECTORY), "--format", name]) == EXIT_OK
    assert "512 B appended" in capsys.readouterr().out


def test_json_on_stdout_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(SCAN), str(HOSTILE), "--format", "json"]) == EXIT_OK
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 2


@pytest.mark.parametrize(
    ("file", "begin"),
    [
        ("r.md", "# "),
        ("r.markdown", "# "),
        ("r.csv", "run,"),
        ("r.json", "{"),
        ("r.HTML", "<!doctype"),
        ("r.htm", "<!doctype"),
        ("r", "<!doctype"),
    ],
)
def test_the_name_of_the_file_tells_the_format(file: str, begin: str, tmp_path: Path) -> None:
    arguments = ["--figures", "none"] if begin == "# " else []
    assert run(["report", str(DIRECTORY), "--out", str(tmp_path / file), *arguments]) == EXIT_OK
    assert (tmp_path / file).read_text().startswith(begin)
    assert [path.name for path in tmp_path.iterdir()] == [file]


def test_a_directory_takes_each_format_under_the_name_of_the_run_and_csv_as_many_files(tmp_path: Path) -> None:
    assert run(["report", str(SCAN), "--out", str(tmp_path), "--format", "json"]) == EXIT_OK
    assert [path.name for path in tmp_path.iterdir()] == ["settings-scan-drive.json"]
    assert run(["report", str(SCAN), "--out", str(tmp_path / "csv"), "--format", "csv"]) == EXIT_OK
    names = {path.name for path in (tmp_path / "csv").iterdir()}
    assert "results.csv" in names
    assert len([name for name in names if name.startswith("table-")]) > 1


def test_published_numbers_alone_are_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["report", "reference:ssd-latency"]) == EXIT_OK
    assert capsys.readouterr().out == "ssd-latency.html\n"
    assert "Sources of the published numbers" in (tmp_path / "ssd-latency.html").read_text()
    assert run(["report", "reference:ssd-latency", "--text"]) == EXIT_OK
    assert "Intel 520" in capsys.readouterr().out


@pytest.mark.parametrize("typed", [["--with-reference", "ssd-latency"], ["--with-reference=reference:ssd-latency"]])
def test_a_page_that_is_named_stands_beside_the_run(typed: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", *typed, str(SCAN), "--text"]) == EXIT_OK
    assert capsys.readouterr().out.startswith("How does this run compare with published numbers?")


@pytest.mark.parametrize("before", [True, False])
def test_without_a_name_the_pages_of_the_same_workloads_are_taken(
    before: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_the_scan() -> ResultSet:
        page = load_reference("ssd-latency")
        (one,) = {o.workload: o for o in result_set_of_run(SCAN).observations}.values()
        same = replace(page.observations[0], workload=one.workload, operation=one.operation)
        same = replace(same, block_size_bytes=one.block_size_bytes, is_durable=one.is_durable)
        return replace(page, observations=(same,))

    made = of_the_scan()
    monkeypatch.setattr(report_sources, "load_reference", lambda name: made if name == "ssd-latency" else EMPTY)
    option = ["--with-reference"]
    arguments = [*option, str(SCAN)] if before else [str(SCAN), *option]
    assert run(["report", *arguments, "--format", "json"]) == EXIT_OK
    sets = {one["key"] for one in json.loads(capsys.readouterr().out)["result_sets"]}
    assert sets == {"settings-scan-drive", "reference:ssd-latency"}


def test_a_check_stands_beside_pages_that_wrote_as_much_at_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(DIRECTORY), "--with-reference", "--text"]) == EXIT_OK
    told = capsys.readouterr().out
    # what the check itself answers comes before that nothing was the same
    assert told.index("etcd") < told.index("No published drive was measured with the same workload and settings.")
    assert "published: Samsung 850 PRO" in told


def test_what_stands_behind_two_dashes_is_no_option() -> None:
    assert report_sources.with_matching(["report", "--", "--with-reference"]) == ["report", "--", "--with-reference"]
    assert report_sources.with_matching(["report", "--with-reference"]) == ["report", "--with-reference=matching"]
    assert report_sources.with_matching(["report", "a", "b"]) == ["report", "a", "b"]


def test_the_short_form_is_markdown_without_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(DIRECTORY), "--brief", "--figures", "none"]) == 0
    told = capsys.readouterr().out
    assert run(["report", str(DIRECTORY), "--brief", "--figures", "none", "--format", "markdown"]) == 0
    assert told == capsys.readouterr().out
    assert told.startswith("# ")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["reference:nothing"], "U005", "ssd-latency"),
        ([str(DIRECTORY), "--with-reference=nothing"], "U005", "ssd-latency"),
        ([str(RUNS / "queue-depth-grid"), "--with-reference"], "U005", "--with-reference=PAGE"),
        ([str(DIRECTORY), "--format", "pdf"], "U005", "html, markdown, csv, json, card"),
        ([str(DIRECTORY), "--format", "markdown", "--figures", "gif"], "U005", "svg, png, none"),
        ([str(DIRECTORY), "--figures", "svg"], "U004", "html"),
        ([str(DIRECTORY), "--brief", "--format", "html"], "U004", "--brief is for Markdown"),
        ([str(DIRECTORY), "--brief", "--out", "x.html"], "U004", "--format markdown --brief; or leave --brief out"),
        ([str(DIRECTORY), "--figures", "svg"], "U004", "do:    write Markdown: --format markdown --figures; or leave"),
        ([str(DIRECTORY), "--text", "--brief"], "U004", "--text and --brief"),
        ([str(DIRECTORY), "--text", "--json"], "U004", "--text and --json"),
        ([str(DIRECTORY), "--text", "--out", "x"], "U004", "--text and --out"),
        ([str(DIRECTORY), "--text", "--format", "csv"], "U004", "--text and --format"),
        ([str(DIRECTORY), "--text", "--figures", "png"], "U004", "--text and --figures"),
        ([str(DIRECTORY), "--out", "report.pdf"], "U005", ".html, .md, .csv, .json"),
        ([str(DIRECTORY), "--json", "--format", "csv"], "U004", "stdout"),
        ([str(DIRECTORY), "no-such-run"], "S504", "no-such-run"),
        ([], "U006", "RUN"),
    ],
)
def test_mistakes_say_what_to_do(
    arguments: list[str], code: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", *arguments]) == EXIT_USAGE
    printed = capsys.readouterr()
    assert printed.out == ""
    assert code in printed.err
    assert words in printed.err


@pytest.mark.parametrize("name", ["html", "markdown", "csv", "json"])
def test_no_format_is_written_to_a_place_that_is_none(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "missing" / f"report.{name}"
    assert (
        run(["report", str(DIRECTORY), "--format", name, "--out", str(place), *without_pictures(name)]) == EXIT_FAILED
    )
    assert "error[O802]" in capsys.readouterr().err


def test_a_directory_that_is_not_there_is_not_taken_for_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", str(DIRECTORY), "--out", f"{tmp_path / 'new'}/"]) == EXIT_FAILED
    assert "mkdir -p" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    assert run(["report", str(DIRECTORY), "--out", f"{tmp_path / 'new'}/", "--format", "csv"]) == EXIT_OK
    assert (tmp_path / "new" / "results.csv").is_file()


def test_pictures_are_not_drawn_for_a_place_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(DIRECTORY), "--out", str(tmp_path / "missing" / "r.md")]) == EXIT_FAILED
    assert "there is no directory" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_directory_is_said_to_be_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plain").write_text("mine")
    assert run(["report", str(DIRECTORY), "--out", str(tmp_path / "plain"), "--format", "csv"]) == EXIT_FAILED
    assert "is a file" in capsys.readouterr().err
    assert (tmp_path / "plain").read_text() == "mine"


def test_a_report_is_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    plain = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "drivelab", "report", str(DIRECTORY), "--format", "markdown"]
    done = subprocess.run(command, env=plain, capture_output=True, check=True)
    assert "·" in done.stdout.decode("utf-8")


def altered(run_of: Path, to: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """A copy of a run, with another run.json."""
    shutil.copytree(run_of, to)
    facts = json.loads((to / "run.json").read_text())
    change(facts)
    (to / "run.json").write_text(json.dumps(facts))
    return to


def test_a_check_that_stored_its_plan_is_told_as_a_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check = altered(DIRECTORY, tmp_path / "check", lambda facts: facts.update(plan={"may_write": True, "trials": []}))
    assert run(["report", str(check), "--text", "--details"]) == EXIT_OK
    assert capsys.readouterr().out.startswith("Is /var/lib/etcd fit, and can the numbers be trusted?\nYes  Yes")


@pytest.mark.parametrize("of", [DIRECTORY, SCAN])
def test_a_run_that_was_killed_says_so_in_every_format(
    of: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def kill(facts: dict[str, Any]) -> None:
        facts["status"] = "running"
        facts.pop("failures", None)

    killed = altered(of, tmp_path / "killed", kill)
    for arguments in (["--text"], *(["--out", "-", "--format", name] for name in ("html", "markdown", "json"))):
        assert run(["report", str(killed), *arguments]) == EXIT_OK
        printed = capsys.readouterr().out
        assert "not complete" in printed
        assert "it is still running, or was killed" in printed
    assert run(["report", str(of), "--text"]) == EXIT_OK
    assert "not complete" not in capsys.readouterr().out


def without_pictures(format_name: str) -> list[str]:
    """Pictures take a browser, and are not what these tests are about."""
    return ["--figures", "none"] if format_name == "markdown" else []


def result_set_of_run(path: Path) -> ResultSet:
    """What a stored run measured."""
    stored = open_run(path)
    return result_set_of(stored, answer_of_run(stored, SHOWN_METRICS))


def test_of_two_runs_of_a_drive_the_report_judges_as_compare_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = []
    for number, factor in enumerate((1.0, 3.0), start=1):
        names.append(str(tmp_path / f"run-{number}"))
        write_compared_run(Path(names[-1]), number, factor=factor, serial="S45P")
    assert run(["compare", *names]) == EXIT_OK
    why = "one run each, so another run may differ"
    assert why in " ".join(capsys.readouterr().out.split())
    assert run(["report", *names, "--text"]) == EXIT_OK
    printed = " ".join(capsys.readouterr().out.split())
    assert why in printed.lower()
    assert "beyond the scatter" not in printed


def test_a_run_has_one_count_of_trials(capsys: pytest.CaptureFixture[str]) -> None:
    """Those of the reference are trials, too: findings are about them, and a plan has a step for each."""
    stored = open_run(SCAN)
    print_screen(stored, answer_of_run(stored, SHOWN_METRICS))
    printed = capsys.readouterr().out
    assert printed.startswith("settings-scan on sdb: 31 trials, 6 of them to watch for drift\n")
    assert "[in 31 of 31 trials]" in printed
    table = joint_report([stored, open_run(DIRECTORY)]).tables[-1]
    assert [row[-1].text for row in table.rows] == ["31", "9"]
    assert run(["sql", "select trial_count from runs", str(SCAN), "--csv"]) == EXIT_OK
    assert capsys.readouterr().out.split() == ["trial_count", "31"]
    cut_off = replace(stored.record, status="interrupted")
    assert what_is_missing(cut_off, stored.trials.num_rows) == "31 of 31 trials; it was interrupted"
