"""What a load's calls took where it was issued again, beside what the same calls took where it was recorded."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.quantile import quantile_estimates_from_series
from drivelab.model.estimate import Estimate
from drivelab.model.recording import CallPairs

QUANTILES = {"p50_ns": 0.5, "p99_ns": 0.99}
_FILES_TOLD = 3
Floats = NDArray[np.float64]


def changed_calls(pairs: CallPairs, names: Sequence[str], files: Sequence[str] = ()) -> list[dict[str, Any]]:
    """What each kind of call took there and here, those that took longest first.

    Returns
    -------
    list of dict
        ``call``, ``count``, ``recorded`` and ``replayed`` and ``response`` (``p50_ns``, ``p99_ns``), ``times`` (how
        many times as long the median is: ``value``, ``low``, ``high``), ``added_ns`` (all of them together), ``files``
        (those with the most of it: ``name``, ``count``, ``added_ns``).
    """
    found = [_changed(pairs, number, name, files) for number, name in enumerate(names) if (pairs.name == number).any()]
    return sorted(found, key=lambda one: -one["waited_ns"])


def _changed(pairs: CallPairs, number: int, name: str, files: Sequence[str]) -> dict[str, Any]:
    mine = pairs.name == number
    recorded, replayed = pairs.recorded_ns[mine], pairs.replayed_ns[mine]
    there, here = (quantile_estimates_from_series(side, list(QUANTILES.values())) for side in (recorded, replayed))
    added: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for place in np.unique(pairs.file[mine]).tolist() if files else ():
        of_file = mine & (pairs.file == place)
        added[files[place]] = int((pairs.replayed_ns - pairs.recorded_ns)[of_file].sum())
        counts[files[place]] = int(of_file.sum())
    return {
        "call": name,
        "count": int(mine.sum()),
        "waited_ns": int(max(recorded.sum(), replayed.sum())),
        "recorded": _quantiles(there),
        "replayed": _quantiles(here),
        "response": None if pairs.response_ns is None else _quantiles_of(pairs.response_ns[mine]),
        "times": _times_as_long(there[0], here[0]),
        "added_ns": int(replayed.sum() - recorded.sum()),
        "files": [
            {"name": one, "count": counts[one], "added_ns": more} for one, more in added.most_common(_FILES_TOLD)
        ],
    }


def _quantiles(estimates: Sequence[Estimate]) -> dict[str, float]:
    values = (one.value if one.value is not None else one.observed for one in estimates)
    return {at: float(value or 0) for at, value in zip(QUANTILES, values, strict=True)}


def _quantiles_of(series: Floats) -> dict[str, float]:
    return _quantiles(quantile_estimates_from_series(series, list(QUANTILES.values())))


def _times_as_long(there: Estimate, here: Estimate) -> dict[str, float | None] | None:
    """How many times as long one median is as another, with its 95 % interval; None where one of them is not known.

    The interval is made of those of both medians: in the logarithm the distances of their ends add up as squares do
    (Zou and Donner 2008, "method of variance estimates recovery").
    """
    base, new = (one.value if one.value is not None else one.observed for one in (there, here))
    if not base or not new:
        return None
    value = new / base
    ends = (there.low, there.high, here.low, here.high)
    if any(end is None or end <= 0 for end in ends):
        return {"value": value, "low": None, "high": None}
    low, high, here_low, here_high = (math.log(end) for end in ends if end is not None)
    down = math.hypot(math.log(new) - here_low, high - math.log(base))
    up = math.hypot(here_high - math.log(new), math.log(base) - low)
    return {"value": value, "low": value * math.exp(-down), "high": value * math.exp(up)}
