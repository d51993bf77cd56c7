"""What a drive usually shows beside its peers, by its other dates: drives that are alike are never quite the same."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from drivelab.analyse.level_noise import NORMAL_MEDIAN
from drivelab.model.fleet import Seconds, Singles

_DAY_S = 86_400
_OTHER_DATES_MIN = 3
# what is usual of a drive is taken for its own only as far as drives that are alike differ: slow from the first
# sample on stays slow
_SPREADS = 2.0


@dataclass(frozen=True, slots=True)
class Dates:
    """The rows of each date (UTC).

    Attributes
    ----------
    days : tuple of int
        Days since 1970, ascending.
    ends : tuple of int
        Row after the last one of each.
    """

    days: tuple[int, ...]
    ends: tuple[int, ...]

    def rows(self) -> list[slice]:
        """The rows of each date."""
        return [slice(first, end) for first, end in zip((0, *self.ends), self.ends, strict=False)]


def dates_of(time_s: Seconds) -> Dates:
    """The dates of ascending times."""
    days, firsts = np.unique(time_s // _DAY_S, return_index=True)
    return Dates(tuple(int(day) for day in days), (*(int(first) for first in firsts[1:]), len(time_s)))


def _date_medians(excess: Singles, dates: Dates) -> Singles:
    """Medians of each date, one row each; NaN where there is no sample."""
    return np.array([median_of_columns(excess[rows]) for rows in dates.rows()], dtype=np.float32)


def less_usual(
    hosts: Sequence[tuple[Singles, Dates]], *, is_bounded: bool = True, quantile: float = 0.5
) -> list[Singles]:
    """The excess of drives over their peers, less what each shows on its other dates; three of them are wanted.

    Parameters
    ----------
    hosts : sequence of (excess, Dates)
        All hosts whose drives are alike.
    is_bounded : bool
        Whether what is usual counts only as far as nearly all of these drives differ from each other.
    quantile : float
        Of the other dates, which is taken for usual: less than a half where most of them may be slow.
    """
    medians = [_date_medians(excess, dates) for excess, dates in hosts]
    overall = np.concatenate([median_of_columns(one) for one in medians])
    spread = NORMAL_MEDIAN * float(np.nanmedian(np.abs(overall))) if np.isfinite(overall).any() else 0.0
    found = []
    for (excess, dates), of_date in zip(hosts, medians, strict=True):
        usual = np.zeros_like(of_date)
        if len(of_date) > _OTHER_DATES_MIN:
            for place in range(len(of_date)):
                usual[place] = np.nan_to_num(_of_columns(np.delete(of_date, place, axis=0), quantile))
        if is_bounded:
            usual = np.clip(usual, -_SPREADS * spread, _SPREADS * spread)
        lengths = [rows.stop - rows.start for rows in dates.rows()]
        found.append(excess - np.repeat(usual, lengths, axis=0))
    return found


def median_of_columns(values: Singles) -> npt.NDArray[np.float32]:
    """The median of each column; NaN of one without a number.

    That of numpy.nanmedian, which takes several times as long for the few rows of a window.
    """
    if not len(values):
        return np.full(values.shape[1], np.nan, dtype=np.float32)
    # what is no number comes last
    ordered = np.sort(values, axis=0)
    counts = len(ordered) - np.isnan(ordered).sum(axis=0)
    columns = np.arange(ordered.shape[1])
    return np.asarray((ordered[(counts - 1) // 2, columns] + ordered[counts // 2, columns]) / 2, dtype=np.float32)


def _of_columns(values: Singles, quantile: float) -> npt.NDArray[np.float32]:
    if quantile == 0.5:
        return median_of_columns(values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(np.nanquantile(values, quantile, axis=0, method="lower"), dtype=np.float32)
