"""Where the effect of one factor depends on another, in sentences: only what matters, beyond noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from drivelab.model.estimate import Estimate
from drivelab.model.factorial import Factorial, Interaction
from drivelab.model.level_words import level_text
from drivelab.model.run_answer import RunAnswer
from drivelab.report.parts_of_text import capitalised
from drivelab.report.sentences.effect_words import ratio_change

# of one workload on one target, and levels in each; the table has all
SENTENCES_MAX = 3
LEVELS_TOLD = 4


def interaction_sentences(answer: RunAnswer) -> tuple[str, ...]:
    """The interactions that matter, the largest first.

    Parameters
    ----------
    answer : RunAnswer
        Of a full design; a one-at-a-time design has none.
    """
    has_several = len({(one.target, one.workload) for one in answer.factorials}) > 1
    labels = {one.workload: one.label for one in answer.combinations}
    judged = {(one.target, one.workload): one.judged_metric for one in answer.combinations}
    found: list[str] = []
    for one in answer.factorials:
        if one.metric != judged.get((one.target, one.workload), one.metric):
            continue
        where = f"{labels.get(one.workload, one.workload)} on {one.target}: " if has_several else ""
        found += [f"{where}{text}." for text in _of_factorial(one)]
    return tuple(capitalised(text) for text in found)


def _of_factorial(one: Factorial) -> Iterator[str]:
    groups: dict[tuple[str, str, str], list[Interaction]] = {}
    for pair in one.interactions:
        if pair.verdict == "matters":
            groups.setdefault((pair.factor, pair.level, pair.other_factor), []).append(pair)
    largest = sorted(groups.values(), key=lambda pairs: -max(map(_size, pairs)))
    for pairs in largest[:SENTENCES_MAX]:
        yield _depends(pairs, one)


def _size(pair: Interaction) -> float:
    return abs(math.log(pair.ratio.value or 1.0))


def _depends(pairs: Sequence[Interaction], one: Factorial) -> str:
    """``what write-cache off does depends on filesystem: 9.2 times as fast with raw, but 2 % slower with ext4``."""
    first = pairs[0]
    effect = f"{first.factor} {level_text(first.factor, first.level)}"
    baseline = level_text(first.factor, first.baseline)
    told = [_at(first.other_factor, first.other_baseline, first.at_other_baseline, one)]
    told += [_at(pair.other_factor, pair.other_level, pair.at_other_level, one) for pair in pairs[:LEVELS_TOLD]]
    more = f" and {len(pairs) - LEVELS_TOLD} more" if len(pairs) > LEVELS_TOLD else ""
    others = ", ".join(told[1:])
    return f"what {effect} does against {baseline} depends on {first.other_factor}: {told[0]}, but {others}{more}"


def _at(factor: str, level: str, ratio: Estimate, one: Factorial) -> str:
    return f"{ratio_change(ratio, is_more_slower=one.is_more_slower)} with {level_text(factor, level)}"
