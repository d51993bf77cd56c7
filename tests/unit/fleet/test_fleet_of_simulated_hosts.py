"""Fifty simulated hosts and a real command that asks them; `tests/prove/fleet_thousand.py` has a thousand."""

from __future__ import annotations

import json
import resource
import shlex
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from drivelab.fleet.book import FleetBook
from drivelab.fleet.record import FleetRecord, HostRecord, open_fleet
from drivelab.fleet.session import Listening, sit
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet_hosts import HostEntry
from drivelab.model.fleet_plan import FleetWork
from fleet_of_simulated_hosts import SimulatedFleet, made_up_hosts
from simulated_hosts import BEGUN, ENDED, SimulatedHost, count_of

RUN = ("run", "ssd-latency", "--hosts")
# nobody has to be quick on a machine that others use
PATIENT = {"deadline_s": 300.0, "join_s": 120.0, "silent_s": 60.0}


def test_fifty_hosts_are_measured_once_each_and_those_that_failed_by_the_next_command(tmp_path: Path) -> None:
    hosts = made_up_hosts(tmp_path, 50, work_s=0.5, failing=6, kinds=("leaves", "fails"))
    fleet = SimulatedFleet(tmp_path, hosts)
    first = fleet.ask(*RUN, str(fleet.file), **PATIENT)
    assert first.exit_code == 1, first.complaints
    for host in hosts:
        state, reason = fleet.state_of(host, first)
        if host.fault == "":
            assert (state, reason, fleet.is_here(host, first)) == ("complete", "", True), host
        elif host.fault == "fails":
            assert (state, reason) == ("failed", "D101: the drive answers no more"), host
        else:
            assert (state, reason) == ("cut_off", "the connection to it was lost"), host
    repaired = [SimulatedHost(host.name, host.home, host.work_s) for host in hosts if host.fault]
    second = fleet.ask("resume", first.document["directory"], hosts=repaired, **PATIENT)
    assert second.exit_code == 0, second.complaints
    assert all(fleet.is_here(host, second) for host in hosts)
    assert [count_of(host, ENDED) for host in hosts] == [1] * 50
    assert [count_of(host, BEGUN) for host in hosts] == [2 if host.fault else 1 for host in hosts]


def test_runs_that_are_lost_here_are_brought_once_more_and_those_that_cannot_be_are_told(tmp_path: Path) -> None:
    hosts = made_up_hosts(tmp_path, 3, work_s=0.1, failing=0)
    fleet = SimulatedFleet(tmp_path, hosts)
    first = fleet.ask(*RUN, str(fleet.file), **PATIENT)
    assert first.exit_code == 0, first.complaints
    directory = Path(first.document["directory"])
    runs = {item["host"]: directory / item["gathered"] for item in first.document["items"]}
    gone, damaged, _ = (runs[host.name] for host in hosts)
    shutil.rmtree(gone)
    (damaged / "trials.parquet").write_bytes(b"nothing of a table")
    store = tmp_path / "store"
    store.mkdir()
    hasty = {**PATIENT, "join_s": 3.0}
    away = fleet.ask("gather", str(directory), "--to", str(store), hosts=hosts[2:], **hasty)
    assert away.exit_code == 1, away.complaints
    reasons = {item["host"]: item["reason"] for item in away.document["items"]}
    assert [reasons[host.name] for host in hosts] == ["its run is not here any more as it came"] * 2 + [""]
    assert [path.name for path in store.rglob("run.json")] == ["run.json"]
    there = fleet.ask("resume", str(directory), hosts=hosts[:2], **PATIENT)
    assert there.exit_code == 0, there.complaints
    assert all(fleet.is_here(host, there) for host in hosts)
    assert [count_of(host, BEGUN) for host in hosts] == [1] * 3


@pytest.mark.provokes("F902")
def test_a_list_with_a_line_that_means_no_drive_is_refused_before_a_drive_is_touched(tmp_path: Path) -> None:
    hosts = made_up_hosts(tmp_path, 3, work_s=0.1, failing=0)
    fleet = SimulatedFleet(tmp_path, hosts)
    listed = tmp_path / "erase.txt"
    listed.write_text(f"{hosts[0].serial}\n{hosts[1].name}:sdz\nS-nobody\n")
    asked = fleet.ask(*RUN, str(fleet.file), "--erase-list", str(listed), **PATIENT)
    assert asked.exit_code == 2
    error = json.loads(asked.complaints.splitlines()[-1])["error"]
    assert error["code"] == "F902"
    assert error["what"] == f"no drive is meant by {hosts[1].name}:sdz and S-nobody of the erase list"
    assert sum(count_of(host, BEGUN) for host in hosts) == 0
    assert list((tmp_path / "runs").iterdir()) == []


