"""Gives trials of a stored run a row for every I/O: one synthetic trial, recorded once and copied to each of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from synthetic import SyntheticTrial, log_normal, with_stalls

from drivelab.report.gather import gather
from drivelab.store import layout
from drivelab.store.read import open_run
from drivelab.store.records import RecordSink

_MEDIAN_NS = 100_000
# a stall now and then and a wide body: many cells of a figure hold something
_LAW = with_stalls(log_normal(_MEDIAN_NS, 0.8), stall_ns=80_000_000, every=2_000)
_BATCH_ROWS = 1 << 16
# operations that are made up
_MADE = 20_000


def record_shown_trials(directory: Path, rows: int) -> list[str]:
    """Rows for each trial that a report shows one by one; their names."""
    names = [trial.name for trial in gather(open_run(directory)).trials]
    record_trials(directory, rows, names)
    return names


def record_all_trials(directory: Path, rows: int) -> list[str]:
    """Rows for each trial; their names."""
    names = open_run(directory).attempt_names()
    record_trials(directory, rows, names)
    return names


def record_trials(directory: Path, rows: int, trials: Iterable[str], *, durable: bool = True) -> None:
    """Put `rows` rows into the file of each of some trials of the run in `directory`.

    A durable write has two rows, of the write and of the sync call after it;
    other trials read.
    """
    names = iter(trials)
    ios = directory / layout.IOS
    ios.mkdir()
    for name in islice(names, 1):
        first = ios / layout.ios_name(name)
        with RecordSink(first) as sink:
            for batch in io_rows(rows, durable=durable).to_batches(max_chunksize=_BATCH_ROWS):
                sink(batch)
        for other in names:
            shutil.copyfile(first, ios / layout.ios_name(other))


def io_rows(rows: int, *, durable: bool) -> pa.Table:
    """So many rows of a synthetic trial, in the order in which its I/Os completed: a few, again and again."""
    trial = SyntheticTrial("trial", _LAW, durable=durable, duration_ns=_MADE * _MEDIAN_NS, has_records=True)
    made = trial.measurement(seed=1).records
    assert made is not None
    span_ns = pc.max(made["issue_ns"]).as_py() - pc.min(made["issue_ns"]).as_py() + _MEDIAN_NS
    place = made.column_names.index("issue_ns")
    later = [
        made.set_column(place, "issue_ns", pc.add(made["issue_ns"], number * span_ns))
        for number in range(-(-rows // made.num_rows))
    ]
    return pa.concat_tables(later).slice(0, rows)
