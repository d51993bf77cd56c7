"""Windows in which more than half of a drive's samples lie beyond what chance makes of the spread between peers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from drivelab.analyse.fleet_usual import median_of_columns
from drivelab.analyse.level_noise import NORMAL_MEDIAN
from drivelab.model.fleet import Seconds, Singles


@dataclass(frozen=True, slots=True)
class Window:
    """One of the lengths of time that are looked at.

    Attributes
    ----------
    alarms_per_1000 : float
        On how many of 1,000 dates chance alone may call a drive slow that is as its peers.
    sliding : float
        How many chances there are for each window that shares no sample with another one: they begin at every sample.
    ratio_min, sure_ratio_min : float
        Less than that nobody calls odd, or slow, for so short a time, however little chance makes of it.
    """

    length_s: int
    alarms_per_1000: float
    sliding: float
    ratio_min: float
    sure_ratio_min: float


# the longest alone tells little slowdowns from chance, and is given most of the alarms
WINDOWS = (
    Window(300, 0.02, 3.0, 1.7, 2.0),
    Window(600, 0.2, 3.0, 1.4, 1.75),
    Window(1800, 0.02, 2.5, 1.35, 1.5),
    Window(5400, 0.05, 2.0, 1.2, 1.2),
    Window(10_800, 0.5, 1.0, 1.1, 1.1),
)
ALARMS_PER_1000_DATES = sum(window.alarms_per_1000 for window in WINDOWS)
# of a whole fleet of drives that are as their peers, how often one of them is called slow for sure
_SURE_CHANCE = 0.05
# dates beside each other may have one cause, which passes
_SURE_DATES_MIN = 3
# the ends of the spread are heavier or lighter than those of the normal distribution; by so much they may be
_TAIL = 0.01
_TAIL_RATIOS = (0.85, 1.3)
_SPREAD_WINDOWS = 3000
_SPANNED_SHARE = 0.95
_FILLED_SHARE = 0.5
# half of fewer lie beyond by chance; the longest takes what there is of samples far apart
_SAMPLES_MIN = (8.0, 3.0)
_VALUES_MIN = 8
_PASSES = 4

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Threshold:
    """From which excess on more than half of a window makes a drive odd.

    Attributes
    ----------
    odd, sure : float
        Logarithms of ratios: beyond what chance makes on hardly a date, and beyond what it makes of a whole fleet.
    """

    window_s: int
    odd: float
    sure: float


@dataclass(frozen=True, slots=True)
class Windows:
    """Where the windows of one host begin.

    Attributes
    ----------
    time_s : numpy.ndarray
        Times of the rows.
    step_s : int
        The usual time from one row to the next.
    """

    time_s: Seconds
    step_s: int

    def begins(self, window_s: int) -> npt.NDArray[np.int64]:
        """For each row that of the first sample of the window that ends with it."""
        return np.searchsorted(self.time_s, self.time_s - window_s, side="right")

    def one_behind_the_other(self, window_s: int) -> list[tuple[int, int]]:
        """First row and end of windows that share no sample; the next begins with the first sample after one."""
        found, first = [], 0
        while first < len(self.time_s):
            end = int(np.searchsorted(self.time_s, self.time_s[first] + window_s, side="left"))
            found.append((first, end))
            first = end
        return found

    def spanned(self, begins: npt.NDArray[np.int64], window_s: int) -> Flags:
        """For each row whether the window that ends with it reaches over nearly its whole length."""
        return self.time_s - self.time_s[begins] + self.step_s >= _SPANNED_SHARE * window_s

    def filled(self, window_s: int) -> float:
        """How many samples of a drive a window wants."""
        return max(_FILLED_SHARE * window_s / self.step_s, _SAMPLES_MIN[window_s == WINDOWS[-1].length_s])


def usual_step_s(time_s: Seconds) -> int:
    """The usual time between two rows, at least 1 s."""
    return max(1, int(np.median(np.diff(time_s)))) if len(time_s) > 1 else 1


def _window_medians(excess: Singles, windows: Windows, window_s: int, every: int = 1) -> Singles:
    """Medians of windows that lie one behind the other, one row each, every so many of them."""
    rows = []
    for first, end in windows.one_behind_the_other(window_s)[::every]:
        part = excess[first:end]
        if windows.time_s[end - 1] - windows.time_s[first] + windows.step_s < _SPANNED_SHARE * window_s:
            continue
        enough = np.isfinite(part).sum(axis=0) >= windows.filled(window_s)
        if enough.any():
            rows.append(np.where(enough, median_of_columns(part), np.float32(np.nan)))
    return np.array(rows, dtype=np.float32).reshape(-1, excess.shape[1])


def thresholds(
    hosts: Sequence[tuple[Singles, Windows]], dates: int, all_dates: int, least: float = 1.0
) -> tuple[Threshold, ...]:
    """What the spread of all drives makes of each length of window; none where there is nothing to learn it from.

    Parameters
    ----------
    hosts : sequence of (excess, Windows)
        All hosts whose drives are alike.
    dates, all_dates : int
        Dates with samples, added up over all drives of these hosts, and over all there are.
    least : float
        Ratio that is wanted at least, whatever the window.
    """
    found = []
    for window in WINDOWS:
        total = sum(len(windows.one_behind_the_other(window.length_s)) for _, windows in hosts)
        every = max(1, total // _SPREAD_WINDOWS)
        medians = [_window_medians(excess, windows, window.length_s, every) for excess, windows in hosts]
        values = np.concatenate([one.ravel() for one in medians] or [np.empty(0, dtype=np.float32)])
        values = values[np.isfinite(values)]
        if len(values) >= _VALUES_MIN:
            chances = len(values) * every * window.sliding
            alarms = window.alarms_per_1000 / 1000 * dates
            sure = _SURE_CHANCE * window.alarms_per_1000 / ALARMS_PER_1000_DATES * dates / all_dates
            chance_odd, chance_sure = (min(0.01, one / chances) for one in (alarms, min(alarms, sure)))
            odd = max(_beyond_chance(values, chance_odd), math.log(max(window.ratio_min, least)))
            sure = max(odd, _beyond_chance(values, chance_sure), math.log(window.sure_ratio_min))
            found.append(Threshold(window.length_s, odd, sure))
    return tuple(found)


def dates_by_chance(drives: int, dates: int) -> int:
    """On how many dates none of so many drives that are as their peers is odd by chance: one more makes it sure."""
    share = ALARMS_PER_1000_DATES / 1000
    for count in range(_SURE_DATES_MIN, dates + 1):
        # one term more is as good as the tail: the next ones are a thousand times smaller
        if drives * math.comb(dates, count) * share**count < _SURE_CHANCE:
            return count - 1
    return dates


def _beyond_chance(values: Singles, chance: float) -> float:
    """Beyond what so small a share of the medians of drives that are alike would lie.

    The middle half sets the scale and the outer hundredth above corrects it, within bounds. What lies beyond is slow
    and none of them: it is left out, and all is done again.
    """
    normal = NormalDist()
    limit = math.inf
    for _ in range(_PASSES):
        values = values[values <= limit]
        scale = NORMAL_MEDIAN * float(np.median(np.abs(values)))
        tail = float(np.quantile(values, 1 - _TAIL)) / normal.inv_cdf(1 - _TAIL)
        limit = float(np.clip(tail, _TAIL_RATIOS[0] * scale, _TAIL_RATIOS[1] * scale)) * normal.inv_cdf(1 - chance)
    return limit


def odd_rows(excess: Singles, windows: Windows, limits: Iterable[tuple[int, float]]) -> tuple[Flags, Flags]:
    """Which samples lie in a window that is odd, and at which sample such a window ends.

    Parameters
    ----------
    excess : numpy.ndarray
        Rows of times, columns of drives; NaN is no sample.
    windows : Windows
        Of these rows.
    limits : iterable of (window_s, excess)
        More than half of the samples of a window have to lie beyond.

    Returns
    -------
    tuple of numpy.ndarray
        Both as `excess`, of each row and drive.
    """
    inside, ending = np.zeros(excess.shape, dtype=bool), np.zeros(excess.shape, dtype=bool)
    known = _summed(np.isfinite(excess))
    for window_s, least in limits:
        begins = windows.begins(window_s)
        beyond = _summed(np.nan_to_num(excess, nan=-np.inf) > least)
        count = known[1:] - known[begins]
        odd = (2 * (beyond[1:] - beyond[begins]) > count) & (count >= windows.filled(window_s))
        odd &= windows.spanned(begins, window_s)[:, np.newaxis]
        if odd.any():
            ending |= odd
            marks = np.zeros((len(excess) + 1, excess.shape[1]), dtype=np.int32)
            rows, columns = np.nonzero(odd)
            np.add.at(marks, (begins[rows], columns), 1)
            np.add.at(marks, (rows + 1, columns), -1)
            inside |= np.cumsum(marks, axis=0)[:-1] > 0
    return inside, ending


def _summed(flags: Flags) -> npt.NDArray[np.int32]:
    """Running counts of each column, the first of them 0."""
    found = np.zeros((len(flags) + 1, flags.shape[1]), dtype=np.int32)
    np.cumsum(flags, axis=0, dtype=np.int32, out=found[1:])
    return found
