"""How many times better than a limit something is."""

from __future__ import annotations

from drivelab.model.estimate import Estimate
from drivelab.model.verdict import Outcome, Threshold


def margin_ratio(threshold: Threshold, estimate: Estimate) -> float | None:
    """How many times better than the limit the worse end of an interval is; None where that end is not known."""
    if threshold.direction == "at_most":
        return threshold.limit / estimate.high if estimate.high else None
    return estimate.low / threshold.limit if estimate.low is not None else None


def known_margin(outcome: Outcome, margin: float | None, may_not_last: str) -> float | None:
    """The margin; none where nothing is decided, or where the rate does not last."""
    return None if outcome == "undecided" or may_not_last else margin


def margin_text(margin: float | None) -> str:
    """The margin as it stands behind a limit; empty where there is none."""
    if margin is None:
        return ""
    return f", margin {margin:.2g}x" if margin < 10 else f", margin {margin:.0f}x"
