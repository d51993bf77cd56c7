"""The command ``drivelab compare``: formats, exit codes, what goes wrong."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))

from compared_runs import write_compared_run

from drivelab.cli.main import run
from drivelab.model.errors import EXIT_FAILED, EXIT_NOT_TRUSTED, EXIT_OK, EXIT_USAGE
from drivelab.model.finding import Finding

HOSTILE = "<script>alert(1)</script> | **x** \x1b[31m"
INVALID = Finding("page-cache-answered", "invalid", "the page cache answered")
CHECK = Path(__file__).resolve().parents[1] / "golden" / "runs" / "check-directory"
Runs = dict[str, str]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Directories of runs, by what they are."""
    parent = tmp_path_factory.mktemp("runs")
    made = {
        "base": {},
        "alike": {},
        "slower": {"factor": 1.5},
        "single": {"repeats": 1},
        "single-2": {"repeats": 1},
        "single-3": {"repeats": 1},
        "single-slower": {"repeats": 1, "factor": 2.0},
        "single-slower-2": {"repeats": 1, "factor": 2.0},
        "single-slower-3": {"repeats": 1, "factor": 2.0},
        "undurable": {"flushes": 0.0},
        "other": {"workload": "reads"},
        "hostile": {"title": HOSTILE, "kernel": HOSTILE, "label": HOSTILE, "findings": [INVALID]},
        "several/one": {},
        "several/two": {},
        "several/three": {},
        "same/one": {},
        "same/two": {},
        "same/three": {},
        "later/one": {"factor": 1.5},
        "later/two": {"factor": 1.5},
        "later/three": {"factor": 1.5},
    }
    for number, (name, changes) in enumerate(made.items(), start=1):
        write_compared_run(parent / name, number, **changes)  # type: ignore[arg-type]
    return {name: str(parent / name) for name in (*made, "several", "same", "later")}


def compare(runs: Runs, base: str, new: str, *options: str) -> int:
    """Exit code of the command."""
    return run(["compare", runs[base], runs[new], *options])


