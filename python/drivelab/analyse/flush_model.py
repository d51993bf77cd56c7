"""What one write and one flush cost a drive: latencies of several mixtures of them, taken apart.

An operation that the drive executes as n writes and m flushes, one after the
other, takes n times what a write costs and m times what a flush costs. File
systems differ in n and m: from three of them both costs follow, with one
observation left to check them. With the cache off nothing is flushed and a
write costs what it takes to be durable: one combination tells that, all others
are predicted from it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.paired_ratios import ERROR_MIN
from drivelab.model.distributions import student_t
from drivelab.model.estimate import Estimate
from drivelab.model.flush_fit import FlushCell, FlushFit, FlushVerdict

Floats = NDArray[np.float64]

# distinct mixtures of writes and flushes: two for the costs, one to check them
CELLS_MIN = 3
RESIDUAL_MAX = 0.10
# writes and flushes that are this far off do not add up
REFUSED_FROM = 0.20
# counts of the same commands differ by less than this
SAME_COUNT = 0.05
# so much of a latency may be threads that take turns, and no command
SOFTWARE_NS_MAX = 200_000.0
# a range of fewer says too little of the scatter
_REPEATS_MIN = 3
# the median of normal values scatters so much more than their mean
_MEDIAN_OVER_MEAN = math.sqrt(math.pi / 2)
_NOTHING = Estimate(None, None, None, "ns", 0, 0.0, "not fitted")


@dataclass(frozen=True, slots=True)
class MixtureTime:
    """How long an operation took that cost the drive so many commands.

    Attributes
    ----------
    filesystem, cache : str
        Levels; empty where it is not known.
    writes, flushes : float
        Commands per operation.
    latency_ns : float or None
        Over the repeats; None for a combination that was not measured and is to be predicted.
    lowest_ns, highest_ns : float or None
        Of the repeats.
    """

    filesystem: str
    cache: str
    writes: float
    flushes: float
    latency_ns: float | None
    lowest_ns: float | None = None
    highest_ns: float | None = None
    repeat_count: int = 1

    @property
    def is_flushed(self) -> bool:
        """Whether the drive is told to flush its cache."""
        return self.flushes >= SAME_COUNT


def fit_flush_model(
    measured: Sequence[MixtureTime],
    *,
    drive: str = "",
    machine: str = "",
    workload: str = "",
    metric: str = "",
    is_hard_disk: bool = False,
    has_counts: bool = True,
    notes: tuple[str, ...] = (),
) -> FlushFit:
    """The costs of a write and of a flush, and what they leave unexplained.

    Parameters
    ----------
    measured : sequence of MixtureTime
        One per combination of one drive and one workload.

    Returns
    -------
    FlushFit
        *explains*: the fitted combinations are within `RESIDUAL_MAX` (root of
        the mean square of predicted over measured, less 1). *another mechanism*:
        within `REFUSED_FROM`. *refused*: beyond it; then there are no costs.
        *too few cells*: below `CELLS_MIN` different mixtures with flushes.

    Notes
    -----
    Least squares on the relative error, costs not below 0. Intervals follow
    from the scatter of the repeats, to first order: the range of n repeats over
    its expectation for normal values gives the standard deviation (Tippett
    1925), with n - 1 degrees of freedom. They are given where every fitted
    combination has three repeats or more and the model explains them.
    """
    flushed = [one for one in measured if one.is_flushed]
    plain = [one for one in measured if not one.is_flushed]
    known = [one for one in flushed if one.latency_ns]
    fit = FlushFit(drive, machine, workload, metric, "too few cells", _NOTHING, _NOTHING, _NOTHING)
    fit = replace(fit, has_counts=has_counts, notes=notes, uncached_write=_uncached_write(plain))
    if _can_be_fitted(known):
        costs, rms, matrix = _costs(known)
        verdict = _verdict(rms)
        fit = replace(fit, verdict=verdict, rms_residual=rms)
        if verdict != "refused":
            write, flush = _estimates(known, costs, matrix, has_interval=verdict == "explains")
            fit = replace(fit, write=write, flush=flush)
    else:
        costs = np.array([math.nan, math.nan])
    cells = [*(_flushed_cell(one, costs) for one in flushed), *_plain_cells(plain, fit)]
    return replace(fit, cells=tuple(cells), candidates=tuple(_candidates(cells, is_hard_disk=is_hard_disk)))


def _can_be_fitted(known: Sequence[MixtureTime]) -> bool:
    mixtures = {(round(one.writes / SAME_COUNT), round(one.flushes / SAME_COUNT)) for one in known}
    counts = np.array([[one.writes, one.flushes] for one in known])
    return len(mixtures) >= CELLS_MIN and int(np.linalg.matrix_rank(counts)) == 2


def _verdict(rms: float) -> FlushVerdict:
    if rms <= RESIDUAL_MAX:
        return "explains"
    return "refused" if rms > REFUSED_FROM else "another mechanism"


def _costs(known: Sequence[MixtureTime]) -> tuple[Floats, float, Floats]:
    """Both costs in ns, the root mean square of the relative error, and the matrix that was solved."""
    matrix = np.array([[one.writes, one.flushes] for one in known]) / _latencies(known)[:, None]
    costs = nonnegative_pair(matrix, np.ones(len(known)))
    return costs, float(np.sqrt(((matrix @ costs - 1) ** 2).mean())), matrix


def nonnegative_pair(matrix: Floats, wanted: Floats) -> Floats:
    """The two numbers, none below 0, whose combination of the columns comes nearest by least squares.

    Parameters
    ----------
    matrix : ndarray, shape (n, 2)
        Columns with no negative number in them.
    """
    free = np.linalg.lstsq(matrix, wanted, rcond=None)[0]
    if free.min() >= 0:
        return np.asarray(free, dtype=np.float64)
    # the solution then lies on an edge: one of the two is 0
    edges = []
    for place in (0, 1):
        column = matrix[:, place]
        edge = np.zeros(2)
        edge[place] = max(0.0, float(column @ wanted) / max(float(column @ column), 1e-300))
        edges.append(edge)
    return min(edges, key=lambda edge: float(((matrix @ edge - wanted) ** 2).sum()))


def _latencies(known: Sequence[MixtureTime]) -> Floats:
    return np.array([one.latency_ns or math.nan for one in known])


def _estimates(
    known: Sequence[MixtureTime], costs: Floats, matrix: Floats, *, has_interval: bool
) -> tuple[Estimate, Estimate]:
    method = f"least squares on the relative error of {len(known)} combinations"
    count = len(known)
    errors = [_relative_error(one) for one in known]
    fewest = min(one.repeat_count for one in known)
    if not has_interval or None in errors or costs.min() <= 0:
        write, flush = (Estimate(float(cost), None, None, "ns", count, float(count), method) for cost in costs)
        return write, flush
    spread = np.linalg.pinv(matrix) * np.array([error or 0.0 for error in errors])
    halves = student_t(fewest - 1) * np.sqrt((spread**2).sum(axis=1))
    method = f"{method}, interval from the range of {fewest} repeats or more"
    write, flush = (
        Estimate(float(cost), max(0.0, float(cost - half)), float(cost + half), "ns", count, float(count), method)
        for cost, half in zip(costs, halves, strict=True)
    )
    return write, flush


def _relative_error(one: MixtureTime) -> float | None:
    """Standard error of a median over repeats, as a share of it; None where the repeats do not tell."""
    if one.repeat_count < _REPEATS_MIN or one.lowest_ns is None or one.highest_ns is None or not one.latency_ns:
        return None
    deviation = (one.highest_ns - one.lowest_ns) / expected_range(one.repeat_count)
    return max(ERROR_MIN, _MEDIAN_OVER_MEAN * deviation / math.sqrt(one.repeat_count) / one.latency_ns)


@lru_cache
def expected_range(count: int) -> float:
    """Expectation of the range of so many independent standard normal values: 1.128 for two, 2.326 for five."""
    places = np.linspace(-9, 9, 3601)
    below = np.array([0.5 * math.erfc(-place / math.sqrt(2)) for place in places.tolist()])
    return float((1 - below**count - (1 - below) ** count).sum() * (places[1] - places[0]))


def _uncached_write(plain: Sequence[MixtureTime]) -> Estimate:
    known = [one for one in plain if one.latency_ns and one.writes]
    if not known:
        return _NOTHING
    least = min(known, key=lambda one: one.writes)
    value, error = (least.latency_ns or 0.0) / least.writes, _relative_error(least)
    method = f"{least.filesystem or 'the combination'} with {least.writes:g} writes and no flush"
    half = None if error is None else student_t(least.repeat_count - 1) * error * value
    low, high = (None, None) if half is None else (max(0.0, value - half), value + half)
    return Estimate(value, low, high, "ns", 1, float(least.repeat_count), method)


def _flushed_cell(one: MixtureTime, costs: Floats) -> FlushCell:
    predicted = float(one.writes * costs[0] + one.flushes * costs[1])
    role = "fitted" if one.latency_ns else "not measured"
    shown = None if math.isnan(predicted) else predicted
    return FlushCell(one.filesystem, one.cache, one.writes, one.flushes, one.latency_ns, shown, role)  # type: ignore[arg-type]


def _plain_cells(plain: Sequence[MixtureTime], fit: FlushFit) -> list[FlushCell]:
    known = [one for one in plain if one.latency_ns and one.writes]
    least = min(known, key=lambda one: one.writes) if known else None
    found = []
    for one in plain:
        predicted = fit.predicted_ns(one.writes, 0.0)
        cell = FlushCell(one.filesystem, one.cache, one.writes, 0.0, one.latency_ns, predicted, "held out")
        if one is least:
            cell = replace(cell, role="fitted")
        elif not one.latency_ns:
            cell = replace(cell, role="not measured")
        found.append(cell)
    return found


def _candidates(cells: Sequence[FlushCell], *, is_hard_disk: bool) -> list[str]:
    """What may be at work where more than `RESIDUAL_MAX` is left."""
    left = [(cell, cell.residual) for cell in cells if cell.residual is not None and abs(cell.residual) > RESIDUAL_MAX]
    if not left:
        return []
    if is_hard_disk:
        return ["a hard disk seeks and waits for its rotation, which does not add up"]
    found = []
    longer = [(cell.observed_ns or 0.0) - (cell.predicted_ns or 0.0) for cell, residual in left if residual < 0]
    if any(missing <= SOFTWARE_NS_MAX for missing in longer):
        found.append("software: threads of the journal wait for each other")
    if any(missing > SOFTWARE_NS_MAX for missing in longer):
        found.append("journal writes cost more than data writes")
        found.append("a flush costs more the more there is to flush")
    if any(residual > 0 for _, residual in left):
        found.append("the drive combines commands or serves several at once")
    return found
