"""Rounds until steady: the verdict on five of them, when a phase ends, and which combination is chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from drivelab.analyse.rounds import RoundsOfPlan, mean_latency_ns
from drivelab.analyse.steady_state import five_rounds
from drivelab.model.experiment import Experiment
from drivelab.model.plan import Plan
from drivelab.model.target import TargetFacts
from drivelab.plan.make import make_plan

EXPERIMENT = {
    "format": 1,
    "name": "x",
    "question": "?",
    "factors": [
        {"setting": "workload", "key": "job_count", "levels": [2, 1], "workloads": ["grid"]},
        {"setting": "workload", "key": "queue_depth", "levels": [4, 1], "workloads": ["grid"]},
    ],
    "workloads": [
        {"name": "fill", "capacities": 2, "direct": True},
        {"name": "grid", "read_fraction": 0.4, "access": "random", "direct": True, "runtime": "1s"},
        {"name": "most", "runtime": "1s", "direct": True, "point": {"of": "grid", "which": "max"}},
        {"name": "middle", "runtime": "1s", "direct": True, "point": {"of": "grid", "which": "mid"}},
    ],
    "phases": [
        {"name": "fill", "workloads": ["fill"]},
        {
            "name": "rounds",
            "workloads": ["grid"],
            "rounds": 9,
            "track": [{"workload": "grid", "levels": {"job_count": 2, "queue_depth": 4}}],
        },
        {"name": "points", "workloads": ["most", "middle"]},
    ],
}


def plan_of(**changed: Any) -> Plan:
    facts = TargetFacts("scratch:1GiB", "scratch", "", False, None, (), (), 2**30, 512, False)
    return make_plan(Experiment.model_validate(EXPERIMENT | changed), [facts], seed=1)


def values_of(plan: Plan, rates: list[float], **others: float) -> dict[str, dict[str, float]]:
    """What was measured until a round: the tracked combination has these rates, the others half of them."""
    found = {}
    for step in plan.steps:
        if step.phase == "rounds" and step.round <= len(rates):
            is_tracked = step.levels == {"job_count": "2", "queue_depth": "4"}
            rate = rates[step.round - 1] * (1 if is_tracked else 0.5)
            found[step.trial] = {"iops": rate, "total_latency_ns_mean": 1e6, "measured_ns": 1e9, **others}
    return found


def by_least_squares_with_a_window_of_four(values: list[float]) -> bool:
    """TKperf's rule (StdyState.py, 638b083): range over the average, and the slope times 4, by numpy's solver."""
    average = sum(values) / len(values)
    matrix = np.vstack([np.arange(1, 6), np.ones(5)]).T
    slope = float(np.linalg.lstsq(matrix, np.array(values), rcond=-1)[0][0])
    return max(values) - min(values) <= 0.2 * average and abs(slope * 4) <= 0.1 * average


def by_rounded_sums(values: list[float]) -> bool:
    """The rule of cloudharmony/block-storage and SSS-PTS-TEST: by sums, with what they round."""
    rounds = range(1, 6)
    average = round(sum(values) / 5, 3)
    sum_xy = sum(x * y for x, y in zip(rounds, values, strict=True))
    slope = round((5 * sum_xy - sum(rounds) * sum(values)) / (5 * 55 - 15 * 15), 3)
    return max(values) - min(values) <= 2 * 0.1 * average and round(abs(slope * 4), 1) <= 0.1 * average


def test_verdicts_are_those_of_two_public_implementations() -> None:
    random = np.random.default_rng(1)
    verdicts = []
    for _ in range(3000):
        level, trend, noise = 10 ** random.uniform(2, 6), random.uniform(-0.04, 0.04), random.uniform(0, 0.09)
        values = [float(level * (1 + trend * x + noise * random.normal())) for x in range(5)]
        asked = five_rounds(values)
        # what the one rounds is a tenth of a unit
        is_at_a_bound = abs(asked.slope_share - 0.1) < 1 / level or abs(asked.range_share - 0.2) < 1e-6
        assert asked.is_steady == by_least_squares_with_a_window_of_four(values)
        assert is_at_a_bound or asked.is_steady == by_rounded_sums(values)
        verdicts.append(asked.is_steady)
    assert 500 < sum(verdicts) < 2500


def test_a_phase_ends_with_the_first_round_that_is_steady_over_five() -> None:
    plan = plan_of()
    rates = [900.0, 700.0, 500.0, 400.0, 405.0, 398.0, 402.0, 400.0]
    for count in range(1, 9):
        rounds = RoundsOfPlan(plan)
        values = values_of(plan, rates[:count])
        is_over = count == 8
        needed = [rounds.is_needed(step, values) for step in plan.steps if step.round == count + 1]
        assert needed == [not is_over] * 4
        # which steps are left out is known with the last step of a round, and not before
        own = [step for step in plan.steps if step.round == count]
        needless = [step.trial for step in rounds.needless_after(own[-1], values)]
        assert needless == [step.trial for step in plan.steps if step.round == 9] * is_over
        assert rounds.needless_after(own[0], values) == []
    (result,) = RoundsOfPlan(plan).results(values)
    assert (result.rounds, result.ended_by, result.window, result.is_steady) == (8, "steady", (4, 8), True)
    assert result.tracked[0].window is not None
    assert result.tracked[0].window.average == pytest.approx(401)
    assert [cell.iops for cell in result.averages] == pytest.approx([401, 200.5, 200.5, 200.5])
    # what led there is no measurement, and what would follow is not measured
    rounds = RoundsOfPlan(plan)
    assert len(rounds.outside(values)) == 3 * 4
    assert rounds.not_needed(values) == {step.trial for step in plan.steps if step.round == 9}


def test_a_phase_that_never_gets_steady_uses_up_its_rounds_and_says_so() -> None:
    plan = plan_of()
    (result,) = RoundsOfPlan(plan).results(values_of(plan, [100.0 * 1.2**number for number in range(9)]))
    assert (result.rounds, result.ended_by, result.is_steady) == (9, "rounds", False)


def test_no_round_follows_once_so_many_capacities_are_written() -> None:
    phases = [dict(phase) for phase in EXPERIMENT["phases"]]  # type: ignore[attr-defined]
    phases[1] = {**phases[1], "track": [], "capacities": 4}
    plan = plan_of(phases=phases)
    # four trials of a round write a quarter of the drive each
    values = values_of(plan, [1.0] * 4, write_throughput_bytes_per_s=2**30 / 4)
    rounds = RoundsOfPlan(plan)
    assert all(rounds.is_needed(step, values) for step in plan.steps if step.phase == "rounds" and step.round < 5)
    assert not any(rounds.is_needed(step, values) for step in plan.steps if step.phase == "rounds" and step.round > 4)


def test_the_mean_latency_of_a_mix_is_that_of_all_its_operations() -> None:
    found = {"read_iops": 300.0, "write_iops": 100.0, "total_latency_ns_mean": 8e6, "read_total_latency_ns_mean": 4e6}
    assert mean_latency_ns(found) == 5e6
    assert mean_latency_ns({"iops": 4.0, "total_latency_ns_mean": 3.0}) == 3.0


def test_max_and_mid_are_chosen_among_what_answers_in_time_by_the_means_that_tables_have() -> None:
    plan = plan_of()
    values = values_of(plan, [100.0] * 5)
    points = {("2", "4"): (900, 6e6), ("2", "1"): (800, 4e6), ("1", "4"): (450, 2e6), ("1", "1"): (200, 1e6)}
    for step in plan.steps:
        if step.phase == "rounds" and step.round <= 5:
            place = step.levels["job_count"], step.levels["queue_depth"]
            iops, mean = points[place]
            # a lucky last round makes no other combination the fastest
            lucky = 380 * (place == ("1", "4") and step.round == 5)
            values[step.trial] |= {"iops": iops + lucky, "total_latency_ns_mean": mean}
    chosen = {one.which: (dict(one.levels), one.iops) for one in RoundsOfPlan(plan).points(values)}
    assert chosen == {
        "max": ({"job_count": "2", "queue_depth": "1"}, 800),
        "mid": ({"job_count": "1", "queue_depth": "4"}, 526),
    }
