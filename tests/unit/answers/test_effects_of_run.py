"""The ratios of a run, and the medians beside them: both are of the same trials."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from drivelab.analyse.run_answer import RunTrial, run_answer
from drivelab.answers.run_answer import SHOWN_METRICS, experiment_order, trials_of_run
from drivelab.model.judged_metric import LATENCY
from drivelab.model.run_answer import CombinationResult, LevelEffect, RunAnswer
from golden_reports import RUNS, golden_answer, golden_run

WITH_EFFECTS = (
    "explained-appends",
    "fill-level-drive",
    "queue-depth-grid",
    "settings-scan-drive",
    "ssd-latency-scratch",
    "write-size-two-drives",
)


def levels_beside(one: CombinationResult, effect: LevelEffect) -> tuple[object, ...]:
    others = [level for name, level in one.levels.items() if name != effect.factor]
    return (one.target, one.workload, one.levels.get(effect.factor), *others)


def quotients(effect: LevelEffect, answer: RunAnswer) -> tuple[float, float]:
    """The least and the greatest ratio that the lowest and the highest of the repeats allow."""
    shown = {levels_beside(one, effect): one.metrics[effect.metric] for one in answer.combinations}
    pairs = []
    for key, level in shown.items():
        baseline = shown.get((effect.target, effect.workload, effect.baseline, *key[3:]))
        if key[:3] == (effect.target, effect.workload, effect.level) and baseline is not None:
            pairs.append((level.lowest / baseline.highest, level.highest / baseline.lowest))
    assert pairs
    return min(low for low, _ in pairs), max(high for _, high in pairs)


def of_scan(change: Callable[[RunTrial], RunTrial | None]) -> RunAnswer:
    """The answer of the golden scan of settings with other trials; those that come to None are left out."""
    run = golden_run("settings-scan-drive")
    trials, units = trials_of_run(run, SHOWN_METRICS)
    changed = [other for one in trials if (other := change(one)) is not None]
    return run_answer(changed, experiment_order(run.record.experiment, run.record.targets), units, with_effects=True)


def slower(one: RunTrial) -> RunTrial:
    """A reference six times as slow, any other trial as it is."""
    slow = {name: value and 6 * value for name, value in one.values.items()}
    return replace(one, values=slow) if one.is_reference else one


def is_baseline(one: RunTrial) -> bool:
    return not one.is_reference and set(one.levels.values()) == {"as-found"}


def baseline_of(answer: RunAnswer) -> CombinationResult:
    (found,) = (one for one in answer.combinations if set(one.levels.values()) == {"as-found"})
    return found


def assert_follows(answer: RunAnswer) -> None:
    """Every ratio lies between the quotients of the lowest and the highest in the table."""
    for effect in answer.effects or answer.contrasts:
        low, high = quotients(effect, answer)
        assert effect.ratio.value is not None
        for ratio in (effect.ratio.value, *effect.block_ratios):
            assert low * (1 - 1e-9) <= ratio <= high * (1 + 1e-9)


@pytest.mark.parametrize("name", WITH_EFFECTS)
def test_every_ratio_follows_from_the_medians_in_the_table(name: str) -> None:
    answer = golden_answer(name)
    assert answer.effects or answer.contrasts
    assert_follows(answer)


def test_every_golden_run_with_effects_is_among_them() -> None:
    answers = {path.name: golden_answer(path.name) for path in RUNS.iterdir()}
    assert {name for name, one in answers.items() if one.effects or one.contrasts} == set(WITH_EFFECTS)


def test_a_reference_that_is_much_slower_changes_no_ratio() -> None:
    steady, slow = of_scan(lambda one: one), of_scan(slower)
    assert slow.effects == steady.effects
    assert_follows(slow)
    # once in each block: baseline and level
    assert {effect.trial_count for effect in slow.effects} == {2 * baseline_of(slow).trial_count} == {10}


def test_a_reference_stands_in_for_a_baseline_that_a_block_lacks_in_table_and_ratio() -> None:
    answer = of_scan(lambda one: None if is_baseline(one) and one.block == 2 else slower(one))
    assert_follows(answer)
    (refused, *_) = (effect for effect in answer.effects if effect.refused_for)
    assert refused.blocks == (1, 2, 3, 4, 5)
    # the level changed nothing, and the reference was six times as slow
    assert refused.block_ratios[1] == pytest.approx(1 / 6, rel=0.1)
    baseline = baseline_of(answer)
    assert baseline.trial_count == 5
    assert baseline.metrics[LATENCY].highest > 5 * baseline.metrics[LATENCY].median
    assert answer.trial_count == 24


def test_an_invalid_reference_stands_in_for_nothing() -> None:
    def changed(one: RunTrial) -> RunTrial | None:
        return None if is_baseline(one) and one.block == 2 else replace(one, is_invalid=one.is_reference)

    answer = of_scan(changed)
    assert {len(effect.block_ratios) for effect in answer.effects} == {4}
    assert (baseline_of(answer).trial_count, baseline_of(answer).invalid_trials) == (4, 0)


def test_a_block_that_went_on_in_another_session_is_held_against_the_reference_there() -> None:
    def resumed(one: RunTrial) -> RunTrial:
        is_later = one.block > 2 or (one.block == 2 and not one.is_reference and not is_baseline(one))
        return replace(one, session=2) if is_later else one

    assert {effect.blocks for effect in of_scan(resumed).effects} == {(1, 3, 4, 5)}
    trials, _ = trials_of_run(golden_run("settings-scan-drive"), SHOWN_METRICS)
    reference = next(one for one in trials if one.is_reference and one.block == 2)
    again = replace(reference, name="again", session=2)
    with_reference = run_answer(
        [*map(resumed, trials), again],
        experiment_order(golden_run("settings-scan-drive").record.experiment),
        trials_of_run(golden_run("settings-scan-drive"), SHOWN_METRICS)[1],
        with_effects=True,
    )
    assert {len(effect.block_ratios) for effect in with_reference.effects} == {5}
    assert_follows(with_reference)
    assert "again" in baseline_of(with_reference).trials
