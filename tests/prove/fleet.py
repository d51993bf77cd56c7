"""Real samples of 1,486 drives with three slow ones, and slowdowns put into them: what is found, and what falsely.

``DRIVELAB_FLEET_DATA=DIR .venv/bin/python -m pytest tests/prove/fleet.py -s`` prints the figures. DIR holds
``cluster_A`` and ``cluster_B`` of Alibaba's PERSEUS set (FAST '23), as the directory ``data`` of the repository
Joshua-Ludolf/FSA-benchmarking-Reproduction-Research has them. Thresholds were chosen on the half of the hosts that
`is_held_out` leaves; what is put in is put into the other half, by other random numbers.
"""

from __future__ import annotations

import hashlib
import os
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from drivelab.analyse.fleet import judge_fleet
from drivelab.interop.samples.read import read_samples
from drivelab.model.fleet import HostSeries, SlowOne

DATA = os.environ.get("DRIVELAB_FLEET_DATA", "")
pytestmark = [
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not DATA, reason="DRIVELAB_FLEET_DATA names no directory with clusters A and B"),
]
TRUTH = {("cluster_A", "host_22", "disk11"), ("cluster_A", "host_25", "disk8"), ("cluster_B", "host_5", "disk5")}
SEEDS = range(7001, 7031)
HOST_SEEDS = range(7101, 7105)
DAY_S = 86_400
STEP_S = 15

Place = tuple[str, str, str]
Rows = Callable[[np.random.Generator, HostSeries], np.ndarray]


def is_held_out(host: HostSeries) -> bool:
    """Half of the hosts, by their names."""
    return hashlib.sha256(f"{host.cluster[-1]}/{host.host}".encode()).digest()[0] % 2 == 1


@pytest.fixture(scope="module")
def hosts() -> Sequence[HostSeries]:
    """All hosts of both clusters."""
    begin = time.monotonic()
    found = read_samples([Path(DATA)]).hosts
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000
    print(f"\nread in {time.monotonic() - begin:.0f} s, {peak_mb} MB at most")
    return found


@pytest.fixture(scope="module")
def held_out(hosts: Sequence[HostSeries]) -> list[HostSeries]:
    """The half of the hosts on which nothing was chosen."""
    return [host for host in hosts if is_held_out(host)]


def place_in(host: HostSeries, column: int) -> Place:
    """Which drive of a host it is."""
    return host.cluster, host.host, host.drives[column]


def place_of(one: SlowOne) -> Place:
    """Which drive or host it is."""
    return one.cluster, one.host, one.drive


def test_the_three_slow_drives_are_found_and_no_other(hosts: Sequence[HostSeries]) -> None:
    begin = time.monotonic()
    answer = judge_fleet(hosts)
    told = {place_of(one): one.spans[0].told_after_s for one in answer.drives}
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000
    print(f"judged in {time.monotonic() - begin:.0f} s, {peak_mb} MB at most; first told after (s): {told}")
    alarms = sum(len(one.days) for one in answer.odd_drives)
    print(f"odd beside them: {alarms} of {answer.drive_dates} dates: {1000 * alarms / answer.drive_dates:.2f} of 1,000")
    print(f"whole hosts: {[(place_of(one)[:2], round(one.ratio, 2), len(one.days)) for one in answer.hosts]}")
    assert set(told) == TRUTH
    assert max(told.values()) <= 600


def test_ten_minutes_of_data_are_enough_to_find_them(hosts: Sequence[HostSeries]) -> None:
    """Nothing of what comes later is known: the first ten minutes of each host alone."""
    answer = judge_fleet([begun(host, 600) for host in hosts])
    found = [place_of(one) for one in answer.drives]
    odd = [place_of(one) for one in answer.odd_drives]
    print(f"in the first 600 s slow: {found}, odd: {odd}")
    assert set(found + odd) >= TRUTH


def begun(host: HostSeries, length_s: int) -> HostSeries:
    """The first samples of a host."""
    kept = host.time_s < host.time_s[0] + length_s
    return replace(host, time_s=host.time_s[kept], latency=host.latency[kept], throughput=host.throughput[kept])


def whole_date(random: np.random.Generator, host: HostSeries) -> np.ndarray:
    """All of one date, which is three hours of data."""
    return host.time_s // DAY_S == random.choice(np.unique(host.time_s // DAY_S))


def part_of_date(hours: float) -> Rows:
    """Hours of one date from a random moment on."""

    def rows(random: np.random.Generator, host: HostSeries) -> np.ndarray:
        inside = np.flatnonzero(whole_date(random, host))
        count = min(int(hours * 3600 / STEP_S), len(inside))
        first = int(random.integers(len(inside) - count + 1))
        return np.isin(np.arange(len(host.time_s)), inside[first : first + count])

    rows.__name__ = f"{hours} h of a date"
    return rows


