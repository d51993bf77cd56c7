"""What differs between runs beside their drives, and limits what a comparison of them can tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from drivelab.model.level_words import level_text
from drivelab.model.result_set import ResultSet
from drivelab.report.content import ReportContent
from drivelab.report.headline import drives_of
from drivelab.report.parts_of_text import shortened

_SEVERAL = 2
_RUNS_NAMED_MAX = 4
_LEVELS_NAMED_MAX = 6
UNKNOWN = "not known"
# what is read of the host, and of each drive, with the words for it
_OF_HOST = {
    "kernel_release": "Kernel",
    "distribution": "Distribution",
    "cpu_model": "Processor",
    "cpu_governor": "CPU governor",
    "clocksource": "Clock source",
    "drivelab_version": "Version of drivelab",
}
_OF_DRIVE = ("firmware", "scheduler")


def run_differences(runs: Sequence[ReportContent], sets: Sequence[ResultSet]) -> tuple[str, ...]:
    """What is not the same in all runs, one sentence each; empty for a single run.

    Parameters
    ----------
    runs : sequence of ReportContent
        In the order of their result sets.
    sets : sequence of ResultSet
        Those of the runs, then published pages.
    """
    if len(sets) < _SEVERAL:
        return ()
    return (
        *_of_drives(runs),
        *_of_hosts(runs, sets),
        *_of_time(sets),
        *_of_state(runs),
        *_of_levels([one for one in sets if _in_common(one, sets)]),
        *_of_workloads(sets),
    )


def _of_drives(runs: Sequence[ReportContent]) -> Iterator[str]:
    same: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for run in runs:
        for drive in drives_of(run):
            if drive.get("serial"):
                same.setdefault((str(drive.get("model") or "drive"), str(drive["serial"])), {})[run.name] = drive
    for (model, serial), found in same.items():
        if len(found) < _SEVERAL:
            continue
        yield f"The same drive ({shortened(model)}, serial {shortened(serial)}) was measured in {_list(list(found))}."
        for name in _OF_DRIVE:
            values = {run: str(drive.get(name) or "") for run, drive in found.items()}
            yield from _differing(f"{name.capitalize()} of {shortened(serial)}", values)
        caches = {run: _cache(drive) for run, drive in found.items()}
        yield from _differing(f"Write cache of {shortened(serial)} as found", caches)


def _cache(drive: Mapping[str, Any]) -> str:
    enabled = (drive.get("write_cache") or {}).get("drive_enabled")
    return "" if enabled is None else "on" if enabled else "off"


def _of_hosts(runs: Sequence[ReportContent], sets: Sequence[ResultSet]) -> Iterator[str]:
    published = [one for one in sets if one.is_reference]
    for key, words in _OF_HOST.items():
        values = {run.name: str(run.record.host.get(key) or "") for run in runs}
        if key == "kernel_release":
            values |= {one.key: _list(_each(machine.kernel for machine in one.machines)) for one in published}
        yield from _differing(words, values)


def _of_time(sets: Sequence[ResultSet]) -> Iterator[str]:
    dates = {one.key: one.measured[:10] for one in sets}
    known = sorted(date for date in set(dates.values()) if date)
    if len(known) > 1:
        yield f"Measured between {known[0]} and {known[-1]}: {_grouped(dates)}."


def _of_state(runs: Sequence[ReportContent]) -> Iterator[str]:
    quick = {run.name: "yes" if run.record.is_quick else "no" for run in runs}
    yield from _differing("Scaled down (--quick)", quick)
    unfinished = [run.name for run in runs if run.record.status not in ("", "complete")]
    if unfinished:
        yield f"Not complete: {_list(unfinished)}."


def _of_levels(sets: Sequence[ResultSet]) -> Iterator[str]:
    """Factors that several runs have, at other levels."""
    factors: dict[str, dict[str, dict[str, None]]] = {}
    for one in sets:
        for observation in one.observations:
            for name, level in observation.levels.items():
                factors.setdefault(name, {}).setdefault(one.key, {})[level] = None
    for name, found in factors.items():
        values = {key: ", ".join(_short(name, list(levels))) for key, levels in found.items()}
        if len({frozenset(levels) for levels in found.values()}) > 1:
            yield from _differing(f"Levels of {name}", values)


def _short(name: str, levels: Sequence[str]) -> list[str]:
    shown = [shortened(level_text(name, level)) for level in levels[:_LEVELS_NAMED_MAX]]
    return [*shown, "…"] if len(levels) > len(shown) else shown


def _of_workloads(sets: Sequence[ResultSet]) -> Iterator[str]:
    """Workloads that only one of the runs has."""
    for one in sets:
        common = _in_common(one, sets)
        titles = {each.workload: each.title or each.workload for each in one.observations}
        only = [title for workload, title in titles.items() if workload not in common]
        if common and only:
            yield f"Only in {shortened(one.key)}: {_list(only)}."
    apart = [one.key for one in sets if one.observations and not _in_common(one, sets)]
    if apart:
        others = "with the others" if len(apart) < len(sets) else "with each other"
        yield f"No workload in common {others}: {_list(apart)}."


def _in_common(one: ResultSet, sets: Sequence[ResultSet]) -> set[str]:
    """The workloads that it shares with some other."""
    others = {each.workload for other in sets if other.key != one.key for each in other.observations}
    return others & {each.workload for each in one.observations}


def _differing(words: str, values: Mapping[str, str]) -> Iterator[str]:
    if len({value for value in values.values() if value}) > 1:
        yield f"{words}: {_grouped(values)}."


def _grouped(values: Mapping[str, str]) -> str:
    """Each value with the runs that have it: ``6.12 (monday, tuesday); 6.18 (friday)``."""
    runs: dict[str, list[str]] = {}
    for run, value in values.items():
        runs.setdefault(shortened(value) or UNKNOWN, []).append(run)
    return "; ".join(f"{value} ({_list(names)})" for value, names in runs.items())


def _list(names: Sequence[str]) -> str:
    shown = [shortened(name) for name in names[:_RUNS_NAMED_MAX]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _each(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(text for text in texts if text))
