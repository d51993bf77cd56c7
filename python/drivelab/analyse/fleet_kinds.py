"""Hosts of several kinds that nobody tells apart: by what each takes when it is fast.

Peers tell a slow host as long as most of them are of its kind. Where half of them are of another one, the middle lies
between the two, and whoever slows down only moves it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from drivelab.analyse.fleet_excess import PEERS_MIN, logarithm
from drivelab.model.fleet import HostKinds, HostSeries

# slow for most of its time a host shows on so small a part of its samples what it takes
_FAST_SHARE = 0.1
# kinds differ by so much, and by so many of the distances of their members from their middle
_RATIO_MIN, _DISTANCES_MIN = 1.25, 4.0
# where more are of one kind, it is the peers of all
_MOST = 0.6

Places = npt.NDArray[np.int64]


def by_level(series: HostSeries) -> list[HostSeries]:
    """Hosts beside each other, or drives, those of each kind by themselves: the fast ones first.

    As one where most of them are of one kind.
    """
    levels = _levels(series)
    kinds = _parted(np.argsort(levels)[: int(np.isfinite(levels).sum())], levels)
    if len(kinds) == 1 or max(map(len, kinds)) > _MOST * sum(map(len, kinds)):
        return [series]
    # what has no samples is of no kind, and of any
    kinds[-1] = np.concatenate([kinds[-1], np.flatnonzero(np.isnan(levels))])
    return [_columns(series, np.sort(one)) for one in kinds]


def host_kinds(members: Sequence[HostSeries]) -> HostKinds:
    """What `by_level` made of hosts, as it is told."""
    middles = [float(np.nanmedian(_levels(one))) for one in members]
    return HostKinds(
        members[0].cluster,
        members[0].roles[0],
        tuple(tuple(dict.fromkeys(one.hosts)) for one in members),
        tuple(math.exp(middle - middles[0]) for middle in middles),
    )


def _levels(series: HostSeries) -> npt.NDArray[np.float64]:
    """The logarithm of what each column takes when it is fast; NaN of one without a sample."""
    columns = (one[np.isfinite(one)] for one in logarithm(series.latency).T)
    return np.array([np.quantile(one, _FAST_SHARE) if len(one) else math.nan for one in columns])


def _parted(order: Places, levels: npt.NDArray[np.float64]) -> list[Places]:
    """Places in order of their levels, cut at the widest gaps as long as enough are left on either side."""
    gaps = np.diff(levels[order])
    cuts = range(PEERS_MIN + 1, len(order) - PEERS_MIN)
    cut = max(cuts, key=lambda place: float(gaps[place - 1]), default=0)
    if not cut or gaps[cut - 1] < math.log(_RATIO_MIN):
        return [order]
    sides = (order[:cut], order[cut:])
    distance = max(float(np.median(np.abs(one - np.median(one)))) for one in (levels[side] for side in sides))
    if gaps[cut - 1] < _DISTANCES_MIN * distance:
        return [order]
    return [kind for side in sides for kind in _parted(side, levels)]


def _columns(series: HostSeries, places: Places) -> HostSeries:
    return replace(
        series,
        drives=tuple(series.drives[place] for place in places),
        roles=tuple(series.roles[place] for place in places),
        hosts=tuple(series.hosts[place] for place in places),
        latency=series.latency[:, places],
        throughput=series.throughput[:, places],
    )
