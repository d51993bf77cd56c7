"""What the stored texts of every trial say of it as a whole: its session, and whether it describes the drive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from drivelab.analyse.findings import BASE_RATE_CODES, burst_possible
from drivelab.model.judged_metric import RATE
from drivelab.model.lasting_rate import lasting_rate
from drivelab.model.workload import ends_durable
from drivelab.store import layout
from drivelab.store.cells import cell_value, findings_in
from drivelab.store.read import StoredRun
from drivelab.store.selection import reduced_rows

_SYSTEM = ("kernel_release", "boot_id")
_COLUMNS = ["trial", "operation", "findings_json", "context_json", "workload_json"]


@dataclass(frozen=True, slots=True)
class TrialNotes:
    """What is to be known of one trial before it is compared with others.

    Attributes
    ----------
    is_invalid : bool
        Whether a finding says that it does not describe the drive.
    is_durable : bool
        Whether the latency that it is about ends when what was changed is durable.
    session : int
        Session of the run, from 1.
    system : mapping of str to str
        What it ran on, as far as it was stored: ``kernel_release``, ``boot_id``.
    lasting_per_s, perhaps_burst_per_s : float or None
        I/Os a second that are left when a cache is full or a burst has ended, and of which nobody can know yet
        whether they are a burst; None where no finding says so.
    pause : (int, int, int)
        For so many ns it issues I/O, and then pauses for so many, into which so many I/Os reach; all 0 where it makes
        no such pauses.
    """

    is_invalid: bool = False
    is_durable: bool = False
    session: int = 1
    system: Mapping[str, str] = field(default_factory=dict)
    lasting_per_s: float | None = None
    perhaps_burst_per_s: float | None = None
    pause: tuple[int, int, int] = (0, 0, 0)


def trial_notes(run: StoredRun) -> dict[str, TrialNotes]:
    """The notes of every trial of a run, by its name.

    Raises
    ------
    DrivelabError
        S506: the trials cannot be read.

    Notes
    -----
    The texts are long and there may be ten thousand of them: a few at a time
    are read, and little is kept.
    """
    found: dict[str, TrialNotes] = {}
    for part in reduced_rows(run, layout.TRIALS, _notes):
        found |= part
    return found


def perhaps_bursts(notes: Mapping[str, TrialNotes], targets: Mapping[str, str]) -> dict[str, float]:
    """Targets of which nobody knows yet whether they were on burst credit, with the least rate that says so.

    Parameters
    ----------
    notes : mapping of str to TrialNotes
        Of the trials of a run, by name.
    targets : mapping of str to str
        The target of each trial; others are passed over.
    """
    found: dict[str, float] = {}
    for name, note in notes.items():
        if name in targets and (rate := note.perhaps_burst_per_s) is not None:
            found[targets[name]] = min(rate, found.get(targets[name], rate))
    return found


def _notes(rows: pa.Table) -> dict[str, TrialNotes]:
    return {row["trial"]: _note(row) for row in rows.select(_COLUMNS).to_pylist()}


def _note(row: Mapping[str, Any]) -> TrialNotes:
    name = row["trial"]
    context = cell_value("context_json", row["context_json"], name)
    workload = cell_value("workload_json", row["workload_json"], name)
    asked, pacing = (workload.get(key) or {} for key in ("durability", "pacing"))
    outstanding = int(workload.get("queue_depth") or 1) * int(workload.get("job_count") or 1)
    pause = int(pacing.get("think_after_ns") or 0), int(pacing.get("think_ns") or 0), outstanding
    findings = findings_in(row["findings_json"], name)
    lasting = lasting_rate((one for one in findings if one.code in BASE_RATE_CODES), RATE)
    perhaps = [one.evidence for one in findings if one.code == burst_possible.CODE]
    return TrialNotes(
        is_invalid=any(finding.severity == "invalid" for finding in findings),
        is_durable=ends_durable(row["operation"], asked),
        session=int(context.get("session", 1)),
        system={name: str(context[name]) for name in _SYSTEM if context.get(name)},
        lasting_per_s=None if lasting is None else lasting.per_s,
        perhaps_burst_per_s=min((float(one["per_s"]) for one in perhaps), default=None),
        pause=pause if all(pause) else (0, 0, 0),
    )
