"""The drive changed its speed between trials of a check that ought to be alike."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from drivelab.analyse.alike_trials import MANY_TIMES, is_no_harder, sized
from drivelab.model.finding import Finding
from drivelab.model.judged_metric import LATENCY
from drivelab.model.metric import FASTEST_WINDOW, SLOWEST_WINDOW
from drivelab.model.target import TargetFacts
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.units import format_bytes, quantity_in_words

CODE = "speed-changed"
# what writing there needs
_CONSENT = {
    **dict.fromkeys(("directory", "missing_file"), " --size 64MiB"),
    "file": " --overwrite-file",
    "block_device": " --erase SERIAL",
}


def find_between(summaries: Sequence[TrialSummary], target: TargetFacts) -> list[Finding]:
    """Medians of windows of durable writes at least four times apart, the slower no larger, or no larger than a page.

    Parameters
    ----------
    summaries : sequence of TrialSummary
        In the order in which they were measured.
    target : TargetFacts
        What was checked.
    """
    known = [(size, one, ends) for size, one in sized(summaries) if (ends := _ends(one))]
    slower = [
        size
        for size, _, slow in known
        for other, _, fast in known
        if is_no_harder(size, other) and slow[1] >= MANY_TIMES * fast[0]
    ]
    if not slower:
        return []
    told = ", ".join(f"{_in_words(one)} ({format_bytes(size)})" for size, one, _ in known)
    text = (
        f"the drive changed its speed between durable trials that ought to be alike, medians in their order {told}: "
        "slower and faster again, as with heat, or other users"
    )
    facts = {
        "sizes_bytes": [size for size, _, _ in known],
        "medians_ns": [one.estimates[LATENCY].value for _, one, _ in known],
    }
    place = shlex.quote(f"{target.place}/speed-changes" if target.kind == "directory" else target.place)
    advice = (
        f"measure many such changes: drivelab io {place} --operation write --block-size {slower[0]} "
        f"--durability fdatasync --runtime 10min{_CONSENT.get(target.kind, '')}"
    )
    return [Finding(CODE, "warning", text, "", facts, advice)]


def _ends(summary: TrialSummary) -> tuple[float, float] | None:
    """How low and how high the median was for sure: in windows, or else by its interval; None where unknown."""
    fastest, slowest = summary.estimates.get(FASTEST_WINDOW), summary.estimates.get(SLOWEST_WINDOW)
    if fastest is not None and slowest is not None:
        return fastest.value or 0.0, slowest.value or 0.0
    median = summary.estimates.get(LATENCY)
    return (median.high or float("inf"), median.low or 0.0) if median is not None and median.value else None


def _in_words(summary: TrialSummary) -> str:
    """The median, or those of the fastest and the slowest window where they are many times apart."""
    ends = _ends(summary)
    if FASTEST_WINDOW in summary.estimates and ends and ends[1] >= MANY_TIMES * ends[0]:
        return " to ".join(quantity_in_words(end, "ns") for end in ends)
    return quantity_in_words(summary.estimates[LATENCY].value or 0.0, "ns")
