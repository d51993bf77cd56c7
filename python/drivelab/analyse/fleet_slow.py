"""What is told of a drive or host that was slower than its peers: how much, since when, how often, on which dates."""

from __future__ import annotations

import datetime

import numpy as np
import numpy.typing as npt

from drivelab.analyse.fleet_usual import dates_of
from drivelab.analyse.fleet_windows import WINDOWS, usual_step_s
from drivelab.analyse.quantile import quantile_estimate_from_series
from drivelab.model.fleet import HostSeries, Singles, SlowOne, Span

Flags = npt.NDArray[np.bool_]
_PLAIN_SAMPLES = 20_000


def slow_one(series: HostSeries, column: int, excess: Singles, is_inside: Flags, is_ending: Flags) -> SlowOne:
    """A drive of a host, or a host of a cluster, with the samples in which it was slower than its peers.

    Parameters
    ----------
    series : HostSeries
        Its group: peers beside each other.
    column : int
        Which of them.
    excess : numpy.ndarray
        Logarithm of its ratio to the peers, by row.
    is_inside, is_ending : numpy.ndarray
        Which samples lie in windows that are odd, and with which ones such a window ends; one at least.
    """
    known = np.isfinite(excess)
    inside = is_inside & known
    values = np.exp(excess[inside].astype(np.float64))
    step = max(1, len(values) // _PLAIN_SAMPLES)
    found = quantile_estimate_from_series(values[::step], 0.5, "1")
    spans = _spans(series, excess, inside, is_ending)
    first_s = int(series.time_s[np.flatnonzero(known)[0]])
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
        latency=float(np.median(series.latency[inside, column])),
    )


def _spans(series: HostSeries, excess: Singles, inside: Flags, is_ending: Flags) -> tuple[Span, ...]:
    """Times without a sample that is not slow; what has no sample, a night for instance, ends none."""
    step_s = usual_step_s(series.time_s)
    rows = np.flatnonzero(np.isfinite(excess))
    flags = inside[rows].astype(np.int8)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags, [0]])))
    found = []
    for first, end in edges.reshape(-1, 2):
        part = rows[first:end]
        # the window that told it may have begun before: the slow part begins where samples are as those inside
        slow = np.flatnonzero(excess[part] > np.median(excess[part]) / 2)
        begin = int(slow[0]) if first and len(slow) else 0
        told = int(np.argmax(is_ending[part])) if is_ending[part].any() else len(part) - 1
        after_s = (max(told - begin, 0) + 1) * step_s
        found.append(Span(int(series.time_s[part[begin]]), int(series.time_s[part[-1]]), after_s))
    return tuple(found)


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
