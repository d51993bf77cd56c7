"""Needs: the built-in ones hold, and a mistake in one's own is named by file, line and key."""

from __future__ import annotations

import re
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from drivelab.model.errors import DrivelabError
from drivelab.model.need import AskedLimit, Capability, Need
from drivelab.model.program import Program
from drivelab.model.programs import PROGRAMS
from drivelab.needs.keys import KEYS, need_schema
from drivelab.needs.load import NEED_NAMES, OTHER_NAMES, built_in_needs, load_need, parse_need

DOCS = Path(__file__).resolve().parents[3] / "docs"
FILES = [file for file in resources.files("drivelab.needs").iterdir() if file.name.endswith(".toml")]
VALIDATOR = jsonschema.Draft202012Validator(need_schema())
OWN = """\
format = 1
name = "own"

[[thresholds]]
trial = "sync-write-4096"
metric = "total_latency_ns_p99"
limit = "5ms"
source = "what we have agreed on"

[[thresholds]]
trial = "sequential-read-qd8"
metric = "throughput_bytes_per_s"
limit = "200MB/s"
force = "recommended"
source = "our runbook"
text = "it restarts at {value}"
"""


def mistake(old: str, new: str) -> DrivelabError:
    """The error that one's own file gives with one place changed."""
    assert OWN.count(old) == 1
    with pytest.raises(DrivelabError) as refusal:
        parse_need(OWN.replace(old, new), "own.toml")
    return refusal.value


def test_every_file_is_a_need_that_can_be_named() -> None:
    assert sorted(file.name.removesuffix(".toml") for file in FILES) == sorted(NEED_NAMES)
    assert [need.name for need in built_in_needs()] == list(NEED_NAMES)


def test_needs_are_found_by_every_name() -> None:
    assert load_need("ETCD").name == load_need("kubernetes").name == "etcd"
    assert load_need("PostgreSQL").name == "postgres"
    assert load_need("mysql").name == load_need("innodb").name == "mariadb"
    names = [name for need in built_in_needs() for name in (need.name, *need.aliases)]
    assert len(names) == len(set(names))


@pytest.mark.provokes("U005")
@pytest.mark.parametrize("name", ["mongo", "missing.toml", "./missing"])
def test_what_is_no_need_and_no_file_is_refused(name: str) -> None:
    with pytest.raises(DrivelabError) as caught:
        load_need(name)
    assert caught.value.code == "U005"
    assert "etcd" in caught.value.do or "cannot be read: No such file" in caught.value.what


