"""Hosts whose clocks may be of different zones: times without a zone do not tell."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from drivelab.model.fleet import HostSeries
from drivelab.model.units import format_wait_ns

# no two zones are nearer to each other, and none are farther apart
_NEAREST_S, _FARTHEST_S = 1800, 26 * 3600


def clock_remarks(hosts: Sequence[HostSeries], without_zone: Collection[tuple[str, str]]) -> Iterator[str]:
    """What is to be said of hosts that begin and end hours apart, one line for each cluster.

    Parameters
    ----------
    hosts : sequence of HostSeries
        Those of a cluster one after the other.
    without_zone : collection of (cluster, host)
        Hosts with times that tell no zone.
    """
    for cluster, members in groupby(hosts, lambda host: host.cluster):
        known = sorted((host for host in members if len(host.time_s)), key=lambda host: host.time_s[0])
        if not any((cluster, host.host) in without_zone for host in known):
            continue
        first = known[0]
        apart_s = {host.host: int(host.time_s[0] - first.time_s[0]) for host in known if _is_later(host, first)}
        if apart_s:
            last = max(apart_s, key=apart_s.__getitem__)
            of, apart = f" of {cluster}" if cluster else "", format_wait_ns(apart_s[last] * 1e9)
            yield (
                f"hosts{of} begin and end up to {apart} apart ({first.host} first, {last} last), "
                "and times carry no zone: hosts are compared at the same time, "
                "so if their clocks are of different zones, write times with them (2026-11-12T13:00:15+01:00)"
            )


def _is_later(host: HostSeries, first: HostSeries) -> bool:
    begin_s, end_s = (int(host.time_s[place] - first.time_s[place]) for place in (0, -1))
    is_beside = host.time_s[0] <= first.time_s[-1]
    return bool(is_beside and min(begin_s, end_s) >= _NEAREST_S and begin_s <= _FARTHEST_S)
