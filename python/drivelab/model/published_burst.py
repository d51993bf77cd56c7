"""What is published of volumes with burst credit: the rates of their bursts, and how long one may last."""

from __future__ import annotations

# Amazon's gp2 volumes give bursts of 3,000 I/Os a second, Azure's premium disks up to P20 of 3,500
_BURSTS_PER_S = (3_000, 3_500)
# what gp2 volumes give without credit, at least, and the credit that they have
BASE_PER_S, _CREDIT = 100, 5_400_000
_BELOW, _ABOVE = 0.95, 1.05


def published_burst_s(per_s: float) -> float | None:
    """How long a published credit gives so many I/Os a second, at least; None of a rate that no burst is known for.

    Source: Amazon EBS volume types, gp2: 5.4 million I/O credits, used up by what exceeds the base rate.
    """
    low, high = _BURSTS_PER_S
    return _CREDIT / (per_s - BASE_PER_S) if _BELOW * low <= per_s <= _ABOVE * high else None
