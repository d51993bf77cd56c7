"""Whether the drive changed while a run went on: trend, interval, noise, and when it is worth a warning."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy import stats

from drivelab.analyse.findings import reference_drift as kind
from drivelab.analyse.reference_drift import ReferenceValue, inversion_counts, reference_drift, theil_sen
from drivelab.analyse.run_evidence import ReferenceTrial, RunEvidence
from drivelab.model.reference_drift import ReferenceDrift

METRIC = "total_latency_ns_p50"


def drift_of(values: list[float], metric: str = METRIC) -> ReferenceDrift:
    return reference_drift("sda", "small", metric, [ReferenceValue(value) for value in values])


@pytest.mark.parametrize("count", range(1, 8))
def test_orders_are_counted_as_if_one_by_one(count: int) -> None:
    counted = [0] * (count * (count - 1) // 2 + 1)
    for order in permutations(range(count)):
        counted[sum(before > after for before, after in combinations(order, 2))] += 1
    assert inversion_counts(count) == counted


@pytest.mark.parametrize("count", [2, 4, 5, 9, 60])
def test_the_slope_is_that_of_scipy(count: int) -> None:
    values = np.random.default_rng(count).normal(0, 1, count).tolist()
    assert theil_sen(values).slope == pytest.approx(stats.theilslopes(values).slope)


@pytest.mark.parametrize("count", [5, 6, 9, 20])
def test_the_interval_leaves_out_no_trend_exactly_when_kendall_does(count: int) -> None:
    random = np.random.default_rng(count)
    for _ in range(300):
        values = random.normal(0, 1, count) + 0.3 * np.arange(count)
        trend = theil_sen(values.tolist())
        assert trend.low is not None
        assert trend.high is not None
        test = stats.kendalltau(np.arange(count), values, method="exact")
        assert (trend.low > 0 or trend.high < 0) == (test.pvalue <= 0.05)


@pytest.mark.parametrize("count", [5, 8, 15, 40, 41, 60])
def test_the_interval_covers_the_truth(count: int) -> None:
    random = np.random.default_rng(count)
    hits = 0
    for _ in range(1000):
        trend = theil_sen((0.1 * np.arange(count) + random.standard_t(3, count)).tolist())
        hits += trend.low is not None and trend.high is not None and trend.low <= 0.1 <= trend.high
    assert hits / 1000 >= 0.93


def test_fewer_than_five_values_carry_no_interval() -> None:
    assert theil_sen([1.0, 2.0, 3.0, 4.0]).low is None
    assert drift_of([1e6, 1.1e6, 1.2e6, 1.3e6]).ratio.low is None


def test_a_steady_slowdown_is_large() -> None:
    drift = drift_of([1e6, 1.05e6, 1.1e6, 1.15e6, 1.2e6, 1.25e6])
    assert drift.is_large
    assert drift.ratio.value == pytest.approx(1.25, rel=0.02)
    assert drift.spread_ratio == pytest.approx(1.25)
    assert drift.text == "the reference drifted: median latency +25 % over 6 repeats (more than chance)"


def test_scatter_without_a_trend_is_noise() -> None:
    drift = drift_of([1e6, 1.3e6, 0.9e6, 1.2e6, 1e6, 1.1e6])
    assert not drift.is_beyond_noise
    assert not drift.is_large
    assert drift.text.endswith("(no more than chance)")


def test_a_small_trend_is_told_and_is_no_warning() -> None:
    drift = drift_of([1e6, 1.01e6, 1.02e6, 1.03e6, 1.04e6, 1.05e6])
    assert drift.is_beyond_noise
    assert not drift.is_large


@pytest.mark.parametrize("values", [[1e6, 1.3e6], [1e6, 2e6, 3e6], [1e6, 2e6, 3e6, 4e6]])
def test_fewer_than_five_values_are_told_and_cannot_be_told_from_chance(values: list[float]) -> None:
    drift = drift_of(values)
    assert (drift.is_beyond_noise, drift.is_large) == (None, False)
    assert drift.ratio.value == pytest.approx(values[-1] / values[0])
    assert drift.text.startswith(f"the reference: median latency 1 ms, then {values[-1] / 1e6:g} ms (+")
    assert drift.text.endswith("repeats are too few to rule out chance)")
    assert kind.find_in_run(evidence_of(values)) == []


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6, 11])
def test_without_any_drift_a_warning_comes_once_in_twenty_at_most(count: int) -> None:
    """Trials scatter by 15 % among each other, and each knows itself to 1 %."""
    random = np.random.default_rng(count)
    runs = [random.lognormal(np.log(1e6), 0.15, count).tolist() for _ in range(600)]
    assert sum(len(kind.find_in_run(evidence_of(values))) for values in runs) / len(runs) <= 0.06


@pytest.mark.parametrize("scatter", [0.02, 0.08, 0.15])
@pytest.mark.parametrize("count", [5, 6, 7, 8, 10, 13])
def test_of_drives_that_stay_the_same_one_in_fifty_is_warned_of_at_most(count: int, scatter: float) -> None:
    random = np.random.default_rng([count, round(100 * scatter)])
    for draw in (random.standard_normal, lambda size: random.standard_t(3, size)):
        runs = (np.exp(scatter * draw(count)) for _ in range(600))
        # twelve would be expected of 600, and twenty happen once in fifty then
        assert sum(drift_of(values.tolist()).is_large for values in runs) <= 20


@pytest.mark.parametrize("count", [6, 8, 13])
def test_another_level_from_a_moment_on_is_found_with_that_moment(count: int) -> None:
    random = np.random.default_rng(count)
    for _ in range(50):
        first, factor = int(random.integers(3, count - 2)), random.uniform(1.3, 3)
        values = 1e6 * np.exp(0.01 * random.standard_normal(count)) * np.where(np.arange(count) < first, 1, factor)
        drift = drift_of(values.tolist())
        assert drift.is_large
        assert drift.step is not None
        assert drift.step.first == first + 1
        assert drift.step.ratio == pytest.approx(factor, rel=0.05)


def test_another_level_is_told_with_its_moment() -> None:
    values = [1e6, 1.01e6, 0.99e6, 2e6, 1.98e6, 2.02e6]
    assert (
        drift_of(values).text == "the reference moved: median latency +100 % from repeat 4 of 6 on (more than chance)"
    )
    (found,) = kind.find_in_run(evidence_of(values))
    assert "; from measurement 4 on it is +100 % against those before, more than chance explains" in found.text
    assert (found.evidence["step_first"], round(found.evidence["step_ratio"], 1)) == (4, 2.0)


def test_two_values_are_no_level() -> None:
    assert drift_of([1e6, 1.01e6, 2e6, 1.98e6, 2.02e6, 2e6]).step is None
    assert drift_of([1e6, 1.01e6, 2e6, 1.98e6, 2.02e6]).step is None


def test_a_line_is_no_step() -> None:
    drift = drift_of([1e6 * 1.1**place for place in range(10)])
    assert (drift.is_large, drift.step) == (True, None)


def test_of_drives_with_two_modes_one_in_twenty_is_warned_of_when_it_is_measured_six_times() -> None:
    random = np.random.default_rng(3)
    runs = (np.exp(0.01 * random.standard_normal(6) + 0.3 * (random.random(6) < 0.5)) for _ in range(1000))
    assert sum(drift_of(values.tolist()).is_large for values in runs) / 1000 <= 0.06


def test_values_that_do_not_describe_the_drive_show_no_drift() -> None:
    values = [1e6, 1.1e6, 1.2e6, 1.3e6, 1.4e6]
    measured = [ReferenceValue(value, is_invalid=value == 1.2e6) for value in values]
    drift = reference_drift("sda", "small", METRIC, measured)
    assert (drift.is_beyond_noise, drift.is_large, drift.invalid_trials) == (None, False, 1)
    assert drift.text == "the reference: median latency not judged, 1 of 5 trials does not describe the drive"


def test_a_reference_of_operations_a_second_is_told_in_them() -> None:
    drift = drift_of([4_000.0, 3_000.0], "iops")
    assert (drift.unit, drift.text.split(" (")[0]) == ("1/s", "the reference: I/Os per second 4 000, then 3 000")
    assert drift_of([1e6, 2e6], "response_latency_ns_p50").text.startswith(
        "the reference: median response latency 1 ms"
    )
    (found,) = kind.find_in_run(evidence_of([5e3, 4.5e3, 4e3, 3.5e3, 3e3], "iops"))
    assert "did not stay the same: I/Os per second 5 000 first and 3 000 at the end" in found.text


def test_one_value_shows_no_drift() -> None:
    drift = drift_of([1e6])
    assert drift.ratio.value is None
    assert drift.text == "the reference was measured once: a drift would not show"


def evidence_of(values: list[float], metric: str = METRIC) -> RunEvidence:
    evidence = RunEvidence()
    for number, value in enumerate(values):
        reference = ReferenceTrial("sda", "small", metric, ReferenceValue(value))
        evidence.add(f"{number:04}-reference-small", reference=reference)
        evidence.add(f"{number:04}-small")
    return evidence


def test_a_large_drift_is_a_warning_with_its_numbers() -> None:
    (found,) = kind.find_in_run(evidence_of([1e6, 1.1e6, 1.2e6, 1.3e6, 1.4e6]))
    assert (found.code, found.severity, found.trial) == ("reference-drift", "warning", "")
    assert "median latency 1 ms first and 1.4 ms at the end (+40 %) of 5 measurements" in found.text
    assert found.evidence["values"] == [1e6, 1.1e6, 1.2e6, 1.3e6, 1.4e6]
    assert found.evidence["last_over_first_ratio"] == pytest.approx(1.4)
    assert found.evidence["trend_ratio_low"] > 1
    assert found.evidence["highest_over_lowest_ratio"] == pytest.approx(1.4)


def test_the_change_of_two_values_is_not_said_with_that_of_the_trend() -> None:
    (found,) = kind.find_in_run(evidence_of([1e6, 1.3e6, 1.4e6, 1.5e6, 1.6e6, 1.7e6, 2.5e6]))
    assert "median latency 1 ms first and 2.5 ms at the end (+150 %)" in found.text
    assert found.evidence["trend_ratio"] < 2
    assert f"along the trend of all it is +{100 * (found.evidence['trend_ratio'] - 1):.0f} %" in found.text


def test_a_steady_reference_is_no_finding() -> None:
    assert kind.find_in_run(evidence_of([1e6, 1.01e6, 0.99e6, 1e6, 1.005e6])) == []
    assert kind.find_in_run(RunEvidence()) == []


def test_a_throughput_that_falls_is_told_as_such() -> None:
    (found,) = kind.find_in_run(evidence_of([5e8, 4.5e8, 4e8, 3.5e8, 3e8], "throughput_bytes_per_s"))
    assert "did not stay the same: throughput 500 MB/s first and 300 MB/s at the end" in found.text
