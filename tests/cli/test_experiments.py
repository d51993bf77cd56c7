"""The command ``drivelab experiments``, and that what it prints is what runs."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from drivelab.cli.main import run
from drivelab.experiments.load import built_in_names, load_experiment
from drivelab.experiments.schema import experiment_schema

OWN = """
format = 1
name = "own"
question = "Are reads fast?"
repeats = { full = 2, quick = 1 }

[[factors]]
setting = "page-cache"
levels = ["keep", "drop"]

[[workloads]]
name = "reads"
operation = "read"
access = "random"
block_size = "64KiB"
file_size = "8MiB"
count = 50
interval = "1ms"
"""


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))


@pytest.mark.parametrize("width", [80, 100])
def test_all_are_listed_with_their_questions_and_costs(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert run(["experiments"]) == 0
    lines = capsys.readouterr().out.splitlines()
    told = {line.split()[0]: line for line in lines[1:]}
    family = [name for name in built_in_names() if name.startswith("pts-")]
    assert "pts-... are pts-" + ", ".join(name.removeprefix("pts-") for name in family) in " ".join(lines)
    for name in set(built_in_names()) - set(family):
        words = " ".join(told[name].split()).removeprefix(f"{name} ")
        question = load_experiment(name).question
        assert words.startswith(question)
    assert lines[0].split() == ["quick", "full"]
    assert told["fill-level"].split()[-3:] == ["11", "h", "erases"]
    assert told["write-size"].split()[-1] == "root"
    assert told["honest-throughput"].split()[-1] == "min"
    assert all(len(line) <= width for line in lines)
    assert len(lines) <= 20


@pytest.mark.parametrize("name", built_in_names())
def test_one_is_shown_in_short(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["experiments", name]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 20
    assert all(len(line) <= 80 for line in lines)
    experiment = load_experiment(name)
    assert lines[0] == f"{name}: {experiment.question}"
    words = " ".join(" ".join(lines).split())
    # what it costs is told to the end
    assert re.search(r" takes [^…]* erases [^…]* in full: ", words)
    for factor in experiment.factors[:3]:
        assert f"{factor.name}: {factor.name_of(factor.levels[0])}" in words
    assert words.endswith(
        f"in full: drivelab experiments {name} --details; as a file: drivelab experiments {name} --toml"
    )
    # what is cut says so
    assert not [line for line in lines if line.endswith((",", ";")) and "…" in line]


@pytest.mark.parametrize("name", built_in_names())
def test_one_is_shown_in_full(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["experiments", name, "--details"]) == 0
    text = capsys.readouterr().out
    experiment = load_experiment(name)
    headings = ("what is varied", "what is issued", "how often", "how long, as a guess", "what it erases", "source")
    assert [line for line in text.splitlines() if line in headings] == list(headings)
    words = " ".join(text.split())
    assert " ".join(experiment.source.split()) in words
    for factor in experiment.factors:
        assert f"{factor.name}: {factor.name_of(factor.levels[0])}" in words
    for workload in experiment.workloads:
        assert f"{workload.name} ({workload.title}): {workload.pattern().access.kind}" in words
    assert "cannot be done" not in words
    assert all(len(line) <= 80 for line in text.splitlines())


def test_what_only_reads_erases_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    run(["experiments", str(path)])
    assert "nothing: it only reads" in capsys.readouterr().out


def test_each_built_in_experiment_erases_a_drive(capsys: pytest.CaptureFixture[str]) -> None:
    erases = {}
    for name in built_in_names():
        run(["experiments", name, "--details"])
        erases[name] = capsys.readouterr().out.partition("what it erases\n")[2].splitlines()[0].strip()
    assert {name for name, text in erases.items() if not text.startswith("all of a drive")} == {"burst"}


def test_ones_own_file_is_shown_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    assert run(["experiments", str(path)]) == 0
    text = capsys.readouterr().out
    assert "own: Are reads fast?" in text
    assert "page-cache: keep, drop" in text
    assert "docs/experiments" not in text


def test_its_file_is_printed_as_it_is_and_can_be_run_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["experiments", "ssd-latency", "--toml"]) == 0
    path = tmp_path / "own.toml"
    path.write_text(capsys.readouterr().out)
    assert "# without the lazy options" in path.read_text()
    assert load_experiment(str(path)) == load_experiment("ssd-latency")


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["experiments", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == experiment_schema()


def test_json_holds_one_or_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["experiments", "fill-level", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["experiments"]
    assert one["name"] == "fill-level"
    assert run(["experiments", "--json"]) == 0
    assert [each["name"] for each in json.loads(capsys.readouterr().out)["experiments"]] == built_in_names()


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        (["experiments", "ssd-latenzy"], "P701", "did you mean ssd-latency?"),
        (["experiments", "--toml"], "U006", "drivelab experiments NAME --toml"),
        (["experiments", "./own.toml", "--toml"], "U006", "a file of yours already"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: list[str], code: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    error = capsys.readouterr().err
    assert f"error[{code}]" in error
    assert hint in " ".join(error.split())


def test_reads_in_a_directory_find_a_file_that_was_written_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, target = tmp_path / "own.toml", tmp_path / "target"
    path.write_text(OWN)
    target.mkdir()
    assert run(["run", str(path), str(target), "--json"]) in (0, 4)
    document = json.loads(capsys.readouterr().out)
    assert document["status"] == "complete"
    assert {trial["operation"] for trial in document["trials"]} == {"read"}
    assert len(document["trials"]) == 4
    assert list(target.iterdir()) == []


def test_a_built_in_experiment_runs_in_a_directory_without_root_and_names_what_it_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = Path(tmp_path / "log.toml")
    run(["experiments", "database-log", "--toml"])
    document = capsys.readouterr().out
    # the same with fewer records: what is tested is that every way of writing works on the file system that is there
    for count in ("count = 2000", "count = 5000", "count = 4096"):
        document = document.replace(count, "count = 20")
    document = document.replace('"128MiB"', '"1MiB"').replace('file_size = "64M', 'file_size = "1M')
    assert tomllib.loads(document)["name"] == "database-log"
    text.write_text(document)
    target = tmp_path / "target"
    target.mkdir()
    assert run(["run", str(text), str(target), "--quick", "--json"]) == 2
    assert "--skip-unavailable" in capsys.readouterr().err
    assert run(["run", str(text), str(target), "--quick", "--skip-unavailable", "--json"]) in (0, 4)
    found = json.loads(capsys.readouterr().out)
    assert found["status"] == "complete"
    assert {trial["trial"].split("-")[1] for trial in found["trials"]} == {"etcd", "postgres", "zookeeper", "kafka"}
