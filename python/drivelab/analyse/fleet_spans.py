"""When a drive was slow: windows tell that it was, and reach beyond the samples that made them odd."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from drivelab.model.fleet import Singles

Flags = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]
# the fewest samples of a window that tell a step: more than half of them are slow
_LEVEL_SAMPLES = 8
# one sample far out counts as much as a few
_LEVELS_MAX = 2.0


@dataclass(frozen=True, slots=True)
class SlowRows:
    """Samples of a drive, one after the other, in which it was slow.

    Attributes
    ----------
    rows : numpy.ndarray
        Those that have a value.
    told_count : int
        How many of them there are until a window tells it.
    """

    rows: Rows
    told_count: int


def slow_rows(excess: Singles, is_inside: Flags, is_ending: Flags, offset: float) -> Iterator[SlowRows]:
    """The samples in which a drive was slow, each time by itself.

    Parameters
    ----------
    excess : numpy.ndarray
        Of one drive; NaN is no sample.
    is_inside, is_ending : numpy.ndarray
        Which of its samples lie in odd windows, and at which one such a window ends.
    offset : float
        Excess from which on what follows the first odd window belongs to it.
    """
    known = np.flatnonzero(np.isfinite(excess))
    edges = np.flatnonzero(np.diff(np.concatenate([[0], is_inside[known].astype(np.int8), [0]])))
    # what has no sample, a night for instance, parts none
    for piece in edges.reshape(-1, 2):
        rows = known[slice(*piece)]
        told = int(np.argmax(is_ending[rows])) if is_ending[rows].any() else len(rows) - 1
        begin, end = _first_and_end(excess[rows].astype(np.float64), told, offset)
        yield SlowRows(rows[begin:end], told + 1 - begin)


def _first_and_end(values: npt.NDArray[np.float64], told: int, offset: float) -> tuple[int, int]:
    """The first slow sample, by those up to the one that tells it, and the one after the last.

    A step upwards from 0 to whatever level is most likely where the squared sum from there on, over its count, is
    largest: that weighs how many samples are high against how high they are.
    """
    until = values[: told + 1]
    level = max(float(np.median(np.abs(until))), float(np.median(until[-_LEVEL_SAMPLES:])))
    values = np.clip(values, -_LEVELS_MAX * level, _LEVELS_MAX * level)
    sums = np.maximum(np.cumsum(values[told::-1]), 0.0)
    begin = told - int(np.argmax(sums**2 / np.arange(1, told + 2)))
    after = values[told + 1 :]
    end = _last_above(after, offset)
    # what is left of a step back to 0 is what wanders; where it is slow by itself, the drive recovered in part
    back = _last_above(after, float(np.median(values[begin : told + 1])) / 2)
    if back < end and float(np.median(after[back:end])) < 2 * offset:
        end = back
    return begin, told + 1 + end


def _last_above(values: npt.NDArray[np.float64], offset: float) -> int:
    """The end of those that lie above an offset in all, as far as they do."""
    return int(np.argmax(np.concatenate([[0.0], np.cumsum(values - offset)])))
