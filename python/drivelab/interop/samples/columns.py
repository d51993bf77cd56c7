"""Which column of a table of samples is what, by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# to us
LATENCY_UNITS: Mapping[str, float] = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
_UNIT_WORDS = {"µs": "us", "usec": "us", "msec": "ms", "sec": "s", "seconds": "s", "milliseconds": "ms"}
_TIME = ("ts", "timestamp", "datetime", "unixtime", "epoch", "time", "date")
_HOST = ("host", "hostname", "host_name", "node", "nodename", "node_name", "instance", "server", "machine")
_CLUSTER = ("cluster", "cluster_name", "pool")
_DRIVE = ("drive", "disk", "disk_id", "drive_id", "disk_name", "device", "dev", "serial", "serial_number")
_ROLES = ("model", "label", "role")
_LATENCY = ("latency", "lat", "avg_latency", "mean_latency", "await", "response_time")
_THROUGHPUT = ("throughput", "bandwidth", "bw", "bytes_per_s", "iops", "tps")
# of a table of sysstat: each await by its rate, and bytes of both directions
PARTS = {"r_await": "r/s", "w_await": "w/s"}
_BYTES = {"rkb/s": 1024.0, "wkb/s": 1024.0, "rmb/s": 2.0**20, "wmb/s": 2.0**20, "rd_sec/s": 512.0, "wr_sec/s": 512.0}


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table that are read, by the names they have there; empty is none.

    Attributes
    ----------
    time, drive, host, cluster : str
        When and of which drive a sample is.
    roles : tuple of str
        Model, label and role.
    latency : tuple of str
        One, or the awaits of reads and writes.
    rates : tuple of str
        Beside several latencies what each of them counts.
    throughput : mapping of str to float
        By column its factor; the sum is meant.
    latency_unit : str
        As the name of the column tells.
    """

    time: str
    drive: str
    host: str
    cluster: str
    roles: tuple[str, ...]
    latency: tuple[str, ...]
    rates: tuple[str, ...]
    throughput: Mapping[str, float]
    latency_unit: str

    @property
    def missing(self) -> list[str]:
        """What of a time, a drive and a latency is not there."""
        there = {"time": self.time, "drive": self.drive, "latency": self.latency}
        return [name for name, found in there.items() if not found]

    @property
    def texts(self) -> tuple[str, ...]:
        """Columns of names."""
        return tuple(filter(None, (self.drive, self.host, self.cluster, *self.roles)))

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns of numbers."""
        return (*self.latency, *self.rates, *self.throughput)


def columns_of(names: Sequence[str]) -> Columns:
    """What the columns of these names are.

    Parameters
    ----------
    names : sequence of str
        As the first line has them; letters may be large, and units follow: ``latency_us``, ``await (ms)``.
    """
    plain: dict[str, tuple[str, str]] = {}
    for name in names:
        plain.setdefault(*_without_unit(name))
    first = {
        kind: next((plain[one][0] for one in known if one in plain), "")
        for kind, known in {"time": _TIME, "drive": _DRIVE, "host": _HOST, "cluster": _CLUSTER}.items()
    }
    latency = next((one for one in _LATENCY if one in plain), "")
    parts = [part for part, rate in PARTS.items() if part in plain and rate in plain] if not latency else []
    whole = next((one for one in _THROUGHPUT if one in plain), "")
    moved = {plain[one][0]: factor for one, factor in _BYTES.items() if one in plain}
    rates = tuple(plain[PARTS[part]][0] for part in parts)
    units = {"ms"} if parts or latency == "await" else set()
    units = {plain[latency][1]} - {""} or units if latency else units
    return Columns(
        **first,
        roles=tuple(plain[one][0] for one in _ROLES if one in plain),
        latency=(plain[latency][0],) if latency else tuple(plain[part][0] for part in parts),
        rates=rates,
        throughput=moved or ({plain[whole][0]: 1.0} if whole else dict.fromkeys(rates, 1.0)),
        latency_unit=next(iter(units), ""),
    )


def _without_unit(name: str) -> tuple[str, tuple[str, str]]:
    """The plain name of a column, and with it the whole one and its unit of time."""
    plain = name.strip().lower()
    match = re.fullmatch(r"(.*?)[\s_]*[\[(]?(ns|us|µs|usec|ms|msec|s|sec|seconds|milliseconds)[\])]?", plain)
    if match and match[1].rstrip() in (*_LATENCY, *_TIME) and plain not in (*_LATENCY, *_TIME):
        return match[1].rstrip(), (name, _UNIT_WORDS.get(match[2], match[2]))
    return re.sub(r"[\s-]+", "_", plain), (name, "")
