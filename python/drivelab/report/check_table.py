"""What the short forms of a check tell: its trials without those of the probe, and the findings that limit them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from drivelab.model.check_trials import PROBE
from drivelab.model.finding import FOREIGN_WORK
from drivelab.model.judged_metric import RATE, THROUGHPUT
from drivelab.model.merged_texts import merged_texts
from drivelab.model.names import names_in_words
from drivelab.model.units import format_bytes
from drivelab.report.content import TrialContent
from drivelab.report.finding_lines import FindingLine
from drivelab.report.numerals import value_writer
from drivelab.report.reported_findings import ReportedFinding

# so many trials with numbers of their own have a footnote each; more of them share one with the range of the numbers
_APART_MAX = 3
# so many trials of a footnote are named
_NAMED_MAX = 2
# so many times as large as the least is no number beside it
_TIMES_MAX = 4.0
# what the numbers say themselves: see `lasting_words`
TOLD_BY_NUMBERS = "writes-left-in-cache"
# tells after how many bytes, too
_CLIFF = "throughput-cliff"

# a text, and names of the trials that it is said of
Said = tuple[str, tuple[str, ...]]


def durable_trials(trials: Sequence[TrialContent]) -> list[TrialContent]:
    """The durable writes, the smallest first."""
    return sorted((trial for trial in trials if trial.is_durable), key=lambda trial: shape_of(trial)[0])


def rate_trials(trials: Sequence[TrialContent]) -> list[TrialContent]:
    """Reads and writes that are told by their rate: large ones before small ones, many outstanding before one."""
    told = (trial for trial in trials if not trial.is_durable and not trial.name.startswith(PROBE))
    return sorted(told, key=lambda trial: [-number for number in shape_of(trial)[:2]])


def shape_of(trial: TrialContent) -> tuple[int, int, str]:
    """Size, depth and order of a trial's I/O."""
    depth = int(trial.workload.get("queue_depth") or 1)
    order = str((trial.workload.get("access") or {}).get("kind", ""))
    return trial.block_size_bytes or 0, depth, order


def short_label(trial: TrialContent) -> str:
    """A trial in a few words: ``2300 B appended``, ``random 4 KiB write, QD32``."""
    if trial.is_durable:
        return trial.label.partition(" + ")[0]
    size, depth, order = shape_of(trial)
    return f"{order} {format_bytes(size)} {trial.operation}, QD{depth}" if order else trial.label


def lasting_words(trial: TrialContent, metric: str) -> tuple[str, str] | None:
    """The rate that lasts, and what the trial did before: ``209 MB/s``, ``first 303 MB/s``; None where it is one."""
    return trial.lasting_words(metric, value_writer(metric))


def region_words(trials: Sequence[TrialContent]) -> str:
    """Within how much of the drive trials lay: ``within 4 GiB``, ``within 1 GiB to 4 GiB``; empty where it is unknown.

    A disk whose head moves over a part of it reads several times as often as over the whole.
    """
    # 0 is all of a target whose size nobody had to say
    sizes = [trial.workload.get("target", {}).get("size_bytes") or 0 for trial in trials]
    known = sorted(set(sizes))
    return f"within {' to '.join(map(format_bytes, known[:1] + known[1:][-1:]))}" if known and known[0] else ""


def footnotes(
    findings: Sequence[ReportedFinding], trials: Sequence[TrialContent], lines: Sequence[FindingLine] = ()
) -> list[ReportedFinding]:
    """The findings that are about the run or about trials that are shown, counted from 1 where they mark some of them.

    Parameters
    ----------
    findings : sequence of ReportedFinding
        The gravest first.
    trials : sequence of TrialContent
        Those that are shown.
    lines : sequence of FindingLine, optional
        The findings in a line each: the work of others is told by its line where each trial had another share of it.
    """
    others = next((one.text for one in lines if one.code == FOREIGN_WORK), "")
    names = {trial.name for trial in trials}
    found: list[ReportedFinding] = []
    for one in (each for each in findings if each.code != TOLD_BY_NUMBERS):
        says = tuple((text, kept) for text, told in one.says if (kept := tuple(names & set(told))))
        # by how much a number is not the drive's makes no difference
        is_void = one.severity == "invalid"
        apart = says if len(says) <= _APART_MAX and not is_void else _alike(says, math.inf if is_void else _TIMES_MAX)
        if len(apart) > 1 and len(says) > _APART_MAX and one.code == FOREIGN_WORK and others:
            apart = [(others, tuple(dict.fromkeys(name for _, kept in says for name in kept)))]
        is_of_all = names <= set(one.trials)
        if not one.trials or (is_of_all and len(apart) == 1):
            found.append(replace(one, number=0, says=tuple(apart) if one.trials else one.says))
        else:
            found += [replace(one, number=1, says=(said,)) for said in apart]
    return _numbered(found)


def whose_words(note: ReportedFinding, labels: Mapping[str, str]) -> str:
    """The trials that a footnote is about, in brackets; empty where they are so many that marks alone tell.

    Parameters
    ----------
    labels : mapping of str to str
        What each trial is called in the tables, by its name.
    """
    if note.trials and not note.number:
        return " (all trials)"
    names = [label for name, label in labels.items() if name in note.trials]
    return f" ({names_in_words(names)})" if 0 < len(names) <= _NAMED_MAX else ""


def _numbered(notes: Sequence[ReportedFinding]) -> list[ReportedFinding]:
    """Those that mark trials counted from 1."""
    numbers = itertools.accumulate(int(one.number > 0) for one in notes)
    return [replace(one, number=number if one.number else 0) for one, number in zip(notes, numbers, strict=True)]


def _alike(says: Sequence[Said], times_max: float) -> list[Said]:
    """What is said with numbers not further apart, as one; what one trial did is not said of another."""
    groups: list[list[Said]] = []
    for said in says:
        fitting = (one for one in groups if merged_texts([text for text, _ in (*one, said)], times_max))
        if group := next(fitting, None):
            group.append(said)
        else:
            groups.append([said])
    return [
        (merged_texts([text for text, _ in group]), tuple(dict.fromkeys(name for _, names in group for name in names)))
        for group in groups
    ]


def that_fit(
    notes: Sequence[ReportedFinding], shown_count: int, trials: Sequence[TrialContent]
) -> list[ReportedFinding]:
    """The notes without those that have no room and whose numbers tell them: a rate that fell, beside the first one."""
    fell = {trial.name for trial in trials if lasting_words(trial, RATE) or lasting_words(trial, THROUGHPUT)}
    return _numbered(
        [
            one
            for place, one in enumerate(notes)
            if place < shown_count or one.code != _CLIFF or not set(one.trials) <= fell
        ]
    )


def marks_of(trial: TrialContent, notes: Sequence[ReportedFinding]) -> str:
    """What stands at the numbers of a trial: the marks of its notes."""
    marks = [one.mark for one in notes if one.number and trial.name in one.trials]
    return "".join(f" {mark}" for mark in dict.fromkeys(marks))
