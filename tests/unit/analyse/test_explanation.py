"""Explanations: parts sum exactly, groups are those that are named, intervals those of oracles, and losses refuse."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from drivelab.analyse.explanation import (
    TracedPass,
    explanation_of,
    mean_of_repeats,
    over_repeats,
    refusal_of,
    tracing_cost,
)
from drivelab.analyse.operation_parts import operation_parts, q2c_of_data
from drivelab.analyse.quantile import quantile_estimate_from_series
from drivelab.analyse.ratio import mean_estimate_from_series
from drivelab.model.estimate import Estimate
from drivelab.model.trace import DEVICE_WORK, PARTS, Explanation, TraceConduct
from made_up_operations import APPEND_NS, APPEND_WORK, CONDUCT, READ_NS, READ_WORK, bio, events, operations, table_of

UNTRACED = Estimate(320_000.0, 315_000.0, 325_000.0, "ns", 1000, 900.0, "made up")


def traced(
    table: pa.Table,
    operation: str = "durable_write",
    conduct: TraceConduct = CONDUCT,
    untraced: Estimate | None = UNTRACED,
    trial: str = "t",
) -> TracedPass:
    return TracedPass(trial, operation_parts(table, operation), conduct, untraced)


def explained(*tables: pa.Table, operation: str = "durable_write") -> Explanation:
    passes = [traced(table, operation, trial=f"t{number}") for number, table in enumerate(tables)]
    return explanation_of(passes, operation)


def times(count: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, 10**12), min_size=count, max_size=count)


@given(st.integers(1, 40).flatmap(lambda count: st.tuples(*(times(count) for _ in PARTS))))
def test_parts_of_every_group_sum_to_its_latency(columns: tuple[list[int], ...]) -> None:
    values = {part: np.array(column, np.int64) for part, column in zip(PARTS, columns, strict=True)}
    found = explained(table_of(values))
    count = len(columns[0])
    latency = np.sum(list(values.values()), axis=0)
    # as integers, in which nothing is rounded
    assert sum(round(one.mean.value * count) for one in found.parts) == latency.sum()
    for whole, of, number in (
        (found.typical_ns, "typical_ns", found.typical_count),
        (found.slowest_ns, "slowest_ns", found.slowest_count),
    ):
        assert math.isclose(math.fsum(getattr(one, of) for one in found.parts), whole, rel_tol=1e-12, abs_tol=1e-9)
        assert latency.min() - 1e-6 <= whole <= latency.max() * (1 + 1e-12)
        assert number >= 1
    assert found.slowest_ns == pytest.approx(np.sort(latency)[-found.slowest_count :].mean(), rel=1e-12)
    assert found.residual_ns == 0
    assert found.refusal == ""


@pytest.mark.parametrize(
    ("count", "typical", "slowest"), [(1, 1, 1), (2, 2, 1), (5, 1, 1), (99, 21, 1), (199, 41, 1), (1000, 200, 10)]
)
def test_the_middle_fifth_and_the_slowest_hundredth_are_taken(count: int, typical: int, slowest: int) -> None:
    # the latencies are 1, 2, 3 ... us, not in this order
    order = np.random.default_rng(7).permutation(np.arange(1, count + 1)) * 1000
    found = explained(table_of({"device": order}))
    assert (found.typical_count, found.slowest_count) == (typical, slowest)
    # as many faster ones are left out as slower ones
    assert found.typical_ns == pytest.approx(1000 * (count + 1) / 2)
    assert found.slowest_ns == pytest.approx(1000 * np.arange(count - slowest + 1, count + 1).mean())


def test_numbers_of_a_part_are_those_of_its_series_in_order_of_time() -> None:
    table = operations(3000, correlation=0.5, seed=3)
    shuffled = table.take(np.random.default_rng(1).permutation(3000))
    found = explained(shuffled)
    for part in PARTS:
        series = np.asarray(table[f"{part}_ns"], np.float64)
        one = found.part(part)
        assert one.mean == mean_estimate_from_series(series)
        assert one.p50 == quantile_estimate_from_series(series, 0.5)
        assert one.p99.value == np.sort(series)[2969]
    latency = np.asarray(table["latency_ns"], np.float64)
    assert found.mean_ns == pytest.approx(latency.mean())
    assert found.traced_ns == quantile_estimate_from_series(latency, 0.5)


def test_a_p99_of_few_operations_has_no_upper_end() -> None:
    found = explained(operations(200))
    for estimate in (found.part("flush").p99, found.traced_p99_ns):
        assert estimate is not None
        assert estimate.value is not None
        assert estimate.low is not None
        assert estimate.high is None


def test_intervals_of_autocorrelated_parts_are_wider() -> None:
    alone, bursts = (explained(operations(2000, correlation=each, seed=5)).part("flush").mean for each in (0.0, 0.9))
    assert bursts.high is not None
    assert alone.high is not None
    assert bursts.high - (bursts.low or 0) > 2 * (alone.high - (alone.low or 0))


def test_the_mean_over_repeats_is_that_of_students_t() -> None:
    random = np.random.default_rng(2)
    sums = random.normal(1e6, 1e5, 5)
    found = mean_of_repeats(sums, [100] * 5)
    means = sums / 100
    low, high = stats.t.interval(0.95, 4, loc=means.mean(), scale=stats.sem(means))
    assert (found.value, found.low, found.high) == pytest.approx((means.mean(), low, high))
    # a long repeat weighs more: the mean is that of all operations
    assert mean_of_repeats([10.0, 300.0, 20.0], [10, 100, 10]).value == pytest.approx(330 / 120)


def test_three_repeats_are_what_intervals_of_means_are_made_of() -> None:
    tables = [operations(500, scale=scale, seed=seed) for seed, scale in enumerate((1.0, 1.1, 0.9))]
    found = explained(*tables)
    means = [float(np.asarray(table["flush_ns"]).mean()) for table in tables]
    low, high = stats.t.interval(0.95, 2, loc=np.mean(means), scale=stats.sem(means))
    flush = found.part("flush")
    assert (flush.mean.value, flush.mean.low, flush.mean.high) == pytest.approx((np.mean(means), low, high))
    assert found.operations == 1500
    assert found.trials == ("t0", "t1", "t2")
    assert sum(one.mean.value or 0 for one in found.parts) == pytest.approx(found.mean_ns)
    # two of them are one series of operations
    assert explained(*tables[:2]).part("flush").mean.sample_count == 1000


def test_work_is_the_mean_over_operations() -> None:
    found = explained(operations(300, APPEND_NS, APPEND_WORK, size_bytes=4096))
    assert found.work == pytest.approx({**dict.fromkeys(DEVICE_WORK, 0), **APPEND_WORK})
    assert found.amplification == pytest.approx(4.0)
    read = explained(operations(300, READ_NS, READ_WORK, operation="read", size_bytes=4096), operation="read")
    assert read.amplification is None
    assert read.work["bytes_read"] == 4096
    assert read.part("flush").mean.value == 0


def test_other_operations_of_the_table_are_left_out() -> None:
    both = pa.concat_tables([operations(100), operations(50, READ_NS, READ_WORK, operation="read")])
    assert explained(both).operations == 100
    assert explained(both, operation="read").operations == 50


def test_shared_operations_are_counted() -> None:
    table = operations(10)
    column = table.column_names.index("is_shared")
    table = table.set_column(column, table.schema.field(column), pa.array([True] * 3 + [False] * 7))
    assert explained(table).shared_operations == 3


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"lost_events": 1}, "1 event was lost"),
        ({"clock": "global"}, "clock (global)"),
        ({"clock": ""}, "clock (unknown)"),
        ({"source": ""}, "how the trace was taken"),
        ({"unmatched_bios": 25}, "25 of 2025 bios"),
        ({"open_at_end": 33}, "33 of 2012 bios never ended"),
        ({"partial_operations": 11}, "11 operations are not known to the end"),
    ],
)
def test_what_could_change_the_answer_refuses_it(changes: dict[str, object], words: str) -> None:
    one = traced(operations(), conduct=replace(CONDUCT, **changes))
    found = explanation_of([one], "durable_write")
    assert words in found.refusal
    assert (found.parts, found.work, found.amplification, found.q2c_ns) == ((), {}, None, None)
    assert found.check.verdict == "unknown"
    # what the program timed itself stands
    whole = explained(operations())
    assert (found.mean_ns, found.typical_ns, found.slowest_ns) == (whole.mean_ns, whole.typical_ns, whole.slowest_ns)


@pytest.mark.parametrize(
    "changes",
    [
        {"unmatched_bios": 20},
        {"open_at_end": 32},
        {"partial_operations": 10},
        {"foreign_bios": 10**6, "open_at_end": 1000},
        {"duplicate_records": 1000},
        {"clock": "global, calibrated"},
    ],
)
def test_what_cannot_change_the_answer_does_not(changes: dict[str, object]) -> None:
    assert refusal_of(traced(operations(), conduct=replace(CONDUCT, **changes))) == ""


def test_a_damaged_table_is_refused() -> None:
    table = operations(10)
    column = table.column_names.index("flush_ns")
    wrong = table.set_column(column, "flush_ns", pa.array(np.asarray(table["flush_ns"]) + np.arange(10)))
    found = explained(wrong)
    assert found.residual_ns == 9
    assert "9 ns" in found.refusal


def test_a_pass_without_such_operations_is_refused() -> None:
    found = explained(operations(10), operation="read")
    assert found.refusal == "the traced pass has no such operation"
    assert (found.operations, found.mean_ns, found.traced_ns) == (0, 0.0, None)


def test_a_repeat_that_is_not_whole_is_left_out_and_named() -> None:
    passes = [
        traced(operations(100, seed=1), trial="r1"),
        traced(operations(100, seed=2), trial="r2", conduct=replace(CONDUCT, lost_events=7)),
        traced(operations(100, seed=3), trial="r3"),
    ]
    found = explanation_of(passes, "durable_write")
    assert found.refusal == ""
    assert found.trials == ("r1", "r3")
    assert found.operations == 200
    assert found.left_out == ("r2: 7 events were lost, and whatever they told of would be charged to a wrong part",)
    assert found.conduct.lost_events == 0
    assert found.conduct.foreign_bios == 2 * CONDUCT.foreign_bios
    none = explanation_of([replace(one, conduct=replace(CONDUCT, lost_events=7)) for one in passes], "durable_write")
    assert none.refusal.startswith("7 events")
    assert none.conduct.lost_events == 21


def test_the_cost_of_tracing_is_the_ratio_of_the_medians() -> None:
    one = traced(operations(1000))
    traced_median = quantile_estimate_from_series(one.operations.latency_ns.astype(float), 0.5)
    found = tracing_cost([one])
    assert found is not None
    assert found.value == pytest.approx(traced_median.value / 320_000)
    # both intervals are alike here: the half-widths of the logarithms add in squares
    alike = replace(one, untraced_ns=traced_median)
    same = tracing_cost([alike])
    assert same is not None
    down, up = (math.log(traced_median.value / traced_median.low), math.log(traced_median.high / traced_median.value))
    assert same.high == pytest.approx(math.exp(math.hypot(down, up)))
    assert same.low == pytest.approx(math.exp(-math.hypot(down, up)))
    assert tracing_cost([replace(one, untraced_ns=None)]) is None
    without_ends = tracing_cost([replace(one, untraced_ns=replace(UNTRACED, low=None, high=None))])
    assert without_ends is not None
    assert (without_ends.low, without_ends.high) == (None, None)


def test_the_cost_over_repeats_is_paired() -> None:
    scales = (1.0, 1.5, 0.7, 1.2)
    untraced = [replace(UNTRACED, value=320_000.0 * scale) for scale in scales]
    passes = [
        traced(operations(500, scale=scale * 1.05, seed=seed), untraced=before)
        for seed, (scale, before) in enumerate(zip(scales, untraced, strict=True))
    ]
    found = tracing_cost(passes)
    medians = [np.sort(one.operations.latency_ns)[249] for one in passes]
    logs = [math.log(after / before.value) for after, before in zip(medians, untraced, strict=True)]
    assert found is not None
    assert found.value == pytest.approx(math.exp(np.median(logs)))
    # the drive's own differences between repeats are in both passes, and not in the ratio
    assert found.high / found.low < 1.02


def test_one_number_of_several_repeats_is_their_median() -> None:
    values = [100.0, 110.0, 121.0]
    estimates = [Estimate(value, value * 0.9, value * 1.1, "ns", 10, 10.0, "") for value in values]
    low, high = stats.t.interval(0.95, 2, loc=math.log(110), scale=stats.sem(np.log(values)))
    three = over_repeats(estimates)
    assert three is not None
    assert (three.value, three.low, three.high) == pytest.approx((110, math.exp(low), math.exp(high)))
    # a repeat that lies far off does not carry the number with it, as it does not in the tables
    far = over_repeats([*estimates[:2], Estimate(400.0, 360.0, 440.0, "ns", 10, 10.0, "")])
    assert far is not None
    assert far.value == pytest.approx(110.0)
    two = over_repeats(estimates[:2])
    assert two is not None
    assert two.value == pytest.approx(math.sqrt(100 * 110))
    # two equal half-widths, each weighted by a half
    assert math.log(two.high / two.value) == pytest.approx(math.log(1.1) / math.sqrt(2))
    assert over_repeats(estimates[:1]) is estimates[0]
    assert over_repeats([]) is None
    assert over_repeats([estimates[0], Estimate(None, 1.0, None, "ns", 1, 1.0, "")]) is None


def test_medians_of_a_level_that_moves_are_told_with_wide_intervals() -> None:
    # a latency that rises all the time: worth a handful of independent operations
    rising = [table_of({"device": np.arange(1, 301, dtype=np.int64) * step}) for step in (1000, 1010, 1030)]
    passes = [traced(table, trial=f"t{number}") for number, table in enumerate(rising)]
    medians = [150 * step for step in (1000, 1010, 1030)]
    found = explanation_of(passes, "durable_write")
    assert found.traced_ns is not None
    assert found.traced_ns.value == pytest.approx(medians[1])
    assert found.tracing_cost is not None
    assert found.tracing_cost.value == pytest.approx(medians[1] / 320_000)
    assert found.traced_repeats_ns == pytest.approx(medians, rel=0.01)
    assert found.untraced_repeats_ns == (320_000.0, 320_000.0, 320_000.0)
    alone = explanation_of(passes[:1], "durable_write")
    assert alone.traced_ns is not None
    assert alone.traced_ns.value == 150_000
    assert alone.traced_ns.low is not None
    assert alone.traced_ns.high is not None
    assert alone.traced_ns.low < 75_000 < 225_000 < alone.traced_ns.high


def test_q2c_is_that_of_btt_without_flushes_and_splits() -> None:
    table = events(
        bio(1000, 52_000),
        bio(2000, 51_000),
        bio(0, 900_000, bytes=0, **{"class": "flush"}),
        bio(0, 700_000, fragments=2),
        bio(0, None),
        # of another program
        bio(0, 50_000_000, operation_index=-1),
        {"kind": "command", "bytes": 4096, "issued_ns": 1, "completed_ns": 99},
    )
    assert q2c_of_data(table) == (100_000, 2)
    one = replace(traced(operations(10)), q2c=q2c_of_data(table))
    assert explanation_of([one], "durable_write").q2c_ns == 50_000
    assert explanation_of([traced(operations(10))], "durable_write").q2c_ns is None


def test_an_explanation_is_plain_data() -> None:
    found = explained(operations(300))
    document = found.to_json()
    assert document["typical"]["parts"]["flush_ns"] == found.part("flush").typical_ns
    assert sum(document["slowest"]["parts"].values()) == pytest.approx(document["slowest"]["latency_ns"])
    assert [one["part"] for one in document["parts"]] == list(PARTS)
    assert document["parts"][3]["mean_ns"]["unit"] == "ns"
    assert document["trace"]["foreign_bios"] == 12
    assert document["tracing_cost_ratio"]["value"] == found.tracing_cost.value
    # every name of a time or of bytes tells its unit
    assert not [key for key in document if key.endswith(("time", "latency", "mean", "median"))]
