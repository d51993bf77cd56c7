"""Reads the logs that fio writes beside its results: a line for each I/O, or for each window of time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from drivelab.interop.fio.result_stats import bucket_of
from drivelab.interop.foreign import (
    ForeignFile,
    ForeignTrial,
    SourceText,
    broken_field,
    broken_line,
    nothing_in,
    size_level,
    told,
    whole_number_of,
    workload_name,
)
from drivelab.model.errors import DrivelabError
from drivelab.model.estimate import Estimate
from drivelab.model.histogram import Histogram
from drivelab.model.workload import BlockSizeShare, OperationShare, TargetRange, Workload

Integers = NDArray[np.int64]
# fio's name of a log, our latency
_LATENCIES: Mapping[str, str] = {"lat": "total", "clat": "completion", "slat": "submission"}
_NAME = re.compile(r"(?P<job>.+)_(?P<kind>clat|slat|lat|bw|iops)(?:\.(?P<clone>\d+))?(?:\.log)?$")
_LINE = re.compile(r"\s*\d+, \d+, [0-2], \d+(, (0x)?[0-9a-f]+){0,3}\s*$", re.MULTILINE)
_OPERATIONS = ("read", "write", "trim")
_LOGS = "logs"
_COLUMNS = ("time", "value", "direction", "block size")
# time stands in whole ms: a shorter log tells no rate
_RATES_FROM_MS = 100
# a median of fewer lies all on one side of them more often than once in forty times
_FEWEST = {"p50": (0.5, 6), "p90": (0.9, 36), "p99": (0.99, 368), "p999": (0.999, 3688)}


@dataclass(frozen=True, slots=True)
class _Log:
    """The lines of one direction."""

    kind: str
    operation: Literal["read", "write", "trim"]
    line: int
    time_ms: Integers
    value: Integers
    size_bytes: Integers

    @property
    def is_of_windows(self) -> bool:
        """Whether a line is of a window of time: then it has no size."""
        return not self.size_bytes.any()


def is_log(text: str) -> bool:
    """Whether a text begins as a log of fio."""
    return _LINE.match(text) is not None


def read_log(source: SourceText) -> ForeignFile:
    """The numbers of a log; a trial for each direction in it.

    Raises
    ------
    DrivelabError
        I501: its name does not tell what was logged. I503, I504: a field or a line cannot be read. I505: no line.
    """
    name = _NAME.match(source.name)
    if name is None:
        what = "it is a log of fio, and its name does not tell of what"
        do = "name it as fio does: NAME_lat.1.log, NAME_clat.1.log, NAME_slat.1.log, NAME_bw.1.log or NAME_iops.1.log"
        raise DrivelabError("I501", what, where=source.name, do=do)
    logs = list(_directions(source, name["kind"]))
    if not logs:
        raise nothing_in(source, "fio")
    trials = tuple(_trial(one, name["job"], name["clone"] or "") for one in logs)
    return ForeignFile(source, "fio", "", trials, tuple(_notes(logs)))


def joined_logs(results: Iterable[tuple[ForeignFile, ForeignTrial]]) -> list[tuple[ForeignFile, ForeignTrial]]:
    """Results, with the logs of each direction of a job together, as fio wrote them: one for each kind.

    Two logs of a kind are of two runs of the job.
    """
    found: list[tuple[ForeignFile, ForeignTrial]] = []
    for file, trial in results:
        kinds = set(trial.details.get(_LOGS, ()))
        place = next((at for at, (_, other) in enumerate(found) if kinds and _is_beside(trial, other)), None)
        if place is None:
            found.append((file, trial))
        else:
            found[place] = found[place][0], _together(found[place][1], trial)
    return found


def _is_beside(trial: ForeignTrial, other: ForeignTrial) -> bool:
    """Whether two trials are different logs of one direction of one job."""
    kinds, others = (set(one.details.get(_LOGS, ())) for one in (trial, other))
    is_of_one = (trial.workload, trial.parameters) == (other.workload, other.parameters)
    return bool(others) and is_of_one and not kinds & others


def _together(first: ForeignTrial, second: ForeignTrial) -> ForeignTrial:
    return replace(
        first,
        # of single I/Os both tell the same rates
        estimates={**second.estimates, **first.estimates},
        operations=first.operations or second.operations,
        histograms={**first.histograms, **second.histograms},
        measured_ns=max(first.measured_ns, second.measured_ns),
        details={**first.details, _LOGS: {**first.details[_LOGS], **second.details[_LOGS]}},
    )


def _directions(source: SourceText, kind: str) -> Iterator[_Log]:
    rows: list[tuple[int, ...]] = []
    lines: list[int] = []
    for number, text in enumerate(source.text.splitlines(), start=1):
        if not text.strip():
            continue
        fields = text.split(",")
        if len(fields) < len(_COLUMNS):
            what = f"{len(fields)} fields where a log of fio has at least {len(_COLUMNS)}"
            raise broken_line(what, source, number)
        # most lines need no closer look
        row = tuple(
            int(field) if (field := one.strip()).isdecimal() and len(field) < 18 else _whole(one, source, number, name)
            for one, name in zip(fields, _COLUMNS, strict=False)
        )
        if row[2] >= len(_OPERATIONS):
            raise broken_field(
                f"{row[2]} is no direction: 0 read, 1 write, 2 trim", source, number, f"column {_COLUMNS[2]}"
            )
        rows.append(row)
        lines.append(number)
    table = np.asarray(rows, dtype=np.int64).reshape(-1, len(_COLUMNS))
    for direction, operation in enumerate(_OPERATIONS):
        chosen = table[:, 2] == direction
        if chosen.any():
            time, value, _, size = table[chosen].T
            yield _Log(kind, operation, lines[int(chosen.argmax())], time, value, size)  # type: ignore[arg-type]


def _whole(text: str, source: SourceText, line: int, name: str) -> int:
    return whole_number_of(text, source, line, f"column {name}")


def _trial(log: _Log, job: str, clone: str) -> ForeignTrial:
    sizes = np.unique(log.size_bytes[log.size_bytes > 0])
    known: dict[str, Any] = {"target": TargetRange(path="")}
    if log.operation in ("read", "write"):
        known["operations"] = (OperationShare(operation=log.operation),)
    if sizes.size == 1 and sizes[0] <= 2**30:
        known["block_sizes"] = (BlockSizeShare(bytes=int(sizes[0])),)
    level = size_level(int(sizes[0])) if sizes.size == 1 else ""
    histogram = None if log.is_of_windows or log.kind not in _LATENCIES else _histogram(log.value)
    parameters = {"operation": log.operation, "block_size": level, "clone": clone}
    counted = {} if log.is_of_windows else {"count": log.value.size, "bytes": int(log.size_bytes.sum()), "errors": 0}
    return ForeignTrial(
        workload=workload_name(job),
        title=f"{job}, as logged",
        operation=log.operation,
        known=Workload(**known),
        estimates=_estimates(log, histogram),
        line=log.line,
        parameters={name: value for name, value in parameters.items() if value},
        operations={log.operation: counted} if counted else {},
        histograms={(log.operation, _LATENCIES[log.kind]): histogram} if histogram is not None else {},
        measured_ns=int(log.time_ms.max()) * 10**6,
        details={_LOGS: {log.kind: {"lines": log.value.size, "is_of_windows": log.is_of_windows}}},
    )


def _histogram(values_ns: Integers) -> Histogram:
    values, times = np.unique(values_ns, return_counts=True)
    buckets, place = np.unique([bucket_of(value) for value in values.tolist()], return_inverse=True)
    counts = np.zeros(buckets.size, dtype=np.int64)
    np.add.at(counts, place, times)
    return Histogram(
        bucket=buckets.astype(np.int64),
        count=counts,
        minimum_ns=int(values[0]),
        maximum_ns=int(values[-1]),
        sum_ns=int(values_ns.sum()),
    )


def _estimates(log: _Log, histogram: Histogram | None) -> dict[str, Estimate]:
    if log.is_of_windows:
        return _of_windows(log)
    found: dict[str, Estimate] = {}
    count, last_ms = log.value.size, int(log.time_ms.max())
    if histogram is not None:
        start = f"{_LATENCIES[log.kind]}_latency_ns_"
        found |= {
            f"{start}mean": told(histogram.mean_ns, "ns", "of the I/Os as logged", count),
            f"{start}min": told(histogram.minimum_ns, "ns", "of the I/Os as logged", count),
            f"{start}max": told(histogram.maximum_ns, "ns", "of the I/Os as logged; the next may be larger", count),
        }
        for name, (share, fewest) in _FEWEST.items():
            if count >= fewest:
                found[start + name] = told(histogram.quantile_ns(share), "ns", "of the I/Os as logged", count)
    if last_ms >= _RATES_FROM_MS:
        moved = int(log.size_bytes.sum())
        found["iops"] = told(1e3 * count / last_ms, "1/s", "lines of the log over its length", count)
        found["throughput_bytes_per_s"] = told(1e3 * moved / last_ms, "B/s", "the same in bytes", count)
    return found


def _of_windows(log: _Log) -> dict[str, Estimate]:
    """The mean of the windows, each counted alike; nothing of how single I/Os scatter."""
    mean, count, method = float(log.value.mean()), log.value.size, "mean of the windows as logged"
    if log.kind == "bw":
        return {"throughput_bytes_per_s": told(1024 * mean, "B/s", method, count)}
    if log.kind == "iops":
        return {"iops": told(mean, "1/s", method, count)}
    return {f"{_LATENCIES[log.kind]}_latency_ns_mean": told(mean, "ns", method, count)}


def _notes(logs: list[_Log]) -> Iterator[str]:
    yield "a log tells neither the engine nor the depth, nor whether I/O was direct: its job's JSON does"
    if any(one.is_of_windows for one in logs):
        yield (
            "its lines are of windows (log_avg_msec): their mean is taken, which counts every window alike, and there "
            "are no quantiles; with log_max_value they would be the largest of each, which the file does not tell"
        )
    if any(not one.is_of_windows and one.time_ms.max() < _RATES_FROM_MS for one in logs):
        yield f"it is shorter than {_RATES_FROM_MS} ms, and its times are whole ms: no rate is told"
