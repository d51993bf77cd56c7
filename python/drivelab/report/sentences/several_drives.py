"""Several runs in sentences: which drive is ahead, by how much, and whether that is more than noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from drivelab.model.names import counted
from drivelab.model.result_set import SIMULATED, ResultSet
from drivelab.report.parts_of_text import capitalised
from drivelab.report.sentences.ahead import ahead_sentences, ahead_words, firsts_sentence
from drivelab.report.sentences.beside_pages import page_sentences
from drivelab.report.sentences.contest import ONE_RUN_EACH, Contest, Subject, Workload
from drivelab.report.sentences.contests import contests
from drivelab.report.sentences.drive_names import DriveNames, DriveOfRun
from drivelab.report.sentences.same_drive import compare_sentence, one_drive_sentences

_WORKLOADS_NAMED = 4
_FEW_RUNS = f"; {ONE_RUN_EACH}."


def joint_sentences(sets: Sequence[ResultSet], drives: Mapping[Subject, DriveOfRun] | None = None) -> tuple[str, ...]:
    """What several drives come to, the workload that most of them have in common first; before it, beside pages.

    Parameters
    ----------
    sets : sequence of ResultSet
        Names of drives mean one thing each in all of them.
    drives : mapping of Subject to DriveOfRun, optional
        The drive behind each of these names, and its run; left out, each is a drive of its own.

    Returns
    -------
    tuple of str
        Empty where no drive of a run was measured with the workload and settings of another, or of a published page.
    """
    names = _names(sets, drives or {})
    groups = _by_title(sets, names)
    several = [one for one in groups if _has_others(one[1])]
    alone = one_drive_sentences([one for one in groups if not _has_others(one[1])], names)
    told = [*ahead_sentences(several, names), *alone]
    # said of the first workload, it is known of the others
    first, *others = told or [""]
    short = (f"{one.removesuffix(_FEW_RUNS)}{'.' * one.endswith(_FEW_RUNS)}" for one in others)
    # of many the first with its numbers, then who leads in how many
    leads = [firsts_sentence(several, names)] if len(several) >= _WORKLOADS_NAMED else []
    found = list(map(capitalised, filter(None, (first, *leads, *short))))
    if len(found) > _WORKLOADS_NAMED:
        more = counted(len(found) - _WORKLOADS_NAMED, "more workload")
        found[_WORKLOADS_NAMED:] = [f"{more} that several drives have in common: see the tables."]
    every = chain.from_iterable(members for _, members in groups)
    found += filter(None, [compare_sentence(every, names.drives)])
    # whoever puts a run beside published numbers asks where it stands among them
    return (*page_sentences(sets, names), *found)


def lead_words(sets: Sequence[ResultSet], drives: Mapping[Subject, DriveOfRun]) -> str:
    """Which drive is ahead in the first workload that is told, and how far; empty where none is."""
    names = _names(sets, drives)
    return next((ahead_words(*one, names) for one in _by_title(sets, names)), "")


def have_runs_in_common(sets: Sequence[ResultSet]) -> bool:
    """Whether some workload was measured with the same settings in two of several runs."""
    return any(not one.is_of_one_run for one in contests([each for each in sets if not each.is_reference]))


def _names(sets: Sequence[ResultSet], drives: Mapping[Subject, DriveOfRun]) -> DriveNames:
    return DriveNames(drives, len({one.machine for each in sets for one in each.observations if one.machine}) > 1)


def _by_title(sets: Sequence[ResultSet], names: DriveNames) -> list[Workload]:
    """The contests of runs by their workload, the one that most drives have in common first."""
    by_title: dict[tuple[str, bool], list[Contest]] = {}
    identities = {subject: one.identity for subject, one in names.drives.items()}
    # a drive that was measured is not held against one that was reckoned
    for kind in (False, True):
        alike = [each for each in sets if not each.is_reference and is_simulated(each) is kind]
        for contest in contests(alike, identities):
            by_title.setdefault((contest.title, kind), []).append(contest)
    found = [(title, members) for (title, _), members in by_title.items()]
    return sorted(found, key=lambda item: -max(len(one.ranked) for one in item[1]))


def is_simulated(one: ResultSet) -> bool:
    """Whether a run reckoned what drives would do, and measured none."""
    return any(each.run == SIMULATED for each in one.observations)


def _has_others(members: Sequence[Contest]) -> bool:
    """Whether it was measured on several drives, and not on one in several runs."""
    return any(contest.of_other_drives for contest in members)
