"""A fleet goes on with the hosts as they are reached by now, and with the drives that were meant when it began."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.fleet.changed_hosts import reached_as_now
from drivelab.fleet.hosts import load_hosts
from drivelab.fleet.record import FleetRecord, new_fleet, open_fleet
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet_plan import FleetWork

BEGUN = """
format = 1
[defaults]
drives = [{ model = "SAMSUNG*", min_size = "1 TB" }]
tags = { rack = "7" }
[hosts.fir]
user = "lab"
[hosts.oak]
"""


@pytest.fixture
def begun(tmp_path: Path) -> FleetRecord:
    file = tmp_path / "hosts.toml"
    file.write_text(BEGUN)
    fleet = new_fleet(FleetWork("run"), load_hosts(file), tmp_path / "runs", hosts_file=file)
    return open_fleet(str(fleet.directory))


def test_where_nothing_has_changed_nothing_is_told(begun: FleetRecord) -> None:
    assert reached_as_now(begun, None) == (begun, [])


def test_a_host_is_reached_as_its_file_says_now_and_what_is_meant_stays(begun: FleetRecord) -> None:
    file = Path(begun.hosts_file)
    file.write_text(BEGUN.replace('user = "lab"', 'user = "root"\nport = 2222\ndrives = ["S1"]') + "[hosts.elm]\n")
    now, told = reached_as_now(begun, None)
    stays = f"drives, targets and tags of fir stay as the fleet began, and not as {file} says now"
    assert told == [
        f"fir: user and port as {file} says now",
        f"{stays}: for those begin a new one, drivelab fleet run",
    ]
    entry = now.hosts["fir"].entry
    assert (entry.user, entry.port, entry.drives) == ("root", 2222, begun.hosts["fir"].entry.drives)
    assert (list(now.hosts), now.hosts["oak"]) == (["fir", "oak"], begun.hosts["oak"])


def test_another_file_is_read_and_remembered(begun: FleetRecord, tmp_path: Path) -> None:
    file = tmp_path / "others.toml"
    file.write_text('format = 1\n[hosts.fir]\nuser = "lab"\ndrives = [{ model = "SAMSUNG*", min_size = "1 TB" }]\n')
    now, told = reached_as_now(begun, file)
    assert now.hosts_file == str(file)
    assert told[0] == f"{file} has no oak any more: reached as before"


def test_without_the_file_hosts_are_reached_as_before_and_a_mistake_in_it_is_one(begun: FleetRecord) -> None:
    file = Path(begun.hosts_file)
    file.write_text(BEGUN.replace("user", "uzer"))
    with pytest.raises(DrivelabError, match="there is no such key"):
        reached_as_now(begun, None)
    file.unlink()
    assert reached_as_now(begun, None) == (begun, [f"{file} is not there any more: hosts are reached as before"])
    with pytest.raises(DrivelabError, match="cannot be read"):
        reached_as_now(begun, file)
