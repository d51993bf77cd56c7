"""A load that drivelab itself issued, from the rows that it kept of every I/O."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drivelab.model.errors import DrivelabError
from drivelab.model.issued_as import IssuedAs
from drivelab.model.names import counted
from drivelab.model.recording import RECORDED_OPERATIONS, SYNC, RecordedThread, Recording, deepest
from drivelab.store.layout import IOS, RECORDINGS, ios_name
from drivelab.store.parquet_read import metadata_of, missing_columns
from drivelab.store.parts import read_parquet
from drivelab.store.read import open_run
from drivelab.store.records import ISSUED_AS_KEY

_COLUMNS = ("job", "operation", "issue_ns", "offset_bytes", "size_bytes", "total_latency_ns")
_UNKNOWN = "whether it bypassed the page cache was not recorded (--buffered, if it did not)"
_KEPT = "name the run that it belongs to, or a file that was recorded: drivelab io --record"
_SIZE_MAX, _VALUE_MAX = 1 << 30, 1 << 62


def read_own_run(directory: Path, only: str) -> Recording:
    """The load of a trial whose I/Os were kept.

    Parameters
    ----------
    directory : Path
        Of the run.
    only : str
        Name of the trial; may be empty where one alone has its I/Os kept.

    Raises
    ------
    DrivelabError
        B920: no trial of it has them. U005: there are several, or it is none of them. S504 to S506: the run.
    """
    run = open_run(directory)
    kept = [name for name in run.trial_names if (run.folder(IOS) / ios_name(name)).is_file()]
    if not kept:
        do = "measure again and keep them: drivelab replay --record-ios, or record_ios = true in an experiment"
        recordings = run.directory / RECORDINGS
        traced = next((name for name in run.trial_names if (recordings / name).is_dir()), "")
        if traced:
            where = shlex.quote(str(recordings / traced))
            do = f"play what its disk did in a traced trial: drivelab replay {where} TARGET"
        if run.record.experiment.get("name") == "replay":
            do = "it is a replay itself, and LAST the newest run: name its recording, or keep I/Os: --record-ios"
        raise DrivelabError("B920", "the run kept no single I/Os of its trials", where=str(directory), do=do)
    if only not in kept and (only or len(kept) > 1):
        what = f"the run kept the I/Os of {counted(len(kept), 'trial')}" + (
            f", none of which is {only}" if only else ""
        )
        raise DrivelabError("U005", what, where="option --only", do=f"name one: --only {kept[0]}")
    name = only or kept[0]
    rows = run.ios(name)
    found = _recording(rows, f"{directory}: {name}", IssuedAs.of(run.measurement(name).workload))
    if len(run.trial_names) == 1:
        return found
    note = f"only {name} is played, of the {len(run.trial_names)} trials of the run"
    return replace(found, notes=(*found.notes, note))


def read_kept_ios(path: Path) -> Recording:
    """The load of a file that ``drivelab io --record`` wrote.

    Raises
    ------
    DrivelabError
        B920: it is another Parquet file. B921: its metadata cannot be understood. S506: it is damaged.
    """
    if missing := missing_columns(path, _COLUMNS):
        what = f"it is sound, but holds no I/Os of drivelab: it has no column {missing[0]}"
        raise DrivelabError("B920", what, where=str(path), do=_KEPT)
    rows, told = read_parquet(path, IOS), metadata_of(path, ISSUED_AS_KEY)
    try:
        issued_as = IssuedAs.model_validate_json(told) if told else None
    except ValueError:
        what = "its metadata do not tell how its I/Os were issued in a way that can be understood"
        raise DrivelabError("B921", what, where=str(path)) from None
    return _recording(rows, str(path), issued_as)


def _refuse_damaged(rows: pa.Table, source: str) -> None:
    """Return only if the rows can be those of I/Os.

    Raises
    ------
    DrivelabError
        B921: a column has a number that no I/O can have.
    """
    for name in _COLUMNS:
        column, most = rows[name], _SIZE_MAX if name == "size_bytes" else _VALUE_MAX
        bounds = pc.min_max(column).as_py()
        if len(column) and not 0 <= bounds["min"] <= bounds["max"] <= most:
            what = f"the column {name} holds {bounds['min']} to {bounds['max']}, and no I/O is beyond 0 to {most}"
            raise DrivelabError("B921", what, where=source)


def _recording(rows: pa.Table | None, source: str, issued_as: IssuedAs | None) -> Recording:
    missing = [name for name in _COLUMNS if rows is None or name not in rows.column_names]
    if rows is None or missing:
        raise DrivelabError("B920", f"it has no column {missing[0]}: no I/Os of drivelab", where=source)
    if rows.num_rows and pc.max(rows["operation"]).as_py() > SYNC:
        what = f"it holds operations on files, and only {', '.join(RECORDED_OPERATIONS)} are issued again"
        raise DrivelabError("B920", what, where=source, do="name the run of a workload on blocks")
    _refuse_damaged(rows, source)
    job, operation, issued, offset, size, latency = (
        rows[name].to_numpy(zero_copy_only=False).astype(np.int64) for name in _COLUMNS
    )
    begin = issued.min() if len(issued) else 0
    threads = []
    for number in np.unique(job):
        chosen = np.flatnonzero(job == number)
        # rows are in the order of completion
        chosen = chosen[np.argsort(issued[chosen], kind="stable")]
        is_sync = operation[chosen] == SYNC
        start_ns, latency_ns = issued[chosen] - begin, latency[chosen]
        threads.append(
            RecordedThread(
                start_ns,
                operation[chosen],
                np.where(is_sync, 0, offset[chosen]),
                np.where(is_sync, 0, size[chosen]),
                latency_ns,
                deepest(start_ns, latency_ns),
            )
        )
    found = Recording(source, "I/Os kept by drivelab", tuple(threads))
    if issued_as is None:
        return replace(found, not_compared=RECORDED_OPERATIONS, doubt=_UNKNOWN)
    return replace(found, **issued_as.model_dump())
