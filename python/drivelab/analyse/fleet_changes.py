"""When many drives of several hosts became slower at one moment: peers cannot tell it, their own past does.

Each drive is held against what it took in the hour before. Load moves slowly, or throughput tells that it moved; a
moment that comes again at the same time of another date is the day's work.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from drivelab.analyse.fleet_excess import PEERS_MIN, logarithm
from drivelab.analyse.fleet_usual import median_of_columns
from drivelab.analyse.fleet_windows import usual_step_s
from drivelab.model.fleet import CommonChange, HostSeries, Singles

# samples are first summed up by so many seconds, which hold so many samples at least
_BIN_S, _BIN_STEPS = 600, 8
# before and after a moment so many of these are looked at, and so many have to be known
_SIDE_BINS, _SIDE_BINS_MIN = 6, 3
# what one drive shows beside its past, and which share of all has to show it at one moment, in how many hosts
_RATIO_MIN = 1.3
_SHARE_MIN, _HOSTS_MIN = 0.25, 3
# where nothing tells their load, hosts that have more to do at one moment by chance show as much as that
_BLIND_RATIO_MIN = 1.6
# so much of it comes within two bins, or it is no moment; less than that of the way back is none
_AT_ONCE = 0.7
_BACK = 0.5
# with a little more to do drives take as much longer at most; with that much more nobody knows how much
_LOAD_MIN = math.log(1.25)
_DAY_S = 86_400
# beyond what all changed by, a drive keeps what it differs
_APART_MAX = math.log(1.2)

Moves = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Moment:
    """A bin at which drives became slower, how far each moved there, and which did."""

    place: int
    moves: Moves
    members: npt.NDArray[np.int64]

    @property
    def size(self) -> float:
        """How far they moved, in the middle."""
        return float(np.median(self.moves[self.members]))


@dataclass(frozen=True, slots=True)
class _Bins:
    """Drives of all hosts of a cluster, one row a bin of time that has samples.

    Attributes
    ----------
    numbers : numpy.ndarray
        Of the bins, since 1970.
    level, load : numpy.ndarray
        Medians of the logarithms of latency and throughput.
    parts : tuple of HostSeries
        In the order of the columns.
    """

    numbers: npt.NDArray[np.int64]
    length_s: int
    level: Singles
    load: Singles
    parts: tuple[HostSeries, ...]

    @classmethod
    def of(cls, parts: Sequence[HostSeries]) -> _Bins:
        """The bins of hosts of one cluster and role."""
        length_s = max(_BIN_S, _BIN_STEPS * max(usual_step_s(part.time_s) for part in parts))
        numbers = np.unique(np.concatenate([part.time_s // length_s for part in parts]))
        columns = sum(len(part.drives) for part in parts)
        level, load = (np.full((len(numbers), columns), np.nan, dtype=np.float32) for _ in range(2))
        first = 0
        for part in parts:
            own, begins = np.unique(part.time_s // length_s, return_index=True)
            places = np.searchsorted(numbers, own)
            for values, into in ((part.latency, level), (part.throughput, load)):
                known = logarithm(values)
                for place, rows in zip(places, np.split(known, begins[1:]), strict=True):
                    into[place, first : first + len(part.drives)] = median_of_columns(rows)
            first += len(part.drives)
        return cls(numbers, length_s, level, load, tuple(parts))

    def sides(self, place: int) -> tuple[slice, slice]:
        """The rows of the hour before a bin and of that after it, as far as they follow one another."""
        first, end = np.searchsorted(self.numbers, self.numbers[place] + np.array([-_SIDE_BINS, _SIDE_BINS + 1]))
        return slice(int(first), place), slice(place + 1, int(end))

    def moves(self, values: Singles, place: int) -> Moves:
        """How far each drive lies above its past; NaN where too little is known."""
        sides = [values[rows] for rows in self.sides(place)]
        enough = np.array([np.isfinite(side).sum(axis=0) >= _SIDE_BINS_MIN for side in sides]).all(axis=0)
        before, after = (median_of_columns(side) for side in sides)
        return np.asarray(np.where(enough, after - before, np.nan), dtype=np.float32)

    def at_once(self, moment: _Moment) -> float:
        """How far the members moved from the bin before to the one after."""
        before, after = (self.level[place, moment.members] for place in (moment.place - 1, moment.place + 1))
        known = (after - before)[np.isfinite(after - before)]
        return float(np.median(known)) if len(known) else 0.0

    def owners(self) -> npt.NDArray[np.int64]:
        """Which of the parts each column is of."""
        return np.repeat(np.arange(len(self.parts)), [len(part.drives) for part in self.parts])


def common_changes(parts: Sequence[HostSeries]) -> list[CommonChange]:
    """When many drives became slower at one moment.

    Parameters
    ----------
    parts : sequence of HostSeries
        Hosts of one cluster and role.
    """
    if len(parts) < _HOSTS_MIN:
        return []
    bins = _Bins.of(parts)
    found: list[_Moment] = []
    at_once = (one for one in _moments(bins) if bins.at_once(one) >= _AT_ONCE * one.size)
    for moment in sorted(at_once, key=lambda one: -len(one.members) * one.size):
        if all(abs(int(bins.numbers[moment.place] - bins.numbers[one.place])) > _SIDE_BINS for one in found):
            found.append(moment)
    kept = (one for one in found if not _is_daily(bins, one))
    return [_change(bins, one) for one in sorted(kept, key=lambda one: one.place)]


def _moments(bins: _Bins) -> Iterator[_Moment]:
    owners = bins.owners()
    is_blind = not np.isfinite(bins.load).any()
    least = math.log(_BLIND_RATIO_MIN if is_blind else _RATIO_MIN)
    for place in range(1, len(bins.numbers) - 1):
        moves = bins.moves(bins.level, place)
        known = np.isfinite(moves)
        busier = np.maximum(np.nan_to_num(bins.moves(bins.load, place)), 0)
        members = np.flatnonzero(np.nan_to_num(moves) - busier >= least)
        if len(members) <= PEERS_MIN or len(members) < _SHARE_MIN * known.sum():
            continue
        if len(np.unique(owners[members])) >= _HOSTS_MIN and float(np.median(busier[members])) < _LOAD_MIN:
            # whoever moved half as far moved with them
            half = float(np.median(moves[members])) / 2
            yield _Moment(place, moves, np.flatnonzero(np.nan_to_num(moves) >= half))


def _is_daily(bins: _Bins, moment: _Moment) -> bool:
    """Whether these drives move as far at the same time of another date."""
    a_day = _DAY_S // bins.length_s
    apart = bins.numbers - bins.numbers[moment.place]
    near = (np.abs((apart + a_day // 2) % a_day - a_day // 2) <= 1) & (np.abs(apart) >= a_day // 2)
    for place in np.flatnonzero(near):
        moves = bins.moves(bins.level, int(place))[moment.members]
        if np.isfinite(moves).any() and float(np.nanmedian(moves)) >= _BACK * moment.size:
            return True
    return False


def _change(bins: _Bins, moment: _Moment) -> CommonChange:
    end = _end(bins, moment)
    since_s = _edge_s(bins, moment, moment.place)
    last_s = max(int(part.time_s[-1]) for part in bins.parts)
    owners = bins.owners()
    names = [(part.host, drive) for part in bins.parts for drive in part.drives]
    known = [(part.host, sum(np.isfinite(moment.moves[owners == at]))) for at, part in enumerate(bins.parts)]
    part = bins.parts[0]
    return CommonChange(
        cluster=part.cluster,
        role=part.roles[0],
        since_s=since_s,
        until_s=last_s if end is None else _edge_s(bins, moment, end, is_end=True),
        is_still_slow=end is None,
        ratio=math.exp(moment.size),
        ratios={names[at]: math.exp(float(moment.moves[at])) for at in moment.members},
        drive_counts={host: int(count) for host, count in known if count},
    )


def _end(bins: _Bins, moment: _Moment) -> int | None:
    """The bin in which they came back, at once, or over a time without samples."""
    for place in range(moment.place + 2, len(bins.numbers)):
        before, _ = bins.sides(place)
        if bins.numbers[place] - bins.numbers[place - 1] > _SIDE_BINS:
            back = bins.level[place : place + _SIDE_BINS, moment.members]
            past = bins.level[bins.sides(moment.place)[0], moment.members]
            if float(np.nanmedian(median_of_columns(back) - median_of_columns(past))) < _BACK * moment.size:
                return place - 1
        elif place - before.start >= 1 and place + 1 < len(bins.numbers):
            moves = bins.moves(bins.level, place)[moment.members]
            back_at_once = bins.at_once(replace(moment, place=place))
            is_back = np.isfinite(moves).any() and float(np.nanmedian(moves)) <= -_BACK * moment.size
            if is_back and back_at_once <= -_AT_ONCE * _BACK * moment.size:
                return place
    return None


def _edge_s(bins: _Bins, moment: _Moment, place: int, *, is_end: bool = False) -> int:
    """The first sample that is slow near a bin, or the last one: whole samples tell where the step is."""
    first_s, end_s = ((int(bins.numbers[place]) + away) * bins.length_s for away in (-1, 2))
    past = median_of_columns(bins.level[bins.sides(moment.place)[0]])
    times, values, first = [], [], 0
    for part in bins.parts:
        columns = [at - first for at in moment.members if first <= at < first + len(part.drives)]
        rows = slice(*np.searchsorted(part.time_s, [first_s, end_s]))
        above = logarithm(part.latency[rows][:, columns]) - past[first : first + len(part.drives)][columns]
        times.append(np.repeat(part.time_s[rows], len(columns)))
        values.append(above.ravel())
        first += len(part.drives)
    time_s, above = np.concatenate(times), np.concatenate(values)
    order = np.argsort(time_s, kind="stable")
    time_s, above = time_s[order], np.nan_to_num(np.clip(above[order], -moment.size, 2 * moment.size) - moment.size / 2)
    begins = np.flatnonzero(np.diff(time_s, prepend=-1))
    sums = np.add.reduceat(above, begins)
    best = int(np.argmax(np.cumsum(sums) if is_end else np.cumsum(sums[::-1])))
    return int(time_s[begins[best if is_end else len(sums) - 1 - best]])


def without_changes(host: HostSeries, changes: Sequence[CommonChange]) -> HostSeries:
    """A host as if its drives had not become slower together: what is left is of each drive alone."""
    latency = host.latency.copy()
    for change in changes:
        rows = (host.time_s >= change.since_s) & (host.time_s <= change.until_s)
        for column, drive in enumerate(host.drives):
            ratio = change.ratios.get((host.host, drive))
            if ratio and (host.cluster, host.roles[column]) == (change.cluster, change.role):
                apart = np.clip(math.log(ratio / change.ratio), -_APART_MAX, _APART_MAX)
                latency[rows, column] /= change.ratio * math.exp(apart)
    return replace(host, latency=latency)
