"""How far each sample of a drive lies above what its peers show at the same time under the same load.

All in logarithms of ratios: 0 is as the peers, log 2 twice as slow.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from drivelab.model.fleet import Singles

PEERS_MIN = 3
_LOAD_BINS = 16
_CURVE_SAMPLES = 400_000
# of as many samples a drive hardly sets the curve that it is held to
_BIN_SAMPLES_MIN = 200

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LoadCurve:
    """What more load than the peers' does to the latency, beside theirs.

    Attributes
    ----------
    load, latency : numpy.ndarray
        Logarithms of ratios to the peers; of two or more points straight between them, beyond them as the last.
    """

    load: Floats
    latency: Floats

    def at(self, load: Singles) -> Singles:
        """Logarithm of the ratio of latencies that is due to a load; 0 where the load is not known."""
        if not len(self.load):
            return np.zeros_like(load)
        found = np.interp(np.nan_to_num(load), self.load, self.latency)
        return np.asarray(found, dtype=np.float32)


def logarithm(values: Singles) -> Singles:
    """Logarithm of what is positive; everything else is no sample."""
    found = np.full(values.shape, np.nan, dtype=np.float32)
    np.log(values, out=found, where=np.isfinite(values) & (values > 0))
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


def load_curve(pairs: Iterable[tuple[Singles, Singles]]) -> LoadCurve:
    """The curve that many drives have in common: medians of the latency in bins of load.

    Parameters
    ----------
    pairs : iterable of (load, latency)
        Both above those of the peers, of as many hosts as there are.
    """
    known = [(load[both], latency[both]) for load, latency in pairs for both in [np.isfinite(load + latency)]]
    loads = np.concatenate([load for load, _ in known]).astype(np.float64)
    latencies = np.concatenate([latency for _, latency in known]).astype(np.float64)
    step = max(1, len(loads) // _CURVE_SAMPLES)
    loads, latencies = loads[::step], latencies[::step]
    bins = min(_LOAD_BINS, len(loads) // _BIN_SAMPLES_MIN)
    if bins < 2 or np.ptp(loads) == 0:
        return LoadCurve(np.empty(0), np.empty(0))
    order = np.argsort(loads, kind="stable")
    parts = np.array_split(order, bins)
    found = sorted({float(np.median(loads[part])): float(np.median(latencies[part])) for part in parts}.items())
    return LoadCurve(np.array([one for one, _ in found]), np.array([one for _, one in found]))