def test_a_file_of_ones_own_works_like_a_built_in_name(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    need = load_need(str(path))
    sync, read = (one.threshold for one in need.thresholds)
    assert (need.title, need.program) == ("own", "")
    assert (sync.direction, sync.limit, sync.unit, sync.force) == ("at_most", 5e6, "ns", "required")
    assert sync.text == "the p99 latency of sync-write-4096 was {value}"
    assert (read.direction, read.limit, read.unit, read.force) == ("at_least", 200e6, "B/s", "recommended")


@pytest.mark.provokes("P702")
def test_what_is_no_toml_is_named_by_line_and_column() -> None:
    error = mistake('"own"', "own")
    assert (error.code, error.where) == ("P702", "own.toml:2, column 8")


@pytest.mark.provokes("P703")
@pytest.mark.parametrize(
    ("old", "new", "line", "told"),
    [
        ('limit = "5ms"', "limit = 5", 7, 'thresholds.1.limit: write it with its unit, in quotes: "10ms"'),
        ('limit = "5ms"', 'limit = "5 apples"', 7, "'5 apples' is not a duration"),
        ('"200MB/s"', '"200M/s"', 13, "'200M' is not a size"),
        ('"200MB/s"', '"200MB"', 13, '"250MB/s"'),
        ('"5ms"', '"0ms"', 7, "thresholds.1.limit"),
        ('"total_latency_ns_p99"', '"p99"', 6, "thresholds.1.metric"),
        ("sync-write-4096", "sync-write-4097", 5, "a check has no trial sync-write-4097"),
        ("sync-write-4096", "sync-write-postgres", 5, "a check has no trial sync-write-postgres"),
        ('source = "our runbook"', "", 10, "thresholds.2.source"),
        ("{value}", "{speed}", 16, "the number goes to {value}, once"),
        ("{value}", "{value} {value}", 16, "the number goes to {value}, once"),
        ('name = "own"', 'name = "own"\nprogram = "oracle"', 3, "there is no program oracle"),
        ("format = 1", "format = 2", 1, "format"),
    ],
)
def test_a_mistake_is_named_by_file_line_and_key(old: str, new: str, line: int, told: str) -> None:
    error = mistake(old, new)
    assert (error.code, error.where) == ("P703", f"own.toml:{line}")
    assert told in error.what


def test_a_misspelt_name_comes_with_a_guess() -> None:
    assert mistake("sync-write-4096", "sync-write-409").do.startswith("did you mean sync-write-4096?")
    assert mistake("force =", "forse =").do == "did you mean force?"


@pytest.mark.parametrize("ending", ["", OWN.partition("\n\n")[2].replace('"5ms"', '"5ms"\nforce = "recommended"')])
def test_a_need_that_decides_nothing_is_refused(ending: str) -> None:
    with pytest.raises(DrivelabError, match=r"it asks for nothing|must be required"):
        parse_need(f'format = 1\nname = "own"\n{ending}', "own.toml")


def test_a_program_is_issued_beside_ones_own_limits() -> None:
    text = OWN.replace('name = "own"', 'name = "own"\nprogram = "postgres"')
    need = parse_need(text.replace("sync-write-4096", "sync-write-postgres"), "own.toml")
    assert (need.program, need.thresholds[0].trial) == ("postgres", "sync-write-postgres")


@pytest.mark.parametrize("text", [OWN, *(file.read_text() for file in FILES)])
def test_the_schema_accepts_what_is_read(text: str) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(tomllib.loads(text))] == []


@pytest.mark.parametrize("limit", ["5", "5M", "5MB", "5 apples", 0, True])
def test_the_schema_refuses_a_limit_that_is_none(limit: Any) -> None:
    document = tomllib.loads(OWN)
    document["thresholds"][0]["limit"] = limit
    assert not VALIDATOR.is_valid(document)


@pytest.mark.parametrize("model", [Need, AskedLimit, Capability], ids=lambda model: model.__name__)
def test_every_key_is_described_and_no_other(model: type[Need | AskedLimit | Capability]) -> None:
    keys = KEYS[model.__name__]
    assert set(keys) == set(model.model_fields)
    required = {name for name, field in model.model_fields.items() if field.is_required()}
    assert {name for name, key in keys.items() if key.is_required} == required


def test_every_built_in_need_has_the_title_of_its_program_and_every_limit_a_source() -> None:
    for need in built_in_needs():
        assert need.program in ("", need.name)
        assert need.title == PROGRAMS[need.program].title if need.program else need.title
        for threshold in need.thresholds:
            assert len(threshold.source) > 20


def test_the_page_of_needs_is_the_list() -> None:
    page = (DOCS / "needs.md").read_text()
    assert re.findall(r"^## `([a-z-]+)`", page, re.MULTILINE) == list(NEED_NAMES)
    for need in built_in_needs():
        for threshold in need.thresholds:
            assert threshold.source in page, threshold.source
        if need.remark:
            assert need.remark in page


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=list(PROGRAMS))
def test_the_page_tells_what_was_traced(program: Program) -> None:
    page = (DOCS / "needs.md").read_text()
    section = page.partition(f"## `{program.need}`\n")[2].partition("\n## ")[0]
    for told in (program.version, program.settings, program.commit, *program.calls):
        assert told in section, told
    assert f"`{program.write.trial}`" in section
    own, us = program.own, 1000
    times = " / ".join(f"{value / us:.0f}" for value in own.memory_ns.values())
    alone = f"{own.one_ns / us:.0f} ({own.low_ns / us:.0f} to {own.high_ns / us:.0f})"
    assert f"| `{program.need}` | {own.round_trips:g} | {alone} | {times} |" in page


def test_the_other_names_that_help_lists_are_those_of_the_files() -> None:
    assert {name for need in built_in_needs() for name in need.aliases} == set(OTHER_NAMES)
    assert load_need("redis").name == "redis-aof"
