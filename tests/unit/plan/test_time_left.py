"""The time left is fitted to the steps that are done."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest

from drivelab.plan.time_left import AwaitedStep, TimeLeft
from unit.plan.recorded_steps import RECORDED

S = 10**9
Steps = Sequence[tuple[AwaitedStep, int]]


def recorded(planned_s: float, taken_s: float) -> Steps:
    """The recorded steps, stretched to a run that was planned with one time and took another."""
    planned, taken = (sum(step[place] for step in RECORDED) for place in (2, 3))
    return [
        (
            AwaitedStep(workload, f"{workload} on {filesystem}", round(plan * S * planned_s / planned)),
            round(took * S * taken_s / taken),
        )
        for workload, filesystem, plan, took in RECORDED
    ]


def even(count: int, planned_ns: int, taken_ns: int, kind: str = "a") -> Steps:
    return [(AwaitedStep(kind, kind, planned_ns), taken_ns)] * count


def looks(steps: Steps, every_ns: int = S) -> list[tuple[int, int]]:
    """When somebody looked, and how much was said to be left."""
    left = TimeLeft([step for step, _ in steps])
    told, now_ns, next_ns = [], 0, 0
    for step, took_ns in steps:
        while next_ns < now_ns + took_ns:
            told.append((next_ns, left.left_ns(step, next_ns - now_ns)))
            next_ns += every_ns
        now_ns += took_ns
        left.done(step, took_ns)
    assert left.left_ns() == 0
    return told


def rising_share(told: Sequence[tuple[int, int]]) -> float:
    """How often more was left than at the look before, by half a second at least."""
    return sum(later > earlier + S / 2 for (_, earlier), (_, later) in pairwise(told)) / len(told)


def test_before_anything_is_done_the_plan_is_believed() -> None:
    steps = recorded(47, 181)
    assert TimeLeft([step for step, _ in steps]).left_ns() == pytest.approx(47 * S)
    assert TimeLeft([]).left_ns() == 0


@pytest.mark.parametrize(("planned_s", "taken_s"), [(47, 181), (47, 47), (181, 47), (40, 90)])
def test_it_rises_for_no_more_than_a_fifth_of_a_run(planned_s: float, taken_s: float) -> None:
    told = looks(recorded(planned_s, taken_s))
    assert rising_share(told) <= 0.2
    assert max(when + left for when, left in told) < 2 * max(planned_s, taken_s) * S, "nothing wild at the beginning"


@pytest.mark.parametrize(("planned_s", "taken_s"), [(47, 181), (47, 47), (181, 47)])
def test_the_end_is_told_within_a_tenth_of_the_run(planned_s: float, taken_s: float) -> None:
    for when, left in looks(recorded(planned_s, taken_s)):
        if when > 0.85 * taken_s * S:
            assert abs(when + left - taken_s * S) < 0.1 * taken_s * S


@pytest.mark.parametrize("seed", range(5))
def test_where_nothing_settles_down_a_half_tells_of_the_other(seed: int) -> None:
    steps = list(recorded(47, 181))
    random.Random(seed).shuffle(steps)
    told = looks(steps)
    assert rising_share(told) <= 0.2
    errors = [abs(when + left - 181 * S) for when, left in told[len(told) // 2 :]]
    assert sum(errors) / len(errors) < 0.15 * 181 * S


def test_steps_that_are_all_longer_by_a_factor_are_soon_known_to_be() -> None:
    for when, left in looks(even(20, S, 4 * S))[20:]:
        assert when + left == pytest.approx(80 * S, rel=0.1)


def test_each_workload_has_its_own_factor() -> None:
    slow, quick = even(6, S, 10 * S, "slow"), even(6, S, S // 10, "quick")
    mixed = [step for pair in zip(slow, quick, strict=True) for step in pair]
    left = TimeLeft([step for step, _ in mixed])
    for step, took_ns in mixed[:8]:
        left.done(step, took_ns)
    assert left.left_ns() == pytest.approx(20.2 * S, rel=0.2)


def test_a_short_step_that_took_long_tells_little_of_a_long_one() -> None:
    short, long = AwaitedStep("short", "short", S // 10), AwaitedStep("long", "long", 600 * S)
    left = TimeLeft([short, long])
    left.done(short, 4 * S)
    assert left.left_ns() < 610 * S


def test_a_step_that_takes_longer_than_it_may_does_not_make_the_rest_longer_meanwhile() -> None:
    step, other = AwaitedStep("a", "a", S), AwaitedStep("a", "a", 2 * S)
    left = TimeLeft([step, other])
    assert left.left_ns(step, 10 * S) == left.left_ns(step, 99 * S) == 2 * S


def test_a_step_tells_of_itself_by_how_far_it_is() -> None:
    unplanned = AwaitedStep("a", "a", 0)
    assert TimeLeft([unplanned]).left_ns(unplanned, 10 * S, 0.25) == 30 * S
    planned = AwaitedStep("a", "a", 10 * S)
    assert TimeLeft([planned]).left_ns(planned, 30 * S, 0.5) == 30 * S
