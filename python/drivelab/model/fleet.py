"""Samples of the drives of many hosts, and what comes of comparing them: which is slow, the drive or its whole host."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Singles = npt.NDArray[np.float32]
Seconds = npt.NDArray[np.int64]
Severity = Literal["extreme", "high", "moderate", "low", "minor"]

# slow so many times, and since the last one for no longer than so many of the pauses between them: it goes on
_RECURRING_MIN, _RECOVERED_GAPS = 3, 2
# hosts became slower as a whole, but for so many drives
_AGAINST_SHARE = 0.1
# what stands out and is made by chance less often than that is told first
_UNEXPLAINED_CHANCE = 0.05
# how far a day is slowed down, and what it counts
SEVERITIES: Mapping[Severity, tuple[float, int]] = {
    "extreme": (5.0, 100),
    "high": (2.0, 25),
    "moderate": (1.5, 10),
    "low": (1.2, 5),
    "minor": (1.0, 1),
}


@dataclass(frozen=True, slots=True)
class HostSeries:
    """What the drives of one host showed at the same times.

    Attributes
    ----------
    cluster, host : str
        Where it stands; the cluster is empty where nothing tells one.
    drives : tuple of str
        Names, one a column.
    roles : tuple of str
        Model or role of each drive, empty where it is not told: only drives of one role are peers.
    time_s : numpy.ndarray
        Seconds since 1970 (UTC), ascending, one a row.
    latency, throughput : numpy.ndarray
        One row a time, one column a drive, in any unit that all drives share; NaN is no sample.
    hosts : tuple of str
        Host of each drive where they stand in several; `host` is empty then, and so is the drive of a whole host.
    """

    cluster: str
    host: str
    drives: tuple[str, ...]
    roles: tuple[str, ...]
    time_s: Seconds
    latency: Singles
    throughput: Singles
    hosts: tuple[str, ...] = ()

    def place(self, column: int) -> tuple[str, str]:
        """Host and drive of a column."""
        return self.hosts[column] if self.hosts else self.host, self.drives[column]


@dataclass(frozen=True, slots=True)
class Span:
    """A time in which a drive or host was slower than its peers.

    Attributes
    ----------
    since_s, until_s : int
        Seconds since 1970 (UTC) of the first and the last sample.
    told_after_s : int
        From the first sample to the one at which it is known.
    """

    since_s: int
    until_s: int
    told_after_s: int


@dataclass(frozen=True, slots=True)
class Worsening:
    """How a slow drive or host became slower still.

    Attributes
    ----------
    since_s : int
        Seconds since 1970 (UTC) of the first slower sample; where it comes gradually, of the middle of the change.
    before_ratio : float
        What it took over what its peers took before; where it comes gradually, at first.
    is_at_once : bool
        Whether it is one step.
    """

    since_s: int
    before_ratio: float
    is_at_once: bool


@dataclass(frozen=True, slots=True)
class SlowOne:
    """A drive, or a host as a whole, that is slower than its peers under the same load.

    Attributes
    ----------
    cluster, host, drive : str
        Which one; of a whole host the drive is empty.
    role : str
        Model or role, where it is told.
    ratio, ratio_low, ratio_high : float
        What it takes over what its peers take in the last hours in which it is slow: the median, and its 95 %
        interval.
    worsening : Worsening or None
        How it came to that, where it took less while it was slow before.
    share : float
        Part of its samples that lies in such times.
    spans : tuple of Span
        In order of time.
    days : mapping of str to float
        By date (UTC): how far that day is slowed down as a whole.
    peer_count : int
        Drives or hosts it was compared with.
    are_peers_elsewhere : bool
        Whether these stand in other hosts: as those of a whole host, and of a drive with too few like it in its own.
    is_only_drive : bool
        Whether its host has no other drive, so that nobody can tell which of the two is slow.
    is_from_the_start : bool
        Whether the first of its samples is slow already.
    is_still_slow : bool
        Whether the last of its samples is slow.
    last_s : int
        Seconds since 1970 (UTC) of its last sample.
    latency : float
        Median of its latency in these times, in the unit of the samples.
    """

    cluster: str
    host: str
    drive: str
    role: str
    ratio: float
    ratio_low: float
    ratio_high: float
    worsening: Worsening | None
    share: float
    spans: tuple[Span, ...]
    days: Mapping[str, float]
    peer_count: int
    are_peers_elsewhere: bool
    is_only_drive: bool
    is_from_the_start: bool
    is_still_slow: bool
    last_s: int
    latency: float

    @property
    def is_recurring(self) -> bool:
        """Whether it was slow three times and more, and is likely to be so again: no recovery has lasted yet."""
        if len(self.spans) < _RECURRING_MIN:
            return False
        longest_s = max(later.since_s - span.until_s for span, later in pairwise(self.spans))
        return self.last_s - self.spans[-1].until_s <= _RECOVERED_GAPS * longest_s

    @property
    def has_recovered(self) -> bool:
        """Whether it was slow and stopped being so before its samples end."""
        return not (self.is_still_slow or self.is_recurring)

    @property
    def severities(self) -> dict[Severity, int]:
        """How many days there are of each severity."""
        found = dict.fromkeys(SEVERITIES, 0)
        for slowdown in self.days.values():
            found[next((name for name, (least, _) in SEVERITIES.items() if slowdown >= least), "minor")] += 1
        return found

    @property
    def risk(self) -> int:
        """Points of all days: 100 of an extreme one, 25 of a high, 10 of a moderate, 5 of a low, 1 of a minor."""
        return sum(SEVERITIES[name][1] * days for name, days in self.severities.items())

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        told = {"severities": self.severities, "risk": self.risk, "is_recurring": self.is_recurring}
        return asdict(self) | told | {"has_recovered": self.has_recovered}


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A drive or host of which nothing can be said, and why.

    Attributes
    ----------
    cluster, host, drive : str
        Which one; of a whole host the drive is empty.
    why : str
        What there is too little of.
    lacks_model : bool
        Whether it is because nothing tells which of them are alike.
    """

    cluster: str
    host: str
    drive: str
    why: str
    lacks_model: bool = False


