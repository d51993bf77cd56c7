"""Which drives stand apart from their peers in a number: robustly, and with all that was looked at accounted for.

A drive is held against the others of its group. Their scale is that of those that remain when what lies far from their
median is left out, so that one odd drive does not hide another; the difference is judged by Student's t with their
number, and by Holm's correction over every drive and number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from drivelab.analyse.drive_spread import robust_deviation
from drivelab.model.distributions import student_t, two_sided_p
from drivelab.model.drive_values import ALIKE_SHARE_MAX, SIGNIFICANCE

# of one kind, the drive itself among them
PEERS_MIN = 4
# differences that are smaller nobody would change a drive for
RATIO_MIN = 1.05
# how far a peer lies that does not belong to the others: rarely passed by chance, also among few
_FAR = 8.0
# numbers of a model in virtual time are the same to the last digit
_SCALE_MIN = 0.001
# of a group, when those that lie far are left out
_LEFT_MIN = 5


@dataclass(frozen=True, slots=True)
class Distance:
    """How far a drive is from its peers.

    Attributes
    ----------
    log_ratio : float
        The logarithm of the ratio to their median.
    p_value : float
        By itself.
    error, own_error : float
        Standard error of the logarithm: among such drives, and of this one by its repeats alone.
    """

    drive: str
    log_ratio: float
    p_value: float
    peer_count: int
    error: float
    own_error: float

    @property
    def is_alike(self) -> bool:
        """Whether the drive is known to lie near its peers: with twice its own error, too."""
        return abs(self.log_ratio) + 2 * self.own_error <= math.log1p(ALIKE_SHARE_MAX)

    def shown_ratio(self, comparison_count: int) -> float:
        """The smallest ratio, above 1, that would have shown among so many comparisons."""
        # medians that agree by chance are no surer for it
        error = max(self.error, self.own_error)
        return max(RATIO_MIN, math.exp(error * student_t(self.peer_count - 1, SIGNIFICANCE / comparison_count / 2)))


def distances(values: Mapping[str, float], errors: Mapping[str, float]) -> list[Distance]:
    """How far each drive of a group is from the others.

    Parameters
    ----------
    values : mapping of str to float
        Of drives that should be alike, the logarithm of their number.
    errors : mapping of str to float
        Standard error of each that its own repeats show; 0 where it has one value.

    Returns
    -------
    list of Distance
        One for each drive; none where there are fewer than `PEERS_MIN`.
    """
    if len(values) < PEERS_MIN:
        return []
    logs, own = np.array(list(values.values())), np.array([errors[name] for name in values])
    middle, deviation, count = _of_others(logs)
    scale = np.maximum(deviation, _SCALE_MIN)
    noisier = np.maximum(own**2 - np.median(own) ** 2, 0.0)
    # a median of n normal values is off by the root of pi / 2n
    error = np.sqrt(scale**2 * (1 + math.pi / (2 * count)) + noisier)
    return [
        Distance(
            name, float(far), two_sided_p(float(far), float(off), int(peers) - 1), int(peers), float(off), float(its)
        )
        for name, far, off, peers, its in zip(values, logs - middle, error, count, own, strict=True)
    ]


def _of_others(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each value the median, the standard deviation and the number of the others, without those that lie far."""
    order = np.argsort(logs, kind="stable")
    ordered = logs[order]
    is_kept = ~is_far(ordered)
    kept = ordered[is_kept]
    # each kept value is taken out of the sums and of the order; one that lies far is in neither
    place = np.cumsum(is_kept) - 1
    count = len(kept) - is_kept.astype(int)
    centred = kept - kept.mean()
    own = np.where(is_kept, ordered - kept.mean(), 0.0)
    mean = (centred.sum() - own) / count
    variance = np.maximum((centred @ centred - own**2) / count - mean**2, 0.0) * count / (count - 1)
    median = (_at(kept, place, is_kept, (count - 1) // 2) + _at(kept, place, is_kept, count // 2)) / 2
    found = np.empty((3, len(logs)))
    found[:, order] = median, np.sqrt(variance), count
    return found[0], found[1], found[2]


def _at(kept: np.ndarray, place: np.ndarray, is_kept: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The value at a place of the order that is left when the own value is taken out."""
    found: np.ndarray = kept[wanted + (is_kept & (place <= wanted))]
    return found


def is_far(logs: np.ndarray) -> np.ndarray:
    """Which values lie far from the median of all; never so many that fewer than five remain, or half of them."""
    limit = _FAR * max(robust_deviation(logs), _SCALE_MIN)
    found: np.ndarray = np.abs(logs - np.median(logs)) > limit
    left = len(logs) - int(found.sum())
    return found if left >= _LEFT_MIN and 2 * left > len(logs) else np.zeros(len(logs), dtype=bool)


def standard_error(runs: Sequence[Sequence[float]]) -> float:
    """Standard error of a drive's logarithm: between its runs, or, of one run, between the repeats; 0 of one value."""
    means = [math.fsum(map(math.log, run)) / len(run) for run in runs]
    logs: Iterable[float] = means if len(means) > 1 else map(math.log, runs[0])
    values = np.array(list(logs))
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0
