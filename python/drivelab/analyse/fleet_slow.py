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
Rows = npt.NDArray[np.int64]
_PLAIN_SAMPLES = 20_000


def slow_one(
    series: HostSeries, column: int, excess: Singles, is_inside: Flags, is_ending: Flags, least: float
) -> SlowOne:
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
    least : float
        Excess from which on the longest windows are odd.
    """
    known = np.isfinite(excess)
    pieces = [_trimmed(excess, piece, least / 2) for piece in _pieces(np.flatnonzero(known), is_inside[known])]
    inside = np.zeros(len(excess), dtype=bool)
    for piece in pieces:
        inside[piece] = True
    values = np.exp(excess[inside].astype(np.float64))
    step = max(1, len(values) // _PLAIN_SAMPLES)
    found = quantile_estimate_from_series(values[::step], 0.5, "1")
    spans = tuple(_span(series, piece, is_ending) for piece in pieces)
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


def _pieces(rows: Rows, flags: Flags) -> list[Rows]:
    """The flagged rows that lie beside each other; what has no sample, a night for instance, parts none."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return [rows[first:end] for first, end in edges.reshape(-1, 2)]


def _trimmed(excess: Singles, rows: Rows, offset: float) -> Rows:
    """Of rows the part with the largest sum above an offset: windows reach beyond what made them odd."""
    # one sample far out counts as much as a few
    above = np.clip(excess[rows].astype(np.float64), -4 * offset, 8 * offset) - offset
    sums = np.concatenate([[0.0], np.cumsum(above)])
    end = int(np.argmax(sums - np.minimum.accumulate(sums)))
    begin = int(np.argmin(sums[: end + 1]))
    return rows[begin:end] if end > begin else rows


def _span(series: HostSeries, rows: Rows, is_ending: Flags) -> Span:
    """From the first row to the last, and how much data there is until a window told it."""
    told = rows[is_ending[rows]]
    until_row = told[0] if len(told) else rows[-1]
    count = int((rows <= until_row).sum())
    return Span(int(series.time_s[rows[0]]), int(series.time_s[rows[-1]]), count * usual_step_s(series.time_s))


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
