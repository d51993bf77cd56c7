"""Every plan that planning makes is sound, and fits its targets again after it was stored; any other is refused."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from drivelab.experiments.load import built_in_names, load_experiment
from drivelab.model.errors import DrivelabError
from drivelab.model.plan import Plan
from drivelab.model.target import TargetFacts
from drivelab.plan.make import make_plan
from drivelab.plan.sound import fitted_again, require_sound

from .conftest import WRITE, MakeExperiment


@pytest.mark.parametrize("name", built_in_names())
def test_what_was_planned_is_sound_and_fits_again(name: str, scratch: TargetFacts) -> None:
    large = replace(scratch, size_bytes=16 * 2**40)
    plan = make_plan(load_experiment(name), [large], seed=1)
    stored = Plan.from_json(plan.to_json())
    require_sound(stored)
    label = plan.targets[0].label
    fitted = fitted_again(stored, {label: large}, {label: {}})
    # the settings are named in the order of the experiment's file there, and in that of the steps here
    changes = [set(one.targets[0].changes.split(", ")) for one in (fitted, plan)]
    assert changes[0] == changes[1]
    assert replace(fitted, targets=()) == replace(plan, targets=())
    assert replace(fitted.targets[0], changes="") == replace(plan.targets[0], changes="")


def test_what_a_drive_loses_is_found_out_anew(experiment: MakeExperiment, disk: TargetFacts) -> None:
    plan = make_plan(experiment(), [disk], seed=1)
    (target,) = plan.targets
    assert target.erase_argument
    lying = replace(plan, targets=(replace(target, destroys=(), erase_argument="", size_bytes=1),))
    assert fitted_again(lying, {target.label: disk}, {target.label: {}}) == plan


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"trial": "../x"}, "'../x' cannot name a trial"),
        ({"trial": "0001-x-r1.failed2"}, "cannot name a trial"),
        ({"target": "other"}, "there is no target 'other'"),
        ({"file_name": "a/b"}, "no name of a file"),
        ({"file_name": "x" * 256}, "no name of a file"),
        ({"number": 7}, "its number is 7"),
        ({"seed": -1}, "its seed is -1"),
        ({"seed": 2**64}, "its seed is"),
        ({"repeat": 2**31}, "its repeat is"),
        ({"levels": {"../x": "y"}}, "there is no factor '../x'"),
        ({"settings": {"scheduler": "../x"}}, "no setting 'scheduler' has the level '../x'"),
        ({"actions": {"burn": "all"}}, "'burn' 'all'"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_step_that_no_plan_has_is_refused(
    experiment: MakeExperiment, scratch: TargetFacts, values: dict[str, Any], words: str
) -> None:
    plan = make_plan(experiment(), [scratch], seed=1)
    changed = replace(plan, steps=(replace(plan.steps[0], **values), *plan.steps[1:]))
    with pytest.raises(DrivelabError) as refusal:
        require_sound(changed)
    assert refusal.value.code == "R422"
    assert words in refusal.value.what


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda plan: replace(plan, steps=()), "it has no steps"),
        (lambda plan: replace(plan, targets=()), "it has no targets"),
        (lambda plan: replace(plan, targets=plan.targets * 2), "do not have a label each"),
    ],
)
def test_a_plan_has_steps_and_targets(
    experiment: MakeExperiment, scratch: TargetFacts, change: Callable[[Plan], Plan], words: str
) -> None:
    with pytest.raises(DrivelabError, match=words):
        require_sound(change(make_plan(experiment(), [scratch], seed=1)))


def test_a_file_is_not_written_over(experiment: MakeExperiment, directory: TargetFacts) -> None:
    plan = make_plan(experiment(), [directory], seed=1)
    label = plan.targets[0].label
    file = replace(directory, kind="file", size_bytes=2**30)
    with pytest.raises(DrivelabError, match="would write over a file that exists"):
        fitted_again(plan, {label: file}, {label: {}})


def test_ten_thousand_steps_are_looked_at_without_delay(experiment: MakeExperiment, directory: TargetFacts) -> None:
    plan = make_plan(
        experiment(workloads=[{**WRITE, "name": f"w{n}"} for n in range(10)], repeats={"full": 1000, "quick": 1}),
        [directory],
        seed=1,
    )
    begin = time.process_time()
    require_sound(plan)
    fitted_again(plan, {plan.targets[0].label: directory}, {plan.targets[0].label: {}})
    assert time.process_time() - begin < 2
