"""Reads the cells of the trials table that hold JSON, each held to the types that its readers rely on.

A text that was damaged, or that another program wrote, is reported with its
trial as S506; whoever gets a value from here meets no surprise in it.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Annotated, Any, Required, TypedDict, TypeVar

from pydantic import ValidationError

from drivelab.model.errors import DrivelabError
from drivelab.model.estimate import Estimate
from drivelab.model.finding import Finding
from drivelab.model.measurement import DeviceCounts
from drivelab.model.quantile_order import with_lows_in_order
from drivelab.model.trace import TraceConduct
from drivelab.model.workload import Workload
from drivelab.store.json_types import PARTIAL, JsonTypeError, require_type

_Made = TypeVar("_Made", Finding, Estimate, DeviceCounts)


class _Counts(TypedDict, total=False):
    count: int
    bytes: int
    errors: int
    short: int


class _Backend(TypedDict, total=False):
    name: str
    reason: str


class _Achieved(TypedDict, total=False):
    queue_depth_mean: float | None
    queue_depth_max: int | None
    direct: bool | None
    job_count: int | None
    outstanding_levels: list[int]
    sent_levels: list[int]
    found_levels: list[int]


class _Arrivals(TypedDict, total=False):
    scheduled: int
    issued: int
    late: int
    missed: int


class _Engine(TypedDict, total=False):
    backend: _Backend
    achieved: _Achieved
    operations: Required[dict[str, _Counts]]
    all_phases: dict[str, _Counts]
    cpu: dict[str, int] | None
    arrivals: _Arrivals | None
    errors: list[dict[str, Any]] | None
    started_monotonic_ns: int
    ramp_ns: int
    measured_ns: Required[int]
    drain_ns: int
    stopped_by: str
    abandoned_jobs: int | None
    zones: dict[str, int] | None


class _Trim(TypedDict, total=False):
    kind: str
    discarded_bytes: int | None


class _Program(TypedDict):
    name: str
    processors: float
    bytes_read: int
    bytes_written: int


class _OtherPrograms(TypedDict):
    bytes_read: int
    bytes_written: int
    bytes_written_elsewhere: int
    busiest: list[_Program]


class _Context(TypedDict, total=False):
    label: str
    session: int
    kernel_release: str
    boot_id: str
    counted_device: str | None
    command_counts: dict[str, Any] | None
    settings_changed: dict[str, str] | None
    page_cache: dict[str, Any] | None
    dropped_page_cache: dict[str, Any] | None
    extents: dict[str, Any] | None
    pressure: dict[str, Any] | None
    other_work: dict[str, Any] | None
    other_programs: _OtherPrograms | None
    own_reads: dict[str, int | None] | None
    write_cache_emptied_ns: int | None
    together: dict[str, Any] | None
    trim: _Trim | None
    imported: dict[str, Any] | None
    trace: Annotated[TraceConduct | None, PARTIAL]
    trace_reason: str | None


_TYPES: dict[str, Any] = {
    "workload_json": Annotated[Workload, PARTIAL],
    "engine_json": _Engine,
    "devices_json": list[DeviceCounts],
    "context_json": _Context,
    "estimates_json": dict[str, Estimate],
    "findings_json": list[Finding],
}
JSON_COLUMNS = tuple(_TYPES)


def cell_value(column: str, text: str | None, trial: str) -> Any:
    """What a cell holds, as plain data; what is empty or null holds an empty list or object.

    Parameters
    ----------
    column : str
        One of `JSON_COLUMNS`.
    trial : str
        Whose it is, for the error.

    Raises
    ------
    DrivelabError
        S506: it is no JSON, or something in it is of another type.
    """
    try:
        value = json.loads(text or ("[]" if column in ("devices_json", "findings_json") else "{}"))
        require_type(value, _TYPES[column])
    except RecursionError as error:
        raise _damaged(column, trial, "it is nested too deep") from error
    except (JsonTypeError, ValueError) as error:
        raise _damaged(column, trial, str(error)) from error
    return value


def findings_in(text: str | None, trial: str) -> list[Finding]:
    """The findings of a cell.

    Raises
    ------
    DrivelabError
        S506: they cannot be read.
    """
    return [made(Finding, one) for one in cell_value("findings_json", text, trial)]


def estimates_in(text: str | None, trial: str) -> dict[str, Estimate]:
    """The estimates of a cell, by name; quantiles of one latency do not contradict each other.

    Raises
    ------
    DrivelabError
        S506: they cannot be read.
    """
    stored = cell_value("estimates_json", text, trial)
    return with_lows_in_order({name: made(Estimate, one) for name, one in stored.items()})


def devices_in(text: str | None, trial: str) -> tuple[DeviceCounts, ...]:
    """What each device executed, by a cell.

    Raises
    ------
    DrivelabError
        S506: it cannot be read.
    """
    return tuple(made(DeviceCounts, one) for one in cell_value("devices_json", text, trial))


def workload_in(text: str | None, trial: str) -> Workload:
    """The workload of a cell.

    Raises
    ------
    DrivelabError
        S506: it is none.
    """
    try:
        return Workload.model_validate(cell_value("workload_json", text, trial))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise _damaged("workload_json", trial, f"{place}: {first['msg']}") from error


def made(kind: type[_Made], document: dict[str, Any]) -> _Made:
    """An object of what was stored of it; a newer drivelab may have stored more."""
    return kind(**{one.name: document[one.name] for one in fields(kind) if one.name in document})


def _damaged(column: str, trial: str, why: str) -> DrivelabError:
    return DrivelabError("S506", f"{column} of trial {trial!a} cannot be understood: {why}", where="trials.parquet")
