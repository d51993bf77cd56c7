"""How much reached the drive, and how far the throughput fell."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_trials import counted, durable_values, durable_workload, evidence, latencies, measured, workload

from drivelab.analyse.findings import page_cache_answered
from drivelab.analyse.reached_share import reached_device_share
from drivelab.analyse.summary import summarise
from drivelab.analyse.throughput_change import INTERVALS_MIN, quotient, throughput_tenths
from drivelab.model.estimate import Estimate

BUFFERED = workload("write", direct=False)
MIB = 1 << 20


def test_the_tenths_are_the_rates_of_their_intervals() -> None:
    moved = np.concatenate([np.full(10, 4e7), np.full(80, 2e7), np.full(10, 1e7)])
    found = throughput_tenths(moved, np.full(100, 1e8))
    assert found["throughput_first_tenth_bytes_per_s"].value == pytest.approx(4e8)
    assert found["throughput_last_tenth_bytes_per_s"].value == pytest.approx(1e8)
    assert found["throughput_last_over_first_ratio"].value == pytest.approx(0.25)


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_a_last_interval_in_which_the_trial_ended_does_not_count(share: float) -> None:
    duration = np.array([*np.full(10, 1e8), 31_048])
    moved = np.array([*np.full(10, 2e7), share * 31_048])
    found = throughput_tenths(moved, duration)
    assert found["throughput_last_tenth_bytes_per_s"].value == pytest.approx(2e8)
    assert found["throughput_last_over_first_ratio"].value == pytest.approx(1)
    assert throughput_tenths(moved[1:], duration[1:]) == {}


def test_a_drive_that_stopped_has_a_last_tenth_of_zero() -> None:
    moved = np.array([*np.full(90, 2e7), *np.zeros(10)])
    assert throughput_tenths(moved, np.full(100, 1e8))["throughput_last_over_first_ratio"].value == 0


def test_few_intervals_have_no_tenths() -> None:
    few = np.full(INTERVALS_MIN - 1, 1e8)
    assert throughput_tenths(few, few) == {}


def test_a_start_without_throughput_has_no_ratio() -> None:
    moved = np.full(100, 1e7)
    moved[:10] = 0
    assert "throughput_last_over_first_ratio" not in throughput_tenths(moved, np.full(100, 1e8))


def test_intervals_of_the_ratio_cover_the_truth() -> None:
    random = np.random.default_rng(1)
    hits = 0
    for _ in range(1000):
        speeds = random.lognormal(0, 0.3, 200)
        speeds[-20:] *= 0.5
        ratio = throughput_tenths(1e7 * speeds, np.full(200, 1e8))["throughput_last_over_first_ratio"]
        assert ratio.low is not None
        hits += ratio.low <= 0.5 and (ratio.high is None or ratio.high >= 0.5)
    assert hits / 1000 >= 0.93


def test_a_quotient_without_intervals_has_none() -> None:
    one, two = Estimate(1.0, None, None, "B/s", 1, 1.0, ""), Estimate(2.0, 1.9, 2.1, "B/s", 5, 5.0, "")
    ratio = quotient(two, one)
    assert ratio is not None
    assert (ratio.value, ratio.low, ratio.high) == (2.0, None, None)
    assert quotient(one, Estimate(0.0, None, None, "B/s", 1, 1.0, "")) is None


def test_an_interval_that_reaches_nothing_gives_one_that_has_no_end() -> None:
    wide, narrow = Estimate(2.0, 0.0, 4.0, "B/s", 5, 5.0, ""), Estimate(1.0, 0.9, 1.1, "B/s", 5, 5.0, "")
    above, below = quotient(wide, narrow), quotient(narrow, wide)
    assert above is not None
    assert below is not None
    assert (above.low, below.high) == (0.0, None)


def test_every_trial_of_enough_intervals_tells_how_far_it_fell() -> None:
    found = summarise(measured(intervals=20)).estimates
    assert found["throughput_last_over_first_ratio"].value == pytest.approx(1, rel=0.01)


class TestReachedDeviceShare:
    def test_it_is_what_the_drive_was_given_of_what_was_written(self) -> None:
        trial = measured(BUFFERED, {"write": latencies(1000)}, devices=[counted(writes=380)])
        estimate = summarise(trial).estimates["reached_device_share"]
        assert (estimate.value, estimate.low, estimate.high, estimate.unit) == (0.38, 0.38, 0.38, "1")

    def test_a_journal_does_not_count_as_what_was_written(self) -> None:
        trial = measured(durable_workload(), durable_values(1000), devices=[counted(writes=3000)])
        assert summarise(trial).estimates["reached_device_share"].value == 1.0

    def test_what_waits_in_the_page_cache_has_not_reached_the_drive(self) -> None:
        context = {"page_cache": {"dirty_bytes_after": 600 * 4096}}
        trial = measured(BUFFERED, {"write": latencies(1000)}, devices=[counted(writes=450)], context=context)
        assert summarise(trial).estimates["reached_device_share"].value == pytest.approx(0.4)

    def test_without_counters_the_page_cache_gives_a_bound(self) -> None:
        trial = measured(
            BUFFERED, {"write": latencies(1000)}, context={"page_cache": {"dirty_bytes_after": 600 * 4096}}
        )
        estimate = summarise(trial).estimates["reached_device_share"]
        assert (estimate.value, estimate.low) == (None, 0.0)
        assert estimate.high == pytest.approx(0.4)

    def test_reads_have_none(self) -> None:
        assert reached_device_share(measured(), None) is None
        assert "reached_device_share" not in summarise(measured(devices=[counted(reads=2000)])).estimates

    def test_writes_of_which_nothing_is_known_have_none(self) -> None:
        assert reached_device_share(measured(BUFFERED, {"write": latencies(1000)}), None) is None


def test_the_finding_says_how_much_was_memory() -> None:
    context = {"page_cache": {"dirty_bytes_after": 620 * 4096}}
    trial = measured(BUFFERED, {"write": latencies(1000)}, devices=[counted(writes=380)], context=context)
    (found,) = page_cache_answered.find(evidence(trial))
    assert found.text.startswith("38 % of 3.91 MiB of writes reached the drive while it was timed; the rest was memory")
    assert "(2.42 MiB still waited in the page cache)" in found.text
    assert (found.evidence["device_share"], found.evidence["waiting_bytes_after"]) == (0.38, 620 * 4096)


@pytest.mark.parametrize(("writes", "words"), [(0, "0 % of "), (1, "less than 1 % of "), (2000, "")])
def test_the_share_is_told_as_people_say_it(writes: int, words: str) -> None:
    trial = measured(BUFFERED, {"write": latencies(2000)}, devices=[counted(writes=writes)])
    assert [one.text.startswith(words) for one in page_cache_answered.find(evidence(trial))] == (
        [True] if words else []
    )
