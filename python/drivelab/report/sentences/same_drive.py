"""Several runs of one drive: they are no two drives, and what they gave is told side by side."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from drivelab.model.apart import RUNS_MIN
from drivelab.model.names import names_in_words, of_all
from drivelab.model.result_set import SIMULATED, Observation
from drivelab.report.parts_of_text import FIRST_WORDS_MAX, name_in
from drivelab.report.sentences.contest import (
    ONE_RUN_EACH,
    Contest,
    Subject,
    Workload,
    durable_first,
    observations_apart,
    ratio_of,
)
from drivelab.report.sentences.drive_names import DriveNames, DriveOfRun
from drivelab.report.sentences.observed_number import number_alone, number_with_ends

_RUNS_NAMED_MAX = 2
_COUNTS = {2: "Two", 3: "Three"}


def one_drive_sentences(groups: Sequence[Workload], names: DriveNames) -> Iterator[str]:
    """What one drive gave in several runs: of several workloads in how many these do not overlap, and the furthest.

    Parameters
    ----------
    groups : sequence of Workload
        The workloads, each with its combinations of settings, of this drive alone.
    """
    groups = durable_first(groups)
    every = [contest for _, members in groups for contest in members]
    if len(groups) > 1:
        each = len(every) == len(groups)
        what = "workloads" if each else f"combinations of {len(groups)} workloads"
        yield _over_combinations(every, what, names)
    for title, members in groups[:1]:
        if len(members) == 1:
            yield (
                f"{_named(members, names)}, the same drive, gave {_gave(members[0], names)} at {name_in(title)}"
                f"{_unknown(members)}."
            )
        elif len(groups) == 1:
            yield _over_combinations(members, f"combinations of {name_in(title)}", names)


def _over_combinations(members: Sequence[Contest], what: str, names: DriveNames) -> str:
    """On how many combinations runs do not overlap, and where they lie furthest apart."""
    count, unknown = len({subject for contest in members for subject, _ in contest.ranked}), _unknown(members)
    runs, all_of = f"{_COUNTS.get(count, count)} runs of {_named(members, names)}", of_all(len(members), len(members))
    if _is_one_run(members):
        # one after the other in each block, so that none was first
        runs = f"{_named(members, names)}, on one drive,"
    # two runs that agree don't bring back a third that is far off
    apart = [one for one in members if observations_apart(one.ranked[0][1], one.ranked[-1][1]) is not False]
    if not apart:
        return f"{runs} agree within their ranges in {all_of} {what}{unknown}."
    most = max(apart, key=lambda contest: ratio_of(contest.ranked[0][1], contest.ranked[-1][1]))
    ends = names_in_words([number_alone(one) for _, one in _in_order(most, names)])
    is_one = len({contest.title for contest in members}) == 1
    where = f"with {ends}" if is_one else f"at {name_in(most.title)} ({ends})"
    told = f"{runs} lie apart in {of_all(len(apart), len(members))} {what}, furthest {where}"
    # what each run answers needs the room more
    return f"{told}{unknown if len(f'{told}{unknown}'.split()) <= FIRST_WORDS_MAX else ''}."


def _unknown(members: Sequence[Contest]) -> str:
    """What one run each can't tell; of a model another run is the same."""
    is_same_again = all(one.run == SIMULATED for _, one in members[0].ranked)
    return "" if is_same_again or _is_one_run(members) else f"; {ONE_RUN_EACH}"


def _is_one_run(members: Sequence[Contest]) -> bool:
    """Whether one run measured several places on the drive."""
    return all(one.is_of_one_run and len(one.ranked) > 1 for one in members)


def _named(members: Sequence[Contest], names: DriveNames) -> str:
    """The drive, or the places on it that were measured."""
    ranked = [each for one in members for each in _in_order(one, names)]
    return names_in_words(list(dict.fromkeys(names.drive(subject) for subject, _ in ranked)))


def _in_order(contest: Contest, names: DriveNames) -> list[tuple[Subject, Observation]]:
    def when(item: tuple[Subject, Observation]) -> tuple[str, int]:
        one = names.drives[item[0]]
        # the name of a run begins with its time, if nobody gave it another
        return one.run if one.run[:1].isdigit() else "", one.place

    return sorted(contest.ranked, key=when)


def _gave(contest: Contest, names: DriveNames) -> str:
    """``110 us and 100 us in two runs``, in their order; of many from the least to the most."""
    numbers = [number_with_ends(one) for _, one in _in_order(contest, names)]
    if len(set(numbers)) == 1:
        return f"the same in {of_all(len(numbers), len(numbers))} runs, {numbers[0]},"
    if len(numbers) > _RUNS_NAMED_MAX:
        best, worst = (number_with_ends(contest.ranked[place][1]) for place in (0, -1))
        return f"from {best} to {worst} in {len(numbers)} runs"
    return f"{numbers[0]} and {'' if _is_one_run([contest]) else 'then '}{numbers[1]}"


def compare_sentence(contests: Iterable[Contest], drives: Mapping[Subject, DriveOfRun]) -> str:
    """Which command judges whether a drive changed, or which is faster; empty where one run measured all of them."""
    apart = ""
    for contest in contests:
        if all(one.run == SIMULATED for _, one in contest.ranked):
            continue
        by_drive: dict[tuple[str, ...], list[tuple[int, str]]] = {}
        for subject, _ in contest.ranked:
            if subject in drives:
                by_drive.setdefault(drives[subject].identity, []).append((drives[subject].place, drives[subject].run))
        several = next((sorted(runs) for runs in by_drive.values() if len(dict(runs)) > 1), [])
        if several:
            names = " ".join(shlex.quote(_line(run)) for _, run in (several[0], several[-1]))
            return f"Whether the drive changed from one run to another: drivelab compare {names}."
        first = [runs[0][1] for runs in by_drive.values()][:2]
        if len(dict.fromkeys(first)) > 1 and not apart:
            names = " ".join(shlex.quote(_line(run)) for run in first)
            more = "--base RUN --new RUN"
            apart = f"Which is faster takes {RUNS_MIN} runs of each at least: drivelab compare {names} {more}."
    return apart


def _line(text: str) -> str:
    return " ".join(text.split())
