"""Experiment files: the built-in ones hold, and a mistake in one's own is named by file, line and key."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import pytest

from drivelab.experiments.load import built_in_names, load_experiment, parse_experiment
from drivelab.model.errors import DrivelabError
from drivelab.model.experiment import FigureName, TableName
from drivelab.model.workload import Access, TargetRange
from drivelab.model.workload_pattern import WorkloadPattern
from drivelab.report.figures.suite_bars import KEYS as SUITE_FIGURES
from drivelab.report.tables.iozone_shape import KEY as SURFACES
from drivelab.report.tables.phases import KEY as PHASES

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
def test_every_built_in_experiment_names_what_answers_it(name: str) -> None:
    experiment = load_experiment(name)
    assert experiment.tables
    assert experiment.figures


def test_every_table_and_figure_that_can_be_named_exists() -> None:
    modules = [f"drivelab.report.{name}_table" for name in get_args(TableName) if name not in (PHASES, SURFACES)]
    figures = [name for name in get_args(FigureName) if name not in SUITE_FIGURES]
    modules += [f"drivelab.report.figures.{name.replace('-', '_')}" for name in figures]
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


def test_a_figure_that_does_not_exist_is_refused_with_a_guess() -> None:
    question = 'question = "Is it fast?"'
    error = mistake(question, f'{question}\nfigures = ["latency-cdf", "latency-overveiw"]')
    assert (error.code, error.where, error.do) == ("P703", "own.toml:4", "did you mean latency-overview?")
    assert error.what.startswith("figures.2: input should be ")


def test_a_setting_that_is_not_known_lists_those_that_are() -> None:
    assert "'filesystem', 'mount', 'trim'," in mistake('setting = "workload"', 'setting = "colour"').what


FACTORS = """\
format = 1
name = "own"
question = "Is it fast?"

[[factors]]
{first}

[[factors]]
{second}

[[workloads]]
name = "w"
count = 10
{keys}

