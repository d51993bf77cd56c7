"""When a drive became slow: steps at known samples, in scatter of several widths."""

from __future__ import annotations

import numpy as np
import pytest

from drivelab.analyse.fleet import judge_fleet
from drivelab.analyse.fleet_spans import slow_rows
from drivelab.model.fleet import HostSeries

BEGIN_S = 1_764_000_000
NAN = float("nan")


def fleet(random: np.random.Generator, step_s: int, noise: float, ratio: float) -> tuple[list[HostSeries], int]:
    """Three hosts without load, and the time from which on one drive of the second is slower by a ratio."""
    # the least step takes three hours to be told
    count = max(480, 5 * 3600 // step_s)
    time_s = (BEGIN_S + step_s * np.arange(count)).astype(np.int64)
    first = int(random.integers(count // 4, count // 3))
    found = []
    for host in range(3):
        latency = 200 * np.exp(random.normal(0, 0.02, 6) + random.normal(0, noise, (count, 6)))
        if host == 1:
            latency[first:, 2] *= ratio
        names = tuple(f"d{drive}" for drive in range(6))
        series = (latency.astype(np.float32), np.full(latency.shape, np.nan, dtype=np.float32))
        found.append(HostSeries("", f"h{host}", names, ("",) * 6, time_s, *series))
    return found, int(time_s[first])


@pytest.mark.parametrize(("ratio", "noise"), [(1.2, 0.05), (1.5, 0.1), (2.0, 0.1), (2.0, 0.3)])
@pytest.mark.parametrize("step_s", [15, 60, 300])
def test_the_begin_of_a_step_is_placed_within_three_samples(step_s: int, ratio: float, noise: float) -> None:
    apart = []
    for seed in range(8):
        hosts, since_s = fleet(np.random.default_rng([step_s, seed]), step_s, noise, ratio)
        answer = judge_fleet(hosts)
        found = [one for one in (*answer.drives, *answer.odd_drives) if (one.host, one.drive) == ("h1", "d2")]
        # the least step is not always found; where it is, its begin is right
        apart += [abs(one.spans[0].since_s - since_s) / step_s for one in found]
    assert len(apart) >= 6
    assert sum(one <= 3 for one in apart) >= 0.85 * len(apart)


def placed(excess: list[float], inside: list[int], ending: list[int]) -> list[tuple[list[int], int]]:
    """Rows that are slow, and how many until it is told."""
    rows = np.arange(len(excess))
    flags = (np.isin(rows, inside), np.isin(rows, ending))
    found = slow_rows(np.array(excess, dtype=np.float32), *flags, 0.05)
    return [(one.rows.tolist(), one.told_count) for one in found]


def test_what_a_window_holds_beside_slow_samples_is_left_out() -> None:
    excess = [0, 0.1, -0.1, 0.1, 0.7, 0.6, 0.7, 0.7, 0.7, 0, -0.1, 0]
    assert placed(excess, [*range(1, 11)], [7, 8, 9, 10]) == [([4, 5, 6, 7, 8], 4)]


def test_times_are_apart_where_samples_between_them_are_no_slow_ones() -> None:
    excess = [0.7, 0.7, NAN, 0.7, 0, 0, 0.7, 0.7, 0.7]
    assert placed(excess, [0, 1, 3, 6, 7, 8], [1, 3, 8]) == [([0, 1, 3], 2), ([6, 7, 8], 3)]


def test_one_sample_far_out_before_the_step_moves_no_begin() -> None:
    excess = [4.0, 0, 0.1, -0.1, 0, 0.7, 0.7, 0.6, 0.7, 0.7, 0.7]
    assert placed(excess, [*range(11)], [10]) == [([5, 6, 7, 8, 9, 10], 6)]


def test_a_drive_that_becomes_slower_still_is_slow_from_the_first_step_on() -> None:
    excess = [0.0] * 6 + [0.2] * 20 + [1.6] * 60
    ((rows, told),) = placed(excess, [*range(86)], [*range(14, 86)])
    assert (rows[0], rows[-1], told) == (6, 85, 9)


def test_what_wanders_after_a_step_back_is_not_slow_any_more() -> None:
    excess = [0.0] * 4 + [0.7] * 20 + [0.07, 0.06] * 10
    ((rows, _),) = placed(excess, [*range(44)], [*range(12, 30)])
    assert (rows[0], rows[-1]) == (4, 23)


def test_what_recovers_in_part_is_slow_still() -> None:
    excess = [0.0] * 4 + [0.7] * 20 + [0.2] * 20
    ((rows, _),) = placed(excess, [*range(44)], [*range(12, 44)])
    assert (rows[0], rows[-1]) == (4, 43)
