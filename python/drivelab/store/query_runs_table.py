"""The table ``runs`` of a query: one row per run, from its run.json."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from drivelab.store import layout
from drivelab.store.columns import Column, arrow_schema
from drivelab.store.read import StoredRun

RUN_COLUMNS = (
    Column("run", "string", "name of the run; its directory, where two runs of a query have the same name"),
    Column("directory", "string", "where it lies"),
    Column("experiment", "string", "name of the experiment: check and io for those commands"),
    Column("status", "string", "running, complete, interrupted or failed; a killed run says running"),
    Column("started_utc", "string", "when it began, ISO 8601"),
    Column("finished_utc", "string", "when it ended; null while it goes on, and for a killed run"),
    Column("seed", "int64", "seed of the plan"),
    Column("drivelab_version", "string", "the version that measured"),
    Column("command_line", "string", "what was typed"),
    Column("targets", "string", "labels of the targets, separated by commas"),
    Column("drive_models", "string", "models of the drives behind them, separated by commas"),
    Column("drive_serials", "string", "their serials, separated by commas"),
    Column("drive_firmwares", "string", "versions of their firmware, separated by commas"),
    Column("tags", "map<string, string>", "what the user said of the run with `--tag`, by key (`tags['rack']`)"),
    Column("hostname", "string", "the computer"),
    Column("fleet_host", "string", "what the fleet that measured it calls the computer; null where none is known"),
    Column("kernel_release", "string", "its kernel"),
    Column("cpu_model", "string", "its processor"),
    Column("outcome", "string", "judgement against a need: pass, fail, undecided; null without one"),
    Column("trial_count", "int64", "completed trials"),
    Column("failed_attempt_count", "int64", "attempts at trials that failed"),
    Column("run_json", "string", "the whole run.json"),
)


# the columns that tell of trials, which have to be looked for
COUNTS = ("trial_count", "failed_attempt_count")


def runs_table(
    runs: Mapping[str, StoredRun], hosts: Mapping[Path, str], attempts: Mapping[str, Sequence[str]] | None
) -> pa.Table:
    """One row per run.

    Parameters
    ----------
    runs : mapping of str to StoredRun
        The runs by their name in the query.
    hosts : mapping of Path to str
        What fleets call the hosts of runs, by their directory.
    attempts : mapping of str to sequence of str, or None
        Names of all trials of each run, with the attempts that failed; without them `COUNTS` are null.
    """
    rows = [
        _row(name, run, hosts.get(run.directory, "")) | ({} if attempts is None else _counts(attempts[name]))
        for name, run in runs.items()
    ]
    return pa.Table.from_pylist(rows, schema=arrow_schema(RUN_COLUMNS))


def _counts(attempts: Sequence[str]) -> dict[str, int]:
    failed = sum(map(layout.is_failed_attempt, attempts))
    return dict(zip(COUNTS, (len(attempts) - failed, failed), strict=True))


def _row(name: str, run: StoredRun, fleet_host: str) -> dict[str, Any]:
    record = run.record
    host = record.host
    before = [target.get("facts_before") or {} for target in record.targets]
    drives = [drive for facts in before for drive in facts.get("drives") or ()]
    return {
        "run": name,
        "directory": str(run.directory.absolute()),
        "experiment": _text(record.experiment.get("name")),
        "status": _text(record.status),
        "started_utc": _text(record.started_utc),
        "finished_utc": _text(record.finished_utc),
        "seed": _number(record.plan.get("seed", record.seed)),
        "drivelab_version": _text(record.drivelab_version),
        "command_line": _text(record.command_line),
        "targets": _listed([target.get("label") for target in record.targets]),
        "drive_models": _listed([drive.get("model") for drive in drives]),
        "drive_serials": _listed([drive["serials"][0] for drive in drives if drive.get("serials")]),
        "drive_firmwares": _listed([drive.get("firmware") for drive in drives]),
        "tags": [(_text(key), _text(value)) for key, value in record.tags.items() if key],
        "hostname": _text(host.get("hostname")),
        "fleet_host": _text(fleet_host),
        "kernel_release": _text(host.get("kernel_release")),
        "cpu_model": _text(host.get("cpu_model")),
        "outcome": _text(record.verdict.get("outcome")),
        "run_json": json.dumps(run.run_json),
    }


def _text(value: object) -> str | None:
    # a file name that is no UTF-8 has characters that no table can hold
    return None if value in (None, "") else str(value).encode("utf-8", "backslashreplace").decode()


def _number(value: object) -> int | None:
    is_fitting = isinstance(value, int) and -(2**63) <= value < 2**63
    return int(value) if is_fitting and isinstance(value, int) else None


def _listed(values: Sequence[object]) -> str:
    return ", ".join(dict.fromkeys(text for value in values if (text := _text(value))))
