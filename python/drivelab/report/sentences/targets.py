"""Several targets of one run beside each other: which is best, by how much, and whether that is more than noise."""

from __future__ import annotations

from collections.abc import Iterator

from drivelab.model.operations_apart import plural
from drivelab.model.result_set import Observation, ResultSet
from drivelab.model.run_answer import CombinationResult, RunAnswer
from drivelab.report.combination_labels import own_factors
from drivelab.report.parts_of_text import FIRST_WORDS_MAX, name_in, word_count
from drivelab.report.sentences.ahead import ahead_sentences
from drivelab.report.sentences.contest import Contest, without_chance
from drivelab.report.sentences.contests import contests
from drivelab.report.sentences.drive_names import DriveNames


def target_sentences(answer: RunAnswer, metric: str = "") -> Iterator[str]:
    """What the targets of a run come to beside each other, a sentence for each workload; nothing of a single target.

    Parameters
    ----------
    metric : str, optional
        What they are compared by; left out, what each workload is judged by.
    """
    if len({one.target for one in answer.rows}) < 2:
        return
    known = [(one, metric or one.judged_metric) for one in answer.rows]
    own = own_factors(answer.rows)
    observations = tuple(_observation(one, name, own) for one, name in known if name in one.metrics)
    by_title: dict[str, list[Contest]] = {}
    for contest in without_chance([*contests((ResultSet("", "", "", "", observations=observations),))]):
        by_title.setdefault(contest.title, []).append(contest)
    for sentence in ahead_sentences(list(by_title.items()), DriveNames()):
        # of the only workload of a run its name is known, and how sure it is weighs more
        is_long = len(by_title) == 1 and word_count((sentence,)) > FIRST_WORDS_MAX
        yield sentence.replace(f" at {name_in(next(iter(by_title)))}", "", 1) if is_long else sentence


def _observation(one: CombinationResult, metric: str, left_out: set[str]) -> Observation:
    found = one.metrics[metric]
    return Observation(
        drive=one.target,
        machine="",
        workload=one.workload,
        title=f"{one.label or one.workload}{f', {plural(one.operation)}' if one.operation else ''}",
        operation=one.operation,
        metric=metric,
        estimate=found.estimate,
        levels={name: level for name, level in one.levels.items() if name not in left_out},
        is_durable=one.is_durable,
        trial_count=one.trial_count,
        invalid_trials=one.invalid_trials,
        is_judged=True,
    )
