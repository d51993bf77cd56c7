"""Findings about a throughput that fell, or had not settled: each when it must, and only then."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from simulated_trials import drive, durable_values, durable_workload, evidence, latencies, measured, target, workload

from drivelab.analyse.byte_bins import IntervalBytes
from drivelab.analyse.findings import drift, not_steady, stall_at_end, throughput_cliff, throughput_swings
from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.summary import summarise
from drivelab.analyse.trial_course import (
    capacity_bytes,
    course_estimates,
    course_of_trial,
    interval_bytes,
    writes_until_one_sync,
)
from drivelab.model.measurement import Measurement
from drivelab.model.workload import BlockSizeShare, Durability, Limits, Workload

MIB = 1 << 20
CAPACITY = 100 * 10**9
INTERVAL_NS = 1_000_000_000
ON = target(None, [drive(size_bytes=CAPACITY)])


def trial(
    levels: Sequence[tuple[int, float]], asked: Workload | None = None, *, operation: str = "write", noise: float = 0.05
) -> Measurement:
    """A trial of (seconds, bytes per second) levels, in I/Os of 1 MiB."""
    random = np.random.default_rng(1)
    rates = np.concatenate([np.full(seconds, rate) for seconds, rate in levels])
    counts = np.round(rates * np.exp(noise * random.standard_normal(rates.size)) / MIB).astype(int)
    given = asked or workload(operation, block_sizes=(BlockSizeShare(bytes=MIB),), interval_ns=INTERVAL_NS)
    made = measured(given, {operation: latencies(rates.size)}, intervals=rates.size)
    rows = made.intervals.to_pylist()
    for row, count in zip(rows, counts, strict=True):
        row |= {"count": int(count), "bytes": int(count) * MIB, "duration_ns": INTERVAL_NS}
    moved = int(counts.sum()) * MIB
    facts: Mapping[str, Any] = {"count": int(counts.sum()), "bytes": moved, "errors": 0, "short": 0}
    engine = made.engine | {"operations": {operation: facts}, "all_phases": {operation: facts}}
    return replace(
        made, engine=engine | {"measured_ns": rates.size * INTERVAL_NS}, intervals=pa.Table.from_pylist(rows)
    )


def sustained(capacities: float = 1.0) -> Workload:
    """Writes of so many capacities."""
    return workload(
        "write",
        block_sizes=(BlockSizeShare(bytes=MIB),),
        interval_ns=INTERVAL_NS,
        limits=Limits(bytes=round(capacities * CAPACITY)),
    )


def judged(made: Measurement) -> TrialEvidence:
    """The trial on a drive of 100 GB."""
    return evidence(made, ON)


class TestThroughputCliff:
    def test_a_full_cache_is_told_with_bytes_and_both_levels(self) -> None:
        (found,) = throughput_cliff.find(judged(trial([(40, 480e6), (160, 95e6)])))
        assert found.severity == "warning"
        assert found.text.startswith("after 19.")
        # the share that is left is no size of the fall
        assert re.search(r"the throughput fell to (19|20)(\.\d)? %, from 4\d\d MB/s to 9\d(\.\d)? MB/s: ", found.text)
        assert "write cache of the drive" in found.text
        assert found.evidence["bytes_until_cliff"] == pytest.approx(40 * 480e6, rel=0.02)
        assert found.evidence["throughput_before_cliff_bytes_per_s"] == pytest.approx(480e6, rel=0.03)
        assert found.evidence["throughput_after_cliff_bytes_per_s"] == pytest.approx(95e6, rel=0.03)
        assert f"What it does for longer is {95}" in found.text.replace("95.", "95").replace("94.", "95")
        assert "not known" not in found.text
        assert found.advice.startswith("quote the throughput after the cliff")

    def test_a_trial_that_ended_soon_after_says_that_it_is_too_short(self) -> None:
        (found,) = throughput_cliff.find(judged(trial([(20, 480e6), (18, 95e6)])))
        assert "how long that lasts is not known" in found.text
        assert found.advice == "measure longer"

    def test_a_drive_that_came_back_is_not_said_to_stay_low(self) -> None:
        (found,) = throughput_cliff.find(judged(trial([(40, 480e6), (60, 95e6), (60, 480e6)])))
        assert "In the last tenth of the trial it was 4" in found.text
        assert "for longer" not in found.text
        assert "slower and faster again without a pause, as with heat, or other users" in found.text

    def test_a_drive_that_came_back_in_between_has_no_full_cache(self) -> None:
        (found,) = throughput_cliff.find(judged(trial([(60, 480e6), (40, 95e6), (30, 480e6), (60, 95e6)])))
        assert "slower and faster again" in found.text
        assert "write cache of the drive" not in found.text
        (found,) = throughput_cliff.find(judged(trial([(20, 480e6), (10, 15e6)] * 3)))
        assert "slower and faster again" in found.text
        assert "What it does for longer is not known" in found.text
        # what lasts is neither level
        assert "base_per_s" not in found.evidence

    def test_a_sync_leaves_no_cache_in_memory_that_could_fill(self) -> None:
        flushed = workload(
            "write",
            block_sizes=(BlockSizeShare(bytes=MIB),),
            interval_ns=INTERVAL_NS,
            durability=Durability(method="fdatasync"),
        )
        (found,) = throughput_cliff.find(judged(trial([(40, 480e6), (160, 95e6)], flushed)))
        assert "no write cache in memory, which each sync empties; fast flash that was full, or heat" in found.text

    def test_what_was_filled_depends_on_what_was_done(self) -> None:
        buffered = workload("write", block_sizes=(BlockSizeShare(bytes=MIB),), interval_ns=INTERVAL_NS, direct=False)
        (memory,) = throughput_cliff.find(judged(trial([(40, 480e6), (160, 95e6)], buffered)))
        assert "memory that buffered writes go to" in memory.text
        (reads,) = throughput_cliff.find(judged(trial([(40, 480e6), (160, 95e6)], operation="read")))
        assert "heat" in reads.text
        # what a limit of a volume is to be blamed for no cache of a drive is
        limited = replace(target(None, [drive(virtual="virtual drive of a virtual machine")]))
        for operation in ("read", "write"):
            made = judged(trial([(40, 480e6), (160, 95e6)], operation=operation))
            (found,) = throughput_cliff.find(replace(made, target=limited))
            assert "a limit of the volume" in found.text
            assert "write cache of the drive" not in found.text

    def test_of_writes_the_rate_that_is_left_is_named_in_their_unit(self) -> None:
        (large,) = throughput_cliff.find(judged(trial([(40, 480e6), (160, 95e6)])))
        assert large.evidence["token"] == "bytes"
        assert 90e6 < large.evidence["base_per_s"] < 100e6
        (reads,) = throughput_cliff.find(judged(trial([(40, 480e6), (160, 95e6)], operation="read")))
        assert "base_per_s" not in reads.evidence
        (again,) = throughput_cliff.find(judged(trial([(40, 480e6), (60, 95e6), (60, 480e6)])))
        assert "base_per_s" not in again.evidence

    def test_beside_others_nobody_knows_why_nor_what_lasts(self) -> None:
        seen = judged(trial([(40, 480e6), (160, 95e6)]))
        others = {"count": 2, "busy": 1.9, "own": 0.2, "kernel_threads": 0.0, "duration_ns": 10**10}
        busy = replace(seen, measured=replace(seen.measured, context={**seen.measured.context, "processors": others}))
        (found,) = throughput_cliff.find(busy)
        assert ": other programs were at work, and may be why. What it does for longer is not known; " in found.text
        assert "base_per_s" not in found.evidence
        idle = {**others, "busy": 0.2}
        quiet = replace(seen, measured=replace(seen.measured, context={**seen.measured.context, "processors": idle}))
        assert throughput_cliff.find(quiet) == throughput_cliff.find(seen)

    def test_steady_throughput_small_falls_and_rises_have_none(self) -> None:
        for levels in ([(200, 480e6)], [(40, 480e6), (160, 400e6)], [(40, 95e6), (160, 480e6)]):
            assert throughput_cliff.find(judged(trial(levels))) == []

    def test_a_trial_of_a_few_megabytes_says_nothing_of_a_cache(self) -> None:
        made = judged(trial([(40, 480e6), (160, 95e6)]))
        engine = made.measured.engine | {"operations": {"write": {"count": 500, "bytes": 63 * MIB, "errors": 0}}}
        assert throughput_cliff.find(replace(made, measured=replace(made.measured, engine=engine))) == []

    def test_short_trials_are_not_looked_at(self) -> None:
        assert throughput_cliff.find(judged(trial([(10, 480e6), (9, 95e6)]))) == []

    def test_the_null_backend_has_none(self) -> None:
        made = trial([(40, 480e6), (160, 95e6)])
        null = replace(made, engine=made.engine | {"backend": {"name": "null", "reason": ""}})
        assert throughput_cliff.find(judged(null)) == []


class TestThroughputSwings:
    by_turns = [(6, 500e6), (3, 200e6)] * 8

    def test_a_drive_that_is_throttled_by_turns_is_told_with_period_and_levels(self) -> None:
        (found,) = throughput_swings.find(judged(trial(self.by_turns)))
        assert found.severity == "warning"
        assert "swings between 501 MB/s and 200 MB/s with a period of 9 s" in found.text
        assert found.evidence["low_time_share"] == pytest.approx(1 / 3, abs=0.02)
        assert found.evidence["period_ns"] == pytest.approx(9e9, rel=0.02)
        assert found.evidence["high_over_low_ratio"] == pytest.approx(2.5, rel=0.1)

    def test_what_swings_depends_on_what_was_done(self) -> None:
        buffered = workload("write", block_sizes=(BlockSizeShare(bytes=MIB),), interval_ns=INTERVAL_NS, direct=False)
        assert "memory that fills" in throughput_swings.find(judged(trial(self.by_turns, buffered)))[0].text
        assert "that repeats" in throughput_swings.find(judged(trial(self.by_turns, operation="read")))[0].text

    def test_a_drive_that_stops_by_turns_swings_down_to_nothing(self) -> None:
        (found,) = throughput_swings.find(judged(trial([(6, 500e6), (3, 0.0)] * 8)))
        assert "swings between 501 MB/s and 0 B/s with a period of 9 s" in found.text
        assert found.evidence["high_over_low_ratio"] is None

    def test_steady_throughput_few_periods_and_the_null_backend_have_none(self) -> None:
        for levels in ([(100, 500e6)], [(30, 500e6), (15, 200e6)] * 2, [(6, 500e6), (3, 450e6)] * 8):
            assert throughput_swings.find(judged(trial(levels))) == []
        made = trial(self.by_turns)
        null = replace(made, engine=made.engine | {"backend": {"name": "null", "reason": ""}})
        assert throughput_swings.find(judged(null)) == []

    @pytest.mark.parametrize(
        ("depth", "latency_ms", "interval_ms"), [(1, 1.93, 5), (1, 1.87, 5), (1, 9.1, 25), (8, 3.52, 5), (8, 17, 50)]
    )
    def test_an_even_stream_of_which_now_one_more_falls_into_an_interval_does_not_swing(
        self, depth: int, latency_ms: float, interval_ms: float
    ) -> None:
        turns = np.repeat(np.arange(1, 1001) * latency_ms, depth)
        count, _ = np.histogram(turns, np.arange(0, turns[-1], interval_ms))
        even = IntervalBytes(count * float(MIB), np.full(count.size, interval_ms * 1e6), MIB)
        assert throughput_swings.throughput_swing(even, depth) is None

    def test_a_swing_of_few_i_os_in_an_interval_is_told_all_the_same(self) -> None:
        gaps_ms = np.tile(np.repeat([2.0, 5.0], [150, 40]), 10)
        count, _ = np.histogram(np.cumsum(gaps_ms), np.arange(0, gaps_ms.sum(), 5))
        found = throughput_swings.throughput_swing(IntervalBytes(count * float(MIB), np.full(count.size, 5e6), MIB))
        assert found is not None
        assert found.period_ns == pytest.approx(500e6, rel=0.02)
        assert found.factor == pytest.approx(2.5, rel=0.1)


class TestOneCauseIsToldOnce:
    @pytest.mark.parametrize("levels", [TestThroughputSwings.by_turns, [(40, 480e6), (40, 95e6)]])
    def test_a_cliff_and_a_swing_are_no_drift_besides(self, levels: list[tuple[int, float]]) -> None:
        made = judged(self.with_latencies(trial(levels)))
        assert throughput_swings.find(made) or throughput_cliff.find(made)
        assert drift.find(made) == []

    def test_a_drift_is_told_where_nothing_else_explains_it(self) -> None:
        made = judged(self.with_latencies(trial([(1, 500e6 / (1 + 0.6 * second / 60)) for second in range(60)])))
        (found,) = drift.find(made)
        assert found.evidence["last_over_first_ratio"] == pytest.approx(1.6, rel=0.1)

    def test_a_stall_at_the_end_is_no_drift_besides(self) -> None:
        asked = workload(limits=Limits(runtime_ns=2_000_000_000))
        for slower in (1.0, 2.0):
            values = np.round(np.append(latencies(2000) * np.linspace(1, slower, 2000), 3e9))
            # twenty intervals, and the stall in the one in which it ends
            begins = [*range(100, 2000, 100), *[2000] * 25]
            made = evidence(measured(asked, {"read": values}, intervals=begins, measured_ns=4_500_000_000))
            assert stall_at_end.find(made)
            assert bool(drift.find(made)) == (slower > 1)

    @staticmethod
    def with_latencies(made: Measurement) -> Measurement:
        """A closed loop with one I/O at a time: the latency is what its throughput leaves."""
        rows = made.intervals.to_pylist()
        for row in rows:
            row |= {"sum_ns": INTERVAL_NS}
        return replace(made, intervals=pa.Table.from_pylist(rows))


class TestNotSteady:
    def test_a_flat_drive_with_much_scatter_is_called_noisy(self) -> None:
        for seed in (0, 3, 4, 6):
            (found,) = not_steady.find(judged(self.noisy(seed)))
            assert found.text.startswith("it is noisy, and not settled by the rule of five rounds: ")

    @staticmethod
    def noisy(seed: int) -> Measurement:
        random = np.random.default_rng(seed)
        rounds = 400e6 * np.exp(0.15 * random.standard_normal(22))
        return trial([(round(5e9 / rate), rate) for rate in rounds], sustained(1.1))

    def test_a_drive_that_still_falls_is_told(self) -> None:
        falling = [(20, 500e6 * 0.9**step) for step in range(20)]
        (found,) = not_steady.find(judged(trial(falling, sustained())))
        assert found.severity == "warning"
        assert found.text.startswith("the drive had not become steady: ")
        assert found.evidence["profile"] == "pts-like"
        assert found.evidence["round_bytes"] == CAPACITY // 20

    def test_too_few_rounds_are_a_note(self) -> None:
        (found,) = not_steady.find(judged(trial([(30, 400e6)], sustained())))
        assert found.severity == "note"
        assert found.text.startswith("whether it was steady is not known: ")

    def test_a_drive_that_settled_has_none(self) -> None:
        assert not_steady.find(judged(trial([(40, 480e6), (1400, 95e6)], sustained(1.5)))) == []

    def test_trials_that_were_not_meant_to_last_have_none(self) -> None:
        falling = [(1, 500e6 * 0.9**step) for step in range(30)]
        assert not_steady.find(judged(trial(falling))) == []
        assert not_steady.find(judged(trial([(20, 5e9 * 0.9**step) for step in range(20)], operation="read"))) == []

    def test_a_minute_and_a_quarter_of_the_capacity_were_meant_to_last(self) -> None:
        falling = [(20, 500e6 * 0.8**step) for step in range(12)]
        (found,) = not_steady.find(judged(trial(falling)))
        assert found.code == "not-steady"

    def test_an_unknown_capacity_is_not_guessed(self) -> None:
        nowhere = replace(ON, kind="directory", drives=())
        assert not_steady.find(evidence(trial([(20, 500e6), (60, 50e6)]), nowhere)) == []


class TestNumbers:
    def test_a_cliff_is_among_the_numbers_of_a_trial(self) -> None:
        found = summarise(trial([(40, 480e6), (160, 95e6)]), ON).estimates
        until = found["bytes_until_cliff"]
        assert until.unit == "B"
        assert until.low is not None
        assert until.high is not None
        assert until.low <= (until.value or 0) <= until.high
        assert "steady_throughput_bytes_per_s" not in found

    def test_a_steady_end_is_among_the_numbers_of_a_trial(self) -> None:
        found = summarise(trial([(40, 480e6), (1400, 95e6)], sustained(1.5)), ON).estimates
        assert found["steady_throughput_bytes_per_s"].value == pytest.approx(95e6, rel=0.01)
        assert found["bytes_until_steady"].value == pytest.approx(20e9, abs=5e9)

    def test_what_one_sync_call_makes_durable_is_in_memory_until_then(self) -> None:
        asked = durable_workload(durability=Durability(method="fdatasync", every_writes=2000))
        values = durable_values(2000)
        made = measured(asked, {"write": values["write"], "sync": latencies(1, 5e8)}, intervals=40)
        assert writes_until_one_sync(made)
        assert course_of_trial(made, ON) is None
        assert course_estimates(None) == {}

    def test_the_series_has_every_interval_and_every_byte(self) -> None:
        made = trial([(40, 480e6)])
        gap = made.intervals.filter([number != 7 for number in range(40)])
        series = interval_bytes(gap, 40 * INTERVAL_NS - INTERVAL_NS // 2)
        assert series is not None
        assert series.moved.shape == (40,)
        assert series.moved[7] == 0
        assert series.duration_ns[-1] == INTERVAL_NS // 2
        assert series.operation_bytes == MIB
        assert interval_bytes(None, INTERVAL_NS) is None

    def test_the_capacity_is_that_of_the_drive_or_of_the_whole_target(self) -> None:
        assert capacity_bytes("block_device", 7, [9], 3) == 7
        assert capacity_bytes("directory", 0, [9, 9], 3) == 18
        assert capacity_bytes("file", 5, [9], 3) == 9
        assert capacity_bytes("file", 5, [], 3) == 3
