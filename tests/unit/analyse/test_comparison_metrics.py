"""Which numbers of a workload two sides are compared by."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drivelab.analyse.comparability import TrialConduct
from drivelab.analyse.compared_metrics import shown_metrics
from drivelab.analyse.comparison import ComparedTrial, compare_sides
from drivelab.analyse.judged_metric import TrialKind
from drivelab.analyse.run_answer import RunTrial
from drivelab.model.judged_metric import LATENCY, P99


def trial_of(value: float) -> RunTrial:
    """A durable write."""
    return RunTrial("a", "sdb", "w", 1, {}, {}, TrialKind(4096, 1, is_durable=True), {LATENCY: value})


@pytest.mark.parametrize(
    ("block_size", "outstanding", "metric"),
    [
        (4096, 32, "iops"),
        (4096, 1, "total_latency_ns_p50"),
        (1 << 20, 8, "throughput_bytes_per_s"),
    ],
)
def test_small_ios_that_nobody_waits_for_are_compared_by_their_number(
    block_size: int, outstanding: int, metric: str
) -> None:
    kind = TrialKind(block_size, outstanding, is_durable=False)
    trial = RunTrial("a", "sdb", "reads", 1, {}, {}, kind, {})
    assert shown_metrics([ComparedTrial(0, "0", trial)])[0] == metric


def test_all_depths_of_a_workload_are_compared_by_one_metric() -> None:
    """A median of depth 1 and rates of the others would have ratios that mean the opposite of each other."""
    values: dict[str, float | None] = {LATENCY: 1e5, "iops": 1e4}
    side = [
        ComparedTrial(0, "0", RunTrial("a", "sdb", "w", 1, {"queue-depth": str(depth)}, {}, kind, values))
        for depth in (1, 8)
        for kind in [TrialKind(4096, depth, is_durable=False)]
    ]
    units = dict.fromkeys(("iops", LATENCY, P99), "1")
    found = compare_sides(side, side, units).rows
    assert {row.levels["queue-depth"]: row.metric for row in found if row.is_judged} == {"1": "iops", "8": "iops"}


def test_what_stands_beside_a_ratio_is_what_it_is_made_of() -> None:
    """The medians of three runs, 100, 200 and 900, against 150, 160 and 170: a median rises where the mean falls."""
    levels = ([(90.0, 100.0, 300.0), (200.0, 200.0, 200.0), (900.0, 901.0, 1.0)], [(150.0,), (160.0,), (170.0,)])
    sides = [
        [ComparedTrial(number, "0", trial_of(value)) for number, repeats in enumerate(side) for value in repeats]
        for side in levels
    ]
    (row,) = (one for one in compare_sides(*sides, {LATENCY: "ns"}, metrics=[LATENCY]).rows if one.metric == LATENCY)
    assert row.base is not None
    assert row.new is not None
    assert row.base.value == pytest.approx((100 * 200 * 900) ** (1 / 3))
    assert row.new.value / row.base.value == pytest.approx(row.ratio.value)
    assert (row.base.lowest, row.base.highest, row.base.run_count, row.base.repeat_count) == (1, 901, 3, 9)


def test_what_one_side_lacks_is_named_by_the_target_that_it_was_measured_on() -> None:
    trials = [replace(trial_of(1.0), workload=name, target=name) for name in ("Alpha", "Beta")]
    both = ComparedTrial(0, "Alpha", trial_of(1.0))
    # Beta stands beside Alpha, where the sides have nothing else there
    base, new = ([both, ComparedTrial(0, "Alpha", trial)] for trial in trials)
    found = compare_sides(base, new, {LATENCY: "ns", P99: "ns"})
    assert (found.only_base, found.only_new) == (("Alpha, Alpha",), ("Beta, Beta",))


@pytest.mark.parametrize(
    ("asked", "why"), [("4 KiB", ("one run each",)), ("8 KiB", ("block size: 4 KiB in BASE, 8 KiB in NEW",))]
)
def test_the_only_combination_of_each_side_is_compared_whatever_it_is_called(asked: str, why: tuple[str, ...]) -> None:
    """As of `drivelab io` and of an imported job: what they ask for says whether that may be."""
    names = [("rr", "4 KiB"), ("io", asked)]
    base, new = (
        [ComparedTrial(0, "0", replace(trial_of(1.0), workload=name), TrialConduct(asked={"block size": size}), name)]
        for name, size in names
    )
    found = compare_sides(base, new, {LATENCY: "ns", P99: "ns"})
    assert (found.only_base, found.only_new) == ((), ())
    assert {(row.label, row.why) for row in found.rows if row.is_judged} == {("rr -> io", why)}
