"""The JSON Schema of experiments: what it accepts is loaded, what is wrong it refuses, and it is up to date."""

from __future__ import annotations

import tomllib
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import experiment_format
from drivelab.experiments.keys import KEYS
from drivelab.experiments.load import built_in_names, built_in_text
from drivelab.experiments.schema import experiment_schema
from drivelab.model.contents import Contents
from drivelab.model.experiment import Experiment, ExperimentWorkload, Reference, Scale
from drivelab.model.factor import FileSystemFactor, FileSystemLevel, MountLevel, WorkloadFactor
from drivelab.model.workload import Access, Pacing
from drivelab.model.workload_keys import SizeShare

SCHEMA = experiment_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
SMALL: dict[str, Any] = {"format": 1, "name": "x", "question": "?", "workloads": [{"name": "w", "count": 1}]}
MODELS = {
    "Experiment": Experiment,
    "Scale": Scale,
    "FileSystemLevel": FileSystemLevel,
    "MountLevel": MountLevel,
    "ExperimentWorkload": ExperimentWorkload,
    "SizeShare": SizeShare,
    "Access": Access,
    "Contents": Contents,
    "Pacing": Pacing,
    "Reference": Reference,
}


def with_workload(**keys: object) -> dict[str, Any]:
    return SMALL | {"workloads": [{"name": "w", "count": 1} | keys]}


def with_factor(**keys: object) -> dict[str, Any]:
    return SMALL | {"factors": [{"setting": "filesystem", "levels": ["raw", "ext4"]}, keys]}


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", built_in_names())
def test_every_built_in_experiment_is_accepted(name: str) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(tomllib.loads(built_in_text(name)))] == []


RIGHT = {
    "levels-of-a-setting": with_factor(setting="write-cache", levels=[True, "off", "as-found"]),
    "a-number-as-level": with_factor(setting="nr-requests", levels=[1, "64"]),
    "mounts": with_factor(setting="mount", levels=["discard", {"name": "both", "options": ["discard", "noatime"]}]),
    "a-trim": with_factor(setting="trim", levels=["none", "fstrim"]),
    "a-key": with_factor(setting="workload", key="direct", levels=[True, False]),
    "an-access": with_workload(access={"kind": "strided", "stride_bytes": 4096}),
    "contents": with_workload(contents="zeros"),
    "sync-at-the-end": with_workload(durability="fsync", sync_every_writes="end"),
    "a-mix-of-sizes": with_workload(block_sizes=[{"bytes": "4KiB", "weight": 80}, {"bytes": 65536}], offset="1GiB"),
    "what-it-requires": SMALL | {"requires": "device"},
    "a-precondition": with_factor(setting="precondition", levels=["none", "sequential"]),
    "some-keys-when-quick": with_workload(quick={"count": 5, "block_size": "1MiB"}),
    "a-reference": SMALL | {"reference": {"workload": "w"}},
}
WRONG = {
    "no-format": {key: value for key, value in SMALL.items() if key != "format"},
    "another-format": SMALL | {"format": 2},
    "no-workloads": SMALL | {"workloads": []},
    "a-typo": SMALL | {"repeat": {"full": 3}},
    "too-many-repeats": SMALL | {"repeats": {"full": 1001}},
    "a-typo-in-a-workload": with_workload(block_sise="4KiB"),
    "an-ambiguous-size": with_workload(block_size="4K"),
    "a-time-without-unit": with_workload(runtime=5),
    "an-unknown-durability": with_workload(durability="sync"),
    "an-unknown-setting": with_factor(setting="colour", levels=["red"]),
    "no-levels": with_factor(setting="scheduler", levels=[]),
    "an-unknown-file-system": with_factor(setting="filesystem", levels=["ext5"]),
    "a-typo-in-a-level": with_factor(setting="filesystem", levels=[{"type": "xfs", "mkfs_option": ["-K"]}]),
    "an-unknown-trim": with_factor(setting="trim", levels=["all"]),
    "an-unknown-requirement": SMALL | {"requires": "drive"},
    "a-mix-without-sizes": with_workload(block_sizes=[{"weight": 80}]),
    "a-size-of-no-weight": with_workload(block_sizes=[{"bytes": "4KiB", "weight": 0}]),
    "an-unknown-key": with_factor(setting="workload", key="blocksize", levels=[1]),
    "a-share-above-the-whole": with_workload(fill_level=1.5),
}


