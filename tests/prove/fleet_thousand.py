"""A thousand simulated hosts on this machine, of which a hundred fail: all are told of, and what asking them costs.

``.venv/bin/python -m pytest tests/prove/fleet_thousand.py -s`` prints the figures. Hosts take 60 s each, and spend them
asleep. They share two processes and this machine's processors with who asks them, so how long all of it takes tells of
this machine; what the asking side costs is its processor time, and that beyond a fleet of one host is what many hosts
cost. It can delay nobody by more than that.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from fleet_of_simulated_hosts import Asked, SimulatedFleet, made_up_hosts
from simulated_hosts import ENDED, count_of

pytestmark = pytest.mark.timeout(3600)
HOSTS, FAILING = 1000, 100
WORK_S, DEADLINE_S, JOIN_S, SILENT_S = 60.0, 180.0, 300.0, 30.0
RUN = ("run", "ssd-latency", "--hosts")
REASONS = {
    "": ("complete", ""),
    "never joins": ("", "it did not join within 5 min"),
    "leaves": ("cut_off", "the connection to it was lost"),
    "falls silent": ("cut_off", "the connection to it was lost"),
    "hangs": ("cut_off", "it did not answer within 180 s"),
    "fails": ("failed", "D101: the drive answers no more"),
}


def show(what: str, asked: Asked) -> None:
    """Print what a fleet cost."""
    cost = f"{asked.processor_s:.1f} s of processor time, {asked.peak_mb:.0f} MB at most"
    print(f"\n{what}: {asked.seconds:.0f} s, {cost}")


def test_every_host_has_a_result_or_a_reason_within_its_deadline(tmp_path: Path) -> None:
    hosts = made_up_hosts(tmp_path, HOSTS, work_s=WORK_S, failing=FAILING)
    fleet = SimulatedFleet(tmp_path, hosts)
    asked = fleet.ask(*RUN, str(fleet.file), processes=2, deadline_s=DEADLINE_S, join_s=JOIN_S, silent_s=SILENT_S)
    show(f"{HOSTS} hosts, {FAILING} of them fail", asked)
    print(dict(Counter((host.fault, *fleet.state_of(host, asked)) for host in hosts)))
    assert [host.name for host in hosts if fleet.state_of(host, asked) != REASONS[host.fault]] == []
    assert all(fleet.is_here(host, asked) for host in hosts if not host.fault)
    assert [count_of(host, ENDED) for host in hosts] == [int(not host.fault) for host in hosts]
    assert asked.seconds < JOIN_S + DEADLINE_S + SILENT_S
    assert asked.peak_mb < 2000


def test_what_many_hosts_cost_who_asks_them(tmp_path: Path) -> None:
    costs = {}
    for count in (1, 100, 300, 1000):
        folder = tmp_path / str(count)
        folder.mkdir()
        hosts = made_up_hosts(folder, count, work_s=WORK_S, failing=0)
        fleet = SimulatedFleet(folder, hosts)
        asked = fleet.ask(*RUN, str(fleet.file), processes=2, deadline_s=DEADLINE_S, join_s=JOIN_S, silent_s=SILENT_S)
        assert asked.exit_code == 0, asked.complaints
        costs[count] = asked.processor_s
        show(f"{count} hosts", asked)
    print(f"{1000 * (costs[1000] - costs[1]) / 999:.1f} ms of processor time for each host more")
