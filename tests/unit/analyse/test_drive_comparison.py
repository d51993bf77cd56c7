"""Drives compared by their runs: spreads, those that stand apart, and what explains the differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
import pytest
from scipy import stats

from drivelab.analyse.drive_comparison import compare_drives
from drivelab.analyse.drive_spread import drive_medians, number_spread, within_deviation
from drivelab.analyse.drives_apart import PEERS_MIN, distances, is_far, standard_error
from drivelab.analyse.factor_shares import bounded, explained
from drivelab.analyse.factor_tangles import BOTH, tangle
from drivelab.model.drive_values import FleetDrive, FleetNumber, FleetNumbers, NumberKey
from drivelab.model.holm import holm

KEY = NumberKey("grid", "reads", "random reads", "read", (("queue_depth", "1"),), "iops")


def number(values: Mapping[str, Sequence[Sequence[float]]], key: NumberKey = KEY) -> FleetNumber:
    return FleetNumber(key, True, {name: tuple(map(tuple, runs)) for name, runs in values.items()})


def test_the_scatter_within_drives_is_that_of_an_analysis_of_variance() -> None:
    random = np.random.default_rng(3)
    groups = [np.exp(random.normal(size, 0.1, count)) for size, count in ((5, 3), (6, 8), (4, 2))]
    logs = [np.log(group) for group in groups]
    residual = sum(((one - one.mean()) ** 2).sum() for one in logs) / (13 - 3)
    found = within_deviation({str(place): [list(group)] for place, group in enumerate(groups)})
    assert found == pytest.approx(np.sqrt(residual))
    between = sum(len(one) * (one.mean() - np.concatenate(logs).mean()) ** 2 for one in logs) / 2
    assert between / found**2 == pytest.approx(stats.f_oneway(*logs).statistic)
    assert within_deviation({"a": [[3.0]], "b": [[4.0]]}) is None


def test_a_drive_is_the_median_of_its_runs_and_best_is_by_the_metric() -> None:
    one = number({"a": [[100, 104, 102], [110]], "b": [[90]], "c": [[300]]})
    assert drive_medians(one) == {"a": 106, "b": 90, "c": 300}
    spread = number_spread(one)
    assert (spread.best, spread.worst, spread.median, spread.has_runs_apart) == ("c", "b", pytest.approx(106), True)
    slow = number_spread(number(one.values, NumberKey(*list_of(KEY)[:-1], "total_latency_ns_p99")))
    assert (slow.best, slow.worst) == ("b", "c")


def list_of(key: NumberKey) -> list[object]:
    return [key.experiment, key.workload, key.title, key.operation, key.levels, key.metric]


def slow_distances(values: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """Each drive against the others, one by one, with scipy."""
    logs = np.array(list(values.values()))
    far = is_far(logs)
    found = {}
    for place, name in enumerate(values):
        others = logs[~far & (np.arange(len(logs)) != place)]
        error = max(others.std(ddof=1), 0.001) * np.sqrt(1 + np.pi / 2 / len(others))
        difference = logs[place] - np.median(others)
        found[name] = (difference, 2 * stats.t.sf(abs(difference / error), len(others) - 1))
    return found


@pytest.mark.parametrize("count", [4, 5, 6, 7, 8, 21, 60])
@pytest.mark.parametrize("odd", [0, 1, 2])
def test_distances_are_those_of_each_drive_from_all_others(count: int, odd: int) -> None:
    random = np.random.default_rng(count)
    values = {str(place): random.normal(0, 0.02) + (place < odd) * 0.5 for place in range(count)}
    found = distances(values, dict.fromkeys(values, 0.0))
    expected = slow_distances(values)
    for one in found:
        assert (one.log_ratio, one.p_value) == pytest.approx(expected[one.drive], rel=1e-6), one
    assert distances(dict(list(values.items())[: PEERS_MIN - 1]), dict.fromkeys(values, 0.0)) == []


@pytest.mark.parametrize(("count", "fleets"), [(4, 2000), (5, 2000), (8, 1500), (20, 1000), (100, 300)])
def test_of_twenty_fleets_of_like_drives_one_has_a_drive_that_is_named(count: int, fleets: int) -> None:
    random = np.random.default_rng(count)
    named = 0
    for _ in range(fleets):
        values = {str(place): value for place, value in enumerate(random.normal(0, 0.02, count))}
        named += min(holm([one.p_value for one in distances(values, dict.fromkeys(values, 0.0))])) <= 0.05
    # three standard deviations of the count above 1 in 20
    assert named <= 0.05 * fleets + 3 * np.sqrt(0.0475 * fleets)


def test_two_odd_drives_do_not_hide_each_other_and_a_noisy_one_is_not_odd() -> None:
    random = np.random.default_rng(1)
    values = {str(place): value for place, value in enumerate(random.normal(0, 0.02, 20))} | {"x": 0.4, "y": 0.45}
    errors = dict.fromkeys(values, 0.005)
    p_values = {one.drive: one.p_value for one in distances(values, errors)}
    assert sorted(p_values, key=p_values.__getitem__)[:2] == ["y", "x"]
    assert p_values["x"] < 1e-6
    assert next(one for one in distances(values, errors | {"x": 0.4}) if one.drive == "x").p_value > 0.05
    assert standard_error([[1.0, np.e]]) == pytest.approx(0.5)
    assert standard_error([[1.0], [np.e]]) == pytest.approx(0.5)
    assert standard_error([[7.0]]) == 0


def test_the_share_is_adjusted_r_squared_and_the_p_value_that_of_an_f_test() -> None:
    random = np.random.default_rng(7)
    levels = [f"r{place % 4}" for place in range(48)]
    logs = random.normal(0, 1, 48) + np.array([0.5 * (level == "r3") for level in levels])
    groups = [[value for value, its in zip(logs, levels, strict=True) if its == level] for level in sorted(set(levels))]
    within = sum(((np.array(one) - np.mean(one)) ** 2).sum() for one in groups)
    total = ((logs - logs.mean()) ** 2).sum()
    adjusted = 1 - (within / (48 - 4)) / (total / 47)
    found = explained(logs, levels, [""] * 48)
    assert found is not None
    assert found.share == pytest.approx(adjusted, abs=0.01)
    assert found.p_value == pytest.approx(stats.f_oneway(*groups).pvalue, abs=0.03)


def test_levels_are_dealt_within_models() -> None:
    models = ["a"] * 20 + ["b"] * 20
    logs = np.random.default_rng(2).normal(0, 0.02, 40) + np.array([0.0] * 20 + [2.0] * 20)
    # each firmware is of one model: what models do is not its
    firmware = [f"{model}{place % 2}" for place, model in enumerate(models)]
    found = explained(logs, firmware, models)
    assert found is not None
    assert found.share < 0.2
    assert explained(logs, models, models) is None, "one level in each group"
    assert explained(logs, [str(place) for place in range(40)], models) is None, "another level for each drive"


def test_chance_explains_nothing_once_in_twenty_times() -> None:
    random = np.random.default_rng(11)
    levels = [f"h{place // 2}" for place in range(24)]
    found = [explained(random.normal(0, 1, 24), levels, [""] * 24, seed) for seed in range(300)]
    assert sum(one is not None and one.p_value <= 0.05 for one in found) <= 15 + 3 * np.sqrt(15)


def test_one_drive_moves_no_share() -> None:
    logs = np.array([0.0, 0.01, -0.01, 0.02, 9.0, 5.0, 5.01])
    assert bounded(logs, ["a"] * 5 + ["b"] * 2)[4] < 0.2
    assert list(bounded(logs, ["a"] * 5 + ["b"] * 2)[:4]) == list(logs[:4])


MODELS = ["m"] * 40
FIRMWARE = ["X" if place < 10 else "Y" for place in range(40)]


@pytest.mark.parametrize(
    ("racks", "effect", "expected"),
    [
        # all of firmware X are in rack 7, and nothing else is
        (lambda place: 7 if place < 10 else place % 3, lambda firmware, rack: 0.2 * (firmware == "X"), ("", "7")),
        # firmwares in every rack
        (lambda place: place % 4, lambda firmware, rack: 0.2 * (firmware == "X"), ("firmware", None)),
        (lambda place: place % 4, lambda firmware, rack: 0.2 * (firmware == "X") + 0.2 * (rack == 1), (BOTH, None)),
        # racks in one firmware each, of which one rack alone is slow
        (lambda place: place // 5, lambda firmware, rack: 0.2 * (firmware == "X"), ("firmware", None)),
        (lambda place: place // 5, lambda firmware, rack: 0.2 * (rack == 0), ("rack", None)),
    ],
    ids=["the same drives", "firmware in all racks", "both", "nested, firmware", "nested, rack"],
)
def test_which_of_two_factors_it_is(
    racks: Callable[[int], int], effect: Callable[[str, int], float], expected: tuple[str, str | None]
) -> None:
    rack = [str(racks(place)) for place in range(40)]
    noise = np.random.default_rng(4).normal(0, 0.01, 40)
    logs = noise + np.array([effect(firmware, int(its)) for firmware, its in zip(FIRMWARE, rack, strict=True)])
    found = tangle(logs, ("firmware", FIRMWARE), ("rack", rack), MODELS)
    assert found.decided == expected[0]
    if expected[1] is not None:
        assert (found.level, found.other_level) == ("X", expected[1])


def fleet(slowness: Callable[[FleetDrive, int], float], *, runs: int = 1, repeats: int = 3) -> FleetNumbers:
    """Eighty drives of two models in sixteen hosts and four racks."""
    random = np.random.default_rng(9)
    drives, values = [], {}
    for place, (host, slot) in enumerate(product(range(16), range(5))):
        drive = FleetDrive(
            key=f"h{host}/S{place}",
            host=f"h{host}",
            serial=f"S{place}",
            name=f"nvme{slot}n1",
            model="big" if slot < 3 else "small",
            firmware="new" if (host + slot) % 4 == 0 else "old",
            tags={"rack": f"r{host // 4}"},
            run_count=runs,
        )
        base = 100_000 / (4 if drive.model == "small" else 1)
        its = base / slowness(drive, place) * np.exp(random.normal(0, 0.02))
        values[drive.key] = [[its * np.exp(random.normal(0, 0.004)) for _ in range(repeats)] for _ in range(runs)]
        drives.append(drive)
    return FleetNumbers(tuple(drives), (number(values),))


def test_what_was_planted_is_found() -> None:
    def slowness(drive: FleetDrive, place: int) -> float:
        return (1.1 if drive.firmware == "new" else 1.0) * (1.4 if place == 33 else 1.0)

    answer = compare_drives(fleet(slowness))
    assert [one.drive for one in answer.apart] == ["h6/S33"]
    (odd,) = answer.apart
    assert odd.is_worse
    assert 1 / odd.ratio == pytest.approx(1.4, abs=0.06)
    assert odd.peers == (("firmware", "old"),)
    shares = {one.factor: one for one in answer.explained[0].shares}
    assert shares["model"].is_shown
    assert shares["model"].share is not None
    assert shares["model"].share > 0.95
    assert [name for name, one in shares.items() if one.is_shown] == ["model", "firmware"]
    assert 0.6 < (shares["firmware"].share or 0) < 1
    assert answer.explained[0].tangled == ()
    assert (answer.comparison_count, answer.judged_count) == (80, 80)
    assert answer.alike_ratio is not None
    assert answer.alike_ratio < 0.08
    (spread,) = answer.spreads
    assert spread.within == pytest.approx(0.004, rel=0.2)


def test_alike_drives_are_told_as_alike() -> None:
    answer = compare_drives(fleet(lambda drive, place: 1.0))
    assert answer.apart == ()
    assert [one.factor for one in answer.explained[0].shares if one.is_shown] == ["model"]


def test_without_peers_nothing_is_judged() -> None:
    drives = tuple(FleetDrive(key=f"h/{n}", host="h", model=f"m{n // 2}") for n in range(6))
    answer = compare_drives(
        FleetNumbers(drives, (number({drive.key: [[100.0 + 50 * (drive.key[-1] == "1")]] for drive in drives}),))
    )
    assert (answer.judged_count, answer.apart, answer.alike_ratio) == (0, (), None)
