"""Which drive of a fleet is slow, and whether it is the drive or its whole host.

A drive is held against the others of its host at the same time and under the same load, a host against the others of
its cluster. What is usual is learned from the samples themselves: what load does, how much peers differ, and how much
each drive does. Two things are told apart: *slow* is what chance makes of a whole fleet once in twenty times, *odd*
what it makes on one of a thousand dates of a drive, so that of many dates some are.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from drivelab.analyse.fleet_excess import PEERS_MIN, above_others, load_curve, logarithm
from drivelab.analyse.fleet_spans import slow_rows
from drivelab.analyse.fleet_usual import Dates, dates_of, less_usual, median_of_columns
from drivelab.analyse.fleet_windows import (
    ALARMS_PER_1000_DATES,
    WINDOWS,
    Threshold,
    Windows,
    dates_by_chance,
    odd_rows,
    thresholds,
    usual_step_s,
)
from drivelab.analyse.quantile import quantile_estimate_from_series
from drivelab.model.fleet import FleetAnswer, HostSeries, SilentDrive, Singles, SlowOne, Span, Unjudged

Flags = npt.NDArray[np.bool_]
_PLAIN_SAMPLES = 20_000
# if more than that of a host differ by so much all the time, they are drives of another kind
_OTHER_KIND_SHARE = 0.25
_OTHER_KIND = math.log(1.25)
_ALWAYS_SHARE = 0.6
# the programs of one host are not those of another: less than that is no slow host
_HOST_RATIO_MIN = 1.25
# a host may be slow on most dates: usual is what it shows on the best of the others
_HOST_USUAL = 0.1
# a drive is silent where its host has samples for so much longer
_SILENT_S, _SILENT_STEPS = 600, 20
# slow until so many samples before its last one is slow still
_END_STEPS = 8


@dataclass(frozen=True, slots=True)
class _Group:
    """Peers: drives of one host and role, or hosts of one cluster."""

    series: HostSeries
    windows: Windows
    dates: Dates
    load: Singles
    load_above: Singles
    latency: Singles

    @classmethod
    def of(cls, series: HostSeries) -> _Group:
        windows = Windows(series.time_s, usual_step_s(series.time_s))
        load = logarithm(series.throughput)
        above = (above_others(load), above_others(logarithm(series.latency)))
        return cls(series, windows, dates_of(series.time_s), load, *above)

    def drive_dates(self) -> int:
        return sum(int(np.isfinite(self.latency[rows]).any(axis=0).sum()) for rows in self.dates.rows())


@dataclass(frozen=True, slots=True)
class _Found:
    """What came of groups whose members are alike."""

    slow: tuple[SlowOne, ...] = ()
    odd: tuple[SlowOne, ...] = ()
    always: tuple[SlowOne, ...] = ()
    unjudged: tuple[Unjudged, ...] = ()
    limits: tuple[Threshold, ...] = ()


def judge_fleet(hosts: Sequence[HostSeries]) -> FleetAnswer:
    """Which drives and hosts are slow.

    Parameters
    ----------
    hosts : sequence of HostSeries
        Each host of each cluster once; one of them with a sample at least.
    """
    parts = [part for host in hosts for part in _by_role(host)]
    drives = _judge(parts, _judge_drives)
    wholes = _judge(_hosts_as_drives(parts), _judge_hosts)
    dates = sum(int(np.isfinite(host.latency[rows]).any(axis=0).sum()) for host, rows in _host_dates(hosts))
    times = [host.time_s for host in hosts if len(host.time_s)]
    return FleetAnswer(
        drive_count=sum(len(host.drives) for host in hosts),
        host_count=len(hosts),
        sample_count=sum(int(np.isfinite(host.latency).sum()) for host in hosts),
        drive_dates=dates,
        begin_s=min(int(one[0]) for one in times),
        end_s=max(int(one[-1]) for one in times),
        drives=_worst_first(one for found in drives for one in found.slow),
        hosts=_worst_first(one for found in wholes for one in found.slow),
        always_hosts=_worst_first(one for found in wholes for one in found.always),
        odd_drives=_worst_first(one for found in drives for one in found.odd),
        odd_by_chance=ALARMS_PER_1000_DATES / 1000 * dates,
        unjudged=tuple(one for found in drives for one in found.unjudged),
        hosts_unjudged=tuple(one for found in wholes for one in found.unjudged),
        silent=tuple(_silent(hosts)),
        has_load=all(np.isfinite(logarithm(host.throughput)).any() for host in hosts),
        least_ratios={"drives": _least_ratios(drives), "hosts": _least_ratios(wholes)},
    )


def _host_dates(hosts: Iterable[HostSeries]) -> Iterator[tuple[HostSeries, slice]]:
    for host in hosts:
        for rows in dates_of(host.time_s).rows():
            yield host, rows


def _silent(hosts: Iterable[HostSeries]) -> Iterator[SilentDrive]:
    for host in hosts:
        until_s = max(_SILENT_S, _SILENT_STEPS * usual_step_s(host.time_s))
        for drive, column in zip(host.drives, np.isfinite(host.latency).T, strict=True):
            rows = np.flatnonzero(column)
            if len(rows) and host.time_s[-1] - host.time_s[rows[-1]] > until_s:
                yield SilentDrive(host.cluster, host.host, drive, int(host.time_s[rows[-1]]))


def _worst_first(found: Iterable[SlowOne]) -> tuple[SlowOne, ...]:
    return tuple(sorted(found, key=_place))


def _place(one: SlowOne) -> tuple[bool, int, float, str, str, str]:
    return one.has_recovered, -one.risk, -one.ratio, one.cluster, one.host, one.drive


def _least_ratios(found: Iterable[_Found]) -> dict[str, float]:
    least: dict[str, float] = {}
    for limit in (limit for one in found for limit in one.limits):
        name = str(limit.window_s)
        least[name] = max(least.get(name, 0.0), float(np.exp(limit.odd)))
    return least


def _by_role(host: HostSeries) -> Iterator[HostSeries]:
    """The drives of a host, those of each model or role by themselves."""
    for role in dict.fromkeys(host.roles):
        columns = [place for place, one in enumerate(host.roles) if one == role]
        yield replace(
            host,
            drives=tuple(host.drives[place] for place in columns),
            roles=(role,) * len(columns),
            latency=host.latency[:, columns],
            throughput=host.throughput[:, columns],
        )


def _hosts_as_drives(parts: Sequence[HostSeries]) -> Iterator[HostSeries]:
    """The hosts of a cluster as if each were one drive: the medians of its drives; few of them scatter more."""
    pools: dict[tuple[str, str, bool], list[HostSeries]] = {}
    for part in parts:
        pools.setdefault((part.cluster, part.roles[0], len(part.drives) > PEERS_MIN), []).append(part)
    for (cluster, role, _), members in pools.items():
        step_s = max(usual_step_s(part.time_s) for part in members)
        time_s = np.unique(np.concatenate([part.time_s // step_s * step_s for part in members]))
        latency = np.full((len(time_s), len(members)), np.nan, dtype=np.float32)
        throughput = latency.copy()
        for column, part in enumerate(members):
            rows = np.searchsorted(time_s, part.time_s // step_s * step_s)
            for values, into in ((part.latency, latency), (part.throughput, throughput)):
                known = logarithm(values)
                middle = np.exp(median_of_columns(known.T))
                enough = 2 * np.isfinite(known).sum(axis=1) >= known.shape[1]
                into[rows, column] = np.where(enough, middle, np.nan)
        names = tuple(part.host for part in members)
        yield HostSeries(cluster, "", names, (role,) * len(names), time_s, latency, throughput)


def _judge(parts: Iterable[HostSeries], judge_pool: Callable[[list[_Group], int], _Found]) -> list[_Found]:
    """What comes of all groups, those of each cluster and role by themselves."""
    few: list[Unjudged] = []
    pools: dict[tuple[str, str], list[_Group]] = {}
    for part in parts:
        with_samples = np.isfinite(logarithm(part.latency)).any(axis=0)
        beside = int(with_samples.sum())
        if beside <= PEERS_MIN:
            what = f"{'drive' if part.host else 'host'}{'' if beside == 1 else 's'} of one kind"
            where = " in the host" if part.host else ""
            why = f"{beside} {what}{where}, and it takes {PEERS_MIN + 1} to compare" if beside else "no latency"
            few += [_unjudged(part, name, why) for name in part.drives]
        else:
            pools.setdefault((part.cluster, part.roles[0]), []).append(_Group.of(part))
    all_dates = sum(group.drive_dates() for pool in pools.values() for group in pool)
    return [_Found(unjudged=tuple(few)), *(judge_pool(pool, all_dates) for pool in pools.values())]


def _unjudged(series: HostSeries, name: str, why: str) -> Unjudged:
    return Unjudged(series.cluster, series.host or name, name if series.host else "", why)


def _judge_drives(pool: list[_Group], all_dates: int) -> _Found:
    kept, unjudged = [], []
    for group, beside in zip(pool, _beside_peers(pool), strict=True):
        usual = median_of_columns(beside)
        apart = max(int((usual > _OTHER_KIND).sum()), int((usual < -_OTHER_KIND).sum()))
        if apart > max(1, _OTHER_KIND_SHARE * len(usual)):
            why = f"{apart} of {len(usual)} differ from the others all the time: tell their models in a column 'model'"
            unjudged += [_unjudged(group.series, name, why) for name in group.series.drives]
        else:
            kept.append(group)
    if not kept:
        return _Found(unjudged=tuple(unjudged))
    raw = _beside_peers(kept)
    excess = less_usual(list(zip(raw, (group.dates for group in kept), strict=True)))
    found = _judged(kept, raw, excess, all_dates)
    return replace(found, unjudged=(*found.unjudged, *unjudged))


def _judge_hosts(pool: list[_Group], all_dates: int) -> _Found:
    """Hosts differ by their hardware: each by what it usually shows, where there are dates enough to know it."""
    raw = _beside_peers(pool)
    dates = list(zip(raw, (group.dates for group in pool), strict=True))
    usual = less_usual(dates, is_bounded=False, quantile=_HOST_USUAL)
    found = _judged(pool, usual, usual, all_dates, _HOST_RATIO_MIN)
    always = _always_slow(pool, raw, found.limits)
    is_known = any(len(group.dates.days) > 1 for group in pool)
    return replace(found, always=tuple(one for one in always if is_known and one.host not in _hosts(found.slow)))


def _beside_peers(pool: Sequence[_Group]) -> list[Singles]:
    """How far samples lie above those of the peers, less what is due to load."""
    curve = load_curve((group.load, group.load_above, group.latency) for group in pool)
    return [group.latency - curve.due(group.load, group.load_above) for group in pool]


def _hosts(found: Iterable[SlowOne]) -> set[str]:
    return {one.host for one in found}


def _judged(
    pool: list[_Group], raw: list[Singles], excess: list[Singles], all_dates: int, ratio_min: float = 1.0
) -> _Found:
    """Who of groups that are alike is slow or odd by `excess`; `raw` is what is told of it."""
    dates = sum(group.drive_dates() for group in pool)
    windows = (group.windows for group in pool)
    limits = thresholds(list(zip(excess, windows, strict=True)), dates, max(all_dates, 1), ratio_min)
    drives = sum(len(group.series.drives) for group in pool)
    slow: list[SlowOne] = []
    odd: list[SlowOne] = []
    unjudged: list[Unjudged] = []
    least = min((limit.odd for limit in limits), default=0.0)
    for group, own, beside in zip(pool, excess, raw, strict=True):
        is_inside, is_ending = odd_rows(own, group.windows, [(limit.window_s, limit.odd) for limit in limits])
        _, is_sure = odd_rows(own, group.windows, [(limit.window_s, limit.sure) for limit in limits])
        on_dates = np.array([is_ending[rows].any(axis=0) for rows in group.dates.rows()]).sum(axis=0)
        is_slow = is_sure.any(axis=0) | (on_dates > dates_by_chance(drives, len(group.dates.days)))
        for column, name in enumerate(group.series.drives):
            if on_dates[column]:
                flags = (is_inside[:, column], is_ending[:, column])
                one = _slow_one(group.series, column, beside[:, column], *flags, least)
                # what may be as its peers, too, is not slow
                (slow if is_slow[column] and one.ratio_low > 1 else odd).append(one)
            elif not _is_judged(own[:, column], group.windows, limits):
                unjudged.append(_unjudged(group.series, name, "too few samples beside its peers"))
    return _Found(tuple(slow), tuple(odd), (), tuple(unjudged), limits)


def _is_judged(own: Singles, windows: Windows, limits: Sequence[Threshold]) -> bool:
    """Whether any window held enough samples to be judged."""
    everything = np.where(np.isfinite(own), np.float32(1), np.float32(np.nan))[:, np.newaxis]
    return any(odd_rows(everything, windows, [(limit.window_s, 0.0)])[1].any() for limit in limits)


def _always_slow(pool: list[_Group], raw: list[Singles], limits: Sequence[Threshold]) -> Iterator[SlowOne]:
    longest = [(limit.window_s, limit.sure) for limit in limits[-1:]]
    for group, beside in zip(pool, raw, strict=True):
        is_inside, is_ending = odd_rows(beside, group.windows, longest)
        always = is_inside.sum(axis=0) > _ALWAYS_SHARE * np.isfinite(beside).sum(axis=0)
        for column in np.flatnonzero(always & is_inside.any(axis=0)):
            flags = (is_inside[:, column], is_ending[:, column])
            yield _slow_one(group.series, int(column), beside[:, column], *flags, longest[0][1])


def _slow_one(
    series: HostSeries, column: int, excess: Singles, is_inside: Flags, is_ending: Flags, least: float
) -> SlowOne:
    """A drive of a host, or a host of a cluster, with the samples in which it was slower than its peers."""
    known = np.isfinite(excess)
    pieces = list(slow_rows(excess, is_inside, is_ending, least / 2))
    inside = np.zeros(len(excess), dtype=bool)
    for piece in pieces:
        inside[piece.rows] = True
    values = np.exp(excess[inside].astype(np.float64))
    step = max(1, len(values) // _PLAIN_SAMPLES)
    found = quantile_estimate_from_series(values[::step], 0.5, "1")
    step_s = usual_step_s(series.time_s)
    edges_s = [(int(series.time_s[piece.rows[0]]), int(series.time_s[piece.rows[-1]])) for piece in pieces]
    spans = tuple(Span(*edge_s, piece.told_count * step_s) for edge_s, piece in zip(edges_s, pieces, strict=True))
    first_s, last_s = (int(series.time_s[row]) for row in np.flatnonzero(known)[[0, -1]])
    name = series.drives[column]
    return SlowOne(
        cluster=series.cluster,
        host=series.host or name,
        drive=name if series.host else "",
        role=series.roles[column],
        ratio=float(np.median(values)),
        ratio_low=found.low if found.low is not None else float(values.min()),
        ratio_high=found.high if found.high is not None else float(values.max()),
        share=float(inside.sum() / known.sum()),
        spans=spans,
        days=_days(series, excess, inside),
        peer_count=len(series.drives) - 1,
        is_from_the_start=spans[0].since_s - first_s < WINDOWS[0].length_s,
        is_still_slow=last_s - spans[-1].until_s < max(WINDOWS[0].length_s, _END_STEPS * step_s),
        last_s=last_s,
        latency=float(np.median(series.latency[inside, column])),
    )


def _days(series: HostSeries, excess: Singles, inside: Flags) -> dict[str, float]:
    """How far each date is slowed down: what is slow by its median, everything else not at all."""
    found = {}
    dates = dates_of(series.time_s)
    for day, rows in zip(dates.days, dates.rows(), strict=True):
        slow = excess[rows][inside[rows]]
        if len(slow):
            share = len(slow) / np.isfinite(excess[rows]).sum()
            slowdown = 1 + float(share) * (float(np.exp(np.median(slow))) - 1)
            found[(datetime.date(1970, 1, 1) + datetime.timedelta(day)).isoformat()] = max(slowdown, 1.0)
    return found
