"""How each trial was set: what was asked for and what was achieved, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drivelab.model.level_words import level_text
from drivelab.model.setting import AS_FOUND
from drivelab.model.units import format_bytes, format_duration_ns
from drivelab.report.content import TrialContent
from drivelab.report.facts import fact_rows
from drivelab.report.numerals import count_text, number_text

_ENDINGS = {
    "runtime": "its time was up",
    "bytes": "its bytes were moved",
    "count": "its count was reached",
    "caller": "it was told to stop",
    "precision": "its number was known well enough",
    "range_end": "it came to the end of the range",
    "error": "an error ended it",
}
# of a run that was imported: a default would pass for a fact
_NOT_TOLD = "not told"
# columns of the trials table that hold no factor
_FIXED = ("backend", "direct", "queue_depth", "job_count")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of one trial: asked, achieved, and whether the two agree (None: nothing to compare)."""

    name: str
    asked: str
    achieved: str
    agrees: bool | None
    remark: str = ""


@dataclass(frozen=True, slots=True)
class TrialSettings:
    """One trial: its settings in the order of the table's columns, and everything else recorded about it."""

    trial: TrialContent
    settings: tuple[Setting, ...]
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class SettingsTable:
    """A column per setting, a row per trial."""

    columns: tuple[str, ...]
    rows: tuple[TrialSettings, ...]


def settings_table(trials: Sequence[TrialContent]) -> SettingsTable:
    """The settings of every trial; one that a trial does not have is empty there."""
    found = [{setting.name: setting for setting in _settings(trial)} for trial in trials]
    columns = tuple(dict.fromkeys(name for settings in found for name in settings))
    rows = [
        TrialSettings(
            trial, tuple(settings.get(name) or Setting(name, "", "", None) for name in columns), tuple(_facts(trial))
        )
        for trial, settings in zip(trials, found, strict=True)
    ]
    return SettingsTable(columns, tuple(rows))


def _settings(trial: TrialContent) -> list[Setting]:
    workload, engine = trial.workload, trial.engine
    achieved = engine.get("achieved", {})
    direct = achieved.get("direct")
    found = [*_factors(trial.row), _backend(workload, engine.get("backend", {}))]
    wanted = workload.get("direct")
    agrees = None if direct is None and wanted is None else direct == wanted
    found.append(Setting("page cache bypassed", _yes(wanted), _yes(direct), agrees))
    found += [_queue_depth(workload, achieved), _bytes(trial), _length(trial)]
    if engine.get("arrivals"):
        found.append(_arrivals(workload, engine["arrivals"]))
    return found


def _backend(workload: Mapping[str, Any], backend: Mapping[str, Any]) -> Setting:
    asked, achieved = str(workload.get("backend", _NOT_TOLD)), str(backend.get("name", "unknown"))
    agrees = None if asked in ("auto", _NOT_TOLD) else asked == achieved
    return Setting("backend", asked, achieved, agrees, str(backend.get("reason") or ""))


def _factors(row: Mapping[str, Any]) -> list[Setting]:
    names = [key.removeprefix("asked_") for key, value in row.items() if key.startswith("asked_") and value is not None]
    return [
        Setting(
            name.replace("_", " "),
            level_text(name, str(row[f"asked_{name}"])),
            level_text(name, str(row.get(f"achieved_{name}") or "not read back")),
            _factor_agrees(name, row[f"asked_{name}"], row.get(f"achieved_{name}")),
        )
        for name in names
        if name not in _FIXED
    ]


def _factor_agrees(name: str, asked: object, achieved: object) -> bool | None:
    # the name of a file system is its author's; that the kernel mounted the type is checked when it is mounted
    if achieved is None or asked == AS_FOUND or name == "filesystem":
        return None
    return asked == achieved


def _queue_depth(workload: Mapping[str, Any], achieved: Mapping[str, Any]) -> Setting:
    if "queue_depth" not in workload:
        return Setting("I/Os outstanding", _NOT_TOLD, "not measured", None)
    depth, jobs = workload.get("queue_depth", 1), workload.get("job_count", 1)
    asked = f"{depth} × {jobs} jobs" if jobs != 1 else str(depth)
    mean, highest = achieved.get("queue_depth_mean"), achieved.get("queue_depth_max")
    if mean is None:
        return Setting("I/Os outstanding", asked, "not measured", None)
    remark = f"on average; {count_text(highest)} at most" if highest is not None else "on average"
    return Setting("I/Os outstanding", asked, number_text(mean), mean >= 0.9 * depth * jobs, remark)


def _bytes(trial: TrialContent) -> Setting:
    """Bytes that the program moved, and bytes that the drive saw: a cache between them shows here."""
    operation = "write" if trial.is_durable else trial.operation
    phases = trial.engine.get("all_phases", trial.engine.get("operations", {}))
    issued = phases.get(operation, {}).get("bytes", 0)
    if trial.context.get("imported"):
        asked = format_bytes(issued) if issued else _NOT_TOLD
        return Setting("bytes issued, seen by the drive", asked, "not known", None)
    if not trial.devices:
        return Setting("bytes issued, seen by the drive", format_bytes(issued), "no drive known", None)
    seen = trial.devices[0].get("bytes_read" if operation == "read" else "bytes_written", 0)
    agrees = None if operation == "trim" else seen >= 0.95 * issued
    return Setting("bytes issued, seen by the drive", format_bytes(issued), format_bytes(seen), agrees)


def _length(trial: TrialContent) -> Setting:
    workload, engine, ended = trial.workload, trial.engine, trial.context.get("ended_by") or {}
    limits = workload.get("limits", {})
    asked = []
    if limits.get("runtime_ns"):
        asked.append(format_duration_ns(limits["runtime_ns"]))
    if limits.get("count"):
        asked.append(f"{count_text(limits['count'])} I/Os")
    if limits.get("bytes"):
        asked.append(format_bytes(limits["bytes"]))
    achieved = format_duration_ns(engine.get("measured_ns", 0)) if engine.get("measured_ns") != 0 else _NOT_TOLD
    remark = ended.get("why") or _ENDINGS.get(str(engine.get("stopped_by")), "")
    unlimited = "no limit" if "limits" in workload else _NOT_TOLD
    return Setting("length", " or ".join(asked) or unlimited, achieved, None, remark)


def _arrivals(workload: Mapping[str, Any], arrivals: Mapping[str, Any]) -> Setting:
    pacing = workload.get("pacing", {})
    late, missed = arrivals.get("late", 0), arrivals.get("missed", 0)
    asked = f"{pacing.get('kind')}, {number_text(pacing.get('rate_per_s', 0))} a second"
    if recording := workload.get("recording"):
        asked = f"as recorded, {number_text(recording.get('speed', 1))} times as fast"
    text = f"{count_text(arrivals.get('issued', 0))} issued, {count_text(late)} late, {count_text(missed)} missed"
    return Setting("arrivals", asked, text, missed == 0)


def _facts(trial: TrialContent) -> list[tuple[str, str]]:
    everything = {
        "workload": trial.workload,
        "engine": trial.engine,
        "devices": list(trial.devices),
        "context": trial.context,
    }
    return list(fact_rows(everything))


def _yes(value: Any) -> str:
    return "unknown" if value is None else "yes" if value else "no"
