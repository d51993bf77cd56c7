"""What runs know of the burst credit of their drives from other runs, and when they are told by it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from drivelab.answers.drive_of_run import is_same_drive
from drivelab.answers.measured_on import as_text
from drivelab.model.lasting_rate import KNOWN_FROM, left_without_credit
from drivelab.store.read import StoredRun


def left_of_bursts(runs: Iterable[StoredRun]) -> dict[str, str]:
    """What is left without burst credit, by the label of the one target of a run that knew it from another one."""
    return {
        as_text(run.record.targets[0].get("label")): left_without_credit(one)
        for run in runs
        if len(run.record.targets) == 1
        for one in run.findings
        if KNOWN_FROM in one.evidence
    }


def are_told_by_others(base: Sequence[StoredRun], new: Sequence[StoredRun]) -> bool:
    """Whether what other runs found lasts is compared: of one drive only where every run knew it.

    Else two runs of that drive would differ by what was known when they were made.
    """
    if all(any(KNOWN_FROM in one.evidence for one in run.findings) for run in (*base, *new)):
        return True
    return not is_some_drive_shared(base, new)


def is_some_drive_shared(base: Sequence[StoredRun], new: Sequence[StoredRun]) -> bool:
    """Whether both sides measured a drive."""
    ours, theirs = ([target for run in side for target in run.record.targets] for side in (base, new))
    return any(
        one.get("label") == other.get("label")
        or is_same_drive(one.get("facts_before") or {}, other.get("facts_before") or {})
        for one in ours
        for other in theirs
    )