[reference]
workload = "w"
{reference}
"""
SIZES = 'setting = "workload"\nkey = "block_size"\nlevels = ["4KiB", "8KiB"]'
RAW = 'setting = "filesystem"\nlevels = ["raw"]'


def mistake_of(**parts: str) -> DrivelabError:
    """The error that a file with two factors, a workload and a reference gives with some parts changed."""
    given = {"first": RAW, "second": SIZES, "keys": "", "reference": ""}
    parse_experiment(FACTORS.format(**given), "own.toml")
    with pytest.raises(DrivelabError) as refusal:
        parse_experiment(FACTORS.format(**given | parts), "own.toml")
    assert refusal.value.code == "P703"
    return refusal.value


@pytest.mark.provokes("P703")
@pytest.mark.parametrize(
    ("parts", "where", "what", "do"),
    [
        (
            {"first": 'setting = "write-cache"\nlevels = ["on", "of"]'},
            "own.toml:7",
            "factors.1.levels.2: write-cache can be on, off, as-found, not 'of'",
            "",
        ),
        (
            {"first": 'setting = "read-ahead"\nlevels = [\n    "128KiB",\n    "1000",\n]'},
            "own.toml:9",
            "factors.1.levels.2: read-ahead takes whole KiB, and 1000 B are none",
            "",
        ),
        (
            {"first": 'setting = "scheduler"\nlevels = ["none"]\nquick_levels = ["No!"]'},
            "own.toml:8",
            "factors.1.quick_levels.1: scheduler takes a name as the kernel lists them, not 'No!'",
            "",
        ),
        ({"first": 'setting = "trim"\nlevels = ["all"]'}, "own.toml:7", "factors.1.levels.1: trim can be none", ""),
        ({"first": 'setting = "schedular"\nlevels = ["none"]'}, "own.toml:5", "'schedular'", "did you mean scheduler?"),
        ({"first": 'levels = ["none"]'}, "own.toml:5", "a factor needs the key setting", 'setting = "filesystem"'),
        (
            {"first": 'setting = "filesystem"\nlevel = ["raw"]'},
            "own.toml:7",
            "factors.1.level: there is no such key",
            "did you mean levels?",
        ),
        (
            {"first": 'setting = "filesystem"\nlevels = ["raw", "ext5"]'},
            "own.toml:7",
            "factors.1.levels.2: input should be 'raw', 'ext2'",
            "did you mean ext4?",
        ),
        (
            {"first": 'setting = "filesystem"\nlevels = [\n  "raw",\n  { type = "xfs", mkfs_option = ["-K"] },\n]'},
            "own.toml:9",
            "factors.1.levels.2.mkfs_option: there is no such key",
            "did you mean mkfs_options?",
        ),
        (
            {"second": 'setting = "workload"\nkey = "blocksize"\nlevels = [1]'},
            "own.toml:11",
            "factors.2.key",
            "did you mean block_size?",
        ),
        (
            {"second": 'setting = "workload"\nkey = "block_size"\nlevels = ["4KiB"]\nquick_levels = ["4K"]'},
            "own.toml:13",
            "factors.2.quick_levels.1: '4K' is not a size",
            "",
        ),
        ({"second": RAW}, "own.toml:9", "factors.2: there are two of the factor filesystem", ""),
        (
            {"second": 'setting = "write-cache"\nlevels = ["on", true]'},
            "own.toml:11",
            "factors.2.levels.2: there are two of the level on",
            "",
        ),
        (
            {"second": SIZES + '\nworkloads = ["other"]'},
            "own.toml:13",
            "factors.2.workloads.1: there is no workload other, only w",
            "",
        ),
        (
            {"first": 'setting = "mount"\nlevels = ["discard"]'},
            "own.toml:5",
            "factors.1: mount needs a factor filesystem",
            "",
        ),
        ({"keys": 'sync_every_writes = "ende"'}, "own.toml:17", "a valid integer or 'end', not 'ende'", ""),
        ({"keys": 'access = { kind = "randm" }'}, "own.toml:17", "workloads.1.access.kind", "did you mean random?"),
        ({"keys": 'durability = "fsnc"'}, "own.toml:17", "workloads.1.durability", "did you mean fsync?"),
        (
            {"keys": "block_sizes = [{ byte = 1 }]"},
            "own.toml:17",
            "workloads.1.block_sizes.1.byte",
            "did you mean bytes?",
        ),
        (
            {"keys": 'block_size = "1"\nblock_sizes = [{ bytes = 1 }]'},
            "own.toml:18",
            "workloads.1.block_sizes: there is block_size and block_sizes",
            "",
        ),
        ({"keys": "quick = { cuont = 3 }"}, "own.toml:17", "workloads.1.quick.cuont", "did you mean count?"),
        ({"keys": "quick = { count = 0 }"}, "own.toml:17", "would never end", ""),
        ({"reference": 'workloads = ["w"]'}, "own.toml:21", "reference.workloads", "did you mean workload?"),
        (
            {"reference": 'levels = { block_size = "16KiB" }'},
            "own.toml:21",
            "reference.levels.block_size: it is one of 4KiB, 8KiB, not 16KiB",
            "",
        ),
        (
            {"reference": 'levels = { blocksize = "4KiB" }'},
            "own.toml:21",
            "reference.levels.blocksize: there is no factor blocksize, only filesystem, block_size",
            "",
        ),
    ],
)
def test_a_mistake_in_a_factor_or_a_workload_is_named_with_what_was_meant(
    parts: dict[str, str], where: str, what: str, do: str
) -> None:
    error = mistake_of(**parts)
    assert error.where == where
    assert what in error.what
    assert do in error.do


@pytest.mark.parametrize(
    "needing", ['setting = "mount"\nlevels = ["discard"]', 'setting = "trim"\nlevels = ["fstrim"]']
)
def test_one_at_a_time_refuses_what_the_raw_base_would_never_measure(needing: str) -> None:
    one_at_a_time = FACTORS.replace('name = "own"', 'name = "own"\ndesign = "one-at-a-time"')
    text = one_at_a_time.format(first=RAW, second=needing, keys="", reference="")
    with pytest.raises(DrivelabError, match="would never be measured") as refusal:
        parse_experiment(text, "own.toml")
    assert refusal.value.where == "own.toml:10"
    parse_experiment(text.replace('["raw"]', '["ext4", "raw"]'), "own.toml")


def test_levels_of_settings_are_understood_however_they_are_written() -> None:
    text = FACTORS.format(
        first='setting = "read-ahead"\nlevels = ["as-found", "128KiB", "1 MiB"]',
        second='setting = "write-cache"\nlevels = [true, false]',
        keys="",
        reference='levels = { read-ahead = "1MiB", write-cache = false }',
    )
    experiment = parse_experiment(text, "own.toml")
    assert [factor.levels for factor in experiment.factors] == [("as-found", "131072", "1048576"), ("on", "off")]


def test_a_level_is_tried_only_with_the_workloads_that_it_is_for() -> None:
    text = OWN + '\n[[factors]]\nsetting = "workload"\nkey = "count"\nlevels = [0]\nworkloads = ["reads"]\n'
    # without its count the other workload would never end
    assert parse_experiment(text.replace('bytes = "1GiB"', "count = 7"), "own.toml").factors[1].levels == (0,)


def test_a_factor_may_be_there_twice_for_other_workloads() -> None:
    text = """
        format = 1
        name = "x"
        question = "?"
        factors = [
            { setting = "page-cache", levels = ["drop"], workloads = ["a"] },
            { setting = "page-cache", levels = ["warm"], workloads = [OTHER] },
        ]
        workloads = [{ name = "a", count = 1 }, { name = "b", count = 1 }]
    """
    assert len(parse_experiment(text.replace("OTHER", '"b"'), "own.toml").factors) == 2
    for other in ('"a"', '"a", "b"', ""):
        with pytest.raises(DrivelabError, match="there are two of the factor page-cache"):
            parse_experiment(text.replace("OTHER", other), "own.toml")


def test_a_stride_of_nothing_leaves_every_other_block_out() -> None:
    strided = WorkloadPattern(access=Access(kind="strided"), block_size=4096, count=1)
    assert strided.on(TargetRange(path="x"), seed=1).access.stride_bytes == 8192
    told = WorkloadPattern(access=Access(kind="strided", stride_bytes=12288), block_size=4096, count=1)
    assert told.on(TargetRange(path="x"), seed=1).access.stride_bytes == 12288
