"""Several runs of one drive: they are no two drives, and what they gave is told side by side."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence

from drivelab.model.apart import RUNS_MIN
from drivelab.model.names import names_in_words, of_all
from drivelab.model.result_set import SIMULATED, Observation
from drivelab.report.parts_of_text import FIRST_WORDS_MAX, name_in
from drivelab.report.sentences.contest import ONE_RUN_EACH, Contest, Subject, ratio_of
from drivelab.report.sentences.drive_names import DriveNames, DriveOfRun
from drivelab.report.sentences.observed_number import number_alone, number_with_ends

_RUNS_NAMED_MAX = 2
_COUNTS = {2: "Two", 3: "Three"}


def one_drive_sentence(title: str, members: Sequence[Contest], names: DriveNames) -> str:
    """What one drive gave in several runs, or on how many combinations of settings these do not overlap.

    Parameters
    ----------
    title : str
        The workload, as it stands within a sentence.
    members : sequence of Contest
        Its combinations of settings, each of this drive alone.
    names : DriveNames
        Of the drive.
    """
    drive = _named(members, names)
    is_same_again = all(one.run == SIMULATED for _, one in members[0].ranked)
    unknown = "" if is_same_again else f"; {ONE_RUN_EACH}"
    if len(members) == 1:
        return f"{drive}, the same drive, gave {_gave(members[0], names)} at {name_in(title)}{unknown}."
    count = len({subject for contest in members for subject, _ in contest.ranked})
    runs, what = f"{_COUNTS.get(count, count)} runs of {drive}", f"combinations of {name_in(title)}"
    apart = [contest for contest in members if contest.are_runs_apart is not False]
    if not apart:
        return f"{runs} agree within their ranges in {of_all(len(members), len(members))} {what}{unknown}."
    most = max(apart, key=lambda contest: ratio_of(contest.ranked[0][1], contest.ranked[-1][1]))
    ends = names_in_words([number_alone(one) for _, one in _in_order(most, names)])
    told = f"{runs} lie apart in {of_all(len(apart), len(members))} {what}, furthest with {ends}"
    # what each run answers needs the room more
    return f"{told}{unknown if len(f'{told}{unknown}'.split()) <= FIRST_WORDS_MAX else ''}."


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
        return f"the same in {'both' if len(numbers) == 2 else f'all {len(numbers)}'} runs, {numbers[0]},"
    if len(numbers) > _RUNS_NAMED_MAX:
        best, worst = (number_with_ends(contest.ranked[place][1]) for place in (0, -1))
        return f"from {best} to {worst} in {len(numbers)} runs"
    return f"{numbers[0]} and then {numbers[1]}"


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
        several = next((sorted(runs) for runs in by_drive.values() if len(runs) > 1), [])
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
