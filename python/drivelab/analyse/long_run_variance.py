"""How much the sum of an autocorrelated series varies: what every interval rests on.

Latencies come in bursts, so n of them tell less than n independent ones would.
Ignoring that makes the 95 % interval of a median cover 23 % instead of 95 % at
a lag-1 correlation of 0.97.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# More elements than this are added up in groups first: their variance is the same, the work is not.
ELEMENTS_MAX = 1 << 16
# From this length on a coarser scale is looked at as well.
_TWO_SCALES_FROM = 256
# In fewer elements than this a correlation between neighbours goes unseen.
_CORRELATION_SHOWS_FROM = 10
# So many lags are multiplied out before all of them are transformed: a sequence that ends within them costs a tenth.
_LAGS_MULTIPLIED_OUT = 32


@dataclass(frozen=True, slots=True)
class LongRunVariance:
    """Variance of a sum, per element summed.

    Attributes
    ----------
    per_element : float
        Variance of the sum of n neighbouring elements, divided by n, for large n.
    degrees_of_freedom : float
        How well that is known, as the degrees of freedom of a chi-square.
    """

    per_element: float
    degrees_of_freedom: float


def long_run_variance(series: Floats) -> LongRunVariance:
    """Variance per element of the sum of a stationary series, autocorrelation included.

    Parameters
    ----------
    series : ndarray of float64, shape (n,), n >= 2
        In order of time; its mean is removed here.

    Returns
    -------
    LongRunVariance
        Never below the plain variance of the elements: a series that swings
        back more than chance would is not given credit for it.

    Notes
    -----
    The sum of autocovariances over Geyer's initial positive sequence, made
    monotone, with two corrections without which intervals are too short:

    - Removing the mean takes 1/n of the variance from every autocovariance;
      with w lags summed that is w/n in all, put back here.
    - A weak but long correlation (a burst every few seconds moves the median a
      little, for long) drowns in the noise of single lags, and the sequence is
      cut off before it. So the same estimate is made a second time from sums of
      sqrt(n)/4 neighbours, where such a correlation stands out, and the larger
      of the two is taken. In independent data that costs 4 % of width.

    The estimate is itself uncertain. Its relative variance is about
    2 (2 w - 1) / n (Priestley 1981, 6.2.4), that of a chi-square with
    n / (2 w - 1) degrees of freedom; intervals use Student's t with these.
    Fewer than ten elements that look uncorrelated may well not be: they get
    half of the n - 1 that independent ones would have.

    References
    ----------
    Geyer (1992), Practical Markov chain Monte Carlo, Statistical Science 7(4).
    """
    result = _at_one_scale(series)
    n = series.shape[0]
    if n < _TWO_SCALES_FROM:
        return result
    size = int(n**0.5 / 4)
    coarse = _at_one_scale(add_up_groups(series, size))
    if coarse.per_element / size > result.per_element:
        return LongRunVariance(coarse.per_element / size, coarse.degrees_of_freedom)
    return result


def variance_over_windows(residual: Floats, window: Integers) -> LongRunVariance:
    """Variance per element of the sum of a series that was taken in several windows with other work between them.

    Parameters
    ----------
    residual : ndarray of float64, shape (n,), n >= 2
        In order of time, what each element has more than the ratio of all sums expects: it sums up to 0.
    window : ndarray of int64, shape (n,)
        The window of each element, from 0.

    Returns
    -------
    LongRunVariance
        Of one window what `long_run_variance` says.

    Notes
    -----
    One-way random effects. What the windows differ by is told by their sums alone, whatever is correlated within
    them, with one degree of freedom less than there are windows. Where that is no more than what the elements of a
    window let expect, they are taken as one series. Where it is more, of a drive that is always the same by chance in
    every other series, the degrees of freedom lie between those of the elements and those of the windows, by the
    squares of the two variances. tests/unit/analyse/test_windows.py holds what that covers to 95 %.
    """
    count = int(window[-1]) + 1
    if count < 2:
        return long_run_variance(residual)
    n = residual.shape[0]
    sums, sizes = np.bincount(window, weights=residual), np.bincount(window)
    within = long_run_variance(residual - (sums / np.maximum(sizes, 1))[window])
    # each window takes a mean from its elements
    expected = within.per_element * n / max(1, n - count)
    between = float(sums @ sums) * count / (count - 1) / n
    if between <= expected:
        return long_run_variance(residual)
    by_elements = (expected / between) ** 2
    shares = by_elements / within.degrees_of_freedom + (1 - by_elements) / (count - 1)
    return LongRunVariance(between, max(1.0, 1 / shares))


def add_up_groups(series: Floats, size: int) -> Floats:
    """Sums of `size` neighbours each, shape (n // size,); a remainder at the end is left out."""
    groups = series.shape[0] // size
    sums: Floats = series[: groups * size].reshape(groups, size).sum(axis=1)
    return sums


def group_size(element_count: int) -> int:
    """How many neighbours to add up so that at most `ELEMENTS_MAX` sums remain."""
    return -(-element_count // ELEMENTS_MAX)


def _at_one_scale(series: Floats) -> LongRunVariance:
    n = series.shape[0]
    covariance = _leading_autocovariance(series)
    plain = float(covariance[0]) * n / (n - 1)
    half = covariance.shape[0] // 2
    pairs = covariance[0 : 2 * half : 2] + covariance[1 : 2 * half : 2]
    negative = np.flatnonzero(pairs <= 0)
    kept = int(negative[0]) if negative.size else half
    total = 2 * float(np.minimum.accumulate(pairs[:kept]).sum()) - float(covariance[0])
    lags = 2 * kept
    value = total * (1 + lags / n) * n / (n - 1)
    if kept == 0 or value <= plain:
        return LongRunVariance(plain, n - 1.0 if n >= _CORRELATION_SHOWS_FROM else max(1.0, (n - 1) / 2))
    return LongRunVariance(value, max(1.0, n / (2 * lags - 1)))


def _leading_autocovariance(series: Floats) -> Floats:
    """Autocovariances up to the first pair whose sum is not positive, behind which nothing is looked at, or all."""
    n = series.shape[0]
    centred = series - series.mean()
    found: list[float] = []
    for lag in range(0, min(_LAGS_MULTIPLIED_OUT, n - 1), 2):
        found += [float(centred[: n - one] @ centred[one:]) / n for one in (lag, lag + 1)]
        if found[-2] + found[-1] <= 0:
            return np.array(found)
    return autocovariance(series)


def autocovariance(series: Floats) -> Floats:
    """Covariance of a series with itself, shifted by 0, 1, 2 ... elements.

    Parameters
    ----------
    series : ndarray of float64, shape (n,)
        In order of time.

    Returns
    -------
    ndarray of float64, shape (n,)
        Sums over the pairs that exist, divided by n (which makes the sequence
        positive definite), in O(n log n) by the fast Fourier transform.
    """
    n = series.shape[0]
    length = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(series - series.mean(), length)
    power = spectrum.real**2 + spectrum.imag**2
    covariance: Floats = np.fft.irfft(power, length)[:n] / n
    return covariance
