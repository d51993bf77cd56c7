"""Runs, and programs that were followed, as text in OpenMetrics, which node_exporter and Prometheus read.

node_exporter reads it in a directory of text files.
Every family is a gauge, with base units (seconds, bytes) in its name, since
readers of text files know no other types that would fit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from drivelab.analyse.quantile import is_carried
from drivelab.model.finding import Finding
from drivelab.model.metric import metric_of
from drivelab.model.result_set import MeasuredDrive, Observation, ResultSet
from drivelab.model.verdict import verdicts_in

_PREFIX = "drivelab"
# what a metric's name says of its unit, and what this format says of it
_UNITS = {"ns": ("_ns", "seconds", 1e-9), "B/s": ("_bytes_per_s", "bytes_per_second", 1.0), "B": ("", "bytes", 1.0)}
_ENDS = {"low": "lowest", "high": "highest"}
# of each name of a call
_OF_CALLS = {
    "p50": "latency of calls of a name: median",
    "p99": "latency of calls of a name: 99 % are no longer",
    "slowest": "latency of calls of a name: the longest",
}
_QUANTILES = {"p50": 0.5, "p99": 0.99}
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_Labels = Mapping[str, str]


def openmetrics_text(
    results: ResultSet, findings: Sequence[Finding], verdict: Mapping[str, Any] | None, started_utc: str
) -> str:
    """A run in the text format of OpenMetrics 1.0, which readers of Prometheus' own format take as well.

    Parameters
    ----------
    results : ResultSet
        The run: a sample for each number of each combination, one more for each end of its interval.
    findings : sequence of Finding
        Counted by kind.
    verdict : mapping or None
        Of a check: which need has which outcome.
    started_utc : str
        When it began, as ISO 8601 writes it; may be empty.

    Returns
    -------
    str
        Families in alphabetical order, ``# EOF`` behind them.
    """
    families = _Families(results.key)
    add = families.add
    drives = {drive.name: drive for drive in results.drives}
    for one in results.observations:
        for name, unit, meaning, value in _numbers(one):
            add(name, unit, meaning, _labels_of(one, drives.get(one.drive)), value)
    for (code, severity), count in Counter((one.code, one.severity) for one in findings).items():
        add("findings", "", "findings of a kind: what limits the numbers", {"code": code, "severity": severity}, count)
    for need, outcome in _outcomes(verdict):
        add("need", "", "1 for the outcome of each need of a check", {"need": need, "outcome": outcome}, 1)
    families.add_begin(started_utc)
    return families.text()


def openmetrics_text_of_program(
    run: str, program: str, calls: Iterable[Mapping[str, Any]], target: str, started_utc: str
) -> str:
    """A program that was followed, in the same format; of its quantiles those that so many calls carry.

    Parameters
    ----------
    run, program, target : str
        What it is kept as, what it is called, and the place of its files.
    calls : iterable of mapping
        Its calls by name, as `drivelab.analyse.followed_calls.CallSummary.to_json` gives them.
    started_utc : str
        When it began, as ISO 8601 writes it.
    """
    families = _Families(run)
    for one in calls:
        labels = {"target": target, "program": program, "call": str(one["call"])}
        families.add("calls", "", "calls of a name that were recorded", labels, one["count"])
        families.add("calls_per_second", "", "calls of a name a second", labels, float(one["per_second"]))
        for name, words in _OF_CALLS.items():
            if name not in _QUANTILES or is_carried(_QUANTILES[name], one["count"]):
                families.add(f"call_latency_{name}", "seconds", words, labels, float(one[f"{name}_ns"]) * 1e-9)
        for part, time_ns in one["parts_ns"].items():
            words = "time of all calls of a name, by where it went"
            families.add("call_parts", "seconds", words, {**labels, "part": part}, int(time_ns) * 1e-9)
    families.add_begin(started_utc)
    return families.text()


class _Families:
    """Samples by their family, as they come."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._families: dict[str, tuple[str, str, list[str]]] = {}

    def add(self, name: str, unit: str, meaning: str, labels: _Labels, value: float) -> None:
        family = f"{_PREFIX}_{name}{f'_{unit}' if unit else ''}"
        _, _, samples = self._families.setdefault(family, (unit, meaning, []))
        samples.append(f"{family}{_labels({'run': self._run, **labels})} {value!r}")

    def add_begin(self, started_utc: str) -> None:
        if started_utc:
            began_s = datetime.fromisoformat(started_utc).timestamp()
            self.add("run_start_timestamp", "seconds", "when the run began, in seconds since 1970", {}, began_s)

    def text(self) -> str:
        lines = [line for name in sorted(self._families) for line in _family(name, *self._families[name])]
        return "\n".join([*lines, "# EOF"]) + "\n"


def _family(name: str, unit: str, meaning: str, samples: Sequence[str]) -> Iterator[str]:
    yield f"# TYPE {name} gauge"
    if unit:
        yield f"# UNIT {name} {unit}"
    yield f"# HELP {name} {meaning.translate(_ESCAPES)}"
    # a combination that stands for several trials is there once
    yield from dict.fromkeys(samples)


def _numbers(one: Observation) -> Iterator[tuple[str, str, str, float]]:
    """Name, unit, meaning and value of an observation and of the ends of its interval, where they are known."""
    of = metric_of(one.metric)
    said, unit, scale = _UNITS.get(of.unit, ("", "", 1.0))
    stem = one.metric.replace(said, "", 1) if said else one.metric
    stem = stem.removesuffix(f"_{unit}")
    if one.estimate.value is not None:
        yield stem, unit, of.title, one.estimate.value * scale
    for end, word in _ENDS.items():
        value = getattr(one.estimate, end)
        if value is not None:
            yield f"{stem}_{word}", unit, f"{of.title}: {word} of its interval or repeats", value * scale


def _labels_of(one: Observation, drive: MeasuredDrive | None) -> _Labels:
    known = {
        "target": one.drive,
        "machine": one.machine,
        "model": drive.model if drive else "",
        "serial": drive.serial if drive else "",
        "workload": one.workload,
        "operation": one.operation,
        "block_size": "" if one.block_size_bytes is None else str(one.block_size_bytes),
        "queue_depth": "" if one.queue_depth is None else str(one.queue_depth),
        "durable": "true" if one.is_durable else "false",
    }
    levels = {_name(name): level for name, level in one.levels.items()}
    # a factor of the name of one of these is that
    return {**known, **levels}


def _outcomes(verdict: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    """The name of each need of a check, and its outcome."""
    for one in verdicts_in(verdict):
        if one.get("need"):
            yield str(one["need"]), str(one.get("outcome", ""))


def _name(text: str) -> str:
    """A text as the name of a label."""
    cleaned = re.sub(r"[^a-zA-Z0-9_]", "_", text)
    return f"_{cleaned}" if cleaned[:1].isdigit() else cleaned


def _labels(labels: _Labels) -> str:
    """Labels that say something, escaped."""
    told = [f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels.items() if value]
    return f"{{{','.join(told)}}}"
