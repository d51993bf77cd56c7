"""What one quantile of a latency says about the others: they are in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from drivelab.model.estimate import Estimate
from drivelab.model.metric import STATISTICS

# in their order, as they are listed
_QUANTILES = tuple(name for name in STATISTICS if name.startswith("p"))
_OF_LATENCY = "_latency_ns_"


def with_lows_in_order(estimates: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """The numbers of a trial, in which no quantile begins below where a lower one of the same latency does.

    Parameters
    ----------
    estimates : mapping of str to Estimate
        By metric, as stored: an older drivelab made the lower end of each quantile by itself.
    """
    found = dict(estimates)
    for start in [name.removesuffix("p50") for name in estimates if name.endswith(f"{_OF_LATENCY}p50")]:
        low: float | None = None
        for name in (start + quantile for quantile in _QUANTILES):
            own = found.get(name)
            if own is None:
                continue
            if low is not None and own.low is not None and own.low < low:
                found[name] = own = replace(own, low=low)
            low = own.low if own.low is not None else low
    return found
