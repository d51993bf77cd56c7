"""Trials that are measured in several windows: their intervals, and how much the windows differ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy import signal, stats
from simulated_trials import durable_workload, measured, workload

from drivelab.analyse.interval_series import series_from_measurement, window_medians_ns
from drivelab.analyse.long_run_variance import long_run_variance, variance_over_windows
from drivelab.analyse.summary import summarise
from drivelab.analyse.trial_course import interval_bytes
from drivelab.model.distributions import student_t
from drivelab.model.measurement import Measurement
from drivelab.model.metric import FASTEST_WINDOW, SLOWEST_WINDOW, WINDOW_SPAN
from drivelab.model.workload import Limits
from drivelab.run.joined_windows import joined_windows
from simulated_drives import hits_at_least

Floats = NDArray[np.float64]
SERIES = 600
P50 = "total_latency_ns_p50"
DURABLE = durable_workload(limits=Limits(runtime_ns=500_000_000))


def window(seed: int, median_ns: float = 1e6, *, begun_s: float = 0.0, left_ns: int = 30_000_000) -> Measurement:
    """Four intervals of 100 ms and what is left of a fifth."""
    values = np.round(np.random.default_rng(seed).lognormal(np.log(median_ns), 0.2, 450))
    return measured(
        DURABLE,
        {"write": values, "durable_write": values},
        intervals=[100, 200, 300, 400],
        measured_ns=400_000_000 + left_ns,
        started_monotonic_ns=round(begun_s * 1e9),
        stopped_by="caller",
    )


def half_width(residual: Floats, windows: NDArray[np.int64] | None) -> float:
    found = long_run_variance(residual) if windows is None else variance_over_windows(residual, windows)
    return float(student_t(found.degrees_of_freedom) * np.sqrt(found.per_element / residual.shape[0]))


def drawn(kind: str, amount: float, count: int, size: int) -> Floats:
    """So many series of windows: apart by normal effects, in standard errors of a window, or cut out of an AR(1)."""
    random = np.random.default_rng(7)
    if kind == "effects":
        effects = random.standard_normal((SERIES, count, 1)) * amount / np.sqrt(size)
        return random.standard_normal((SERIES, count, size)) + effects
    noise = random.standard_normal((SERIES, 100 + 3 * count * size)) * np.sqrt(1 - amount**2)
    whole = signal.lfilter([1], [1, -amount], noise, axis=1)[:, 100:]
    return np.asarray(whole.reshape(SERIES, count, 3 * size)[:, :, :size])


@pytest.mark.parametrize(("count", "size"), [(5, 16), (3, 5)])
@pytest.mark.parametrize(
    ("kind", "amount"), [("effects", 0.0), ("effects", 1.0), ("effects", 3.0), ("effects", 10.0), ("ar", 0.3)]
)
def test_intervals_over_windows_cover_what_they_say(kind: str, amount: float, count: int, size: int) -> None:
    windows = np.repeat(np.arange(count), size)
    hits = 0
    for values in drawn(kind, amount, count, size).reshape(SERIES, -1):
        mean = float(values.mean())
        hits += abs(mean) <= half_width(values - mean, windows)
    # between the two variances neither is known to be the larger one: there it is a point or two less
    assert hits >= hits_at_least(0.95 if amount in (0.0, 0.3) else 0.93, SERIES)


def test_windows_without_noise_within_have_the_t_interval_of_their_means() -> None:
    means = np.array([3.0, 1.0, 4.0, 1.5, 5.0])
    values = np.repeat(means, 40) + 1e-9 * np.sin(np.arange(200))
    exact = stats.t.ppf(0.975, 4) * stats.sem(means)
    assert half_width(values - values.mean(), np.repeat(np.arange(5), 40)) == pytest.approx(exact, rel=1e-3)


def test_a_drive_that_is_always_the_same_has_intervals_about_as_wide_as_in_one_window() -> None:
    windows = np.repeat(np.arange(5), 16)
    series = drawn("effects", 0.0, 5, 16).reshape(SERIES, -1)
    residuals = series - series.mean(axis=1, keepdims=True)
    apart = sum(half_width(one, windows) for one in residuals)
    assert apart < 1.1 * sum(half_width(one, None) for one in residuals)


def test_one_window_is_what_it_was() -> None:
    only = window(1)
    assert joined_windows([only]) is only
    assert WINDOW_SPAN not in summarise(only).estimates


def test_joined_windows_have_all_operations_and_their_own_intervals() -> None:
    windows = [window(1), window(2, begun_s=10, left_ns=20_000_000), window(3, begun_s=30, left_ns=100_000_000)]
    whole = joined_windows(windows)
    assert whole.engine["measured_ns"] == 1_350_000_000
    assert whole.operation_count("durable_write") == 1350
    assert whole.workload.limits.runtime_ns == 1_500_000_000
    series = series_from_measurement(whole, "durable_write", "total")
    assert series is not None
    assert series.count.tolist() == [100, 100, 100, 100, 50] * 3
    assert (series.duration_ns[[4, 9, 14]] / 1e6).tolist() == [30, 20, 100]
    assert series.window.tolist() == [0] * 5 + [1] * 5 + [2] * 5
    assert series.merged.total_count == 1350
    moved = interval_bytes(whole.intervals, whole.engine["measured_ns"])
    assert moved is None or moved.duration_ns.sum() == 1_350_000_000


def test_a_trial_of_many_windows_has_bytes_for_the_time_that_they_took() -> None:
    whole = joined_windows([window(seed, begun_s=seed) for seed in range(8)])
    moved = interval_bytes(whole.intervals, whole.engine["measured_ns"])
    assert moved is not None
    assert moved.duration_ns.sum() == whole.engine["measured_ns"]
    assert moved.total_bytes == 8 * 450 * 4096


def test_what_completes_behind_a_window_is_counted_in_it() -> None:
    late = window(1)
    rows = late.intervals.to_pylist()
    for row in rows:
        row["interval"] += row["interval"] == 4
    late = replace(late, intervals=pa.Table.from_pylist(rows, late.intervals.schema))
    series = series_from_measurement(joined_windows([late, window(2, begun_s=9)]), "durable_write", "total")
    assert series is not None
    assert series.count.tolist() == [100, 100, 100, 100, 50] * 2


def test_a_window_of_another_speed_makes_intervals_wide_and_is_told() -> None:
    same = summarise(joined_windows([window(seed, begun_s=9 * seed) for seed in range(5)])).estimates
    other = summarise(
        joined_windows([window(seed, 30e6 if seed == 3 else 1e6, begun_s=9 * seed) for seed in range(5)])
    ).estimates
    assert same[P50].high < 1.05 * same[P50].low  # type: ignore[operator]
    assert other["total_latency_ns_p99"].low < 2e6 < 3e7 < other["total_latency_ns_p99"].value  # type: ignore[operator]
    assert other[FASTEST_WINDOW].value == pytest.approx(1e6, rel=0.1)
    assert other[SLOWEST_WINDOW].value == pytest.approx(30e6, rel=0.1)
    assert (other[WINDOW_SPAN].value, other[WINDOW_SPAN].sample_count) == (36_430_000_000, 5)


def test_medians_of_windows_are_those_of_their_operations() -> None:
    windows = [window(seed, (1 + seed) * 1e6, begun_s=seed) for seed in range(3)]
    series = series_from_measurement(joined_windows(windows), "durable_write", "total")
    assert series is not None
    exact = [one.histograms["durable_write", "total"].quantile_ns(0.5) for one in windows]
    assert window_medians_ns(series) == pytest.approx(exact, rel=0.01)


def test_rates_of_windows_are_over_the_time_that_was_measured() -> None:
    windows = [
        measured(workload(), started_monotonic_ns=place * 10**10, measured_ns=1_990_000_000) for place in range(4)
    ]
    rate = summarise(joined_windows(windows)).estimates["iops"]
    assert rate.value == pytest.approx(2000 / 1.99)
