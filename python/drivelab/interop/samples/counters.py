"""Reads the counters of node_exporter: lines of Prometheus's text with a time, and what query_range answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from drivelab.interop.foreign import SourceText
from drivelab.interop.samples.collected import Collected
from drivelab.interop.samples.times import seconds_of_numbers
from drivelab.model.errors import DrivelabError

_PREFIX = "node_disk_"
_SPENT = {"read_time_seconds_total": "reads_completed_total", "write_time_seconds_total": "writes_completed_total"}
_MOVED = ("read_bytes_total", "written_bytes_total")
_LINE = re.compile(rf"{_PREFIX}(\w+)\{{(.*)\}}\s+(\S+)\s+(\d+(?:\.\d+)?)\s*(?:#.*)?")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_US_PER_S = 1e6

Series = dict[str, dict[float, float]]


def is_counters(head: str) -> bool:
    """Whether a text has counters of drives, of node_exporter."""
    return _PREFIX in head


def read_counters(source: SourceText, place: tuple[str, str], collected: Collected) -> None:
    """Take the mean latency and the throughput between each two readings of the counters of each drive.

    Parameters
    ----------
    source : SourceText
        Prometheus's text with times, or the JSON of query_range.
    place : (cluster, host)
        Where the drives are, as far as no label tells.

    Raises
    ------
    DrivelabError
        I502: broken JSON. I503: a time that is none. I510: counters without which there is no latency.
    """
    found: dict[tuple[str, str], Series] = {}
    for labels, metric, when, value in _readings(source):
        host = labels.get("instance") or labels.get("node") or labels.get("host") or place[1]
        key = (re.sub(r":\d+$", "", host), labels.get("device", ""))
        found.setdefault(key, {}).setdefault(metric, {})[when] = value
    collected.latency_factor("us", source.name)
    judged = 0
    for (host, device), series in found.items():
        samples = _samples(series)
        if samples is not None:
            judged += 1
            times, latency, throughput = samples
            time_s = seconds_of_numbers(times, source.name)
            codes = np.zeros(len(times), dtype=np.int32)
            # the folders tell a cluster where they tell the host
            cluster = place[0] if host == place[1] else ""
            collected.add((cluster, host), ([device], codes), {}, time_s, latency, throughput)
    if not judged:
        what = "no drive has readings of a time and of the number of I/Os at two times"
        do = "ask for node_disk_read_time_seconds_total, node_disk_reads_completed_total, and those of writes"
        raise DrivelabError("I510", what, where=source.name, do=do)


def _readings(source: SourceText) -> Iterator[tuple[Mapping[str, str], str, float, float]]:
    """Labels, name, time and value of every reading."""
    if not source.text.lstrip().startswith(("{", "[")):
        for line in source.text.splitlines():
            if match := _LINE.match(line):
                yield dict(_LABEL.findall(match[2])), match[1], float(match[4]), _number(match[3])
        return
    try:
        document = json.loads(source.text)
    except ValueError as error:
        raise DrivelabError("I502", f"it is no JSON: {error}", where=source.name) from None
    for one in _results(document):
        labels = {str(key): str(value) for key, value in one.get("metric", {}).items()}
        metric = labels.get("__name__", "").removeprefix(_PREFIX)
        for pair in one.get("values", []):
            if isinstance(pair, list) and len(pair) == 2:
                yield labels, metric, _number(pair[0]), _number(pair[1])


def _results(document: Any) -> Iterator[Mapping[str, Any]]:
    """The series in an answer, or in a list of answers."""
    for answer in document if isinstance(document, list) else [document]:
        data = answer.get("data", {}) if isinstance(answer, dict) else {}
        results = data.get("result", []) if isinstance(data, dict) else []
        yield from (one for one in results if isinstance(one, dict) and isinstance(one.get("metric", {}), dict))


def _number(text: Any) -> float:
    try:
        return float(text)
    except (TypeError, ValueError):
        return float("nan")


def _samples(series: Series) -> tuple[npt.NDArray[np.float64], ...] | None:
    """Times, latencies in us and bytes a second between readings; None where the counters of a latency are missing."""
    pairs = [(spent, count) for spent, count in _SPENT.items() if spent in series and count in series]
    if not pairs:
        return None
    needed = [name for pair in pairs for name in pair] + [name for name in _MOVED if name in series]
    times = np.array(sorted(set.intersection(*(set(series[name]) for name in needed))))
    if len(times) < 2:
        return None
    change = {name: np.diff([series[name][when] for when in times]) for name in needed}
    spent, count = (np.sum([change[pair[place]] for pair in pairs], axis=0) for place in (0, 1))
    # a counter that became less began anew
    is_whole = np.all([one >= 0 for one in change.values()], axis=0)
    latency = np.full(len(spent), np.nan)
    np.divide(spent * _US_PER_S, count, out=latency, where=is_whole & (count > 0))
    moved = [change[name] for name in _MOVED if name in change]
    throughput = np.sum(moved, axis=0) / np.diff(times) if moved else np.full(len(spent), np.nan)
    return times[1:], latency, np.where(is_whole, throughput, np.nan)