def test_the_answer_fits_80_columns_and_the_worst_comes_first(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(runs, "several", "later") == EXIT_OK
    printed = capsys.readouterr().out
    assert "1 judged number: 1 slower by more than 5 %." in printed
    assert "What differs" not in printed
    assert "would have been found 4 times out of 5" in " ".join(printed.split())
    assert all(len(line) <= 80 for line in printed.splitlines())


@pytest.mark.parametrize(
    ("base", "new", "options", "code"),
    [
        ("several", "later", ["--fail-on", "regression"], EXIT_FAILED),
        ("later", "several", ["--fail-on", "regression"], EXIT_OK),
        ("later", "several", ["--fail-on", "difference"], EXIT_FAILED),
        ("several", "same", ["--fail-on", "regression", "--fail-on", "difference"], EXIT_OK),
        ("several", "same", ["--fail-on", "undecided"], EXIT_OK),
        ("base", "slower", ["--fail-on", "regression"], EXIT_NOT_TRUSTED),
        ("several", "slower", ["--fail-on", "regression"], EXIT_NOT_TRUSTED),
        ("single", "single-slower", [], EXIT_OK),
        ("single", "single-slower", ["--fail-on", "regression"], EXIT_NOT_TRUSTED),
        ("single", "single-slower", ["--fail-on", "not-comparable"], EXIT_NOT_TRUSTED),
        ("single", "single-slower", ["--fail-on", "undecided"], EXIT_NOT_TRUSTED),
        ("several", "later", ["--fail-on", "regression", "--margin", "60%"], EXIT_OK),
        ("base", "undurable", [], EXIT_NOT_TRUSTED),
        ("base", "undurable", ["--fail-on", "not-comparable"], EXIT_FAILED),
        ("base", "other", ["--fail-on", "regression"], EXIT_NOT_TRUSTED),
    ],
)
def test_exit_codes(runs: Runs, base: str, new: str, options: list[str], code: int) -> None:
    assert compare(runs, base, new, *options) == code


def test_that_nothing_was_judged_is_told_on_stderr_with_what_to_do(
    runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(runs, "single", "single-slower", "--fail-on", "regression") == EXIT_NOT_TRUSTED
    told = " ".join(capsys.readouterr().err.split())
    assert "nothing was judged: 1 number has a ratio and no interval (one run each)" in told
    assert "--base RUN and --new RUN" in told
    assert compare(runs, "single", "single-slower") == EXIT_OK
    assert capsys.readouterr().err == ""


def test_several_runs_of_one_trial_each_are_judged(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    more = [("--base", runs["single-2"]), ("--base", runs["single-3"])]
    more += [("--new", runs["single-slower-2"]), ("--new", runs["single-slower-3"])]
    options = [part for pair in more for part in pair]
    assert compare(runs, "single", "single-slower", *options, "--fail-on", "regression") == EXIT_FAILED
    assert "nothing was judged" not in capsys.readouterr().err


def test_what_could_not_be_decided_is_told_on_stderr(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(runs, "several", "same", "--fail-on", "regression", "--margin", "0.1%") == EXIT_OK
    told = " ".join(capsys.readouterr().err.split())
    assert "undecided: 1 of 1 judged numbers" in told
    assert "nothing was judged" not in told


def test_a_copy_of_a_run_is_refused(runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copied = str(shutil.copytree(runs["base"], tmp_path / "copied"))
    assert compare(runs, "base", "slower", "--base", copied) == EXIT_USAGE
    told = capsys.readouterr().err
    assert "error[U012]" in told
    assert "copy of base" in " ".join(told.split())


def test_more_runs_of_a_side_can_be_named_one_by_one(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--base", runs["several/two"], "--base", runs["several/three"], "--new", runs["later/two"]]
    assert run(["compare", runs["several/one"], runs["later/one"], *options, "--json"]) == EXIT_OK
    one_by_one = json.loads(capsys.readouterr().out)
    assert [len(one_by_one[side]) for side in ("base", "new")] == [3, 2]
    assert {row["why"][0] for row in one_by_one["rows"]} == {"3 and 2 runs"}
    assert compare(runs, "several", "later", "--json") == EXIT_OK
    assert len(json.loads(capsys.readouterr().out)["new"]) == 3


def test_all_runs_of_a_side_can_be_named_one_by_one(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--base", runs["several/one"], "--base", runs["several/two"], "--new", runs["later/one"]]
    assert run(["compare", *options, "--json"]) == EXIT_OK
    document = json.loads(capsys.readouterr().out)
    assert [len(document[side]) for side in ("base", "new")] == [2, 1]
    assert run(["compare", runs["base"]]) == EXIT_USAGE
    told = capsys.readouterr().err
    assert "error[U006] no run of NEW is named" in told
    assert "--new RUN" in told


def test_json_has_a_schema_and_every_number(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(runs, "several", "later", "--format", "json") == EXIT_OK
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == 3
    assert document["counts"]["slower"] == document["regression_count"] == 1
    assert document["counts"]["seen only"] == 2
    row = document["rows"][0]
    assert row["ratio"]["low"] > 1.4
    assert row["is_regression"] is True
    assert row["equivalence"][0] > row["ratio"]["low"]


def test_markdown_begins_with_the_answer(runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "comment.md"
    assert compare(runs, "several", "later", "--format", "markdown", "--out", str(file)) == EXIT_OK
    assert capsys.readouterr().out.splitlines()[1:] == [str(file)]
    lines = file.read_text().splitlines()
    assert lines[0].startswith("**NEW was 51 % slower (49 to 54) than BASE for 4 KiB appended")
    assert lines[2].startswith("1 judged number: 1 slower by more than 5 %.")
    assert "| combination | number | BASE | NEW | NEW/BASE | 95 % interval | verdict |" in lines


@pytest.mark.parametrize(
    ("name", "begin"), [("c.html", "<!doctype html>"), ("c.md", "**"), ("c.json", "{"), ("c.txt", "")]
)
def test_a_file_is_written_in_the_format_that_its_name_ends_in(
    runs: Runs, tmp_path: Path, name: str, begin: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(runs, "base", "alike", "--out", str(tmp_path / name)) == EXIT_OK
    answer, file = capsys.readouterr().out.splitlines()
    assert "one run each" in answer
    assert file == str(tmp_path / name)
    text = (tmp_path / name).read_text()
    assert text.lower().startswith(begin)
    assert text.startswith(("<", "{", "**")) == bool(begin)


def test_no_name_from_outside_is_markup(runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(runs, "base", "hostile") == EXIT_NOT_TRUSTED
    assert "\x1b" not in capsys.readouterr().out
    assert compare(runs, "base", "hostile", "--format", "markdown") == EXIT_NOT_TRUSTED
    printed = capsys.readouterr().out
    assert "<script>" not in printed
    assert "\x1b" not in printed
    assert (
        compare(runs, "base", "hostile", "--format", "html", "--out", str(tmp_path / "page.html")) == EXIT_NOT_TRUSTED
    )
    page = (tmp_path / "page.html").read_text()
    assert "<script>alert(1)" not in page
    assert "Nothing could be compared" in page


def test_a_run_is_found_by_its_name(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(Path(runs["base"]).parent))
    assert run(["compare", "base", "alike"]) == EXIT_OK


@pytest.mark.provokes("U011")
@pytest.mark.parametrize("margin", ["0", "150%", "much", "nan", "-5%"])
def test_a_margin_without_sense_is_refused(runs: Runs, margin: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(runs, "base", "alike", f"--margin={margin}") == EXIT_USAGE
    assert "error[U011]" in capsys.readouterr().err


@pytest.mark.provokes("U014")
def test_a_page_needs_a_file(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(runs, "base", "alike", "--format", "html") == EXIT_USAGE
    assert "error[U014]" in capsys.readouterr().err


def test_mistakes_are_named(runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(runs, "base", "base") == EXIT_USAGE
    assert "error[U012]" in capsys.readouterr().err
    assert run(["compare", runs["base"], str(tmp_path)]) == EXIT_USAGE
    assert "error[S504]" in capsys.readouterr().err
    assert compare(runs, "base", "alike", "--json", "--format", "markdown") == EXIT_USAGE
    assert '"code": "U004"' in capsys.readouterr().err
    missing = str(tmp_path / "missing" / "file.md")
    assert compare(runs, "base", "alike", "--format", "markdown", "--out", missing) == EXIT_FAILED
    assert "error[O802]" in capsys.readouterr().err


def test_a_quick_run_beside_a_full_one_is_told_within_three_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for day, (name, is_quick) in enumerate((("full", False), ("quick", True), ("quick-too", True)), start=1):
        shutil.copytree(CHECK, tmp_path / name)
        path = tmp_path / name / "run.json"
        document = json.loads(path.read_text()) | {
            "plan": {"quick": is_quick},
            "started_utc": f"2026-02-0{day}T12:00:00+00:00",
        }
        path.write_text(json.dumps(document))
    told = "Only NEW used --quick: shorter trials may be the whole difference."
    assert run(["compare", str(tmp_path / "full"), str(tmp_path / "quick")]) == EXIT_OK
    printed = capsys.readouterr().out
    assert printed.splitlines()[1] == told
    assert len(printed.splitlines()) <= 30
    # names of people, and which side is better
    assert "sync-write-" not in printed
    assert re.search(r"4 KiB appended \+ fdatasync +332 \Ss +332 \Ss +alike\n", printed)
    for format_ in ("markdown", "html"):
        out = tmp_path / f"out.{format_}"
        arguments = ["compare", str(tmp_path / "full"), str(tmp_path / "quick"), "--format", format_, "--out", str(out)]
        assert run(arguments) == EXIT_OK
        assert told in out.read_text()
    capsys.readouterr()
    assert run(["compare", str(tmp_path / "quick"), str(tmp_path / "quick-too")]) == EXIT_OK
    assert "used --quick" not in capsys.readouterr().out


def test_a_trial_that_one_side_lacks_goes_by_the_name_that_pages_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "log"
    write_compared_run(other, 1, workload="log")
    assert run(["compare", str(CHECK), str(other), "--details"]) == EXIT_NOT_TRUSTED
    printed = " ".join(capsys.readouterr().out.split())
    assert "BASE has 9 combinations that NEW lacks: 512 B appended + fdatasync; 2300 B appended" in printed


@pytest.mark.parametrize(("factor", "looks"), [(2.0, "slower"), (0.5, "faster")])
def test_what_was_only_seen_says_which_side_looks_faster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], factor: float, looks: str
) -> None:
    for number, (name, by) in enumerate((("base", 1.0), ("new", factor)), start=1):
        write_compared_run(tmp_path / name, number, factor=by, repeats=1)
    assert run(["compare", str(tmp_path / "base"), str(tmp_path / "new")]) == EXIT_OK
    head, row = [line for line in capsys.readouterr().out.splitlines() if "NEW looks" in line or "us  " in line]
    assert head.endswith("NEW looks")
    assert looks.startswith(row.split()[-1])
    assert run(["compare", str(tmp_path / "base"), str(tmp_path / "new"), "--format", "markdown"]) == EXIT_OK
    assert f"looks {looks}; seen only: one run each" in capsys.readouterr().out
