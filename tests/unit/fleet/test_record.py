"""``fleet.json``: what is kept comes back, one command at a time has it, and damage is told."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drivelab.fleet.record import FLEET_JSON, FleetRecord, HostRecord, new_fleet, open_fleet, unfinished_fleet
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet_hosts import DriveRule, HostEntry
from drivelab.model.fleet_plan import FleetItem, FleetWork
from drivelab.report.terminal.fleet_run import fleet_run_lines

WORK = FleetWork("run", ("--quick",), "small.toml", "format = 1\n")
ENTRY = HostEntry(address="10.0.0.1", drives=(DriveRule(serial="S1"),), tags={"rack": "7"})
ITEM = FleetItem(
    "one/S1",
    "one",
    "/dev/sda",
    ("S1",),
    {"model": "M"},
    {"rack": "7"},
    state="complete",
    run="/runs/x",
    gathered="one_S1-x",
    answer="fast",
)


@pytest.fixture
def kept(tmp_path: Path) -> FleetRecord:
    fleet = new_fleet(WORK, {"one": ENTRY, "two": HostEntry()}, tmp_path).with_items([ITEM])
    fleet.hosts["two"] = HostRecord(HostEntry(), "it has left", ("a note",), -5, 2)
    fleet.keep()
    return fleet


def test_a_fleet_is_called_as_its_experiment_calls_itself(tmp_path: Path) -> None:
    work = FleetWork("run", (), "tinyw.toml", 'format = 1\nname = "tiny-write"\n')
    fleet = new_fleet(work, {"one": ENTRY}, tmp_path)
    assert fleet.work.title == "tiny-write"
    assert "-fleet-tiny-write-" in fleet.name
    assert [FleetWork("run", (), *told).title for told in (("a.fio", "[a]\nname=b\n"), ("x.toml", ""))] == ["a", "x"]


def test_what_is_kept_comes_back_without_the_consent(kept: FleetRecord) -> None:
    found = open_fleet(str(kept.directory))
    assert found.items["one/S1"].erase == ()
    assert found.with_items([ITEM]) == kept


def test_two_fleets_of_one_second_are_two(tmp_path: Path) -> None:
    names = {new_fleet(WORK, {"one": ENTRY}, tmp_path).name for _ in range(5)}
    assert len(names) == 5
    assert all(name.split("-")[1:3] == ["fleet", "small"] for name in names)


def test_the_last_fleet_and_one_by_its_name_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path))
    fleet = new_fleet(WORK, {"one": ENTRY})
    assert open_fleet("LAST") == open_fleet(fleet.name) == fleet


@pytest.mark.provokes("F903")
def test_a_fleet_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path))
    for typed, what in (("LAST", "there is no LAST"), ("none", "there is no fleet none"), (str(tmp_path), "no fleet")):
        with pytest.raises(DrivelabError, match=what) as caught:
            open_fleet(typed)
        assert caught.value.code == "F903"


def test_damage_anywhere_is_told_or_harms_nothing(kept: FleetRecord) -> None:
    path = kept.directory / FLEET_JSON
    whole = json.loads(path.read_text())
    told = 0
    for damaged in damaged_documents(whole):
        path.write_text(json.dumps(damaged))
        try:
            found = open_fleet(str(kept.directory))
        except DrivelabError as error:
            assert error.code == "F903"
            assert len(error.what.splitlines()) == 1
            told += 1
        else:
            hosts = {name: (host.reason, host.notes) for name, host in found.hosts.items()}
            assert fleet_run_lines(found.name, found.work.title, hosts, list(found.items.values()), plain=True)
    assert told > 100
    for text in (b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000, path.read_bytes()[:-20]):
        path.write_bytes(text)
        with pytest.raises(DrivelabError, match="damaged") as caught:
            open_fleet(str(kept.directory))
        assert caught.value.code == "F903"


@pytest.mark.provokes("F903")
@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda whole: whole["items"][0].update(state="done"), "state of a target: Input should be 'planned'"),
        (lambda whole: whole["items"][0].pop("host"), "host of a target: "),
        (lambda whole: whole["hosts"]["one"].update(reason=3), "reason of a host: "),
        (lambda whole: whole["work"].update(command="rm"), "command of the work: "),
        (lambda whole: whole.pop("items"), "it has no 'items'"),
    ],
)
def test_damage_is_told_with_the_name_of_the_value(kept: FleetRecord, change: Any, what: str) -> None:
    path = kept.directory / FLEET_JSON
    whole = json.loads(path.read_text())
    change(whole)
    path.write_text(json.dumps(whole))
    with pytest.raises(DrivelabError) as caught:
        open_fleet(str(kept.directory))
    assert caught.value.what.startswith(f"fleet.json is damaged: {what}")


def damaged_documents(whole: dict[str, Any]) -> Iterator[Any]:
    """The document with each of its values replaced by values of other kinds, and removed."""
    for place in places(whole):
        for other in (None, 3, "x", [], {}, [[]], True):
            changed = copy.deepcopy(whole)
            inside = changed
            for part in place[:-1]:
                inside = inside[part]
            inside[place[-1]] = other
            yield changed
        del inside[place[-1]]
        yield changed


def places(inside: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key, value in inside.items() if isinstance(inside, dict) else enumerate(inside):
        yield (*above, key)
        if isinstance(value, dict | list):
            yield from places(value, (*above, key))


def test_a_link_in_place_of_the_record_is_not_followed(kept: FleetRecord, tmp_path: Path) -> None:
    (kept.directory / ".lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DrivelabError), kept.held():
        pass
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.provokes("F907")
def test_one_command_at_a_time_has_a_fleet(kept: FleetRecord) -> None:
    assert not kept.is_held()
    with kept.held():
        assert kept.is_held()
        with pytest.raises(DrivelabError, match="another command works with this fleet") as caught, kept.held():
            pass
        assert caught.value.code == "F907"
    assert not kept.is_held()


@pytest.mark.provokes("F903")
def test_the_only_fleet_that_is_unfinished_is_meant_and_several_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path))
    left_out: list[str] = []

    def unfinished() -> FleetRecord:
        return unfinished_fleet(lambda name, error: left_out.append(f"{name}: {error.what}"))

    with pytest.raises(DrivelabError, match="no fleet is unfinished"):
        unfinished()
    first = new_fleet(WORK, {"one": ENTRY}, tmp_path).with_items([ITEM])
    first.keep()
    with pytest.raises(DrivelabError, match="no fleet is unfinished"):
        unfinished()
    replace(first, items={}).keep()
    assert unfinished().name == first.name
    damaged = new_fleet(WORK, {"one": ENTRY}, tmp_path)
    (damaged.directory / FLEET_JSON).write_text("{")
    assert left_out == []
    assert unfinished().name == first.name
    assert len(left_out) == 1
    assert left_out[0].startswith(f"{damaged.name}: fleet.json is damaged: ")
    second = new_fleet(WORK, {"one": ENTRY}, tmp_path)
    with pytest.raises(DrivelabError, match="2 fleets are unfinished") as caught:
        unfinished()
    assert caught.value.code == "F903"
    assert first.name in caught.value.do
    assert second.name in caught.value.do


def test_a_fleet_of_which_a_host_was_not_asked_is_unfinished() -> None:
    fleet = FleetRecord(Path(), "f", WORK, {"one": HostRecord(ENTRY)}, {ITEM.key: ITEM})
    assert fleet.is_whole
    assert not replace(fleet, hosts={"one": HostRecord(ENTRY, "it has left")}).is_whole
    assert not replace(fleet, items={}).is_whole
