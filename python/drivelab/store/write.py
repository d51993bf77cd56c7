"""Writes a run directory: one trial at a time, each whole or not at all.

While a run goes on its trials are appended to a log, and full logs become segments
(`drivelab.store.compact`); `RunWriter.finish` makes one file per table of them.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from drivelab.held_directory import HeldDirectory
from drivelab.model.errors import DrivelabError
from drivelab.model.finding import Finding
from drivelab.model.measurement import Measurement
from drivelab.model.trial_summary import TrialSummary
from drivelab.store import layout
from drivelab.store.compact import PartsWriter
from drivelab.store.durable import make_directory, storage_error, write_json, written_aside
from drivelab.store.journal import LockedJournal
from drivelab.store.place import TrialPlace
from drivelab.store.read import open_run
from drivelab.store.records import RecordSink
from drivelab.store.run_record import RunRecord
from drivelab.store.tables import histogram_table, interval_table, trial_table
from drivelab.store.traces import TraceSink, trace_sink


def create_run(parent: Path, experiment: str, label: str, now: datetime) -> RunWriter:
    """A writer of a new, empty run directory ``<utc>-<experiment>-<label>`` in `parent`.

    Raises
    ------
    DrivelabError
        S501: the directory cannot be made. S502: no room. S509: its name is no text.
    """
    try:
        str(parent).encode()
    except UnicodeEncodeError:
        # before anything is measured: nobody could open the run again
        raise DrivelabError(
            "S509", "the name of the directory for runs is no UTF-8 text", where=ascii(str(parent))
        ) from None
    reason = layout.missing_home(parent)
    if reason:
        raise DrivelabError("S501", reason, where=str(parent), do="name a directory (--out DIR), or set DRIVELAB_RUNS")
    make_directory(parent)
    name = layout.run_name(experiment, label, now)
    for attempt in range(100):
        directory = parent / (f"{name}-{attempt + 1}" if attempt else name)
        try:
            held = HeldDirectory.open(parent)
            held.make(directory.name)
            held.sync()
            return RunWriter(directory, held.below(directory.name))
        except FileExistsError:
            continue
        except OSError as error:
            raise storage_error(error, directory) from error
    raise DrivelabError("S501", f"a hundred runs are called {name}", where=str(parent))


def continue_run(directory: Path) -> RunWriter:
    """A writer of a run that was begun earlier: interrupted, killed or finished.

    Raises
    ------
    DrivelabError
        S504: not a run directory. S505, S506: written by a newer drivelab, or
        damaged. S507: another process writes it. S501 to S503: it cannot be written.
    """
    open_run(directory)
    return RunWriter(directory)


class RunWriter:
    """Writes one run directory, and keeps other writers out until it is finished, closed or gone.

    Parameters
    ----------
    directory : Path
        A run directory that exists; it may hold trials already, and a run.json,
        whose keys are kept.
    held : HeldDirectory, optional
        The same, when it is open already. Whatever its name leads to later,
        this directory is written, and no link in it is followed.

    Raises
    ------
    DrivelabError
        S501 to S503: the directory cannot be written. S505, S506: what it holds
        is of a newer drivelab, or damaged. S507: another process writes it.
    """

    def __init__(self, directory: Path, held: HeldDirectory | None = None) -> None:
        self.directory = directory
        self._held = held or _held(directory)
        self._journal = LockedJournal(self._held)
        try:
            self.record = RunRecord()
            # under the lock: whoever held it until now may have written
            stored = open_run(directory) if (directory / layout.RUN_JSON).exists() else None
            self._parts = PartsWriter(self._held)
            self._names = set(stored.attempt_names()) if stored else set()
            if stored:
                self.record = stored.record
                # an older drivelab would not find what is added
                if self.record.schema < layout.SCHEMA:
                    self.write_run_json({})
        except BaseException:
            self._journal.close()
            self._held.close()
            raise

    def write_run_json(self, facts: Mapping[str, Any]) -> None:
        """Write what is known of the run so far; keys written earlier stay.

        Raises
        ------
        DrivelabError
            S501, S502, S503: it cannot be written.
        """
        self._lock()
        self.record = self.record.changed({**facts, "schema": layout.SCHEMA})
        write_json(self.directory / layout.RUN_JSON, self.record.to_json(), inside=self._held)

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
            Its name must be new in this run, and fit for a file name. One that
            failed may be tried again: it is stored under another name
            (`drivelab.store.layout.failed_attempt_name`).
        factors : mapping of str to str, optional
            Level of every factor, as asked for; added to those of `place`.
        place : TrialPlace, optional
            Where the trial stands in its plan.

        Raises
        ------
        DrivelabError
            S501, S502, S503: it cannot be written; nothing of it is left behind.
        """
        self._lock()
        where = place or TrialPlace(started_utc=datetime.now(UTC).isoformat(timespec="milliseconds"))
        where = replace(where, asked={**where.asked, **(factors or {})})
        measured = self._with_stored_name(measured, where)
        if measured.records is not None:
            with self.record_sink(measured.name, open_loop=measured.workload.is_open_loop) as sink:
                for batch in measured.records.to_batches():
                    sink(batch)
        self._parts.add(
            {
                layout.TRIALS: trial_table(measured, summary, where, findings),
                layout.INTERVALS: interval_table(measured),
                layout.HISTOGRAMS: histogram_table(measured),
            }
        )
        self._names.add(measured.name)

    def add_file(self, name: str, contents: bytes) -> None:
        """Keep a file as it is, durably: beside the tables, or in a folder there, which is made (``folder/name``).

        Raises
        ------
        DrivelabError
            S501, S502, S503: it cannot be written.
        """
        self._lock()
        self._make_folders(*Path(name).parts[:-1])
        with written_aside(self.directory / name, inside=self._held) as aside:
            aside.write_bytes(contents)

    def record_sink(self, trial: str, *, open_loop: bool = False) -> RecordSink:
        """A sink for every I/O of a trial: ``ios/<trial>.parquet``."""
        self._lock()
        assert layout.is_file_name(trial), f"trial {trial!r} cannot name a file"
        self._make_folders(layout.IOS)
        path = self.directory / layout.IOS / layout.ios_name(trial)
        return RecordSink(path, open_loop=open_loop, inside=self._held)

    def trace_sink(self, trial: str) -> AbstractContextManager[TraceSink]:
        """What takes the trace of a trial: to be used before the trial is added, so that its row tells of it."""
        self._lock()
        assert layout.is_file_name(trial), f"trial {trial!r} cannot name a file"
        return trace_sink(self._held, trial)

    def add_journal(self, event: str, **facts: Any) -> None:
        """Append a line to the run's journal, durably.

        Raises
        ------
        DrivelabError
            S501, S502, S503: it cannot be written.
        """
        self._lock()
        self._journal.append({"utc": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event} | facts)

    def finish(
        self,
        findings: Sequence[Finding] = (),
        verdict: Mapping[str, Any] | None = None,
        *,
        status: str = "complete",
        **facts: Any,
    ) -> None:
        """Join the parts of every table, close run.json with the judgement, and let others write the run.

        Parameters
        ----------
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
        self._lock()
        self._parts.join()
        judged = {
            "status": status,
            "finished_utc": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "findings": [finding.to_json() for finding in findings],
            "verdict": dict(verdict) if verdict is not None else None,
        }
        self.write_run_json(judged | facts)
        self.close()

    def give_up(self, **facts: Any) -> None:
        """Keep what was measured until something went wrong; a run directory without a single trial is of no use.

        Raises
        ------
        DrivelabError
            S501, S502, S503: it cannot be written; the parts stay readable.
        """
        self.finish(**({"status": "failed"} | facts))
        if not open_run(self.directory).trial_names:
            shutil.rmtree(self.directory, ignore_errors=True)

    def close(self) -> None:
        """Let others write the run. It stays as it is, and can be continued."""
        self._parts.close()
        self._journal.close()
        self._held.close()

    def _make_folders(self, *names: str) -> None:
        """Make folders in one another, unless they are there; a link in the place of one is an error."""
        folder = self._held
        try:
            for name in names:
                folder = folder.below_or_made(name)
        except OSError as error:
            raise storage_error(error, self.directory.joinpath(*names)) from error

    def _lock(self) -> None:
        if not self._journal.is_open:
            self._held = _held(self.directory)
            self._journal = LockedJournal(self._held)
            self._parts.go_on_in(self._held)

    def _with_stored_name(self, measured: Measurement, place: TrialPlace) -> Measurement:
        """The measurement under the name that it is stored by; what failed leaves the trial's own name free."""
        name = measured.name
        assert not layout.is_failed_attempt(name), f"trial {name!r} is named as one that failed"
        if place.failure:
            numbered = (layout.failed_attempt_name(measured.name, number) for number in itertools.count(1))
            name = next(attempt for attempt in numbered if attempt not in self._names)
            try:
                self._held.below(layout.IOS).rename(layout.ios_name(measured.name), layout.ios_name(name))
            except FileNotFoundError:
                pass
            except OSError as error:
                raise storage_error(error, self.directory / layout.IOS / layout.ios_name(name)) from error
        assert layout.is_file_name(name), f"trial {name!r} cannot name a file"
        assert name not in self._names, f"trial {name!r} is stored already"
        return replace(measured, name=name)


def _held(directory: Path) -> HeldDirectory:
    try:
        return HeldDirectory.open(directory)
    except OSError as error:
        raise storage_error(error, directory / layout.JOURNAL) from error
