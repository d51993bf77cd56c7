"""The rate that is left when a cache is full: in the unit of a finding, and in that of its other metric."""

from __future__ import annotations

import pytest

from drivelab.model.estimate import Estimate, Unit
from drivelab.model.finding import Finding
from drivelab.model.judged_metric import LATENCY, RATE, THROUGHPUT
from drivelab.model.lasting_rate import as_it_lasts, lasting_rate, lasting_rates, lasting_share


def number(value: float | None, unit: Unit) -> Estimate:
    return Estimate(value, 0.9 * (value or 1.0), 1.1 * (value or 1.0), unit, 100, 100.0, "")


def left(token: str, base_per_s: float, **more: float) -> Finding:
    return Finding("writes-left-in-cache", "warning", "", "a", {"token": token, "base_per_s": base_per_s, **more})


MEASURED = {RATE: number(50_000.0, "1/s"), THROUGHPUT: number(204.8e6, "B/s"), LATENCY: number(6e5, "ns")}


def test_the_lowest_of_several_rates_lasts_and_the_highest_was_first() -> None:
    found = lasting_rate([left("bytes", 210e6, burst_per_s=548e6), left("bytes", 209e6)], THROUGHPUT)
    assert found is not None
    assert (found.per_s, found.at_first_per_s) == (209e6, 548e6)
    assert lasting_rate([left("bytes", 209e6)], RATE) is None
    assert lasting_rate([Finding("drift", "warning", "", "a", {})], RATE) is None


def test_throughput_and_ios_fall_by_the_same_share_and_latencies_stay() -> None:
    told = as_it_lasts(MEASURED, [left("I/Os", 205.0)])
    assert told[RATE].value == pytest.approx(205.0)
    assert told[THROUGHPUT].value == pytest.approx(205.0 * 4096)
    assert (told[RATE].low, told[RATE].high) == (None, None)
    assert told[LATENCY] == MEASURED[LATENCY]
    assert as_it_lasts(MEASURED, []) == MEASURED


def test_a_rate_that_hardly_fell_is_one_rate_with_its_interval() -> None:
    assert as_it_lasts(MEASURED, [left("I/Os", 49_600.0)]) == MEASURED
    assert as_it_lasts(MEASURED, [left("bytes", 201e6, burst_per_s=205e6)]) == MEASURED
    assert as_it_lasts(MEASURED, [left("bytes", 180e6, burst_per_s=205e6)])[THROUGHPUT].value == 180e6


def test_what_was_not_measured_has_no_share() -> None:
    assert lasting_share(lasting_rates([left("I/Os", 205.0)]), {RATE: None}) is None
    assert lasting_share(lasting_rates([left("I/Os", 205.0)]), {THROUGHPUT: 1e6}) is None
    assert as_it_lasts({RATE: number(None, "1/s")}, [left("I/Os", 205.0)])[RATE].value is None
