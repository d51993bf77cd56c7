"""How far each sample of a drive lies above what its peers show at the same time under the same load.

All in logarithms of ratios: 0 is as the peers, log 2 twice as slow.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from drivelab.analyse.fleet_usual import median_of_columns
from drivelab.model.fleet import Singles

PEERS_MIN = 3
_LOAD_BINS = 12
_CURVE_SAMPLES = 400_000
# with little to do a drive is faster only so far: beyond, no curve makes it slow whose latency is that of its peers
_FASTER_MAX = float(np.log(1.25))
# of as many samples a drive hardly sets the curve that it is held to
_BIN_SAMPLES_MIN = 200

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LoadCurve:
    """What load does to the latency of drives that are alike.

    Attributes
    ----------
    load, latency : numpy.ndarray
        Logarithms, straight between these points and beyond them; the latency but for a constant.
    """

    load: Floats
    latency: Floats

    def due(self, load: Singles, above: Singles) -> Singles:
        """Logarithm of the ratio of latencies that is due to a load; 0 where it is not known.

        Parameters
        ----------
        load : numpy.ndarray
            Logarithm of the throughput of each drive.
        above : numpy.ndarray
            How far it lies above that of the peers.
        """
        if not len(self.load):
            return np.zeros_like(load)
        due = np.nan_to_num(self._at(load) - self._at(load - above))
        return np.asarray(np.maximum(due, -_FASTER_MAX), dtype=np.float32)

    def _at(self, load: Singles) -> Singles:
        found = np.interp(load, self.load, self.latency)
        for end, beside in ((0, 1), (-1, -2)):
            slope = (self.latency[beside] - self.latency[end]) / (self.load[beside] - self.load[end])
            beyond = load < self.load[0] if end == 0 else load > self.load[-1]
            found = np.where(beyond, self.latency[end] + slope * (load - self.load[end]), found)
        return np.asarray(found, dtype=np.float32)


def is_sample(values: Singles) -> npt.NDArray[np.bool_]:
    """Which of them have a logarithm; everything else is no sample."""
    return np.isfinite(values) & (values > 0)


def logarithm(values: Singles) -> Singles:
    """Logarithm of what is positive; everything else is no sample."""
    found = np.full(values.shape, np.nan, dtype=np.float32)
    np.log(values, out=found, where=is_sample(values))
    return found


def above_others(values: Singles) -> Singles:
    """How far each value of a row lies above the median of the others of its row; NaN where fewer than three have one.

    Parameters
    ----------
    values : numpy.ndarray
        Rows of times, columns of drives that are peers; NaN is no value.
    """
    ordered = np.sort(values, axis=1)
    places = np.argsort(np.argsort(values, axis=1), axis=1)
    others = np.isfinite(values).sum(axis=1, keepdims=True) - 1
    # of the others the one in the middle, or the two; whoever is below it moves it up by one
    low, high = np.maximum((others - 1) // 2, 0), np.maximum(others // 2, 0)
    last = values.shape[1] - 1
    lower = np.take_along_axis(ordered, np.minimum(low + (places <= low), last), axis=1)
    upper = np.take_along_axis(ordered, np.minimum(high + (places <= high), last), axis=1)
    middle = (lower + upper) / 2
    return np.asarray(np.where(others >= PEERS_MIN, values - middle, np.nan), dtype=np.float32)


def load_curve(groups: Iterable[tuple[Singles, Singles, Singles]]) -> LoadCurve:
    """The curve that drives have in common, by how they differ from their peers at the same time.

    Its slope is told by pairs of a drive and its peers, half way between their loads: between the third of them with
    the most load beside the peers and the third with the least, in medians; all beside what is usual for that drive. So
    what all of a host do at a time, and what each drive always does, has no part in it.

    Parameters
    ----------
    groups : iterable of (load, load above the peers, latency above the peers)
        Logarithms, of as many hosts as there are.
    """
    known = [
        (load[there] - above[there] / 2, _as_usual(above)[there], _as_usual(latency)[there])
        for load, above, latency in groups
        for there in [np.isfinite(above + latency)]
    ]
    middles, aboves, latencies = (np.concatenate(part).astype(np.float64) for part in zip(*known, strict=True))
    step = max(1, len(middles) // _CURVE_SAMPLES)
    middles, aboves, latencies = middles[::step], aboves[::step], latencies[::step]
    bins = min(_LOAD_BINS, len(middles) // _BIN_SAMPLES_MIN)
    if not bins:
        return LoadCurve(np.empty(0), np.empty(0))
    order = np.argsort(middles, kind="stable")
    parts = np.array_split(order, bins)
    slopes = [_slope(aboves[part], latencies[part]) for part in parts]
    edges = np.array([middles[part[0]] for part in parts] + [middles[order[-1]]])
    heights = np.concatenate([[0.0], np.cumsum(np.array(slopes) * np.diff(edges))])
    wide = np.flatnonzero(np.diff(edges, prepend=-np.inf) > 0)
    if len(wide) < 2:
        return LoadCurve(np.empty(0), np.empty(0))
    return LoadCurve(edges[wide], heights[wide])


def _as_usual(values: Singles) -> Singles:
    """Each column beside its median."""
    return values - median_of_columns(values)


def _slope(above: Floats, latency: Floats) -> float:
    """How much latency goes with load, in medians of the outer thirds."""
    order = np.argsort(above, kind="stable")
    third = max(len(order) // 3, 1)
    low, high = order[:third], order[-third:]
    run = float(np.median(above[high]) - np.median(above[low]))
    return float(np.median(latency[high]) - np.median(latency[low])) / run if run > 0 else 0.0
