"""Reads a run directory: finished, still going on, or cut off by a crash."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drivelab.model.errors import DrivelabError
from drivelab.model.estimate import Estimate
from drivelab.model.finding import Finding
from drivelab.model.measurement import Measurement
from drivelab.store import layout
from drivelab.store.cells import estimates_in, findings_in, made
from drivelab.store.parts import read_parquet, read_table, table_sources
from drivelab.store.record_batches import StoredRecords
from drivelab.store.regular_file import read_regular
from drivelab.store.remote.bring import bring, place_of
from drivelab.store.run_record import RUN_JSON_BYTES_MAX, RunRecord, require_run_record
from drivelab.store.tables import measurement_from_rows

# trials that an error names
_NAMED_TRIALS = 3
# runs that it names
_NAMED_RUNS = 3
# columns that schema 1 has not, with what they mean there
_SINCE_SCHEMA_2 = {"is_reference": False, "failure": ""}


def open_run(path: Path | str) -> StoredRun:
    """The run in a directory.

    Raises
    ------
    DrivelabError
        S504: not a run directory. S505: written by a newer drivelab.
        S506: its run.json is damaged. S509: its name is no text.
    """
    directory = Path(path)
    file = directory / layout.RUN_JSON
    try:
        str(directory).encode()
    except UnicodeEncodeError:
        # Parquet files are opened by names in UTF-8 only
        raise DrivelabError("S509", "the name of a run's directory is no UTF-8 text", where=ascii(str(path))) from None
    bring([directory], layout.RUN_JSON)
    try:
        content, status = read_regular(file, bytes_max=RUN_JSON_BYTES_MAX)
    except OSError as error:
        if (directory / layout.FOLLOWED_JSON).is_file():
            what = f"{directory.name} is a program that was followed, and no run"
            raise DrivelabError("S504", what, do=f"drivelab explain {directory}") from None
        what = f"{directory} holds no readable run.json: {error.strerror}"
        raise DrivelabError("S504", what, do=_runs_below(directory)) from error
    return StoredRun(directory, _understood(content, file), status)


def _runs_below(directory: Path) -> str:
    """Which run is meant, where the directory holds others that hold runs; empty where it holds none."""
    below = [file.parent for depth in ("*", "*/*") for file in sorted(directory.glob(f"{depth}/{layout.RUN_JSON}"))]
    if not below:
        return ""
    return f"name one of the runs in it: {', '.join(map(str, below[:_NAMED_RUNS]))}"


def _understood(content: bytes, file: Path) -> dict[str, Any]:
    """The document in a run.json, with every value of the type that its readers expect."""
    try:
        document = json.loads(content.decode("utf-8"))
        schema = document["schema"]
        if type(schema) is int and schema > layout.SCHEMA:
            what = f"the run is stored in schema {schema}, and this drivelab reads schemas up to {layout.SCHEMA}"
            raise DrivelabError("S505", what, where=place_of(file.parent))
        require_run_record(document)
    except RecursionError as error:
        raise DrivelabError(
            "S506", "run.json cannot be understood: it is nested too deep", where=place_of(file)
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise DrivelabError("S506", f"run.json cannot be understood: {error}", where=place_of(file)) from error
    found: dict[str, Any] = document
    return found


class StoredRun:
    """A run as stored; its tables are read when they are first asked for.

    Attributes
    ----------
    run_json : dict
        Everything about the run that is not a table, as it is stored.
    read_from : os.stat_result or None
        Status of the file that this was read from: whose it was; None when it was read from none.
    """

    def __init__(self, directory: Path, run_json: dict[str, Any], read_from: os.stat_result | None = None) -> None:
        self.directory = directory
        self.run_json = run_json
        self.read_from = read_from

    @property
    def record(self) -> RunRecord:
        """The same, typed."""
        return RunRecord.from_json(self.run_json)

    @cached_property
    def name(self) -> str:
        """Name of the run: that of its directory."""
        return self.directory.resolve().name

    @cached_property
    def trials(self) -> pa.Table:
        """One row per completed trial, in the order in which they ran."""
        return _filtered(self._attempts, _is_completed(self._attempts["trial"]))

    @cached_property
    def failed_trials(self) -> pa.Table:
        """One row per attempt at a trial that failed but measured something, in the order in which they ran."""
        return _filtered(self._attempts, pc.invert(_is_completed(self._attempts["trial"])))

    @cached_property
    def intervals(self) -> pa.Table:
        """One row per completed trial, interval, operation and latency."""
        return self._of_completed_trials(layout.INTERVALS)

    @cached_property
    def histograms(self) -> pa.Table:
        """One row per completed trial, operation and latency."""
        return self._of_completed_trials(layout.HISTOGRAMS)

    def require_table(self, table: str) -> None:
        """Return only if a table is stored, or none is to be expected: the run is not complete, or no trial succeeded.

        Raises
        ------
        DrivelabError
            S506: it is missing, or cannot be read.
        """
        if (self.directory / table).is_file():
            return
        record = self.record
        steps = {step.get("trial") for step in record.plan.get("steps", ())}
        if record.status != "complete" or (steps and steps <= record.failures.keys()):
            return
        sources = table_sources(self.directory, table)
        if not sources.files and not sources.logs:
            what = f"{table} is missing, and by run.json the run is complete"
            raise DrivelabError("S506", what, where=place_of(self.directory))

    def attempt_names(self) -> list[str]:
        """Names of all trials, with the attempts that failed; reads nothing else.

        Raises
        ------
        DrivelabError
            S506: a table cannot be read.
        """
        names: list[str] = read_table(self.directory, layout.TRIALS, ["trial"])["trial"].to_pylist()
        return names

    def completed_trials(self) -> set[str]:
        """Names of the trials that need not be done again; reads nothing else.

        Raises
        ------
        DrivelabError
            S506: a table cannot be read.
        """
        return {name for name in self.attempt_names() if not layout.is_failed_attempt(name)}

    @property
    def trial_names(self) -> list[str]:
        """Names of the trials that were completed, in order."""
        names: list[str] = self.trials["trial"].to_pylist()
        return names

    @property
    def findings(self) -> list[Finding]:
        """Findings about the run; before the run is finished, those about its trials."""
        if self.record.findings is not None:
            return [made(Finding, dict(finding)) for finding in self.record.findings]
        texts = zip(self.trial_names, self.trials["findings_json"].to_pylist(), strict=True)
        return [finding for trial, text in texts for finding in findings_in(text, trial)]

    def ios(self, trial: str) -> pa.Table | None:
        """One row per I/O of a trial; None when they were not recorded."""
        return self._table_of(trial, layout.IOS)

    def operations(self, trial: str) -> pa.Table | None:
        """One row per operation of a trial's traced pass, with the parts of its latency; None without one."""
        return self._table_of(trial, layout.OPERATIONS)

    def events(self, trial: str) -> pa.Table | None:
        """One row per bio and per command of a trial's traced pass; None without one."""
        return self._table_of(trial, layout.EVENTS)

    @cached_property
    def traced_trials(self) -> tuple[str, ...]:
        """Names of the completed trials that have a traced pass, in order."""
        folder = self.folder(layout.OPERATIONS)
        present = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
        return tuple(trial for trial in self.trial_names if layout.ios_name(trial) in present)

    def folder(self, name: str) -> Path:
        """A directory in that of the run, with all that the run has in it; it may be missing."""
        bring([self.directory], name)
        return self.directory / name

    def records(self, trial: str) -> StoredRecords | None:
        """The same, to be read a bounded number of rows at a time; None when they were not recorded."""
        try:
            return StoredRecords(self._of_trial(trial, layout.IOS))
        except FileNotFoundError:
            return None

    def estimates(self, trial: str) -> dict[str, Estimate]:
        """Every estimate of a trial, by name."""
        return self.estimates_of(self.trial(trial))

    @staticmethod
    def estimates_of(row: Mapping[str, Any]) -> dict[str, Estimate]:
        """Every estimate in a row of the trials table, by name."""
        return estimates_in(row["estimates_json"], str(row.get("trial")))

    def measurement(self, trial: str) -> Measurement:
        """What a trial measured, as it was; its per-I/O records stay in their file."""
        chosen = pc.equal(self.histograms["trial"], trial)
        histograms = self.histograms.filter(chosen).to_pylist()
        intervals = self.intervals.filter(pc.equal(self.intervals["trial"], trial))
        return measurement_from_rows(self.trial(trial), histograms, intervals)

    def trial(self, name: str) -> dict[str, Any]:
        """One row of the trials table.

        Raises
        ------
        DrivelabError
            U005: the run has no such trial.
        """
        if name not in self._row_of_trial:
            named = ", ".join(self.trial_names[:_NAMED_TRIALS])
            more = " ..." if len(self.trial_names) > _NAMED_TRIALS else ""
            do = f"choose: {named}{more}" if named else "the run has no trial at all"
            raise DrivelabError("U005", f"the run has no trial {name}", where=place_of(self.directory), do=do)
        row: dict[str, Any] = self.trials.slice(self._row_of_trial[name], 1).to_pylist()[0]
        return row

    @cached_property
    def _row_of_trial(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.trial_names)}

    @cached_property
    def _attempts(self) -> pa.Table:
        self.require_table(layout.TRIALS)
        rows = read_table(self.directory, layout.TRIALS)
        for name, value in _SINCE_SCHEMA_2.items():
            column = rows.column_names.index(name)
            rows = rows.set_column(column, name, rows[name].fill_null(value))
        order = pc.sort_indices(rows, [("step", "ascending"), ("started_utc", "ascending")])
        # mostly they stand in order, and moving long texts takes longer than reading them
        return rows if np.array_equal(order, np.arange(len(order))) else rows.take(order)

    def _of_trial(self, trial: str, folder: str) -> Path:
        name = f"{folder}/{layout.ios_name(trial)}"
        bring([self.directory], name)
        return self.directory / name

    def _table_of(self, trial: str, folder: str) -> pa.Table | None:
        try:
            return read_parquet(self._of_trial(trial, folder), folder)
        except FileNotFoundError:
            return None

    def _of_completed_trials(self, table: str) -> pa.Table:
        """Rows of a table, without those of a trial that failed, or was stored since the trials were read."""
        names = pa.array(self.trial_names, pa.string())
        self.require_table(table)
        rows = read_table(self.directory, table)
        return _filtered(rows, pc.is_in(rows["trial"], names))


def _filtered(rows: pa.Table, chosen: pa.Array | pa.ChunkedArray) -> pa.Table:
    """The chosen rows; without a copy when all are."""
    return rows if pc.all(chosen, min_count=0).as_py() else rows.filter(chosen)


def _is_completed(names: pa.ChunkedArray) -> pa.Array:
    return pa.array([not layout.is_failed_attempt(name) for name in names.to_pylist()], pa.bool_())
