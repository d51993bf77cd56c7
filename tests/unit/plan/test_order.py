"""The order of a plan: complete, blocked, and framed by its reference, whatever the experiment."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from drivelab.experiments.load import load_experiment
from drivelab.model.experiment import Experiment
from drivelab.model.plan import Plan, PlannedStep
from drivelab.model.target import TargetFacts
from drivelab.plan.cells import cells_of
from drivelab.plan.make import make_plan

FILE_SYSTEMS = ["raw", "ext2", "ext3", "ext4", "xfs", "btrfs"]
SCHEDULERS = ["as-found", "none", "mq-deadline", "bfq", "kyber"]
SIZES = ["512", "4KiB", "8KiB", "64KiB"]
WORKLOAD = {"block_size": "4KiB", "count": 10, "durability": "fdatasync", "file_state": "append"}
SCRATCH = TargetFacts("scratch:1GiB", "scratch", "", False, None, (), (), 2**30, 512, False)


def some_of(levels: list[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(levels), unique=True, max_size=len(levels))


@st.composite
def experiments(draw: st.DrawFn) -> Experiment:
    """Any mix of file systems, settings and sizes, in full or one at a time, with and without a reference."""
    factors: list[dict[str, Any]] = []
    for factor, levels in (
        ({"setting": "filesystem"}, draw(some_of(FILE_SYSTEMS))),
        ({"setting": "scheduler"}, draw(some_of(SCHEDULERS))),
        ({"setting": "workload", "key": "block_size"}, draw(some_of(SIZES))),
    ):
        if levels:
            factors.append(factor | {"levels": levels})
    names = draw(st.lists(st.sampled_from("abc"), unique=True, min_size=1))
    document: dict[str, Any] = {
        "format": 1,
        "name": "any",
        "question": "?",
        "repeats": {"full": draw(st.integers(1, 4)), "quick": 1},
        "design": draw(st.sampled_from(["full", "one-at-a-time"])),
        "factors": factors,
        "workloads": [WORKLOAD | {"name": name} for name in names],
    }
    if draw(st.booleans()):
        document["reference"] = {"workload": names[-1]}
    return Experiment.model_validate(document)


def cell_of(step: PlannedStep) -> tuple[str, tuple[tuple[str, str], ...]]:
    return step.workload, tuple(step.levels.items())


def measured(plan: Plan) -> list[PlannedStep]:
    return [step for step in plan.steps if not step.is_reference]


@given(experiments(), st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_every_cell_is_measured_as_often_as_asked_on_every_target(
    experiment: Experiment, seed: int, target_count: int
) -> None:
    plan = make_plan(experiment, [SCRATCH] * target_count, seed=seed)
    cells = {(cell.workload, tuple(cell.levels.items())) for cell in cells_of(experiment, quick=False)}
    found = Counter((step.target, cell_of(step)) for step in measured(plan))
    assert set(found) == {(target.label, cell) for target in plan.targets for cell in cells}
    assert set(found.values()) == {experiment.repeats.full}


@given(experiments(), st.integers(0, 2**32 - 1))
def test_a_block_is_one_repeat_with_every_cell_once(experiment: Experiment, seed: int) -> None:
    plan = make_plan(experiment, [SCRATCH, SCRATCH], seed=seed)
    for _block, steps in groupby(measured(plan), key=lambda step: step.block):
        of_block = list(steps)
        assert len({(step.target, step.repeat) for step in of_block}) == 1
        assert max(Counter(map(cell_of, of_block)).values()) == 1


@given(experiments(), st.integers(0, 2**32 - 1))
def test_within_a_block_file_systems_and_then_settings_stay_together(experiment: Experiment, seed: int) -> None:
    plan = make_plan(experiment, [SCRATCH], seed=seed)
    for _block, steps in groupby(measured(plan), key=lambda step: step.block):
        of_block = list(steps)
        filesystems = [key for key, _ in groupby(step.filesystem for step in of_block)]
        assert len(filesystems) == len(set(filesystems))
        settings = [key for key, _ in groupby((step.filesystem, tuple(step.settings.items())) for step in of_block)]
        assert len(settings) == len(set(settings))


@given(experiments(), st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_a_reference_frames_every_block(experiment: Experiment, seed: int, target_count: int) -> None:
    plan = make_plan(experiment, [SCRATCH] * target_count, seed=seed)
    references = [step for step in plan.steps if step.is_reference]
    if experiment.reference is None:
        assert references == []
        return
    assert len({cell_of(step) for step in references}) == 1
    for target in plan.targets:
        of_target = [step for step in plan.steps if step.target == target.label]
        assert of_target[-1].is_reference
        # in a block of its own target, not in that of whichever came last
        assert of_target[-1].block == of_target[-2].block
        for _block, steps in groupby(of_target[:-1], key=lambda step: step.block):
            first, *others = steps
            assert first.is_reference
            assert others
            assert not any(step.is_reference for step in others)
        numbers = [step.repeat for step in of_target if step.is_reference]
        assert numbers == list(range(1, experiment.repeats.full + 2))


@given(experiments(), st.integers(0, 2**32 - 1))
def test_a_plan_survives_being_stored(experiment: Experiment, seed: int) -> None:
    plan = make_plan(experiment, [SCRATCH], seed=seed)
    assert Plan.from_json(plan.to_json()) == plan


def test_what_watches_for_the_end_of_a_burst_keeps_the_order_of_the_file() -> None:
    for seed in range(8):
        plan = make_plan(load_experiment("burst"), [SCRATCH], seed=seed)
        assert [step.workload for step in plan.steps] == ["bytes", "ios"]
