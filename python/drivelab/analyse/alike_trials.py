"""Durable writes of several sizes beside each other: whether the drive changed its speed between their windows.

The sizes of a check go through one method, and up to a page of 4 KiB they cost a drive the same.
A larger write may honestly take longer; one that is no larger does not take many times as long.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from drivelab.analyse.threshold_words import limit_text, told_with_interval
from drivelab.model.estimate import Estimate
from drivelab.model.metric import FASTEST_WINDOW, SLOWEST_WINDOW
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.units import quantity_in_words
from drivelab.model.verdict import Outcome, Threshold

# of trials by size, not those of a program, which write in its own way
_SIZED = re.compile(r"sync-write-([0-9]+)")
PAGE_BYTES = 4096
# a drive that reads before it writes what is no whole block takes two or three times as long
MANY_TIMES = 4.0


def sized(summaries: Iterable[TrialSummary]) -> Iterator[tuple[int, TrialSummary]]:
    """The trials of durable writes, each with its size in bytes."""
    for summary in summaries:
        if found := _SIZED.fullmatch(summary.name):
            yield int(found[1]), summary


def is_no_harder(size_bytes: int, other_bytes: int) -> bool:
    """Whether writes of a size have no reason to be many times slower than those of another."""
    return size_bytes <= max(other_bytes, PAGE_BYTES)


def across_the_limit(
    threshold: Threshold, outcome: Outcome, estimate: Estimate, summaries: Mapping[str, TrialSummary]
) -> str:
    """Why a limit that a trial meets or misses for sure says nothing of the drive; empty where it does.

    Another trial that ought to be alike lies on the other side of it for sure, or half of the writes of one of its
    windows do, or two such trials were seen there, many times apart: then the drive changed between them, and the
    windows of one trial know nothing of that.
    """
    own = _SIZED.fullmatch(threshold.trial)
    # bytes a second grow with the size
    if own is None or threshold.unit == "B/s" or outcome == "undecided":
        return ""
    is_met, size = outcome == "pass", int(own[1])
    seen = []
    for other_bytes, summary in sized(summaries.values()):
        slower, faster = (other_bytes, size) if is_met else (size, other_bytes)
        other = summary.estimates.get(threshold.metric)
        if other is None or summary.name == threshold.trial or not is_no_harder(slower, faster):
            continue
        words = summary.label.partition(" + ")[0]
        if window := _window_beyond(threshold, summaries[threshold.trial], summary, is_met=is_met):
            return _changed(threshold, estimate, f"half of them took {window} in a window with {words}")
        sure, number = _sure_end(threshold, other, is_most=not is_met), other.value or other.observed
        if _lies_beyond(threshold, sure, estimate, is_met=is_met):
            return _changed(threshold, estimate, f"{_in_words(threshold, sure, is_met=is_met)} with {words}")
        if _lies_beyond(threshold, number, estimate, is_met=is_met):
            seen.append(f"{quantity_in_words(number or 0.0, threshold.unit)} with {words}")
    return _changed(threshold, estimate, f"{' and '.join(seen[:2])}, as seen") if len(seen) > 1 else ""


def _window_beyond(threshold: Threshold, own: TrialSummary, other: TrialSummary, *, is_met: bool) -> str:
    """The median of a window beyond a limit that all windows of another trial are many times from; empty if none is."""
    extreme = SLOWEST_WINDOW if is_met else FASTEST_WINDOW
    here, there = own.estimates.get(extreme), other.estimates.get(extreme)
    if threshold.unit != "ns" or here is None or there is None or not here.value or not there.value:
        return ""
    low, high = (here.value, there.value) if is_met else (there.value, here.value)
    return quantity_in_words(there.value, "ns") if low <= threshold.limit < high and high >= MANY_TIMES * low else ""


def _sure_end(threshold: Threshold, estimate: Estimate, *, is_most: bool) -> float | None:
    """The end of an interval that is nearest to the limit, of what is above it for sure or below it."""
    return estimate.high if (threshold.direction == "at_most") == is_most else estimate.low


def _lies_beyond(threshold: Threshold, number: float | None, estimate: Estimate, *, is_met: bool) -> bool:
    """Whether a number lies on the other side of a limit than an estimate does, and many times apart."""
    own, is_own_below = _sure_end(threshold, estimate, is_most=is_met), (threshold.direction == "at_most") == is_met
    if own is None or (own > threshold.limit) == is_own_below:
        # a limit out of all reach is met whatever the interval is
        own = estimate.value
    if not number or not own:
        return False
    low, high = (own, number) if is_own_below else (number, own)
    return low <= threshold.limit < high and high >= MANY_TIMES * low


def _in_words(threshold: Threshold, number: float | None, *, is_met: bool) -> str:
    end = "at least" if (threshold.direction == "at_most") == is_met else "at most"
    return f"{end} {quantity_in_words(number or 0.0, threshold.unit)}"


def _changed(threshold: Threshold, estimate: Estimate, others: str) -> str:
    return (
        f"{told_with_interval(threshold, estimate)}, but {others}: the drive changed its speed between these trials, "
        f"and none of them tells of the long run; {limit_text(threshold)}"
    )
