"""Reads reports of iostat and sar as samples: text with times, and the JSON of iostat and sadf."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from drivelab.interop import sysstat
from drivelab.interop.foreign import SourceText
from drivelab.interop.samples.collected import Collected
from drivelab.interop.samples.columns import columns_of
from drivelab.interop.samples.times import seconds_of_text
from drivelab.model.errors import DrivelabError

_DAY_S = 86_400
_MACHINE = re.compile(r"^Linux \S+ \(([^)]+)\)\s+(\S+)", re.MULTILINE)
_TIME_OF_DAY = re.compile(r"\d\d:\d\d:\d\d(?: [AP]M)?")
# as ISO 8601 has it, in text and in JSON
_ZONED_STAMP = re.compile(r"\d\d:\d\d:\d\d(Z|[+-]\d\d)|\"utc\": *1")

# host, time, drive and numbers
Row = tuple[str, int, str, Mapping[str, float]]


def is_report(head: str) -> bool:
    """Whether a text is a report of sysstat, as text or as JSON."""
    return '"sysstat"' in head or sysstat.is_report(head)


def read_report(
    source: SourceText, place: tuple[str, str], collected: Collected, *, is_day_first: bool = False
) -> None:
    """Take the latency and the throughput of each drive in each report.

    Parameters
    ----------
    place : (cluster, host)
        Where the drives are, as far as the report does not name its host.
    is_day_first : bool
        Of dates with slashes.

    Raises
    ------
    DrivelabError
        I502 to I504: it cannot be read. I510: reports without times, or without a latency.
    """
    is_json = source.text.lstrip().startswith("{")
    rows = list((_json_rows if is_json else _text_rows)(source, place[1], is_day_first))
    if not rows:
        raise DrivelabError("I505", "there is no report of a drive in it", where=source.name)
    if all(when < 0 for _, when, _, _ in rows):
        do = "let iostat print them: iostat -xt 15, or: iostat -o JSON -xt 15"
        raise DrivelabError("I510", "its reports tell no time", where=source.name, do=do)
    latencies = [_latency(row) for *_, row in rows]
    if all(one is None for one in latencies):
        do = "let iostat print it: iostat -xt 15; sar: sar -d"
        raise DrivelabError("I510", "it has no await, which is the latency", where=source.name, do=do)
    factor = collected.latency_factor("ms", source.name)
    # the folders tell a cluster where they tell the host
    clusters = {host: place[0] if host == place[1] else "" for host, *_ in rows}
    is_zoned = _ZONED_STAMP.search(source.text) is not None
    for host, cluster in clusters.items():
        if not is_zoned:
            collected.without_zone.add((cluster, host))
        own = [place_ for place_, row in enumerate(rows) if row[0] == host]
        names = list(dict.fromkeys(rows[one][2] for one in own))
        collected.add(
            (cluster, host),
            (names, np.array([names.index(rows[one][2]) for one in own], dtype=np.int32)),
            {},
            np.array([rows[one][1] for one in own], dtype=np.int64),
            np.array([latencies[one] or np.nan for one in own], dtype=np.float64) * factor,
            np.array([_throughput(rows[one][3]) for one in own], dtype=np.float64),
        )


def _latency(row: Mapping[str, float]) -> float | None:
    """The await in ms, of reads and writes each by its rate; 0 of a drive that did nothing."""
    if "await" in row:
        return row["await"]
    parts = [(row[f"{one}_await"], row.get(f"{one}/s", 0.0)) for one in "rw" if f"{one}_await" in row]
    count = sum(rate for _, rate in parts)
    return (sum(spent * rate for spent, rate in parts) / count if count else 0.0) if parts else None


def _throughput(row: Mapping[str, float]) -> float:
    factors = columns_of(list(row)).throughput
    return sum(row[name] * factor for name, factor in factors.items()) if factors else float("nan")


def _text_rows(source: SourceText, host: str, is_day_first: bool) -> Iterator[Row]:
    """Host, time, drive and numbers of what is printed as text."""
    machine = _MACHINE.search(source.text)
    host = machine[1] if machine else host
    date_s = seconds_of_text(f"{machine[2]} 00:00:00", is_day_first=is_day_first) if machine else -1
    is_sar = re.search(r"^\S*.*\bDEV\s+tps\b", source.text, re.MULTILINE) is not None
    rows = list(sysstat.rows_of(source))
    last = 0
    for report, _, stamp, drive, row in rows:
        if not is_sar and report == 0 and rows[-1][0] > 0:
            # since the boot
            continue
        when = seconds_of_text(stamp, is_day_first=is_day_first)
        if _TIME_OF_DAY.fullmatch(stamp):
            day_s = seconds_of_text(f"1970-01-02 {stamp}") % _DAY_S
            when = date_s + day_s if date_s >= 0 else -1
            # past midnight the times begin anew
            while date_s >= 0 and when < last - _DAY_S // 2:
                when += _DAY_S
        last = max(last, when)
        yield host, when, drive, row


def _json_rows(source: SourceText, otherwise: str, is_day_first: bool) -> Iterator[Row]:
    """Host, time, drive and numbers of the JSON of iostat and sadf."""
    try:
        document = json.loads(source.text)
        hosts = document["sysstat"]["hosts"]
        for host in hosts:
            statistics = host["statistics"]
            is_sadf = any(isinstance(one.get("timestamp"), dict) for one in statistics)
            for one in statistics if is_sadf else statistics[1:] or statistics:
                when = seconds_of_text(_stamp(one.get("timestamp", "")), is_day_first=is_day_first)
                for row in one.get("disk", []):
                    name = row.get("disk_device") or row.get("disk-device") or ""
                    yield str(host.get("nodename") or otherwise), when, str(name), _numbers(row)
    except ValueError as error:
        raise DrivelabError("I502", f"it is no JSON: {error}", where=source.name) from None
    except (KeyError, TypeError, AttributeError):
        what = "it is not the JSON that iostat or sadf writes: sysstat, hosts, statistics, disk"
        raise DrivelabError("I504", what, where=source.name) from None


def _stamp(told: Any) -> str:
    return f"{told.get('date', '')} {told.get('time', '')}" if isinstance(told, dict) else str(told)


def _numbers(row: Mapping[str, Any]) -> dict[str, float]:
    # sadf has rkB for rkB/s
    names = {"rkB": "rkB/s", "wkB": "wkB/s"}
    return {names.get(key, key): float(value) for key, value in row.items() if isinstance(value, int | float)}
