"""Where the throughput of a trial falls or rises to another level, by the bytes that were moved until then."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.byte_bins import ByteBins, IntervalBytes, byte_bins
from drivelab.analyse.level_noise import level_noise, noise_around, without_outliers
from drivelab.analyse.throughput_change import quotient
from drivelab.model.estimate import Estimate
from drivelab.model.throughput_course import ThroughputChange, ThroughputCourse, ThroughputLevel

Floats = NDArray[np.float64]

BINS_MAX = 500
# fewer leave no room for two levels and for how much they scatter
BINS_MIN = 20
# a bin of fewer I/Os tells more of where its edges fell than of the drive
OPERATIONS_PER_BIN = 4
SEGMENT_BINS_MIN, SEGMENT_BINS = 5, 8
SEGMENT_SHARE = 1 / 50
PENALTY = 3.0
# smaller changes are real now and then, and matter to nobody
RATIO_MIN = 1.05
CLIFF_RATIO = 0.7
CLIFF_CAPACITY_SHARE = 0.02
# of the bytes of a trial, or of its time: what is shorter was passed on the way, what is as long at its end counts
LASTING_SHARE = 0.1
# of the time: a bin of fewer bytes ends here, so that a drive that has become very slow still has bins
BIN_TIME_SHARE = 1 / 100
# so many bins tell on average whether a level still holds: not when they lie further off than its bins usually do
_OLD_LEVEL_BINS = 4
_GONE_SCALES = 1.0
# 95 % point of the likelihood ratio of the place of a change: (1 - exp(-x / 2))^2 = 0.95
_PLACE_LIKELIHOOD = 7.352
_ROUNDS_MAX = 8


@dataclass(frozen=True, slots=True)
class SeriesChanges:
    """Where the level of a series changes.

    Attributes
    ----------
    begins : tuple of int
        Where levels begin, the first one left out.
    low, high : tuple of int
        95 % interval of each.
    """

    begins: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]


def throughput_course(series: IntervalBytes, capacity_bytes: float = 0.0) -> ThroughputCourse:
    """The levels of a trial's throughput and the changes between them.

    Parameters
    ----------
    capacity_bytes : float
        Of the drive: a cliff is what lasts for 2 % of it. 0 where it is unknown.

    Returns
    -------
    ThroughputCourse
        Without `steady`. Places are right to a bin: the five-hundredth part of
        what was moved, four I/Os, or an interval, whichever is largest.
    """
    total = series.total_bytes
    if total <= 0:
        return ThroughputCourse(undecided="nothing was moved")
    least = max(OPERATIONS_PER_BIN * series.operation_bytes, 1.0)
    longest_ns = BIN_TIME_SHARE * float(series.duration_ns.sum())
    bins = byte_bins(series, max(total / BINS_MAX, least), longest_ns=longest_ns, least_bytes=least)
    if bins.count < BINS_MIN:
        why = f"{bins.count} parts of at least {OPERATIONS_PER_BIN} I/Os and one interval; {BINS_MIN} are needed"
        return ThroughputCourse(moved_bytes=round(total), undecided=why)
    found = level_changes(np.log(bins.bytes_per_s))
    edges = [0, *found.begins, bins.count]
    levels = tuple(_level(series, bins, begin, end) for begin, end in pairwise(edges))
    changes = tuple(_change(bins, found, number, levels) for number in range(len(found.begins)))
    cliff, to_end = _cliff(levels, changes, capacity_bytes)
    return ThroughputCourse(levels, changes, cliff, to_end, round(total))


def level_changes(series: Floats) -> SeriesChanges:
    """Where the level of a series changes.

    Parameters
    ----------
    series : ndarray of float64, shape (n,), n >= `BINS_MIN`
        Logarithms of the throughput, in order of the bytes moved.

    Notes
    -----
    PELT with the sum of squares as its cost, and for each change a penalty of
    3 s2 ln n, where s2 is the long-run variance. That is known only when the
    changes are: it begins as the differences of neighbouring means tell it, and
    grows with what is left once the levels are taken out, until the changes stay
    the same. Outliers are brought nearer before, so that a stall is no level.

    A cache that fills within the first few bins is shorter than any level that
    this finds; it is one where each of these bins is faster than whatever comes
    later (`_fast_start`).

    Of 1,000 series without a change one in twenty at most is said to have any:
    independent, autoregressive (0.9), heavy-tailed (`test_change_points.py`).
    The interval of a place is what the likelihood ratio leaves (Hansen 2000).

    References
    ----------
    Killick, Fearnhead and Eckley (2012), Optimal detection of changepoints with
    a linear computational cost, JASA 107; Hansen (2000), Sample splitting and
    threshold estimation, Econometrica 68.
    """
    if start := _fast_start(series):
        rest = level_changes(series[start:])
        later = [tuple(start + place for place in places) for places in (rest.begins, rest.low, rest.high)]
        return SeriesChanges((start, *later[0]), (start - 1, *later[1]), (start + 1, *later[2]))
    n = int(series.shape[0])
    shortest = max(SEGMENT_BINS_MIN, min(SEGMENT_BINS, n // 8), math.ceil(n * SEGMENT_SHARE))
    calm = without_outliers(series, shortest - 1 + shortest % 2)
    noise = level_noise(calm)
    variance = noise.long_run_variance
    begins: list[int] = []
    for _ in range(_ROUNDS_MAX):
        found = _large_enough(calm, pelt(calm, PENALTY * variance * math.log(n), shortest))
        is_same, begins = found == begins, found
        if is_same or not found:
            break
        variance = max(variance, noise_around(calm, begins, noise))
    places = [_place_interval(calm, begins, number, variance) for number in range(len(begins))]
    return SeriesChanges(tuple(begins), tuple(low for low, _ in places), tuple(high for _, high in places))


def _fast_start(series: Floats) -> int:
    """How many first bins are all faster than every later one by what makes a cliff; 0 where fewer than two are.

    The bin behind them may be a mixture. Of n bins alike the first two are the two fastest once in n (n - 1) / 2.
    """
    later = np.maximum.accumulate(series[::-1])[::-1]
    first = np.minimum.accumulate(series)
    for count in range(min(SEGMENT_BINS, series.shape[0] - BINS_MIN), 1, -1):
        if first[count - 1] - later[count + 1] >= -math.log(CLIFF_RATIO):
            return count
    return 0


def _large_enough(series: Floats, begins: Sequence[int]) -> list[int]:
    """The changes without those that matter to nobody: the smallest is taken out until none is left.

    By medians: the bin in which one level gives way to the next is a mixture, and shifts the mean of a short one.
    """
    kept = list(begins)
    while kept:
        edges = [0, *kept, series.shape[0]]
        medians = [float(np.median(series[begin:end])) for begin, end in pairwise(edges)]
        steps = [abs(after - before) for before, after in pairwise(medians)]
        smallest = min(range(len(kept)), key=steps.__getitem__)
        if steps[smallest] >= math.log(RATIO_MIN):
            break
        del kept[smallest]
    return kept


def _place_interval(series: Floats, begins: Sequence[int], number: int, variance: float) -> tuple[int, int]:
    """First and last place of a change that the likelihood ratio does not rule out, a bin wider on both sides."""
    edges = [0, *begins, series.shape[0]]
    begin, place, end = edges[number : number + 3]
    part = series[begin:end] - series[begin:end].mean()
    sums = np.cumsum(part)[:-1]
    sizes = np.arange(1, part.shape[0])
    saved = sums**2 / sizes + sums**2 / (part.shape[0] - sizes)
    near = np.flatnonzero(saved >= saved[place - begin - 1] - _PLACE_LIKELIHOOD * variance)
    # the change lies somewhere within a bin
    low, high = begin + int(near[0]), min(end, begin + 2 + int(near[-1]))
    return min(low, _end_of_old_level(series, begin, place, end)), high


def _end_of_old_level(series: Floats, begin: int, place: int, end: int) -> int:
    """Where the level before a change was still kept: a fall that takes its time begins there, before its middle."""
    old = float(np.median(series[begin:place]))
    towards = -1.0 if series[place:end].mean() < old else 1.0
    gone = towards * (series[begin:place] - old)
    width = min(_OLD_LEVEL_BINS, gone.shape[0])
    means = np.convolve(gone, np.full(width, 1 / width), "valid")
    is_passed = end < series.shape[0] and end - place < LASTING_SHARE * series.shape[0]
    if not is_passed and means[-1] <= _GONE_SCALES * float(np.median(np.abs(gone))):
        return place
    kept = np.flatnonzero(means <= 0)
    return begin + (int(kept[-1]) if kept.size else 0)


def _level(series: IntervalBytes, bins: ByteBins, begin: int, end: int) -> ThroughputLevel:
    """One level; the bins in which it begins and ends hold a part of its neighbours, and do not count to its rate."""
    first, last = begin + (begin > 0), end - (end < bins.count)
    return ThroughputLevel(
        begin_bytes=round(float(bins.end_bytes[begin])),
        end_bytes=round(float(bins.end_bytes[end])),
        begin_ns=round(float(bins.end_ns[begin])),
        end_ns=round(float(bins.end_ns[end])),
        bytes_per_s=series.rate(int(bins.edge[first]), int(bins.edge[last])),
    )


def _change(bins: ByteBins, found: SeriesChanges, number: int, levels: Sequence[ThroughputLevel]) -> ThroughputChange:
    before, after = levels[number], levels[number + 1]
    low, high = (round(float(bins.end_bytes[places[number]])) for places in (found.low, found.high))
    return _between(before, after, before.end_bytes, before.end_ns, (low, high))


def _between(
    before: ThroughputLevel, after: ThroughputLevel, at_bytes: int, at_ns: int, ends: tuple[int, int]
) -> ThroughputChange:
    ratio = quotient(after.bytes_per_s, before.bytes_per_s)
    nothing = Estimate(None, None, None, "1", 0, 0.0, "a level without throughput")
    low, high = min(ends[0], at_bytes), max(ends[1], at_bytes)
    return ThroughputChange(at_bytes, at_ns, low, high, before.bytes_per_s, after.bytes_per_s, ratio or nothing)


def _cliff(
    levels: Sequence[ThroughputLevel], changes: Sequence[ThroughputChange], capacity_bytes: float
) -> tuple[ThroughputChange | None, bool]:
    """The first fall that lasted, to the level it stays at, and whether the trial ended before 2 % of the capacity."""
    needed = CLIFF_CAPACITY_SHARE * capacity_bytes or LASTING_SHARE * levels[-1].end_bytes
    for first, change in enumerate(changes):
        limit = CLIFF_RATIO * (levels[first].bytes_per_s.value or 0)
        lasting = [last for last in _way_down(levels, first) if _lasts(levels, last, limit, needed)]
        if lasting:
            cliff = _between(levels[first], levels[lasting[-1]], change.at_bytes, change.at_ns, _ends(change))
            end = levels[_end_below(levels, lasting[0], limit)].end_bytes
            return cliff, end - levels[lasting[0]].begin_bytes < needed
    return None, False


def _way_down(levels: Sequence[ThroughputLevel], first: int) -> Iterator[int]:
    """The levels to which a fall leads, step by step: those passed quickly too, until one is long, then long ones."""
    was_long = False
    for last in range(first + 1, len(levels)):
        if (levels[last].bytes_per_s.value or 0) >= (levels[last - 1].bytes_per_s.value or 0):
            return
        is_long = _is_long(levels, last, last)
        if is_long or not was_long:
            yield last
        was_long = was_long or is_long


def _lasts(levels: Sequence[ThroughputLevel], first: int, limit_bytes_per_s: float, needed_bytes: float) -> bool:
    """Whether the throughput is at or below a limit from a level on: for so many bytes, or long and to the end."""
    if (levels[first].bytes_per_s.value or 0) > limit_bytes_per_s:
        return False
    last = _end_below(levels, first, limit_bytes_per_s)
    stays_bytes = levels[last].end_bytes - levels[first].begin_bytes
    return stays_bytes >= needed_bytes or (last == len(levels) - 1 and _is_long(levels, first, last))


def _end_below(levels: Sequence[ThroughputLevel], first: int, limit_bytes_per_s: float) -> int:
    """The last of the levels from one on that are at or below a limit."""
    last = first
    while last + 1 < len(levels) and (levels[last + 1].bytes_per_s.value or 0) <= limit_bytes_per_s:
        last += 1
    return last


def _is_long(levels: Sequence[ThroughputLevel], first: int, last: int) -> bool:
    """Whether levels are a tenth of a trial, of its bytes or, since a slow drive moves few, of its time."""
    begin, end, whole = levels[first], levels[last], levels[-1]
    is_many = end.end_bytes - begin.begin_bytes >= LASTING_SHARE * whole.end_bytes
    return is_many or end.end_ns - begin.begin_ns >= LASTING_SHARE * whole.end_ns


def _ends(change: ThroughputChange) -> tuple[int, int]:
    return change.low_bytes, change.high_bytes


def pelt(series: Floats, penalty: float, segment_min: int) -> list[int]:
    """The division of a series into segments with the least sum of squares, where each change costs `penalty`.

    Parameters
    ----------
    penalty : float
        What a change must save of the sum of squares, at least 0.
    segment_min : int
        Elements of the shortest segment allowed, at least 1.

    Returns
    -------
    list of int
        Where segments begin, the first one left out; ascending, empty when nothing changes.

    Notes
    -----
    A begin that is worse than the best division by more than the penalty can
    never be the best again (Killick, Fearnhead and Eckley 2012). With a shortest
    segment that holds only after so many more elements, so it is left out
    later: then the result is that of trying every division.
    """
    n = int(series.shape[0])
    centred = series - series.mean() if n else series
    sums = np.concatenate([[0.0], np.cumsum(centred)])
    squares = np.concatenate([[0.0], np.cumsum(centred * centred)])
    best = np.full(n + 1, np.inf)
    best[0] = -penalty
    previous = np.zeros(n + 1, np.int64)
    begins = np.zeros(1, np.int64)
    until = np.full(1, n + 1, np.int64)
    for end in range(segment_min, n + 1):
        spread = squares[end] - squares[begins] - (sums[end] - sums[begins]) ** 2 / (end - begins)
        cost = best[begins] + spread
        least = int(np.argmin(cost))
        best[end], previous[end] = cost[least] + penalty, begins[least]
        until = np.where(cost > best[end], np.minimum(until, end + segment_min), until)
        kept = until > end + 1
        begins, until = begins[kept], until[kept]
        if end + 1 >= 2 * segment_min:
            begins, until = np.append(begins, end + 1 - segment_min), np.append(until, n + 1)
    found: list[int] = []
    place = int(previous[n])
    while place > 0:
        found.append(place)
        place = int(previous[place])
    return found[::-1]
