"""Who of peers is slow: drives of one host, hosts of a cluster, or drives of all its hosts."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from drivelab.analyse.fleet_course import course_of
from drivelab.analyse.fleet_excess import above_others, load_curve, logarithm
from drivelab.analyse.fleet_spans import slow_rows
from drivelab.analyse.fleet_usual import Dates, dates_of
from drivelab.analyse.fleet_windows import (
    WINDOWS,
    Threshold,
    Windows,
    dates_by_chance,
    odd_rows,
    thresholds,
    usual_step_s,
)
from drivelab.model.fleet import HostKinds, HostSeries, Singles, SlowOne, Span, Unjudged

Flags = npt.NDArray[np.bool_]
_ALWAYS_SHARE = 0.6
# slow until so many samples before its last one is slow still
_END_STEPS = 8


@dataclass(frozen=True, slots=True)
class Group:
    """Peers: drives of one host and role, or hosts of one cluster."""

    series: HostSeries
    windows: Windows
    dates: Dates
    load: Singles
    load_above: Singles
    latency: Singles

    @classmethod
    def of(cls, series: HostSeries) -> Group:
        """Peers that are the columns of a series."""
        windows = Windows(series.time_s, usual_step_s(series.time_s))
        load = logarithm(series.throughput)
        above = (above_others(load), above_others(logarithm(series.latency)))
        return cls(series, windows, dates_of(series.time_s), load, *above)

    def drive_dates(self) -> int:
        """Dates with samples beside the peers, added up over all of them."""
        return sum(int(np.isfinite(self.latency[rows]).any(axis=0).sum()) for rows in self.dates.rows())


@dataclass(frozen=True, slots=True)
class Found:
    """What came of groups whose members are alike."""

    slow: tuple[SlowOne, ...] = ()
    odd: tuple[SlowOne, ...] = ()
    always: tuple[SlowOne, ...] = ()
    unjudged: tuple[Unjudged, ...] = ()
    mixed: tuple[HostSeries, ...] = ()
    limits: tuple[Threshold, ...] = ()
    kinds: tuple[HostKinds, ...] = ()


def beside_peers(pool: Sequence[Group]) -> list[Singles]:
    """How far samples lie above those of the peers, less what is due to load."""
    curve = load_curve((group.load, group.load_above, group.latency) for group in pool)
    return [group.latency - curve.due(group.load, group.load_above) for group in pool]


def unjudged_one(series: HostSeries, column: int, why: str, *, lacks_model: bool = False) -> Unjudged:
    """A drive, or a whole host, of which nothing can be said."""
    return Unjudged(series.cluster, *series.place(column), why, lacks_model)


def judged(
    pool: list[Group], raw: list[Singles], excess: list[Singles], all_dates: int, ratio_min: float = 1.0
) -> Found:
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
        for column in range(len(group.series.drives)):
            if on_dates[column]:
                flags = (is_inside[:, column], is_ending[:, column])
                one = _slow_one(group.series, column, beside[:, column], *flags, least)
                # what may be as its peers, too, is not slow
                (slow if is_slow[column] and one.ratio_low > 1 else odd).append(one)
            elif not _is_judged(own[:, column], group.windows, limits):
                unjudged.append(unjudged_one(group.series, column, "too few samples beside its peers"))
    return Found(tuple(slow), tuple(odd), (), tuple(unjudged), limits=limits)


def _is_judged(own: Singles, windows: Windows, limits: Sequence[Threshold]) -> bool:
    """Whether any window held enough samples to be judged."""
    everything = np.where(np.isfinite(own), np.float32(1), np.float32(np.nan))[:, np.newaxis]
    return any(odd_rows(everything, windows, [(limit.window_s, 0.0)])[1].any() for limit in limits)


def always_slow(pool: list[Group], raw: list[Singles], limits: Sequence[Threshold]) -> Iterator[SlowOne]:
    """Those that are beyond what chance makes for most of their samples."""
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
    step_s = usual_step_s(series.time_s)
    course = course_of(series.time_s[inside], excess[inside].astype(np.float64), step_s)
    edges_s = [(int(series.time_s[piece.rows[0]]), int(series.time_s[piece.rows[-1]])) for piece in pieces]
    spans = tuple(Span(*edge_s, piece.told_count * step_s) for edge_s, piece in zip(edges_s, pieces, strict=True))
    first_s, last_s = (int(series.time_s[row]) for row in np.flatnonzero(known)[[0, -1]])
    host, drive = series.place(column)
    return SlowOne(
        cluster=series.cluster,
        host=host,
        drive=drive,
        role=series.roles[column],
        ratio=course.ratio,
        ratio_low=course.low,
        ratio_high=course.high,
        worsening=course.worsening,
        share=float(inside.sum() / known.sum()),
        spans=spans,
        days=_days(series, excess, inside),
        peer_count=len(series.drives) - 1,
        are_peers_elsewhere=bool(series.hosts),
        is_only_drive=False,
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
