"""Hosts and drives beside those of other hosts: whole hosts, and drives whose own host has too few like them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from drivelab.analyse.fleet_excess import PEERS_MIN, is_sample, logarithm
from drivelab.analyse.fleet_usual import median_of_columns
from drivelab.analyse.fleet_windows import usual_step_s
from drivelab.model.fleet import HostSeries, Singles, SlowOne

# where that share of the drives of a slow host is not slow, its others are and not the host
_NOT_SLOW_SHARE = 0.25
_ROWS_MIN = 8
# so many other hosts for each whose drives are held against them
_OTHERS_EACH = 2
# so many drives of other hosts beside each drive: the slow ones must not set the spread that they are held to
_PEERS_EACH, _PEERS_MAX = 8, 200

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Column:
    """A drive of a host, or a host as if it were one drive."""

    host: str
    drive: str
    part: HostSeries
    latency: Singles
    throughput: Singles


def with_samples(part: HostSeries) -> int:
    """How many of its drives have any."""
    return int(is_sample(part.latency).any(axis=0).sum())


def has_peers(part: HostSeries) -> bool:
    """Whether its drives can be held against each other."""
    return with_samples(part) > PEERS_MIN


def by_kind(parts: Iterable[HostSeries]) -> dict[Key, list[HostSeries]]:
    """Parts of one cluster and role together."""
    found: dict[Key, list[HostSeries]] = {}
    for part in parts:
        found.setdefault((part.cluster, part.roles[0]), []).append(part)
    return found


def hosts_as_drives(parts: Iterable[HostSeries]) -> Iterator[HostSeries]:
    """The hosts of each cluster as if each were one drive: the medians of its drives."""
    for members in by_kind(parts).values():
        yield _side_by_side([_whole(part) for part in members])


def drives_elsewhere(alone: Sequence[HostSeries], others: Sequence[HostSeries]) -> HostSeries:
    """The drives of hosts of one cluster beside each other, and beside enough of those of other hosts.

    Parameters
    ----------
    alone, others : sequence of HostSeries
        Those whose drives are looked at, and hosts whose drives are their peers.
    """
    columns = [one for part in alone for one in _drives(part)]
    wanted = len(columns) + min(_PEERS_EACH * len(columns), _PEERS_MAX)
    for part in others:
        if len(columns) < wanted:
            columns += _drives(part)
    return _side_by_side(columns)


def _drives(part: HostSeries) -> list[_Column]:
    return [
        _Column(part.host, drive, part, part.latency[:, column], part.throughput[:, column])
        for column, drive in enumerate(part.drives)
    ]


def _whole(part: HostSeries) -> _Column:
    found = []
    for values in (part.latency, part.throughput):
        known = logarithm(values)
        middle = np.exp(median_of_columns(known.T))
        enough = 2 * np.isfinite(known).sum(axis=1) >= known.shape[1]
        found.append(np.where(enough, middle, np.float32(np.nan)))
    return _Column(part.host, "", part, *found)


def _side_by_side(columns: Sequence[_Column]) -> HostSeries:
    step_s = max(usual_step_s(one.part.time_s) for one in columns)
    time_s = np.unique(np.concatenate([one.part.time_s // step_s * step_s for one in columns]))
    latency = np.full((len(time_s), len(columns)), np.nan, dtype=np.float32)
    throughput = latency.copy()
    for place, one in enumerate(columns):
        rows = np.searchsorted(time_s, one.part.time_s // step_s * step_s)
        latency[rows, place] = one.latency
        throughput[rows, place] = one.throughput
    part = columns[0].part
    names = (tuple(one.drive for one in columns), (part.roles[0],) * len(columns))
    return HostSeries(part.cluster, "", *names, time_s, latency, throughput, tuple(one.host for one in columns))


def are_enough(alone: Sequence[HostSeries], whole: Sequence[HostSeries]) -> bool:
    """Whether other hosts tell which drives of a few are slow: where most hosts are like these, they do not."""
    return len(whole) >= max(PEERS_MIN, _OTHERS_EACH * len(alone))


def is_whole(part: HostSeries, slow: SlowOne) -> bool:
    """Whether a host that is slow by the middle of its drives is slow in nearly all of them.

    A drive is not where, while the host is slow, it lies as far below the middle as half of what the host is slower,
    beyond what it shows at other times.
    """
    above = logarithm(part.latency)
    above = above - median_of_columns(above.T)[:, np.newaxis]
    inside = np.zeros(len(part.time_s), dtype=bool)
    for span in slow.spans:
        inside |= (part.time_s >= span.since_s) & (part.time_s <= span.until_s)
    moved = median_of_columns(above[inside])
    if (~inside).sum() >= _ROWS_MIN:
        moved = moved - np.nan_to_num(median_of_columns(above[~inside]))
    moved = moved[np.isfinite(moved)]
    return float((moved < -math.log(slow.ratio) / 2).sum()) < _NOT_SLOW_SHARE * len(moved)


def joined_to_hosts(slow: Sequence[SlowOne], parts: Sequence[HostSeries]) -> tuple[list[SlowOne], list[SlowOne]]:
    """Drives that are slow, and hosts all of whose several drives were slow at one time, in place of these."""
    drives, hosts = list(slow), []
    for part in parts:
        own = sorted((one for one in slow if one.host == part.host), key=lambda one: one.ratio)
        if len(own) < 2 or len(own) < with_samples(part):
            continue
        if max(one.spans[0].since_s for one in own) <= min(one.spans[-1].until_s for one in own):
            hosts.append(replace(own[len(own) // 2], drive=""))
            drives = [one for one in drives if one not in own]
    return drives, hosts
