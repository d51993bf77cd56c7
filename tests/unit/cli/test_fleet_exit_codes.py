"""The status with which commands about a fleet end: the worst of what its targets came to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from drivelab.cli.fleet_sitting import exit_of
from drivelab.fleet.record import FleetRecord, HostRecord
from drivelab.model.fleet_hosts import HostEntry
from drivelab.model.fleet_plan import FleetItem, FleetWork


def fleet_of(*changes: dict[str, Any]) -> FleetRecord:
    items = [
        FleetItem(f"fir/S{number}", "fir", "/dev/sda", **({"state": "complete"} | one))
        for number, one in enumerate(changes)
    ]
    hosts = {"fir": HostRecord(HostEntry())}
    return FleetRecord(Path(), "f", FleetWork("check", ("--for", "etcd")), hosts, {item.key: item for item in items})


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        (({"outcome": "pass"}, {"outcome": "no_limit"}), 0),
        (({"outcome": "pass"}, {"outcome": "undecided"}), 4),
        (({"outcome": "fail"}, {"outcome": "undecided"}), 1),
        (({"outcome": "pass"}, {"outcome": "pass", "doubt": "1 of 4 trials does not describe the drive"}), 4),
        (({"outcome": "undecided"}, {"state": "failed", "reason": "T101: no drive"}), 1),
        (({}, {}), 0),
    ],
)
def test_the_worst_of_its_targets_is_the_status_of_a_fleet(changes: tuple[dict[str, Any], ...], code: int) -> None:
    assert exit_of(fleet_of(*changes)) == code


def test_while_a_fleet_is_measured_no_verdict_is_the_last_word() -> None:
    assert exit_of(fleet_of({"outcome": "fail"}, {"state": "measuring"}), is_running=True) == 0


def test_what_a_fleet_is_checked_for_is_known_by_its_option() -> None:
    assert FleetWork("check", ("--for", "etcd", "--quick")).need == "etcd"
    assert FleetWork("check", ("--quick",)).need == ""