@dataclass(frozen=True, slots=True)
class HostKinds:
    """Hosts that are plainly of several kinds, which nothing but their latencies tells: each has its kind for peers.

    Attributes
    ----------
    cluster, role : str
        Where they stand, and the role that they share.
    hosts : tuple of tuple of str
        Those of each kind, the fastest kind first.
    ratios : tuple of float
        What each kind takes over what the first one takes.
    """

    cluster: str
    role: str
    hosts: tuple[tuple[str, ...], ...]
    ratios: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SilentDrive:
    """A drive whose samples end before those of its host.

    Attributes
    ----------
    cluster, host, drive : str
        Which one.
    last_s : int
        Seconds since 1970 (UTC) of its last sample.
    """

    cluster: str
    host: str
    drive: str
    last_s: int


@dataclass(frozen=True, slots=True)
class CommonChange:
    """A moment at which many drives of several hosts became slower than they were, with hardly more to do.

    Attributes
    ----------
    cluster, role : str
        Which drives are alike.
    since_s, until_s : int
        Seconds since 1970 (UTC) of the first and the last slow sample.
    is_still_slow : bool
        Whether they are to the end of the samples.
    ratio : float
        What they take over what each took in the hour before: the median of these drives.
    ratios : mapping of (str, str) to float
        The same of each of them, by host and drive.
    drive_counts : mapping of str to int
        Drives of each host of which it is known whether they did.
    """

    cluster: str
    role: str
    since_s: int
    until_s: int
    is_still_slow: bool
    ratio: float
    ratios: Mapping[tuple[str, str], float]
    drive_counts: Mapping[str, int]

    @property
    def by_host(self) -> dict[str, tuple[str, ...]]:
        """The drives that became slower, of each host that has any."""
        found: dict[str, tuple[str, ...]] = {}
        for host, drive in self.ratios:
            found[host] = (*found.get(host, ()), drive)
        return found

    @property
    def drive_count(self) -> int:
        """Drives that did, or did not."""
        return sum(self.drive_counts.values())

    @property
    def is_of_hosts(self) -> bool:
        """Whether it is whole hosts that became slower: of nearly all, nearly all drives or nearly none."""
        changed = {host: len(drives) for host, drives in self.by_host.items()}
        against = sum(
            min(changed.get(host, 0), count - changed.get(host, 0)) for host, count in self.drive_counts.items()
        )
        return against <= _AGAINST_SHARE * self.drive_count

    @property
    def whole_hosts(self) -> tuple[str, ...]:
        """The hosts more than half of whose drives became slower."""
        return tuple(host for host, drives in self.by_host.items() if 2 * len(drives) > self.drive_counts[host])

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        drives = [{"host": host, "drive": drive, "ratio": ratio} for (host, drive), ratio in self.ratios.items()]
        told = {
            name: getattr(self, name) for name in ("cluster", "role", "since_s", "until_s", "is_still_slow", "ratio")
        }
        hosts = list(self.whole_hosts) if self.is_of_hosts else []
        return told | {"drive_count": self.drive_count, "drives": drives, "hosts": hosts}


