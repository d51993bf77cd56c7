"""Several targets of one run beside each other: which is best, by how much, and whether that is more than noise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from drivelab.model.names import names_in_words
from drivelab.model.operations_apart import plural
from drivelab.model.result_set import Observation, ResultSet
from drivelab.model.run_answer import CombinationResult, RunAnswer
from drivelab.report.combination_labels import own_factors
from drivelab.report.numerals import number_text
from drivelab.report.parts_of_text import in_any_of
from drivelab.report.sentences.contest import DIFFERS_FROM, Contest, ratio_of, without_chance
from drivelab.report.sentences.several_drives import (
    TIMES_FROM,
    change_text,
    contests,
    goodness,
    number_alone,
    shortened,
)

_TOLD_TOGETHER_FROM = 2
_NAMES_MAX = 3
_TOLD_RIVALS = 2
_ALIKE_PERCENT = round(100 * (DIFFERS_FROM - 1))


def target_sentences(answer: RunAnswer, metric: str = "") -> Iterator[str]:
    """What the targets of a run come to beside each other, a sentence for each workload; nothing of a single target.

    Parameters
    ----------
    answer : RunAnswer
        What the run came to.
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
    alike = {title: members for title, members in by_title.items() if _is_undecided(members)}
    # what is the same of several workloads is said once
    if len(alike) < _TOLD_TOGETHER_FROM:
        alike = {}
    for title, members in by_title.items():
        if title not in alike:
            yield f"{_told(members, _in_sentence(title))}{_left_out(members)}."
    if alike:
        yield _undecided(list(alike.values()), [_in_sentence(title) for title in alike], len(by_title))


def _in_sentence(title: str) -> str:
    return f"{title[:1].lower()}{title[1:]}"


def _is_undecided(members: Sequence[Contest]) -> bool:
    """Whether repeats tell that nothing can be told, and every drive takes part."""
    return all(one.is_beyond_noise is False and not one.left_out for one in members)


def _undecided(groups: Sequence[Sequence[Contest]], titles: Sequence[str], count: int) -> str:
    """``A and B cannot be told apart by 2 repeats in any of 5 workloads``; of some of them their names."""
    names = sorted({shortened(drive) for members in groups for one in members for (drive, _), _ in one.ranked})
    pair = " and ".join(names) if len(names) == 2 else "The drives"
    where = in_any_of(count, "workload") if len(groups) == count else f"at {_listed(titles)}"
    every = list(chain.from_iterable(groups))
    looked = sum(one.is_chance for one in every)
    chance = f"; {looked} of {len(every)} numbers {'lies' if looked == 1 else 'lie'} apart, as chance has it"
    return f"{pair} cannot be told apart {_by_repeats(every)} {where}{chance if looked else ''}."


def _listed(titles: Sequence[str]) -> str:
    if len(titles) > _NAMES_MAX:
        return f"{titles[0]} and {len(titles) - 1} other workloads"
    return names_in_words(titles)


def _by_repeats(members: Sequence[Contest]) -> str:
    repeats = max(one.trial_count for contest in members for _, one in contest.ranked)
    return f"by {repeats} repeats" if repeats > 1 else "by one repeat each"


def _told(members: Sequence[Contest], title: str) -> str:
    beyond = [one for one in members if one.is_beyond_noise and not one.is_alike]
    firsts = Counter(_first(one) for one in beyond or members)
    leader, _ = firsts.most_common(1)[0]
    shown = min((one for one in beyond or members if _first(one) == leader), key=goodness)
    (_, best), (other, second), *_ = shown.ranked
    numbers = f"{number_alone(best)} against {names_in_words([number_alone(one) for one in _others(shown).values()])}"
    count = len(members)
    if beyond:
        ours = [one for one in beyond if _first(one) == leader]
        against = [f"{name} in {times}" for name, times in firsts.items() if name != leader]
        rivals = f", {', '.join(against)}" if against else ""
        apart = _apart_words(members)
        ahead = f"{leader} is {_ahead_of(ours, shown)} at {title}"
        if count == 1:
            return f"{ahead}, {numbers}; {apart}"
        where = f"{len(ours)} of {count}"
        if len(ours) == count:
            where = "both" if count == 2 else f"all {count}"
        return f"{ahead}; {apart} in {where} combinations{rivals}"
    if all(one.is_alike and one.is_beyond_noise is not False for one in members):
        told = f", {numbers}" if count == 1 else f" in all {count} combinations"
        return f"{leader} and {other[0]} are alike at {title}{told}; they differ by less than {_ALIKE_PERCENT}\u00a0%"
    if all(one.is_beyond_noise is None for one in members):
        seen = f"{leader} looked {change_text(best, second)} {other[0]} at {title}, {numbers}"
        return f"{seen}; with one repeat each that may be chance"
    # the numbers of one combination of several would be those of another order than the next one's
    told = f", {numbers}" if count == 1 else f" {in_any_of(count, 'combination')}"
    return f"{leader} and {other[0]} cannot be told apart {_by_repeats(members)} at {title}{told}"


def _apart_words(members: Sequence[Contest]) -> str:
    """What the two are apart by: single repeats have no scatter but that of their own I/Os."""
    is_repeated = all(one.trial_count > 1 for contest in members for _, one in contest.ranked)
    return "beyond the scatter" if is_repeated else "the intervals of single repeats lie apart"


def _others(contest: Contest) -> dict[str, Observation]:
    """Whom the first is told beside: the others, of many the second and the last."""
    _, *others = contest.ranked
    return {drive: one for (drive, _), one in (others if len(others) <= _TOLD_RIVALS else [others[0], others[-1]])}


def _ahead_of(members: Sequence[Contest], shown: Contest) -> str:
    """``1.6 to 13 times as fast as Beta and 20 to 30 % faster than Gamma``, over several combinations."""
    told = []
    for rival in _others(shown):
        ratios = [ratio_of(one.ranked[0][1], of[rival]) for one in members for of in [_by_drive(one)] if rival in of]
        is_times = max(ratios) >= TIMES_FROM
        ends = [number_text(one, 2) if is_times else f"{100 * (one - 1):.0f}" for one in (min(ratios), max(ratios))]
        change = "times as fast as" if is_times else "% faster than"
        told.append(f"{' to '.join(dict.fromkeys(ends))} {change} {shortened(rival)}")
    return names_in_words(told)


def _by_drive(contest: Contest) -> dict[str, Observation]:
    return {drive: one for (drive, _), one in contest.ranked[1:]}


def _first(contest: Contest) -> str:
    return shortened(contest.ranked[0][0][0])


def _left_out(members: Sequence[Contest]) -> str:
    names = dict.fromkeys(shortened(drive) for one in members for drive, _ in one.left_out)
    return f"; left out, because trials do not describe the drive: {', '.join(names)}" if names else ""


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