@pytest.mark.provokes("F902")
def test_who_goes_on_refuses_a_line_that_means_no_drive_as_who_begins_does(tmp_path: Path) -> None:
    hosts = made_up_hosts(tmp_path, 2, work_s=0.1, failing=2, kinds=("fails",))
    fleet = SimulatedFleet(tmp_path, hosts)
    first = fleet.ask(*RUN, str(fleet.file), **PATIENT)
    before = open_fleet(first.document["directory"])
    repaired = [SimulatedHost(host.name, host.home, host.work_s) for host in hosts]
    listed = tmp_path / "erase.txt"
    again = ("resume", first.document["directory"], "--erase-list", str(listed))
    listed.write_text(f"{hosts[0].serial}\nS-nobody\n")
    asked = fleet.ask(*again, hosts=repaired, **PATIENT)
    assert asked.exit_code == 2, asked.complaints
    error = json.loads(asked.complaints.splitlines()[-1])["error"]
    assert (error["code"], error["what"]) == ("F902", "no drive is meant by S-nobody of the erase list")
    assert [count_of(host, BEGUN) for host in hosts] == [1, 1]
    assert open_fleet(first.document["directory"]) == before
    listed.write_text(f"{hosts[0].serial}\n")
    foreseen = fleet.ask(*again, "--dry-run", hosts=repaired, **PATIENT)
    assert foreseen.exit_code == 0, foreseen.complaints
    assert [item["plan"]["refused"] for item in foreseen.document["items"]] == ["", ""]
    assert open_fleet(first.document["directory"]) == before
    assert [count_of(host, BEGUN) for host in hosts] == [1, 1]
    done = fleet.ask(*again, hosts=repaired, **PATIENT)
    assert done.exit_code == 0, done.complaints
    nothing = fleet.ask(*again, "--dry-run", hosts=repaired, **PATIENT)
    assert (nothing.exit_code, nothing.document["items"]) == (0, []), nothing.complaints


def test_who_goes_on_without_the_list_changes_nothing_of_what_is_known(tmp_path: Path) -> None:
    """Of three hosts one is measured, one leaves, and one fails: why is what stays known until the list is named."""
    made = made_up_hosts(tmp_path, 3, work_s=0.1, failing=2, kinds=("leaves", "fails"))
    hosts = [replace(host, is_erased=True) for host in made]
    fleet = SimulatedFleet(tmp_path, hosts)
    listed = tmp_path / "my list.txt"
    listed.write_text("".join(f"{host.serial}\n" for host in hosts))
    first = fleet.ask(*RUN, str(fleet.file), "--erase-list", str(listed), **PATIENT)
    known = [fleet.state_of(host, first) for host in hosts]
    assert {state for state, _ in known} == {"complete", "cut_off", "failed"}
    repaired = [replace(host, fault="") for host in hosts]
    again = ("resume", first.document["directory"])
    refused = fleet.ask(*again, hosts=repaired, **PATIENT)
    assert refused.exit_code == 1, refused.complaints
    assert [fleet.state_of(host, refused) for host in hosts] == known
    assert [count_of(host, BEGUN) for host in hosts] == [1, 1, 1]
    _, _, _, *words = shlex.split(open_fleet(first.document["directory"]).how_to_go_on)
    done = fleet.ask("resume", *words[: words.index("--scheduler")], hosts=repaired, **PATIENT)
    assert done.exit_code == 0, done.complaints


def test_a_dry_run_touches_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    hosts = made_up_hosts(tmp_path, 3, work_s=0.1, failing=0)
    fleet = SimulatedFleet(tmp_path, hosts)
    asked = fleet.ask(*RUN, str(fleet.file), "--dry-run", **PATIENT)
    assert asked.exit_code == 0, asked.complaints
    assert [item["plan"]["refused"] for item in asked.document["items"]] == [""] * 3
    listed = tmp_path / "erase.txt"
    listed.write_text(f"{hosts[0].serial}\nS-nobody\n")
    words = ("--dry-run", "--host", hosts[0].name, "--erase-list", str(listed))
    one = fleet.ask(*RUN, str(fleet.file), *words, hosts=hosts[:1], **PATIENT)
    # it may be the serial of a drive of a host that is not asked
    assert (one.exit_code, one.document["lines_not_known"]) == (0, ["S-nobody"]), one.complaints
    assert sum(count_of(host, BEGUN) for host in hosts) == 0
    assert not (tmp_path / "runs").exists()


def test_hosts_that_never_say_anything_are_given_up_with_a_reason(tmp_path: Path) -> None:
    kinds = ("never joins", "hangs", "falls silent")
    hosts = made_up_hosts(tmp_path, 3, work_s=0.1, failing=3, kinds=kinds)
    fleet = SimulatedFleet(tmp_path, hosts)
    asked = fleet.ask(*RUN, str(fleet.file), deadline_s=2, join_s=5, silent_s=11)
    assert asked.exit_code == 1, asked.complaints
    for host in hosts:
        state, reason = fleet.state_of(host, asked)
        assert state in ("", "cut_off")
        assert "it did not" in reason or "was lost" in reason, (host, reason)


@pytest.mark.provokes("F909")
def test_more_hosts_than_this_machine_may_have_connections_are_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 1024))
    hosts = {f"host-{number}": HostRecord(HostEntry()) for number in range(1000)}
    book = FleetBook(FleetRecord(tmp_path, "many", FleetWork("check"), hosts))
    with (
        # the main thread may have a loop of a browser
        ThreadPoolExecutor(max_workers=1) as pool,
        pytest.raises(DrivelabError, match="1000 hosts need 4200 open files, and 1024 are allowed") as caught,
    ):
        pool.submit(sit, book, Listening("127.0.0.1", 0, None, None), None, None).result()  # type: ignore[arg-type]
    assert caught.value.code == "F909"
