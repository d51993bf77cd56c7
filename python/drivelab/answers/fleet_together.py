"""Reads what hosts measured at the same time from the runs that were gathered."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from drivelab.analyse.fleet_together import done_together
from drivelab.model.fleet_together import TogetherAnswer, TogetherPart
from drivelab.store.read import open_run

_TRIAL = "io"


def answer_together(runs: Iterable[tuple[str, Path, int, int]]) -> TogetherAnswer | None:
    """What the runs of one moment came to; None where there are none.

    Parameters
    ----------
    runs : iterable of (str, Path, int, int)
        Key of the target, directory of its run, and how far its clock was ahead, and how far that may be off, in ns.
    """
    parts = []
    for key, directory, ahead_ns, error_ns in runs:
        stored = open_run(directory)
        measured = stored.measurement(_TRIAL)
        told = {name: int(moment) - ahead_ns for name, moment in measured.context["told_start"].items()}
        voids = {finding.code: finding.text for finding in reversed(stored.findings) if finding.severity == "invalid"}
        parts.append(
            TogetherPart(
                key,
                told["window_unix_ns"],
                (told["first_job_unix_ns"], told["last_job_unix_ns"]),
                error_ns,
                int(measured.engine["measured_ns"]),
                measured.intervals,
                measured.histograms,
                voids,
            )
        )
    return done_together(parts) if parts else None
