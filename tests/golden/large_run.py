"""Makes a stored run of thousands of trials in seconds: a few synthetic trials, each stored many times under new names.

``python tests/golden/large_run.py DIRECTORY [SHIFTS [REPEATS]] [--ios ROWS [--every-trial]]``

With ``--ios`` the trials that a report shows one by one, or all of them, have a row for each of so many I/Os.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "python")]

from recorded_ios import record_all_trials, record_shown_trials  # noqa: E402
from synthetic import SyntheticTrial, log_normal  # noqa: E402

from drivelab.analyse.summary import summarise  # noqa: E402
from drivelab.model.finding import Finding  # noqa: E402
from drivelab.store import layout  # noqa: E402
from drivelab.store.parquet_file import parquet_file  # noqa: E402
from drivelab.store.place import TrialPlace  # noqa: E402
from drivelab.store.tables import histogram_table, interval_table, trial_table  # noqa: E402

SIZES = tuple(2**power for power in range(21))
CACHE_FACTOR = {"on": 1.0, "off": 0.4}
# the file grows with every write, so the later a block the slower the drive
DRIFT_PER_BLOCK = 1.06
_ROWS_AT_ONCE = 256
# stands for the name of a trial until it has one
_ANY = "any-trial"


@dataclass(frozen=True, slots=True)
class _Step:
    """One trial of the run: its place, its levels, and which of the synthetic trials it is."""

    number: int
    block: int
    repeat: int
    levels: Mapping[str, str]
    is_reference: bool

    @property
    def trial(self) -> str:
        words = ["reference"] if self.is_reference else []
        return "-".join([f"{self.number:05}", *words, *self.levels.values()]) + f"-r{self.repeat}"

    @property
    def size(self) -> int:
        return int(self.levels["block_size"])


def write_large_run(directory: Path, *, shifts: int = 8, repeats: int = 3, duration_ns: int = 200_000_000) -> Path:
    """A run of ``21 sizes x shifts x 2 x 2 x repeats`` trials, with a reference that drifts, in `directory`."""
    directory.mkdir(parents=True)
    steps = list(_steps(shifts, repeats))
    (directory / layout.RUN_JSON).write_text(json.dumps(_facts(shifts, repeats, steps)))
    # shifts and direct make no difference
    asked = {(step.size, step.levels["write-cache"], step.repeat) for step in steps}
    made = {key: _tables(*key, duration_ns) for key in asked}
    for place, table in enumerate(layout.TABLES):
        pieces = [
            _named(made[step.size, step.levels["write-cache"], step.repeat][place], step, is_trials=place == 0)
            for step in steps
        ]
        with parquet_file(directory / table, pieces[0].schema, compression="zstd") as file:
            for begin in range(0, len(pieces), _ROWS_AT_ONCE):
                file.write(pa.concat_tables(pieces[begin : begin + _ROWS_AT_ONCE]).combine_chunks())
    return directory


def _steps(shifts: int, repeats: int) -> Iterator[_Step]:
    numbers = itertools.count(1)
    base = {"block_size": "4096", "shift": "0", "direct": "false", "write-cache": "on"}
    for block in range(1, repeats + 1):
        yield _Step(next(numbers), block, block, base, is_reference=True)
        for size, shift, direct, cache in itertools.product(SIZES, range(shifts), ("false", "true"), CACHE_FACTOR):
            levels = {"block_size": str(size), "shift": str(512 * shift), "direct": direct, "write-cache": cache}
            yield _Step(next(numbers), block, block, levels, is_reference=False)
    yield _Step(next(numbers), repeats, repeats + 1, base, is_reference=True)


def _tables(size: int, cache: str, repeat: int, duration_ns: int) -> tuple[pa.Table, ...]:
    """The rows of one synthetic trial in each table."""
    median_ns = (100_000 + 2 * size) * CACHE_FACTOR[cache] * DRIFT_PER_BLOCK**repeat
    trial = SyntheticTrial(
        "trial",
        log_normal(median_ns, 0.1),
        block_size_bytes=size,
        durable=True,
        duration_ns=duration_ns,
        device_writes=1.0 if cache == "off" else 3.0,
        device_flushes=0.0 if cache == "off" else 2.0,
    )
    measured = trial.measurement(seed=size + repeat)
    place = TrialPlace("sdb", "small", 1, 1, 1, "", {}, {})
    found = Finding("no-flush-sent", "note", "a durable write without a flush", _ANY, {"flushes": 0.0})
    rows = trial_table(measured, summarise(measured), place, [found] if cache == "off" else [])
    tables = {
        layout.TRIALS: rows,
        layout.INTERVALS: interval_table(measured),
        layout.HISTOGRAMS: histogram_table(measured),
    }
    return tuple(tables[name] for name in layout.TABLES)


def _named(rows: pa.Table, step: _Step, *, is_trials: bool) -> pa.Table:
    """The rows under the name of a step, and in its place."""
    values: dict[str, Any] = {"trial": step.trial}
    if is_trials:
        values |= {"step": step.number, "block": step.block, "repeat": step.repeat, "is_reference": step.is_reference}
        values |= {"label": f"write, {', '.join(step.levels.values())}", "workload": "small"}
        values |= {"started_utc": f"2026-01-31T12:00:00.{step.number:06}"}
        values["findings_json"] = rows["findings_json"][0].as_py().replace(_ANY, step.trial)
        for name, level in step.levels.items():
            if name != "direct":
                rows = rows.append_column(f"asked_{name}", pa.array([level], pa.string()))
        achieved = pa.array([step.levels["write-cache"]], pa.string())
        rows = rows.append_column("achieved_write-cache", achieved)
    for name, value in values.items():
        place = rows.column_names.index(name)
        column = pa.array([value] * rows.num_rows, rows.schema.field(name).type)
        rows = rows.set_column(place, rows.schema.field(name), column)
    return rows


def _facts(shifts: int, repeats: int, steps: list[_Step]) -> dict[str, Any]:
    factors = {
        "block_size": [str(size) for size in SIZES],
        "shift": [str(512 * number) for number in range(shifts)],
        "direct": [False, True],
    }
    return {
        "schema": layout.SCHEMA,
        "status": "complete",
        "started_utc": "2026-01-31T12:00:00.000+00:00",
        "finished_utc": "2026-01-31T15:00:00.000+00:00",
        "experiment": {
            "name": "write-size",
            "question": "How does the time of one durable write depend on its size?",
            "design": "full",
            "tables": ["results", "effects"],
            "workloads": [{"name": "small", "title": "write + fdatasync"}],
            "factors": [
                *({"setting": "workload", "key": key, "levels": levels} for key, levels in factors.items()),
                {"setting": "write-cache", "levels": list(CACHE_FACTOR)},
            ],
        },
        "plan": {
            "seed": 1,
            "quick": False,
            "steps": [
                {"number": step.number, "trial": step.trial, "levels": dict(step.levels)}
                | {"block": step.block, "repeat": step.repeat, "is_reference": step.is_reference}
                for step in steps
            ],
        },
        "targets": [],
        "findings": [],
        "failures": {},
        "restored": [],
    }


def main() -> None:
    """Make what was asked for, and say where it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("shifts", type=int, nargs="?", default=8)
    parser.add_argument("repeats", type=int, nargs="?", default=3)
    parser.add_argument("--ios", type=int, default=0, metavar="ROWS", help="rows of single I/Os in each recorded trial")
    parser.add_argument("--every-trial", action="store_true", help="record all trials, not only those shown one by one")
    asked = parser.parse_args()
    directory = write_large_run(asked.directory, shifts=asked.shifts, repeats=asked.repeats)
    if asked.ios:
        (record_all_trials if asked.every_trial else record_shown_trials)(directory, asked.ios)
    print(directory)


if __name__ == "__main__":
    main()
