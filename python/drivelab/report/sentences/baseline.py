"""What one operation costs at the baseline of a scan, and which levels look better without being settled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import comb

from drivelab.model.level_words import levels_phrase
from drivelab.model.metric import metric_of
from drivelab.model.names import names_in_words
from drivelab.model.run_answer import CombinationResult, LevelEffect, RunAnswer
from drivelab.report.numerals import value_writer
from drivelab.report.parts_of_text import capitalised
from drivelab.report.sentences.contest import DIFFERS_FROM, times_apart

_NAMED_MAX = 3
# of chance alone the repeats of two equal levels lie apart once in so many scans, on the one side
_ORDERS_MIN = 10


def with_baseline(answer: RunAnswer, told: Sequence[str]) -> tuple[str, ...]:
    """What the levels of a scan do, with what its baseline costs ahead, unless the first sentence has that number.

    Parameters
    ----------
    answer : RunAnswer
        Nothing is added where several factors were changed at a time, nor of several targets or workloads.
    told : sequence of str
        The sentences of `effects_in_short`.
    """
    effects = answer.effects or answer.contrasts
    rows = [one for one in answer.combinations if one.judged_metric in one.metrics and not one.invalid_trials]
    varied = {name for one in rows for name in one.levels}
    firsts = {effect.factor: effect.baseline for effect in effects if effect.factor in varied}
    changed = [sum(one.levels.get(name, level) != level for name, level in firsts.items()) for one in rows]
    is_one_at_a_time = len(firsts) > 1 and changed.count(0) == 1 and max(changed) == 1
    if not is_one_at_a_time or len({(one.target, one.workload) for one in rows}) > 1:
        return tuple(told)
    baseline = rows[changed.index(0)]
    value = value_writer(baseline.judged_metric)(_median(baseline))
    if told and value in told[0]:
        return tuple(told)
    label = capitalised(baseline.label)
    levels = levels_phrase(baseline.levels)
    lead = f"{label}: {value} {f'with {levels}' if levels else 'with everything as found'}"
    if told and told[0].startswith(f"{label}: "):
        return (f"{lead}; {told[0].removeprefix(f'{label}: ')}", *told[1:])
    apart = "".join(f"; {words}" for words in _apart(baseline, rows, effects))
    return (f"{lead}{apart}.", *told)


def _apart(
    baseline: CombinationResult, rows: Sequence[CombinationResult], effects: Sequence[LevelEffect]
) -> Iterator[str]:
    """``raw (238 us) and xfs (520 us) were faster in every repeat, which is not settled``."""
    metric = baseline.judged_metric
    found = []
    for effect in effects:
        here = {**baseline.levels, effect.factor: effect.level}
        row = next((one for one in rows if one.levels == here), None)
        is_open = effect.verdict == "not settled" and not effect.is_unchanged
        if row is not None and is_open and _is_better_in_every_repeat(row, baseline):
            found.append(
                (times_apart(_median(row), _median(baseline)), levels_phrase({effect.factor: effect.level}), row)
            )
    best = sorted(found, key=lambda one: one[0], reverse=True)[:_NAMED_MAX]
    named = [f"{words} ({value_writer(metric)(_median(row))})" for _, words, row in best]
    if named:
        verb = "was" if len(named) == 1 else "were"
        yield f"{names_in_words(named)} {verb} faster in every repeat, which is not settled"


def _is_better_in_every_repeat(row: CombinationResult, baseline: CombinationResult) -> bool:
    mine, its = row.metrics[baseline.judged_metric], baseline.metrics[baseline.judged_metric]
    is_low = metric_of(baseline.judged_metric).better == "low"
    is_apart = mine.highest < its.lowest if is_low else mine.lowest > its.highest
    orders = comb(row.trial_count + baseline.trial_count, row.trial_count)
    return is_apart and orders >= _ORDERS_MIN and times_apart(mine.median, its.median) >= DIFFERS_FROM


def _median(one: CombinationResult) -> float:
    return one.metrics[one.judged_metric].median
