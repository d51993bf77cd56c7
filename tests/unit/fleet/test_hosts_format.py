"""The list of keys of ``hosts.toml`` and the types that read it say the same."""

from __future__ import annotations

import tomllib

import pytest

from drivelab.fleet.hosts_format import KEYS
from drivelab.model.fleet_hosts import DriveRule, FleetHosts, HostEntry

MODELS = {"FleetHosts": FleetHosts, "HostEntry": HostEntry, "DriveRule": DriveRule}


@pytest.mark.parametrize("table", MODELS)
def test_every_key_that_is_read_is_listed_and_no_other(table: str) -> None:
    fields = MODELS[table].model_fields
    assert list(KEYS[table]) == list(fields)
    assert {name for name, key in KEYS[table].items() if key.is_required} == {
        name for name, field in fields.items() if field.is_required()
    }


@pytest.mark.parametrize("table", ["HostEntry", "DriveRule"])
def test_the_listed_defaults_are_those_that_are_taken(table: str) -> None:
    empty = MODELS[table].model_validate({})
    for name, key in KEYS[table].items():
        told = tomllib.loads(f"default = {key.default}")["default"] if key.default else None
        assert getattr(empty, name) == told, name