@dataclass(frozen=True, slots=True)
class FleetAnswer:
    """Which drives and hosts are slow, and what could not be judged.

    Attributes
    ----------
    drive_count, host_count, sample_count : int
        What there was.
    drive_dates : int
        Dates on which a drive has samples, added up over all drives.
    begin_s, end_s : int
        Seconds since 1970 (UTC) of the first and the last sample.
    changes : tuple of CommonChange
        Moments at which many drives became slower together; all else is told as if they had not.
    drives, hosts : tuple of SlowOne
        The slow ones, the worst first; those that have recovered come after those that are slow.
    always_hosts : tuple of SlowOne
        Hosts slower than the others on all of many dates: slow, or of other hardware.
    odd_drives, odd_hosts : tuple of SlowOne
        Those that were slower than chance makes on hardly a date, and are not slow for sure.
    odd_by_chance : float
        How many of these drives chance alone makes, about.
    unjudged, hosts_unjudged : tuple of Unjudged
        Drives that have too few peers or samples; hosts likewise.
    silent : tuple of SilentDrive
        Drives that stopped to have samples while their hosts had more.
    host_kinds : tuple of HostKinds
        Where hosts, or drives of hosts that have few, were compared with those of their kind alone.
    has_load : bool
        Whether throughput is told of every host: otherwise a busy drive looks slow.
    least_ratios : mapping of str to mapping of str to float
        By what is compared and by length of the window in seconds: from which ratio on it is odd, at most.
    """

    drive_count: int
    host_count: int
    sample_count: int
    drive_dates: int
    begin_s: int
    end_s: int
    changes: tuple[CommonChange, ...]
    drives: tuple[SlowOne, ...]
    hosts: tuple[SlowOne, ...]
    always_hosts: tuple[SlowOne, ...]
    odd_drives: tuple[SlowOne, ...]
    odd_hosts: tuple[SlowOne, ...]
    odd_by_chance: float
    unjudged: tuple[Unjudged, ...]
    hosts_unjudged: tuple[Unjudged, ...]
    silent: tuple[SilentDrive, ...]
    host_kinds: tuple[HostKinds, ...]
    has_load: bool
    least_ratios: Mapping[str, Mapping[str, float]]

    @property
    def judged_drive_count(self) -> int:
        """Drives that could be compared with others."""
        return self.drive_count - len(self.unjudged)

    @property
    def unexplained(self) -> tuple[SlowOne, ...]:
        """Those that stand out to the end, where chance makes so many of a fleet once in twenty times at most."""
        found: list[SlowOne] = []
        for odd, count in ((self.odd_drives, self.drive_count), (self.odd_hosts, self.host_count)):
            lasting = [one for one in odd if one.is_still_slow]
            by_chance = self.odd_by_chance / max(self.drive_dates, 1) * count
            found += lasting if _at_least(len(lasting), by_chance) < _UNEXPLAINED_CHANCE else []
        return tuple(found)

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        plain = asdict(replace(self, changes=())) | {"changes": [one.to_json() for one in self.changes]}
        for name in ("drives", "hosts", "always_hosts", "odd_drives", "odd_hosts", "unexplained"):
            plain[name] = [one.to_json() for one in getattr(self, name)]
        return plain | {"judged_drive_count": self.judged_drive_count}


def _at_least(count: int, expected: float) -> float:
    """How likely chance makes so many or more of what comes so often on average, each by itself (Poisson)."""
    return 1 - sum(math.exp(-expected) * expected**fewer / math.factorial(fewer) for fewer in range(count))
