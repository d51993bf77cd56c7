"""The command ``drivelab sql``: which runs it asks, how it prints, and what goes wrong."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from drivelab.cli import sql_output
from drivelab.cli.main import run
from drivelab.model.errors import EXIT_FAILED, EXIT_OK, EXIT_USAGE

PROJECT = Path(__file__).resolve().parents[2]
RUNS = PROJECT / "tests" / "golden" / "runs"
CHECK = str(RUNS / "check-hostile-names")
PAGE = PROJECT / "docs" / "how-to" / "query-runs-with-sql.md"
Ask = Callable[..., str]


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    """What is printed in answer to a query."""

    def print_answer(query: str, *arguments: str) -> str:
        assert run(["sql", query, *(arguments or (CHECK,))]) == EXIT_OK, capsys.readouterr().err
        return capsys.readouterr().out

    return print_answer


def documented_queries() -> list[str]:
    blocks = re.findall(r"```console\n\$ (.*?)```", PAGE.read_text(), re.DOTALL)
    lines = [shlex.split(block.replace("\\\n", " ").partition(" > ")[0]) for block in blocks]
    return [" ".join(words[2:]) if words[2] != "--csv" else words[3] for words in lines]


@pytest.mark.parametrize("query", documented_queries())
def test_every_documented_query_has_an_answer(query: str, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(RUNS))
    rows = json.loads(ask(query, "--json", *map(str, RUNS.iterdir())))["rows"]
    assert rows, "no row of the stored runs shows what this query is about"
    assert run(["sql", query, "--json"]) == EXIT_OK


def test_the_page_has_a_query_for_every_question() -> None:
    assert len(documented_queries()) >= PAGE.read_text().count("?\n")


def test_a_pipe_gets_aligned_columns(ask: Ask) -> None:
    query = (
        "select trial, step, null as nothing, true as yes, [1, 2.5] as list, iops from trials order by trial limit 2"
    )
    lines = ask(query).splitlines()
    assert lines[0].split() == ["trial", "step", "nothing", "yes", "list", "iops"]
    assert re.search(r"null     true  \[1, 2\.5\]  +[0-9.]+$", lines[1])
    # numbers stand to the right
    assert len({len(line) for line in lines}) == 1


def test_long_answers_stay_complete_in_a_pipe(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_output, "_MEASURED_ROWS", 5)
    lines = ask("select range as number, range * 1000 as larger from range(30000)").splitlines()
    assert [int(line.split()[1]) for line in lines[1:]] == [1000 * number for number in range(30_000)]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("1234567.891234::double", "1234567.891"),
        ("0.000123456789::double", "0.000123457"),
        ("0.25::double", "0.25"),
        ("0::double", "0"),
        ("1e30::double", "1e+30"),
        ("'inf'::double", "inf"),
        ("170141183460469231731687303715884105727::hugeint", "170141183460469231731687303715884105727"),
        ("'a' || chr(27) || '[31mred' || chr(10)", "a?[31mred?"),
        ("'[bold]not markup[/bold]'", "[bold]not markup[/bold]"),
    ],
)
def test_values_are_shown_for_people(value: str, shown: str, ask: Ask) -> None:
    assert ask(f"select {value} as value").splitlines()[1].strip() == shown


def test_json_is_one_document_with_types(ask: Ask) -> None:
    query = """select 1 as a, 'b"' as b, null as c, 'nan'::double as d, 1.5::decimal(3, 1) as e, [{'x': 1}] as f,
        date '2026-01-31' as g, interval 90 second as h, '\\xAA'::blob as i, true as j, 2 as a"""
    answer = json.loads(ask(query, CHECK, "--json"))
    assert answer["schema"] == 1
    assert [column["name"] for column in answer["columns"]] == [*"abcdefghij", "a_1"]
    assert [column["type"] for column in answer["columns"]][:2] == ["INTEGER", "VARCHAR"]
    (row,) = answer["rows"]
    assert list(row.values()) == [1, 'b"', None, None, 1.5, [{"x": 1}], "2026-01-31", 90.0, "aa", True, 2]
    assert json.loads(ask("select 1 as a where false", CHECK, "--json"))["rows"] == []


def test_csv_is_what_other_programs_read(ask: Ask) -> None:
    query = """select 'a,"b"' as text, 1.5::double as number, null as nothing, [1, 2] as list, true as yes
        from range(3) order by 1"""
    rows = list(csv.reader(io.StringIO(ask(query, CHECK, "--csv"))))
    assert rows == [["text", "number", "nothing", "list", "yes"], *[['a,"b"', "1.5", "", "[1, 2]", "true"]] * 3]


@pytest.mark.parametrize("form", ["--csv", "--json"])
def test_an_answer_of_many_rows_takes_no_more_memory(form: str) -> None:
    code = (
        "import sys, resource; from drivelab.cli.main import run;"
        "status = run(sys.argv[1:]);"
        "print(status, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)"
    )
    peaks_mib = []
    for rows in (1, 500_000):
        query = f"select range as a, 'some text' as b from range({rows})"
        process = subprocess.run(
            [sys.executable, "-c", code, "sql", query, CHECK, form], capture_output=True, text=True
        )
        status, peak_mib = map(int, process.stderr.split())
        assert status == EXIT_OK
        assert rows < process.stdout.count("\n") <= rows + 4
        peaks_mib.append(peak_mib)
    assert peaks_mib[1] < peaks_mib[0] + 80


def on_a_terminal(query: str, *arguments: str) -> str:
    words = [sys.executable, "-m", "drivelab", "sql", query, *arguments]
    script = ["script", "-qec", f"stty cols 80; {shlex.join(words)}", "/dev/null"]
    printed = subprocess.run(script, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL).stdout
    return re.sub(r"\x1b\[[0-9;]*m", "", printed).replace("\r\n", "\n")


def test_a_terminal_gets_a_table() -> None:
    printed = on_a_terminal("select run, trial_count from runs", CHECK)
    assert [line.split() for line in printed.splitlines()] == [
        ["run", "trial_count"],
        ["check-hostile-names", "3"],
        ["1", "row"],
    ]


def test_on_a_terminal_columns_that_do_not_fit_stand_below_each_other() -> None:
    printed = on_a_terminal("select * from trials order by trial limit 2", CHECK)
    assert re.search(r"^row 1\n  run +check-hostile-names\n  trial +sync-write-2300\n", printed)
    assert "\nrow 2\n  run " in printed
    assert max(len(line) for line in printed.splitlines()) <= 80


def test_on_a_terminal_a_long_answer_ends_with_advice() -> None:
    lines = on_a_terminal("select range from range(5000)", CHECK).splitlines()
    assert lines[-2:] == ["1000 rows", "there are more; all of them: --csv or --json"]
    assert len(lines) == 1003


def test_without_a_run_all_that_are_kept_are_asked(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("check-directory", "check-hostile-names", "ssd-latency-scratch"):
        shutil.copytree(RUNS / name, tmp_path / name)
    (tmp_path / "no-run").mkdir()
    (tmp_path / "newer").mkdir()
    (tmp_path / "newer" / "run.json").write_text('{"schema": 99}')
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path))
    assert run(["sql", "select count(*) as n from runs", "--csv"]) == EXIT_OK
    printed = capsys.readouterr()
    assert printed.out == "n\n3\n"
    assert printed.err == ("left out: newer: the run is stored in schema 99, and this drivelab reads schemas up to 2\n")
    assert ask(
        "select count(*) as n from trials", "check-directory", str(tmp_path / "ssd-latency-scratch"), "--csv"
    ) == ("n\n15\n")


@pytest.mark.provokes("U009")
@pytest.mark.parametrize("parent", ["empty", "missing"])
def test_no_runs_at_all_is_an_error(
    parent: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / parent))
    assert run(["sql", "select 1"]) == EXIT_USAGE
    assert capsys.readouterr().err.startswith(f"error[U009] there are no runs to query\n  where: {tmp_path / parent}\n")


@pytest.mark.provokes("U008")
def test_a_mistake_is_told_like_every_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sql", "select foo from trials", CHECK, "--json"]) == EXIT_USAGE
    printed = capsys.readouterr()
    assert printed.out == ""
    error = json.loads(printed.err)["error"]
    assert (error["code"], error["where"]) == ("U008", "line 1, column 8: foo")


def test_two_formats_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sql", "select 1", CHECK, "--json", "--csv"]) == EXIT_USAGE
    assert "U004" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "status"),
    [(("no-such-run",), "S504", EXIT_USAGE), ((CHECK, str(PROJECT)), "S504", EXIT_USAGE)],
)
def test_what_is_no_run_is_a_mistake_of_usage(
    arguments: tuple[str, ...], code: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["sql", "select 1", *arguments]) == status
    assert f"error[{code}]" in capsys.readouterr().err


def test_a_damaged_run_that_was_named_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(CHECK, tmp_path / "run")
    (tmp_path / "run" / "trials.parquet").write_bytes(b"PAR1")
    assert run(["sql", "select 1", str(tmp_path / "run")]) == EXIT_FAILED
    assert "error[S506]" in capsys.readouterr().err


def test_a_terminal_of_few_characters_gets_every_name() -> None:
    environment = {"PYTHONIOENCODING": "ascii", "PATH": ""}
    words = [sys.executable, "-m", "drivelab", "sql", "select 'größe' as name", CHECK]
    process = subprocess.run(words, capture_output=True, env=environment, cwd=PROJECT / "python")
    assert (process.returncode, process.stdout) == (EXIT_OK, b"name\ngr\\xf6\\xdfe\n")


def test_nothing_else_loads_the_database() -> None:
    code = (
        "import sys; from drivelab.cli.main import run; run(['sql', '--help']); run(['report', '--help']);"
        "print('duckdb' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines()[-1] == "False"


@pytest.mark.provokes("S506")
def test_a_run_that_lacks_a_table_is_named_with_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("queue-depth-grid", "ssd-latency-scratch"):
        shutil.copytree(RUNS / name, tmp_path / name)
    (tmp_path / "queue-depth-grid" / "intervals.parquet").unlink()
    query = "select distinct run from {}"
    assert run(["sql", query.format("intervals"), str(tmp_path), "--csv"]) == EXIT_OK
    out, err = capsys.readouterr()
    assert out.split() == ["run", "ssd-latency-scratch"]
    assert err == (
        f"left out: {tmp_path}/queue-depth-grid: intervals.parquet is missing, and by run.json the run is complete "
        "(S506). do: restore it from a copy, or run the experiment again\n"
    )
    assert run(["sql", query.format("histograms"), str(tmp_path), "--csv"]) == EXIT_OK
    out, err = capsys.readouterr()
    assert (len(out.split()), err) == (3, "")
