"""How far the throughput fell: the first and the last tenth of a trial."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.ratio import rate_estimate_from_intervals
from drivelab.model.estimate import Estimate

TENTHS = 10
# fewer have a tenth without a whole interval
INTERVALS_MIN = 10


def throughput_tenths(bytes_moved: NDArray[np.float64], duration_ns: NDArray[np.float64]) -> dict[str, Estimate]:
    """Throughput in the first and in the last tenth of a trial, and what the last is of the first.

    Returns
    -------
    dict of str to Estimate
        ``throughput_first_tenth_bytes_per_s``, ``throughput_last_tenth_bytes_per_s``
        and ``throughput_last_over_first_ratio``, by number of intervals; empty
        below `INTERVALS_MIN` of them. A last one that is shorter than the first,
        since the trial ended in it, is left out. The ratio has an interval where both
        tenths have one: their widths, taken as independent, in the logarithm.
    """
    # what is left of the window behind the last whole interval may be too short for a single I/O
    is_cut = bool(duration_ns.size) and duration_ns[-1] < duration_ns[0]
    count = int(bytes_moved.shape[0]) - is_cut
    if count < INTERVALS_MIN:
        return {}
    part = count // TENTHS
    first = rate_estimate_from_intervals(bytes_moved[:part], duration_ns[:part], "B/s")
    ending = slice(count - part, count)
    last = rate_estimate_from_intervals(bytes_moved[ending], duration_ns[ending], "B/s")
    found = {"throughput_first_tenth_bytes_per_s": first, "throughput_last_tenth_bytes_per_s": last}
    ratio = quotient(last, first)
    return found if ratio is None else found | {"throughput_last_over_first_ratio": ratio}


def quotient(above: Estimate, below: Estimate) -> Estimate | None:
    """One estimate over another, independent one; None when there is no such number."""
    if above.value is None or not below.value:
        return None
    value = above.value / below.value
    count = min(above.sample_count, below.sample_count)
    ends = (above.low, above.high, below.low, below.high)
    if not above.value or None in ends:
        return Estimate(value, None, None, "1", count, float(count), "quotient; not both have an interval")
    down = math.hypot(_logarithm(above.value, above.low), _logarithm(below.high, below.value))
    up = math.hypot(_logarithm(above.high, above.value), _logarithm(below.value, below.low))
    method = "quotient; half widths of the two intervals added as squares, in the logarithm"
    high = value * math.exp(up) if math.isfinite(up) else None
    return Estimate(value, value * math.exp(-down), high, "1", count, float(count), method)


def _logarithm(above: float | None, below: float | None) -> float:
    """Of the ratio of two numbers; infinite where the lower one is 0."""
    return math.log(above / below) if above and below else math.inf
