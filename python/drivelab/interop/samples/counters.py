"""Reads the counters of node_exporter: lines of Prometheus's text with a time, and what query_range answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
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

# what readings are taken of
_NEEDED = frozenset((*_SPENT, *_SPENT.values(), *_MOVED))
# times and values by counter
Readings = dict[str, tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]


def is_counters(head: str) -> bool:
    """Whether a text has counters of drives, of node_exporter."""
    return _PREFIX in head


@dataclass(slots=True)
class _Drive:
    """Readings of one drive that belong together, and the first file that they are of."""

    file: str
    series: Readings

    def continues(self, other: Readings) -> bool:
        """Whether a file has other counters of the same time: query_range is often asked for one after the other."""
        if not self.series.keys().isdisjoint(other):
            return False
        own, theirs = (np.concatenate([times for times, _ in series.values()]) for series in (self.series, other))
        return bool(own.min() <= theirs.max() and theirs.min() <= own.max())


@dataclass(slots=True)
class Counters:
    """Counters as they come in, of any number of files: a latency may need those of several."""

    _drives: dict[tuple[str, str, str], list[_Drive]] = field(default_factory=dict)

    def read(self, source: SourceText, place: tuple[str, str]) -> None:
        """Take the readings of a file.

        Parameters
        ----------
        source : SourceText
            Prometheus's text with times, or the JSON of query_range.
        place : (cluster, host)
            Where the drives are, as far as no label tells.

        Raises
        ------
        DrivelabError
            I502: broken JSON.
        """
        found: dict[tuple[str, str, str], dict[str, dict[float, float]]] = {}
        for labels, metric, when, value in _readings(source):
            if metric in _NEEDED:
                host = re.sub(
                    r":\d+$", "", labels.get("instance") or labels.get("node") or labels.get("host") or place[1]
                )
                # the folders tell a cluster where they tell the host
                key = (place[0] if host == place[1] else "", host, labels.get("device", ""))
                found.setdefault(key, {}).setdefault(metric, {})[when] = value
        for key, of_drive in found.items():
            series = {metric: (np.array([*one]), np.array([*one.values()])) for metric, one in of_drive.items()}
            known = self._drives.setdefault(key, [])
            begun = next((one for one in known if one.continues(series)), None)
            if begun is None:
                known.append(_Drive(source.name, series))
            else:
                begun.series |= series
        if not found:
            raise _nothing_judged(source.name)

    def hand_over(self, collected: Collected) -> None:
        """Make the mean latency and the throughput between each two readings of each drive of what was read.

        Raises
        ------
        DrivelabError
            I503: a time that is none. I510: counters without which there is no latency.
        """
        drives = [(key, one) for key, several in self._drives.items() for one in several]
        left_out = 0
        # bytes of some drives and I/Os of others are no loads to compare
        has_bytes = all(any(name in one.series for name in _MOVED) for _, one in drives)
        for (cluster, host, device), one in drives:
            collected.latency_factor("us", one.file)
            samples = _samples(one.series, has_bytes=has_bytes)
            if samples is None:
                left_out += 1
                continue
            times, latency, throughput = samples
            time_s = seconds_of_numbers(times, one.file)
            codes = np.zeros(len(times), dtype=np.int32)
            collected.add((cluster, host), ([device], codes), {}, time_s, latency, throughput)
        if drives and left_out == len(drives):
            raise _nothing_judged(drives[0][1].file)
        collected.note("drives without readings of a time and of the number of I/Os at two times", left_out)


def _nothing_judged(name: str) -> DrivelabError:
    what = "no drive has readings of a time and of the number of I/Os at two times"
    do = "ask for node_disk_read_time_seconds_total, node_disk_reads_completed_total, and those of writes"
    return DrivelabError("I510", what, where=name, do=do)


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


def _samples(readings: Readings, *, has_bytes: bool) -> tuple[npt.NDArray[np.float64], ...] | None:
    """Times, latencies in us and load between readings; None where the counters of a latency are missing.

    The load is bytes a second, or without their counters completed I/Os a second.
    """
    series = {name: dict(zip(*one, strict=True)) for name, one in readings.items()}
    pairs = [(spent, count) for spent, count in _SPENT.items() if spent in series and count in series]
    if not pairs:
        return None
    needed = [name for pair in pairs for name in pair] + [name for name in _MOVED if has_bytes and name in series]
    times = np.array(sorted(set.intersection(*(set(series[name]) for name in needed))))
    if len(times) < 2:
        return None
    change = {name: np.diff([series[name][when] for when in times]) for name in needed}
    spent, count = (np.sum([change[pair[place]] for pair in pairs], axis=0) for place in (0, 1))
    # a counter that became less began anew
    is_whole = np.all([one >= 0 for one in change.values()], axis=0)
    latency = np.full(len(spent), np.nan)
    np.divide(spent * _US_PER_S, count, out=latency, where=is_whole & (count > 0))
    moved = np.sum([change[name] for name in _MOVED if name in change], axis=0) if has_bytes else count
    throughput = moved / np.diff(times)
    return times[1:], latency, np.where(is_whole, throughput, np.nan)