def from_a_moment_on(hours: float) -> Rows:
    """Hours of data from a random moment on, over as many dates as it takes."""

    def rows(random: np.random.Generator, host: HostSeries) -> np.ndarray:
        count = int(hours * 3600 / STEP_S)
        first = int(random.integers(max(len(host.time_s) - count, 1)))
        return (np.arange(len(host.time_s)) >= first) & (np.arange(len(host.time_s)) < first + count)

    rows.__name__ = f"{hours} h of data over dates"
    return rows


def slowed(host: HostSeries, columns: Sequence[int], rows: np.ndarray, ratio: float) -> HostSeries:
    """A host some of whose drives take longer for a while."""
    latency = host.latency.copy()
    latency[np.ix_(rows, columns)] *= ratio
    return replace(host, latency=latency)


def dates_in(host: HostSeries, rows: np.ndarray) -> set[str]:
    """Dates of some rows, as answers have them."""
    return {str(np.datetime64(int(day), "D")) for day in np.unique(host.time_s[rows] // DAY_S)}


# a slowdown, when, and the least share of them that is found
KINDS: list[tuple[float, Rows, float]] = [
    (1.2, whole_date, 0.9),
    (1.2, part_of_date(2), 0.5),
    (1.2, part_of_date(1), 0.05),
    (1.2, from_a_moment_on(6), 0.9),
    (1.2, from_a_moment_on(12), 0.95),
    (1.3, whole_date, 0.95),
    (1.3, part_of_date(1), 0.5),
    (1.5, part_of_date(1), 0.95),
    (2.0, part_of_date(0.5), 0.95),
]


def test_slowdowns_that_were_put_in_are_found(held_out: list[HostSeries]) -> None:
    """One drive of each fourth host, each kind in turn, on a date or from a moment of its own."""
    counts = np.zeros((len(KINDS), 3), dtype=int)
    false = dates = 0
    for seed in SEEDS:
        random, wanted, made = np.random.default_rng(seed), {}, list(held_out)
        for place in random.choice(len(made), size=len(made) // 4, replace=False):
            host, kind = made[place], int(random.integers(len(KINDS)))
            ratio, rows, _ = KINDS[kind]
            chosen = rows(random, host)
            # a drive without samples on that date cannot be judged, and is told so
            there = np.flatnonzero(np.isfinite(host.latency[chosen]).mean(axis=0) >= 0.5)
            column = int(random.choice([one for one in there if place_in(host, one) not in TRUTH]))
            wanted[place_in(host, column)] = (kind, dates_in(host, chosen))
            made[place] = slowed(host, [column], chosen, ratio)
        answer = judge_fleet(made)
        slow = {place_of(one): set(one.days) for one in answer.drives}
        odd = slow | {place_of(one): set(one.days) for one in answer.odd_drives}
        for where, (kind, days) in wanted.items():
            counts[kind] += (1, bool(days & odd.get(where, set())), bool(days & slow.get(where, set())))
        false += sum(len(days) for where, days in odd.items() if where not in wanted and where not in TRUTH)
        dates += answer.drive_dates
    print(f"{1000 * false / dates:.2f} false of 1,000 dates of drives")
    for (ratio, rows, _), (count, found, sure) in zip(KINDS, counts, strict=True):
        print(f"{ratio}x, {rows.__name__}: {found} of {count} found ({found / count:.3f}), {sure / count:.3f} as slow")
    for (_, _, least), (count, found, _) in zip(KINDS, counts, strict=True):
        assert found >= least * count
    assert false <= dates / 1000


@pytest.mark.parametrize(("ratio", "rows"), [(1.3, whole_date), (1.3, part_of_date(2)), (1.5, part_of_date(1))])
def test_a_host_that_slows_down_as_a_whole_is_told_from_its_drives(
    held_out: list[HostSeries], ratio: float, rows: Rows
) -> None:
    found = count = drives = others = 0
    for seed in HOST_SEEDS:
        random = np.random.default_rng(seed)
        chosen = {int(one) for one in random.choice(len(held_out), size=4, replace=False)}
        made = [
            slowed(host, range(len(host.drives)), rows(random, host), ratio) if place in chosen else host
            for place, host in enumerate(held_out)
        ]
        answer = judge_fleet(made)
        names = {(held_out[place].cluster, held_out[place].host) for place in chosen}
        told = {(one.cluster, one.host) for one in answer.hosts}
        found, count, others = found + len(told & names), count + len(names), others + len(told - names)
        drives += sum((one.cluster, one.host) in names for one in answer.drives if place_of(one) not in TRUTH)
    print(f"{ratio}x {rows.__name__}: {found} of {count} hosts found, {others} others, {drives} of their drives blamed")
    assert found >= 0.9 * count
    assert drives == 0
