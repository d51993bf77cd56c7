"""Costs of a write and of a flush: published latencies taken apart, edges, intervals that cover, and refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize

from drivelab.analyse.expected_commands import append_commands
from drivelab.analyse.flush_model import (
    CELLS_MIN,
    RESIDUAL_MAX,
    MixtureTime,
    expected_range,
    fit_flush_model,
    nonnegative_pair,
)
from drivelab.model.flush_fit import FlushFit

SIMULATIONS = 1000
# RAMCloud project wiki, "SSD Latency Experiments": pivot table; ms on raw, ext4 and xfs with the cache on, then off
PUBLISHED = {
    "Samsung 850 PRO": (3.1, 8, 6.2, 2.9, 10.5, 6.05),
    "Crucial M4": (3.76, 8, 5.5, 1.3, 4.4, 2.8),
    "Intel 520": (0.44, 0.96, 0.88, 0.048, 0.25, 0.13),
    "Crucial M550": (4.2, 8.7, 8.6, 2.0, 6.1, 4.0),
    "Western Digital": (8.5, 40.1, 31, 8.5, 42, 30),
}
# dd bs=512 oflag=direct,sync: writes and flushes
MIXTURES = {"raw": (1, 1), "ext4": (3, 2), "xfs": (2, 2)}


def published(drive: str) -> FlushFit:
    cells = [(filesystem, cache) for cache in ("on", "off") for filesystem in MIXTURES]
    times = [
        MixtureTime(filesystem, cache, MIXTURES[filesystem][0], MIXTURES[filesystem][1] * (cache == "on"), ms * 1e6)
        for (filesystem, cache), ms in zip(cells, PUBLISHED[drive], strict=True)
    ]
    return fit_flush_model(times, drive=drive, is_hard_disk=drive == "Western Digital")


def predicted_ms(fit: FlushFit, cache: str) -> list[float]:
    return [(cell.predicted_ns or math.nan) / 1e6 for cell in fit.cells if cell.cache == cache]


@pytest.mark.parametrize(
    ("drive", "write_ms", "flush_ms"), [("Intel 520", 0.080, 0.360), ("Samsung 850 PRO", 1.80, 1.30)]
)
def test_two_published_drives_are_explained_exactly(drive: str, write_ms: float, flush_ms: float) -> None:
    fit = published(drive)
    assert fit.write.value == pytest.approx(write_ms * 1e6)
    assert fit.flush.value == pytest.approx(flush_ms * 1e6)
    assert predicted_ms(fit, "on") == pytest.approx(PUBLISHED[drive][:3])
    assert (fit.verdict, fit.rms_residual) == ("explains", pytest.approx(0, abs=1e-9))


def test_a_drive_whose_flushes_cost_nearly_everything() -> None:
    fit = published("Crucial M550")
    assert fit.write.value == pytest.approx(0.20e6, abs=5e3)
    assert fit.flush.value == pytest.approx(4.05e6, abs=5e3)
    assert [round(ms, 2) for ms in predicted_ms(fit, "on")] == [4.25, 8.70, 8.50]
    assert [round(ms, 1) for ms in predicted_ms(fit, "off")[1:]] == [6.0, 4.0]
    assert fit.verdict == "explains"
    assert all(abs(cell.residual or 0) < RESIDUAL_MAX for cell in fit.cells)
    assert fit.candidates == ()


def test_a_drive_with_another_mechanism_is_told_so() -> None:
    fit = published("Crucial M4")
    assert (fit.write.value, fit.flush.value) == pytest.approx((1.79e6, 1.31e6), rel=0.005)
    assert [round(ms, 1) for ms in predicted_ms(fit, "on")] == [3.1, 8.0, 6.2]
    assert fit.rms_residual == pytest.approx(0.12, abs=0.006)
    assert fit.verdict == "another mechanism"
    assert (fit.write.low, fit.flush.high) == (None, None)
    assert fit.candidates


def test_a_hard_disk_is_refused() -> None:
    fit = published("Western Digital")
    assert fit.verdict == "refused"
    assert fit.rms_residual == pytest.approx(0.26, abs=0.005)
    assert (fit.write.value, fit.flush.value) == (None, None)
    assert fit.predicted_ns(3, 2) is None
    assert "seeks" in fit.candidates[0]
    assert [round(ms, 1) for ms in predicted_ms(fit, "off")[1:]] == [25.5, 17.0]


@pytest.mark.parametrize(
    ("drive", "ext4_ms", "xfs_ms"),
    [("Intel 520", 0.144, 0.096), ("Samsung 850 PRO", 8.7, 5.8), ("Crucial M4", 3.9, 2.6)],
)
def test_without_a_cache_one_write_predicts_the_rest(drive: str, ext4_ms: float, xfs_ms: float) -> None:
    fit = published(drive)
    raw, ext4, xfs = (cell for cell in fit.cells if cell.cache == "off")
    assert (ext4.predicted_ns, xfs.predicted_ns) == pytest.approx((ext4_ms * 1e6, xfs_ms * 1e6))
    assert [cell.role for cell in (raw, ext4, xfs)] == ["fitted", "held out", "held out"]
    assert fit.uncached_write.value == raw.observed_ns
    assert fit.predicted_ns(3, 0) == pytest.approx(ext4_ms * 1e6)


def test_what_commands_do_not_explain_has_candidates() -> None:
    # a tenth of a millisecond on ext4, too little for a command
    assert fit_candidates("Intel 520") == {"software: threads of the journal wait for each other"}
    # almost two milliseconds
    assert "journal writes cost more than data writes" in fit_candidates("Samsung 850 PRO")
    assert "the drive combines commands or serves several at once" in fit_candidates("Crucial M4")


def fit_candidates(drive: str) -> set[str]:
    return set(published(drive).candidates)


def test_commands_of_appends_are_those_of_the_published_page() -> None:
    for filesystem, (writes, flushes) in MIXTURES.items():
        assert append_commands(filesystem, has_cache=True) == (writes, flushes)
        assert append_commands(filesystem, has_cache=False) == (writes, 0)
    assert append_commands("btrfs", has_cache=True) is None


def test_too_few_or_too_similar_mixtures_are_not_fitted() -> None:
    mixtures = [MixtureTime("raw", "on", 1, 1, 1e6), MixtureTime("ext4", "on", 3, 2, 2.5e6)]
    fit = fit_flush_model(mixtures)
    assert fit.verdict == "too few cells"
    assert (fit.write.value, fit.rms_residual, fit.cells[0].predicted_ns) == (None, None, None)
    assert len(mixtures) < CELLS_MIN
    same = [MixtureTime(str(n), "on", 3, 2 + n / 1000, 2.5e6 + n) for n in range(5)]
    assert fit_flush_model(same).verdict == "too few cells"
    # more of both in the same proportion tells nothing of either
    in_proportion = [MixtureTime(str(n), "on", n, n, n * 1e6) for n in (1, 2, 3)]
    assert fit_flush_model(in_proportion).verdict == "too few cells"
    assert fit_flush_model([]).cells == ()


def test_what_was_not_measured_is_predicted() -> None:
    times = [MixtureTime(name, "on", *counts, counts[0] * 1e5 + counts[1] * 4e5) for name, counts in MIXTURES.items()]
    fit = fit_flush_model([*times, MixtureTime("btrfs", "on", 7, 2, None), MixtureTime("xfs", "off", 2, 0, None)])
    by_name = {(cell.filesystem, cell.cache): cell for cell in fit.cells}
    assert by_name["btrfs", "on"].predicted_ns == pytest.approx(7e5 + 8e5)
    assert by_name["btrfs", "on"].role == "not measured"
    assert by_name["btrfs", "on"].residual is None
    # nothing is known of a write with the cache off
    assert by_name["xfs", "off"].predicted_ns is None
    assert fit.to_json()["cells"][0]["residual"] == pytest.approx(0)


def test_costs_are_those_of_nonnegative_least_squares() -> None:
    random = np.random.default_rng(7)
    edges = 0
    for _ in range(300):
        matrix = random.uniform(0, 3, (random.integers(3, 7), 2))
        wanted = matrix @ random.uniform(-1, 2, 2) + random.normal(0, 0.3, len(matrix))
        expected, _ = optimize.nnls(matrix, wanted)
        edges += expected.min() == 0
        assert nonnegative_pair(matrix, wanted) == pytest.approx(expected, abs=1e-9)
    assert edges > 50


def test_expected_ranges_are_those_of_the_tables() -> None:
    # d2 of control charts, printed to three decimals
    for count, expected in ((2, 1.128), (3, 1.693), (5, 2.326), (10, 3.078), (25, 3.931)):
        assert expected_range(count) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize("repeats", [3, 5, 10])
def test_intervals_of_costs_cover_the_truth(repeats: int) -> None:
    random = np.random.default_rng(repeats)
    covered = {"write": 0, "flush": 0}
    truth = {"write": 2e5, "flush": 8e5}
    for _ in range(SIMULATIONS):
        times = []
        for name, (writes, flushes) in MIXTURES.items():
            latency = writes * truth["write"] + flushes * truth["flush"]
            values = latency * random.lognormal(0, 0.02, repeats)
            times.append(
                MixtureTime(name, "on", writes, flushes, float(np.median(values)), values.min(), values.max(), repeats)
            )
        fit = fit_flush_model(times)
        for name, estimate in (("write", fit.write), ("flush", fit.flush)):
            assert estimate.low is not None
            assert estimate.high is not None
            covered[name] += estimate.low <= truth[name] <= estimate.high
    assert min(covered.values()) >= 0.93 * SIMULATIONS


def test_repeats_that_are_too_few_or_missing_leave_no_interval() -> None:
    for repeats, low in ((2, 9e5), (5, None)):
        times = [
            MixtureTime(name, "on", *counts, counts[0] * 1e5 + counts[1] * 4e5, low, 2e6, repeats)
            for name, counts in MIXTURES.items()
        ]
        fit = fit_flush_model(times)
        assert fit.verdict == "explains"
        assert (fit.write.low, fit.flush.low) == (None, None)


def test_an_uncached_write_has_the_interval_of_its_repeats() -> None:
    fit = fit_flush_model([MixtureTime("ext4", "off", 3, 0, 3e5, 2.9e5, 3.1e5, 5)])
    assert fit.uncached_write.value == pytest.approx(1e5)
    assert fit.uncached_write.low is not None
    assert fit.uncached_write.high is not None
    assert 0.9e5 < fit.uncached_write.low < 1e5 < fit.uncached_write.high < 1.1e5


def test_a_flush_that_costs_nothing_is_not_negative() -> None:
    # the more writes the more each costs: a flush would have to give time back
    latencies = {"raw": 1e6, "xfs": 2e6, "ext4": 3.15e6}
    times = [MixtureTime(name, "on", *counts, latencies[name]) for name, counts in MIXTURES.items()]
    fit = fit_flush_model(times)
    assert fit.flush.value == 0
    assert (fit.flush.low, fit.write.low) == (None, None)
