"""Where the drives of a run stand among published numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from drivelab.model.apart import ABOUT_THE_SAME, are_apart
from drivelab.model.level_words import levels_phrase
from drivelab.model.metric import metric_of
from drivelab.model.result_set import Observation, ResultSet
from drivelab.report.sentences.contest import Contest, Subject, ratio_of
from drivelab.report.sentences.contests import contests, goodness, subject_of
from drivelab.report.sentences.drive_names import DriveNames
from drivelab.report.sentences.observed_number import number_alone, number_with_ends

_METAL = ("SSD", "hard disk")
_TOLD_MAX = 4
# a published number is taken as it stands
_MANY = 15


def page_sentences(sets: Sequence[ResultSet], names: DriveNames) -> Iterator[str]:
    """Between which published numbers each drive of a run lies, of each workload with its best settings."""
    published = {subject_of(one) for each in sets if each.is_reference for one in each.observations}
    # what is no drive of metal is called what it is beside those that are
    unlike = {
        drive.name: f" ({drive.kind.partition(', ')[0]})"
        for each in sets
        if not each.is_reference
        for drive in each.drives
        if drive.kind and drive.kind not in _METAL and drive.kind.split()[0] not in drive.name
    }
    found: dict[tuple[str, Subject], str] = {}
    for contest in sorted(contests(sets) if published else (), key=goodness):
        drives = Counter(subject[0] for subject, _ in contest.ranked)
        its_names = replace(names, has_machines=max(drives.values()) > 1)
        for place, (subject, one) in enumerate(contest.ranked):
            sides = (("behind", contest.ranked[:place][::-1]), ("ahead of", contest.ranked[place:]))
            words = [told for word, side in sides if (told := _nearest(word, one, side, published, its_names))]
            if len(words) > 1 and words[1].startswith(word := "not told apart from "):
                words[1] = words[1].removeprefix(word) if words[0].startswith(word) else words[1]
            if subject not in published and words:
                name = f"{its_names.of(subject)}{unlike.get(subject[0], '')}"
                # where it has to be said what it is, its repeats have no room
                number = (number_alone if subject[0] in unlike else number_with_ends)(one)
                where = f"is {' and '.join(words)}, as published; by {_what(contest)}"
                found.setdefault((contest.title, subject), f"{name} with {number} {where}.")
    yield from list(found.values())[:_TOLD_MAX]


def _what(contest: Contest) -> str:
    """What the numbers are: ``mean latency of 512 B appends (ext4, write-cache on)``."""
    levels = levels_phrase(dict(contest.levels))
    return f"{metric_of(contest.metric).words} of {contest.title}{f' ({levels})' if levels else ''}"


def _nearest(
    word: str,
    mine: Observation,
    ranked: Sequence[tuple[Subject, Observation]],
    published: Collection[Subject],
    names: DriveNames,
) -> str:
    """The first of some that was published, with its number, and which side it is on; empty where none was."""
    for who, one in ranked:
        if who in published:
            # a few repeats lie closer together than the next few would
            exact = replace(one.estimate, low=one.estimate.value, high=one.estimate.value)
            is_within = are_apart(mine.estimate, exact, (mine.trial_count, _MANY)) is False
            level = "about level with" if ratio_of(mine, one) < ABOUT_THE_SAME else "not told apart from"
            return f"{level if is_within else word} {names.of(who)} ({number_with_ends(one)})"
    return ""
