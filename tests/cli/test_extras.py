"""What commands do where the libraries of the extras are not installed."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from drivelab.cli.catalogue import BY_NAME, SINGLE_COMMANDS
from drivelab.cli.main import run
from drivelab.store.find_run import find_run

PROJECT = Path(__file__).resolve().parents[2]
# what only the extras bring: their own libraries, and those behind them
OF_EXTRAS = (
    *("botocore", "cryptography", "dask", "distributed", "duckdb"),
    *("fsspec", "jinja2", "markupsafe", "resvg_py", "s3fs"),
)
OWN = """
format = 1
name = "own"
question = "Are appends fast?"
repeats = { full = 1, quick = 1 }

[[workloads]]
name = "log"
title = "4 KiB appended + fdatasync"
file_state = "append"
durability = "fdatasync"
count = 100
"""
NO_PAGE = "no page (O801): the jinja2 package is not installed. do: pip install 'drivelab[report]'"


@pytest.fixture
def without_extras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    for name in OF_EXTRAS:
        monkeypatch.setitem(sys.modules, name, None)


@pytest.fixture
def own(tmp_path: Path) -> str:
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    return str(path)


def test_no_command_waits_for_pandas_where_it_is_installed(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "import drivelab.__main__ as program\n"
        "sys.argv = ['drivelab', 'check', '/nonexistent']\n"
        "program.main()\n"
        "import drivelab.answers.timeline\n"
        "print('pandas' in sys.modules)"
    )
    environment = {"PYTHONPATH": str(PROJECT / "python"), "XDG_STATE_HOME": str(tmp_path)}
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    # pyarrow had an array to make of a list, and looks for pandas then
    assert answer.stdout == "False\n", answer.stderr


def test_no_command_imports_a_library_of_an_extra_before_it_is_needed() -> None:
    program = (
        "import importlib, sys\n"
        f"for name in {OF_EXTRAS}: sys.modules[name] = None\n"
        f"for name in {[command.module for command in SINGLE_COMMANDS]}: importlib.import_module(name)\n"
        "print('all loaded')"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={"PYTHONPATH": str(PROJECT / "python")}
    )
    assert (answer.stdout, answer.stderr) == ("all loaded\n", "")


def test_the_core_names_none_of_these_libraries_and_the_extras_name_all() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert not [one for one in project["dependencies"] if one.startswith(OF_EXTRAS)]
    assert sorted(one.partition(">")[0] for one in extras["report"] + extras["sql"]) == ["duckdb", "jinja2"]
    assert extras["all"] == ["drivelab[fleet,pictures,report,sql]"]


@pytest.mark.usefixtures("without_extras")
def test_a_check_answers_and_says_what_its_page_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "data.bin"
    path.write_bytes(b"data" * 2**22)
    assert run(["check", str(path), "--quick"]) in (0, 4)
    printed = capsys.readouterr()
    assert "all numbers and intervals: drivelab report " in printed.out
    assert "report:" not in printed.out
    assert printed.err.splitlines()[-1] == NO_PAGE


@pytest.mark.usefixtures("without_extras")
def test_a_run_answers_as_ever_and_its_page_alone_is_missing(
    own: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "target"
    target.mkdir()
    assert run(["run", own, str(target), "--json"]) in (0, 4)
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert (document["status"], document["report"]) == ("complete", None)
    assert printed.err.splitlines()[-1] == NO_PAGE
    assert not list(find_run("LAST").glob("*.html"))
    for arguments, status in [
        (["report", "LAST", "--text"], 0),
        (["report", "LAST", "--format", "json"], 0),
        (["report", "LAST", "--format", "csv"], 0),
        (["report", "LAST", "--format", "markdown"], 0),
        (["runs"], 0),
        (["compare", "LAST", "LAST", "--json"], 2),
        (["export", "fio", "LAST", "--out", str(tmp_path / "fio")], 0),
    ]:
        assert run(arguments) == status, capsys.readouterr().err
    capsys.readouterr()


@pytest.mark.provokes("O801", "O803", "O813")
@pytest.mark.usefixtures("without_extras")
def test_what_an_extra_is_for_names_it(own: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["run", own, str(tmp_path), "--json"])
    capsys.readouterr()
    for arguments, code, extra in [
        (["report", "LAST"], "O801", "report"),
        (["report", "LAST", "--out", str(tmp_path / "card.png")], "O803", "pictures"),
        (["report", "LAST", "--format", "markdown", "--figures", "png", "--out", str(tmp_path)], "O803", "pictures"),
        (["sql", "select run from runs"], "O813", "sql"),
    ]:
        assert run(arguments) == 1
        error = capsys.readouterr().err
        assert f"error[{code}]" in error
        assert f"do:    pip install 'drivelab[{extra}]'" in error


@pytest.mark.usefixtures("without_extras")
def test_a_missing_template_library_leaves_no_half_page(
    own: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", own, str(tmp_path), "--out", str(tmp_path / "here")]) in (0, 4)
    assert "no page (O801): the jinja2 package is not installed" in capsys.readouterr().err
    assert not [path for path in (tmp_path / "here").rglob("*") if "report" in path.name]


@pytest.mark.usefixtures("without_extras")
@pytest.mark.parametrize(
    "line",
    [
        "io null: --runtime 20ms --json",
        "plan ssd-latency scratch:1GiB --quick",
        "restore",
        "drives --json",
        "settings .",
        "experiments ssd-latency",
        "runs",
        "errors O813",
    ],
)
def test_these_commands_need_no_extra(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert line.split()[0] in BY_NAME
    assert run(line.split()) == 0, capsys.readouterr().err
    capsys.readouterr()
