"""An experiment with phases becomes a plan in their order, and what could not be carried out is refused."""

from __future__ import annotations

from typing import Any

import pytest

from drivelab.experiments.load import parse_experiment
from drivelab.model.errors import DrivelabError
from drivelab.model.plan import Plan
from drivelab.model.target import TargetFacts
from drivelab.plan.make import make_plan
from drivelab.plan.narrow import narrowed
from drivelab.plan.sound import fitted_again

WORKLOADS = [
    {"name": "fill", "capacities": 2, "direct": True},
    {"name": "before", "runtime": "1s", "direct": True},
    {"name": "mix", "read_fraction": 0.5, "runtime": "1s", "direct": True},
]
FACTORS = [
    {"setting": "workload", "key": "read_fraction", "levels": [1.0, 0.0], "workloads": ["mix"]},
    {"setting": "workload", "key": "block_size", "levels": ["64KiB", "4KiB"], "workloads": ["mix"]},
]
TRACK = {"workload": "mix", "levels": {"read_fraction": 0.0, "block_size": "4KiB"}}
PHASES = [
    {"name": "fill", "workloads": ["fill"]},
    {"name": "rounds", "workloads": ["before", "mix"], "rounds": 3, "quick_rounds": 2, "track": [TRACK]},
]


def test_workloads_follow_each_other_and_the_first_factor_is_outermost(experiment: Any, scratch: TargetFacts) -> None:
    asked = experiment(workloads=WORKLOADS, factors=FACTORS, phases=PHASES)
    plan = make_plan(asked, [scratch], seed=1)
    one_round = ["before", *(f"mix {mix} {size}" for mix in ("1.0", "0.0") for size in ("64KiB", "4KiB"))]
    assert [" ".join([step.workload, *step.levels.values()]) for step in plan.steps] == ["fill", *(3 * one_round)]
    assert [(step.phase, step.round) for step in plan.steps][::5] == [("fill", 1), *(("rounds", n) for n in (1, 2, 3))]
    assert len(make_plan(asked, [scratch], seed=1, quick=True).steps) == 1 + 2 * 5
    # what is tracked is the last of a round
    (tracked,) = plan.phases[1].track
    assert [tracked.is_of(step.workload, step.levels) for step in plan.steps[1:6]] == [False] * 4 + [True]
    assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"phases": [{"name": "a", "workloads": ["fill", "mix"]}]}, "no phase has before: it would never be measured"),
        ({"phases": [*PHASES, PHASES[0]]}, "there are two of the phase fill"),
        ({"phases": [PHASES[0], {**PHASES[1], "workloads": ["none"]}]}, "there is no workload none"),
        (
            {"phases": [PHASES[0], {**PHASES[1], "track": [{"workload": "mix", "levels": {"read_fraction": 0.0}}]}]},
            "name the level of block_size, one of 64KiB, 4KiB",
        ),
        (
            {"phases": [PHASES[0], {**PHASES[1], "track": [{"workload": "fill"}]}]},
            "phase rounds has no workload fill",
        ),
        ({"design": "one-at-a-time"}, "phases have every combination of their factors"),
        (
            {"phases": [], "workloads": [WORKLOADS[2], WORKLOADS[0] | {"point": {"of": "mix", "which": "max"}}]},
            "only an experiment with phases can choose a point",
        ),
    ],
)  # fmt: skip
def test_phases_that_could_not_be_carried_out_are_refused(experiment: Any, changed: dict[str, Any], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        experiment(**{"workloads": WORKLOADS, "factors": FACTORS, "phases": PHASES} | changed)


def test_a_mistake_in_a_phase_is_told_with_its_line() -> None:
    text = 'format = 1\nname = "x"\nquestion = "?"\n[[workloads]]\nname = "w"\ncount = 1\n[[phases]]\nname = "p"\n'
    with pytest.raises(DrivelabError) as refused:
        parse_experiment(text + 'workloads = ["v"]\n', "own.toml")
    assert (refused.value.code, refused.value.where) == ("P703", "own.toml:9")


def test_rounds_have_no_repeats(experiment: Any) -> None:
    with pytest.raises(DrivelabError, match="goes on in rounds until it is steady, and has no repeats") as refused:
        narrowed(experiment(workloads=WORKLOADS, factors=FACTORS, phases=PHASES), repeats=3)
    assert refused.value.code == "P712"


def test_what_is_written_twice_over_may_be_gone_on_with(experiment: Any, scratch: TargetFacts) -> None:
    plan = make_plan(experiment(workloads=WORKLOADS, factors=FACTORS, phases=PHASES), [scratch], seed=1)
    assert plan.steps[0].pattern.bytes == 2 * scratch.size_bytes
    target = plan.targets[0].label
    assert fitted_again(plan, {target: scratch}, {target: {}}).steps == plan.steps
