"""Writes a run directory: one trial at a time, each whole or not at all.

While a run goes on every table is a folder with one part per trial; `RunWriter.finish`
joins the parts into one file per table. The part of the trials table is put
in place last: a trial without it never happened.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from drivelab.model.errors import DrivelabError
from drivelab.model.finding import Finding
from drivelab.model.measurement import Measurement
from drivelab.model.trial_summary import TrialSummary
from drivelab.store import layout
from drivelab.store.durable import make_directory, storage_error, write_json
from drivelab.store.parts import join_parts, write_part
from drivelab.store.place import TrialPlace
from drivelab.store.records import RecordSink
from drivelab.store.tables import histogram_table, interval_table, trial_table


def create_run(parent: Path, experiment: str, label: str, now: datetime) -> RunWriter:
    """A writer of a new, empty run directory ``<utc>-<experiment>-<label>`` in `parent`.

    Raises
    ------
    DrivelabError
        S501: the directory cannot be made. S502: no room.
    """
    make_directory(parent)
    name = layout.run_name(experiment, label, now)
    for attempt in range(100):
        directory = parent / (f"{name}-{attempt + 1}" if attempt else name)
        try:
            directory.mkdir()
        except FileExistsError:
            continue
        except OSError as error:
            raise storage_error(error, directory) from error
        return RunWriter(directory)
    raise DrivelabError("S501", f"a hundred runs are called {name}", where=str(parent))


class RunWriter:
    """Writes one run directory.

    Parameters
    ----------
    directory : Path
        A run directory that exists; it may hold trials already.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._run_json: dict[str, Any] = {}

    def write_run_json(self, facts: Mapping[str, Any]) -> None:
        """Write what is known of the run so far; keys written earlier stay.

        Raises
        ------
        DrivelabError
            S501, S502, S503: it cannot be written.
        """
        self._run_json |= facts
        write_json(self.directory / layout.RUN_JSON, {"schema": layout.SCHEMA} | self._run_json)

    def add_trial(
        self,
        measured: Measurement,
        summary: TrialSummary,
        factors: Mapping[str, str] | None = None,
        *,
        place: TrialPlace | None = None,
        findings: Sequence[Finding] = (),
    ) -> None:
        """Store a trial that is done, durably; after a crash it is there whole or not at all.

        Parameters
        ----------
        measured : Measurement
            Its name must be new in this run, and fit for a file name.
        summary : TrialSummary
            The trial's estimates.
        factors : mapping of str to str, optional
            Level of every factor, as asked for; added to those of `place`.
        place : TrialPlace, optional
            Where the trial stands in its plan.
        findings : sequence of Finding
            What is to be known about this trial.

        Raises
        ------
        DrivelabError
            S501, S502, S503: it cannot be written; nothing of it is left behind.
        """
        assert layout.is_file_name(measured.name), f"trial {measured.name!r} cannot name a file"
        where = place or TrialPlace(started_utc=datetime.now(UTC).isoformat(timespec="milliseconds"))
        where = replace(where, asked={**where.asked, **(factors or {})})
        if measured.records is not None:
            with self.record_sink(measured.name, open_loop=measured.workload.pacing.kind != "closed") as sink:
                for batch in measured.records.to_batches():
                    sink(batch)
        write_part(self.directory, layout.HISTOGRAMS, measured.name, histogram_table(measured))
        write_part(self.directory, layout.INTERVALS, measured.name, interval_table(measured))
        write_part(self.directory, layout.TRIALS, measured.name, trial_table(measured, summary, where, findings))

    def record_sink(self, trial: str, *, open_loop: bool = False) -> RecordSink:
        """A sink for every I/O of a trial: ``ios/<trial>.parquet``."""
        make_directory(self.directory / layout.IOS)
        return RecordSink(self.directory / layout.IOS / layout.part_name(trial), open_loop=open_loop)

    def add_journal(self, event: str, **facts: Any) -> None:
        """Append a line to the run's journal, durably.

        Raises
        ------
        DrivelabError
            S501, S502, S503: it cannot be written.
        """
        line = {"utc": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event} | facts
        path = self.directory / layout.JOURNAL
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                os.write(descriptor, (json.dumps(line) + "\n").encode())
                os.fdatasync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise storage_error(error, path) from error

    def finish(
        self,
        findings: Sequence[Finding] = (),
        verdict: Mapping[str, Any] | None = None,
        *,
        status: str = "complete",
        **facts: Any,
    ) -> None:
        """Join the parts of every table, and close run.json with the judgement.

        Parameters
        ----------
        findings : sequence of Finding
            Findings about the run as a whole and its trials.
        verdict : mapping, optional
            Judgement against a need, as plain data.
        status : str
            ``complete``, ``interrupted`` or ``failed``.
        **facts
            More keys for run.json: drive facts after the run, for instance.

        Raises
        ------
        DrivelabError
            S501, S502, S503: it cannot be written; the parts stay readable.
        """
        for table in layout.TABLES:
            join_parts(self.directory, table)
        judged = {
            "status": status,
            "finished_utc": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "findings": [finding.to_json() for finding in findings],
            "verdict": dict(verdict) if verdict is not None else None,
        }
        self.write_run_json(judged | facts)
