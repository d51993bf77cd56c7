"""An experiment is narrowed to levels and repeats, and what there is not is refused with what there is."""

from __future__ import annotations

import pytest

from drivelab.experiments.load import built_in_names, load_experiment
from drivelab.model.errors import DrivelabError
from drivelab.model.experiment import Experiment
from drivelab.model.target import TargetFacts
from drivelab.plan.make import make_plan
from drivelab.plan.narrow import narrowed

from .conftest import MakeExperiment

FILE_SYSTEMS = {"setting": "filesystem", "levels": ["ext4", "raw", "xfs"]}
SIZES = {"setting": "workload", "key": "block_size", "levels": ["4KiB", "8KiB"], "quick_levels": ["8KiB", "1MiB"]}
CACHES = {"setting": "write-cache", "levels": ["on", "off"]}


def levels_of(experiment: Experiment) -> dict[str, list[str]]:
    return {one.name: [one.name_of(level) for level in one.levels_at(quick=False)] for one in experiment.factors}


def test_only_the_levels_that_are_named_stay_in_the_order_of_the_file(experiment: MakeExperiment) -> None:
    asked = experiment(factors=[FILE_SYSTEMS, CACHES])
    narrow, told = narrowed(asked, only=["filesystem=xfs", "filesystem=ext4", "write-cache=off"])
    assert levels_of(narrow) == {"filesystem": ["ext4", "xfs"], "write-cache": ["off"]}
    assert told == ("only filesystem xfs, ext4, as asked", "only write-cache off, as asked")
    assert narrowed(asked, only=["filesystem=xfs", "write_cache=off"]) == narrowed(
        asked, only=["filesystem=xfs", "write-cache=off"]
    )
    sizes = experiment(factors=[SIZES])
    assert narrowed(sizes, only=["block-size=4KiB"]) == narrowed(sizes, only=["block_size=4KiB"])


def test_nothing_asked_changes_nothing(experiment: MakeExperiment) -> None:
    asked = experiment(factors=[FILE_SYSTEMS])
    assert narrowed(asked) == (asked, ())


def test_a_level_of_the_quick_form_can_be_kept_in_both(experiment: MakeExperiment, scratch: TargetFacts) -> None:
    for quick in (False, True):
        for level in ("4KiB", "1MiB"):
            narrow, _told = narrowed(experiment(factors=[SIZES]), only=[f"block_size={level}"])
            plan = make_plan(narrow, [scratch], seed=1, quick=quick)
            assert {step.levels["block_size"] for step in plan.steps} == {level}


def test_levels_that_other_workloads_have_of_a_factor_stay_as_they_are(experiment: MakeExperiment) -> None:
    workloads = [{"name": name, "count": 1} for name in ("cold", "warm")]
    factors = [
        {"setting": "page-cache", "levels": [level], "workloads": [name]}
        for name, level in (("cold", "drop"), ("warm", "warm"))
    ]
    asked = experiment(factors=factors, workloads=workloads)
    narrow, _told = narrowed(asked, only=["page-cache=drop"])
    assert [factor.levels for factor in narrow.factors] == [("drop",), ("warm",)]
    with pytest.raises(DrivelabError, match="it has drop, warm"):
        narrowed(asked, only=["page-cache=keep"])


def test_repeats_are_overridden_in_both_forms(experiment: MakeExperiment, scratch: TargetFacts) -> None:
    narrow, told = narrowed(experiment(), repeats=7)
    assert told == ("7 repeats, as asked",)
    for quick in (False, True):
        assert max(step.repeat for step in make_plan(narrow, [scratch], seed=1, quick=quick).steps) == 7


def test_a_reference_stands_at_a_level_that_is_kept(experiment: MakeExperiment) -> None:
    reference = {"workload": "w", "levels": {"filesystem": "raw", "write-cache": "on"}}
    narrow, _told = narrowed(experiment(factors=[FILE_SYSTEMS, CACHES], reference=reference), only=["write-cache=off"])
    assert narrow.reference is not None
    assert narrow.reference.levels == {"filesystem": "raw"}


@pytest.mark.parametrize("name", built_in_names())
def test_every_single_level_of_the_built_in_experiments_can_be_kept(name: str) -> None:
    asked = load_experiment(name)
    for place, factor in enumerate(asked.factors):
        # what goes on until it is steady keeps the combination that tells
        tracked = {
            str(one.levels[factor.name]) for phase in asked.phases for one in phase.track if factor.name in one.levels
        }
        for level in factor.levels:
            written = factor.name_of(level)
            if tracked and tracked != {written}:
                with pytest.raises(DrivelabError, match="one combination is tracked") as refusal:
                    narrowed(asked, only=[f"{factor.name}={written}"])
                assert refusal.value.code == "P712"
                continue
            narrow, _told = narrowed(asked, only=[f"{factor.name}={written}"])
            assert [factor.name_of(one) for one in narrow.factors[place].levels] == [written]


@pytest.mark.provokes("P712")
@pytest.mark.parametrize(
    ("only", "what", "do"),
    [
        ("filesytem=xfs", "x has no factor filesytem; it has filesystem, block_size", "did you mean filesystem?"),
        ("filesystem=xsf", "filesystem of x has no level xsf; it has ext4, raw, xfs", "did you mean xfs?"),
        ("block_size=16KiB", "block_size of x has no level 16KiB; it has 4KiB, 8KiB, 1MiB", ""),
        ("filesystem", "'filesystem' names no level", "write --only FACTOR=LEVEL"),
        ("filesystem=", "'filesystem=' names no level", "write --only FACTOR=LEVEL"),
    ],
)
def test_what_there_is_not_is_refused_with_what_there_is(
    experiment: MakeExperiment, only: str, what: str, do: str
) -> None:
    with pytest.raises(DrivelabError) as refusal:
        narrowed(experiment(factors=[FILE_SYSTEMS, SIZES]), only=[only])
    assert (refusal.value.code, refusal.value.exit_code) == ("P712", 2)
    assert refusal.value.what == what
    assert do in refusal.value.do


@pytest.mark.provokes("P712")
def test_what_leaves_a_factor_unmeasured_is_refused(experiment: MakeExperiment) -> None:
    factors = [FILE_SYSTEMS, {"setting": "mount", "levels": ["discard"]}]
    with pytest.raises(DrivelabError, match="would never be measured") as refusal:
        narrowed(experiment(factors=factors, design="one-at-a-time"), only=["filesystem=raw"])
    assert refusal.value.code == "P712"
