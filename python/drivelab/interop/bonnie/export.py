"""Writes runs of `filesystem-suite` as the lines that bonnie++ 2.00a prints: what bon_csv2html and others read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from drivelab.interop.bonnie.fields import FIELDS, FILES_PER_UNIT, PHASES, Phase
from drivelab.model.histogram import merge
from drivelab.model.measurement import Measurement
from drivelab.store.columns import TRIAL_COLUMNS
from drivelab.store.read import StoredRun

_FORMAT, _PROGRAM = "1.98", "2.00a"
# a latency stands in the first unit in which it has at most five digits
_LATENCY_UNITS = (("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000))
_DIGITS_MAX = 99_999
_STANDARD = {column.name for column in TRIAL_COLUMNS}
_FILESYSTEM = "asked_filesystem"
# factors with their levels, the target first
_Levels = tuple[tuple[str, str], ...]


def bonnie_lines(run: StoredRun) -> list[str]:
    """One line for each target and combination of factors that has phases of bonnie++.

    Repeats of a combination are taken together: the rate of all their bytes or
    files over all their time, and the worst latency of any. A phase that was not
    measured is empty, as where bonnie++ was told to leave it out.

    Parameters
    ----------
    run : StoredRun
        A run whose workloads are named as those of `filesystem-suite`.

    Returns
    -------
    list of str
        Lines of format 1.98 without their ends; empty when no workload is a phase.
    """
    known = {phase.workload for phase in PHASES}
    rows = [row for row in run.trials.to_pylist() if row["workload"] in known and not row["is_reference"]]
    factors = _varying(rows)
    groups: dict[_Levels, dict[str, list[Measurement]]] = {}
    for levels in dict.fromkeys(_levels(row, factors) for row in rows):
        # a phase that a factor does not concern is the same at each of its levels
        if not any(levels != other and _is_part_of(levels, other) for other in (_levels(row, factors) for row in rows)):
            groups[levels] = {}
    for row in rows:
        measured = run.measurement(row["trial"])
        for levels, phases in groups.items():
            if _is_part_of(_levels(row, factors), levels):
                phases.setdefault(row["workload"], []).append(measured)
    seed = run.record.plan.get("seed", "")
    return [_line(_name(levels), seed, phases) for levels, phases in groups.items()]


def _varying(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The target, and the factors with more than one level."""
    names = {name for row in rows for name in row if name.startswith("asked_") and name not in _STANDARD}
    levels = {name: {row[name] for row in rows if row.get(name) is not None} for name in names}
    return ("target", *sorted(name for name, found in levels.items() if len(found) > 1 or name == _FILESYSTEM))


def _levels(row: Mapping[str, Any], factors: Sequence[str]) -> _Levels:
    return tuple((name, str(row[name])) for name in factors if row.get(name) is not None)


def _is_part_of(one: _Levels, other: _Levels) -> bool:
    return set(one) <= set(other)


def _name(levels: _Levels) -> str:
    """What bonnie++ calls the machine: the target with the levels of the factors. A comma would end the field."""
    return " ".join(level for _, level in levels).replace(",", ";")


def _line(name: str, seed: object, measured: Mapping[str, Sequence[Measurement]]) -> str:
    values = {"format_version": _FORMAT, "version": _PROGRAM, "name": name, "seed": str(seed)}
    values |= {"concurrency": str(_jobs(measured))} | _sizes(measured)
    for phase in PHASES:
        values |= dict(_phase(phase, measured.get(phase.workload, ())))
    return ",".join(values.get(field, "") for field in FIELDS)


def _jobs(measured: Mapping[str, Sequence[Measurement]]) -> int:
    others = [each for workload, found in measured.items() if workload != "seeks" for each in found]
    return max((each.workload.job_count for each in others), default=1)


def _sizes(measured: Mapping[str, Sequence[Measurement]]) -> dict[str, str]:
    """Size of the file, number of seeks, number and sizes of the small files."""
    found = {}
    for workload in ("block-read", "block-write", "rewrite"):
        for each in measured.get(workload, ())[:1]:
            size = each.workload.target.size_bytes or int(each.engine["operations"][_moved(each)]["bytes"])
            found["file_size"] = f"{size >> 20}M"
    for each in measured.get("seeks", ())[:1]:
        found |= {"seeks_count": str(each.operation_count("read")), "seek_processes": str(each.workload.job_count)}
    for each in (first for phase in PHASES if phase.is_names for first in measured.get(phase.workload, ())[:1]):
        tree = each.workload.tree
        if tree is not None:
            found |= {"num_files": f"{tree.file_count / FILES_PER_UNIT:g}", "max_size": str(tree.file_bytes_max)}
            found |= {"min_size": str(tree.file_bytes_min), "num_dirs": str(tree.directory_count)}
    return found


def _phase(phase: Phase, measured: Sequence[Measurement]) -> Iterator[tuple[str, str]]:
    seconds = sum(each.measured_s for each in measured)
    if not seconds:
        return
    count = sum(each.operation_count(_operation(phase, each)) for each in measured)
    moved = sum(int(each.engine["operations"].get(_moved(each), {}).get("bytes", 0)) for each in measured)
    is_counted = phase.is_names or phase.workload == "seeks"
    yield phase.field, _digits(count / seconds if is_counted else moved / 1024 / seconds)
    spent_ns = sum(float((each.engine.get("cpu") or {}).get("total_ns", 0)) for each in measured)
    yield f"{phase.field}_cpu", _digits(spent_ns / 1e7 / seconds)
    histograms = [found for each in measured if (found := _latencies(phase, each)) is not None]
    if histograms:
        yield f"{phase.field}_latency", latency_text(merge(histograms).maximum_ns)


def _operation(phase: Phase, measured: Measurement) -> str:
    return phase.operation if phase.is_names else _moved(measured)


def _moved(measured: Measurement) -> str:
    """The operation whose bytes are the rate: of a rewrite those read, which bonnie++ counts once as well."""
    return measured.workload.operations[0].operation


def _latencies(phase: Phase, measured: Measurement) -> Any:
    pair = measured.histograms.get(("rewrite", "total")) if phase.workload == "rewrite" else None
    return pair or measured.histograms.get((_operation(phase, measured), "total"))


def _digits(value: float) -> str:
    """A rate as bonnie++ prints it: whole above 1000, else with one digit behind the point."""
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}".removesuffix(".0")


def latency_text(latency_ns: int) -> str:
    """A latency with its unit, as bonnie++ writes it: ``663us``, ``120ms``, ``100s``."""
    for unit, unit_ns in _LATENCY_UNITS:
        if latency_ns / unit_ns <= _DIGITS_MAX:
            return f"{latency_ns / unit_ns:.0f}{unit}"
    return f"{latency_ns / 1e9:.0f}s"
