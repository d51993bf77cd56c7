"""Experiment files: the built-in ones hold, and a mistake in one's own is named by file, line and key."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from drivelab.experiments.load import built_in_names, load_experiment, parse_experiment
from drivelab.experiments.toml_lines import line_of
from drivelab.model.errors import DrivelabError

OWN = """\
format = 1
name = "own"
question = "Is it fast?"

[[factors]]
setting = "workload"
key = "queue_depth"
levels = [1, 4]
workloads = ["reads"]

[[workloads]]
name = "reads"
operation = "read"
block_size = "4KiB"
runtime = "5s"

[[workloads]]
name = "writes"
block_size = "64KiB"
bytes = "1GiB"
[workloads.quick]
bytes = "64MiB"
"""


def mistake(old: str, new: str) -> DrivelabError:
    """The error that one's own file gives with one place changed."""
    assert OWN.count(old) == 1
    with pytest.raises(DrivelabError) as refusal:
        parse_experiment(OWN.replace(old, new), "own.toml")
    return refusal.value


@pytest.mark.parametrize("name", built_in_names())
def test_every_built_in_experiment_loads_and_is_named_after_its_file(name: str) -> None:
    experiment = load_experiment(name)
    assert experiment.name == name
    assert experiment.question.endswith("?")
    assert experiment.description
    assert experiment.source


@pytest.mark.parametrize("name", built_in_names())
def test_every_table_and_figure_that_is_named_exists(name: str) -> None:
    experiment = load_experiment(name)
    modules = [f"drivelab.report.{table}_table" for table in experiment.tables]
    modules += [f"drivelab.report.figures.{figure.replace('-', '_')}" for figure in experiment.figures]
    assert [module for module in modules if find_spec(module) is None] == []


def test_a_file_of_ones_own_works_like_a_built_in_name(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    experiment = load_experiment(str(path))
    reads, writes = experiment.workloads
    assert reads.pattern().runtime == 5 * 10**9
    assert (writes.pattern().bytes, writes.pattern(quick=True).bytes) == (2**30, 2**26)


@pytest.mark.provokes("P701")
@pytest.mark.parametrize("name", ["sdd-latency", "missing.toml", "./missing"])
def test_a_name_that_is_none_lists_those_there_are(name: str) -> None:
    with pytest.raises(DrivelabError) as refusal:
        load_experiment(name)
    assert refusal.value.code == "P701"
    assert "/" in name or name.endswith(".toml") or "ssd-latency" in refusal.value.do


@pytest.mark.provokes("P702")
def test_what_is_no_toml_is_named_by_line_and_column() -> None:
    error = mistake('"Is it fast?"', "Is it fast?")
    assert (error.code, error.where) == ("P702", "own.toml:3, column 12")


@pytest.mark.provokes("P703")
@pytest.mark.parametrize(
    ("old", "new", "line", "key"),
    [
        ('block_size = "4KiB"', 'block_sise = "4KiB"', 14, "workloads.1.block_sise"),
        ('"64KiB"', '"64K"', 19, "workloads.2.block_size"),
        ('"64MiB"', '"many"', 22, "workloads.2.quick.bytes"),
        ('"5s"', "5", 15, "workloads.1.runtime"),
        ('"read"', '"reed"', 13, "workloads.1.operation"),
        ("[1, 4]", "[0]", 8, "factors.1.levels"),
        ('"queue_depth"', '"depth"', 7, "factors.1.key"),
        ('runtime = "5s"\n', "", 11, "workloads.1"),
        ("format = 1", "format = 2", 1, "format"),
        ('name = "writes"', 'name = "reads"', 18, "reads"),
        ('workloads = ["reads"]', 'workloads = ["seeks"]', 9, "seeks"),
        ('name = "own"', 'name = "Own Test"', 2, "name"),
    ],
)
def test_a_mistake_is_named_by_file_line_and_key(old: str, new: str, line: int, key: str) -> None:
    error = mistake(old, new)
    assert error.code == "P703"
    assert error.where == f"own.toml:{line}"
    assert key in error.what


def test_a_misspelt_key_comes_with_a_guess() -> None:
    assert mistake('block_size = "4KiB"', 'block_sise = "4KiB"').do == "did you mean block_size?"


def test_a_setting_that_is_not_known_lists_those_that_are() -> None:
    assert "'filesystem', 'mount', 'trim'," in mistake('setting = "workload"', 'setting = "colour"').what


@pytest.mark.parametrize(
    ("location", "line"),
    [
        (("workloads", 1, "block_size"), 19),
        (("workloads", 0), 11),
        (("workloads", 1, "quick", "bytes"), 22),
        (("factors", 0, "levels", 1), 8),
        (("nothing",), 1),
    ],
)
def test_lines_are_found_by_place(location: tuple[str | int, ...], line: int) -> None:
    assert line_of(OWN, location) == line


def test_keys_of_an_inline_table_are_found_too() -> None:
    text = 'a = 1\nquick = { count = 4, size = "x" }\n'
    assert line_of(text, ("quick", "size")) == 2