@pytest.mark.parametrize("document", RIGHT.values(), ids=RIGHT)
def test_what_is_right_is_accepted_and_loaded(document: dict[str, Any]) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(document)] == []
    Experiment.model_validate(document)


@pytest.mark.parametrize("document", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_refused_by_both(document: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid(document)
    with pytest.raises(ValidationError):
        Experiment.model_validate(document)


def test_a_typo_in_what_is_different_when_quick_is_refused() -> None:
    assert not VALIDATOR.is_valid(with_workload(quick={"cuont": 5}))


@given(st.from_regex(r"[0-9]{1,4}(\.[0-9])? ?(B|kB|KB|K|M|MB|KiB|MiB|kib|T|s)?", fullmatch=True))
def test_sizes_are_accepted_as_they_are_understood(text: str) -> None:
    assert agrees(with_workload(bytes=text), needs_whole=True)


@given(st.from_regex(r"[0-9]{1,4}(\.[0-9])? ?(ns|us|ms|s|min|h|d|m|sec|)", fullmatch=True))
def test_times_are_accepted_as_they_are_understood(text: str) -> None:
    assert agrees(with_workload(runtime=text))


def agrees(document: dict[str, Any], *, needs_whole: bool = False) -> bool:
    """Whether schema and types give the same answer; that half a byte is none no pattern can tell."""
    accepted = VALIDATOR.is_valid(document)
    try:
        Experiment.model_validate(document)
    except ValidationError as error:
        is_fraction = needs_whole and "whole number of bytes" in str(error)
        return not accepted or is_fraction
    return accepted


@pytest.mark.parametrize("table", MODELS)
def test_every_key_is_described_and_no_other(table: str) -> None:
    assert set(KEYS[table]) == set(MODELS[table].model_fields)


def test_the_keys_of_factors_are_those_of_all_kinds() -> None:
    assert set(KEYS["Factor"]) == set(FileSystemFactor.model_fields) | set(WorkloadFactor.model_fields)


@pytest.mark.parametrize("table", [name for name in MODELS if name != "Experiment"])
def test_every_default_is_the_default(table: str) -> None:
    needed: dict[str, Any] = {
        "FileSystemLevel": {"type": "xfs"},
        "MountLevel": {"name": "m"},
        "ExperimentWorkload": {"name": "w", "count": 1},
        "Reference": {"workload": "w"},
        "SizeShare": {"bytes": 1},
    }.get(table, {})
    model = MODELS[table]
    for name, key in KEYS[table].items():
        if not key.default or name in needed:
            continue
        value = tomllib.loads(f"default = {key.default}")["default"]
        assert getattr(model.model_validate(needed | {name: value}), name) == getattr(
            model.model_validate(needed), name
        ), name


@pytest.mark.parametrize("table", MODELS)
def test_every_required_key_is_required(table: str) -> None:
    required = {name for name, field in MODELS[table].model_fields.items() if field.is_required()}
    # the name of a file system is made from its type before the fields are looked at
    required -= {"name"} if table == "FileSystemLevel" else set()
    assert {name for name, key in KEYS[table].items() if key.is_required} == required


def test_what_is_made_of_the_formats_is_up_to_date() -> None:
    stale = [str(path) for path, text in experiment_format.made_files().items() if path.read_text() != text]
    assert stale == [], "run: make docs"
    pages = "".join(page.read_text() for page in experiment_format.PAGES)
    assert all(
        f"<!-- keys of {table} -->" in pages
        for table in KEYS | experiment_format.KEYS_OF_NEEDS | experiment_format.KEYS_OF_HOSTS
    )
