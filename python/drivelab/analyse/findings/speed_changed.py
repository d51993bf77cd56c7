"""The drive changed its speed between trials of a check that ought to be alike."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from drivelab.analyse.alike_trials import MANY_TIMES, is_no_harder, sized
from drivelab.model.finding import Finding
from drivelab.model.judged_metric import LATENCY
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
    """Medians of durable writes at least four times apart, the slower ones no larger, or no larger than a page.

    Parameters
    ----------
    summaries : sequence of TrialSummary
        In the order in which they were measured.
    target : TargetFacts
        What was checked.
    """
    known = [
        (size, median) for size, one in sized(summaries) if (median := one.estimates.get(LATENCY)) and median.value
    ]
    slower = [
        size
        for size, slow in known
        for other, fast in known
        if is_no_harder(size, other) and (slow.low or 0.0) >= MANY_TIMES * (fast.high or float("inf"))
    ]
    if not slower:
        return []
    told = ", ".join(f"{quantity_in_words(median.value or 0.0, 'ns')} ({format_bytes(size)})" for size, median in known)
    text = (
        f"the drive changed its speed between durable trials that ought to be alike, medians in their order {told}: "
        "slower and faster again, as with heat, or other users"
    )
    facts = {"sizes_bytes": [size for size, _ in known], "medians_ns": [median.value for _, median in known]}
    place = shlex.quote(f"{target.place}/speed-changes" if target.kind == "directory" else target.place)
    advice = (
        f"measure many such changes: drivelab io {place} --operation write --block-size {slower[0]} "
        f"--durability fdatasync --runtime 10min{_CONSENT.get(target.kind, '')}"
    )
    return [Finding(CODE, "warning", text, "", facts, advice)]
