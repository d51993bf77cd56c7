"""The endurance of a drive that does not state it, derived from its wear so far."""

from __future__ import annotations

from dataclasses import replace

from drivelab.model.smart import SmartFacts

DERIVED = "derived"
# below, rounding to whole percents alone leaves more than a fifth of uncertainty either way
PERCENTAGE_USED_MIN = 5
# NVMe base specification, Percentage Used: everything above 254 is shown as 255
PERCENTAGE_USED_MAX = 254


def with_derived_endurance(facts: SmartFacts) -> SmartFacts:
    """The facts with an endurance: bytes written by hosts over the share of life that this used up.

    The drive's estimate of its wear is in whole percents, and no standard says
    which way they are rounded, so the truth lies within one percent either way.
    Wear comes from writes to the flash: the figure holds for writes that are
    amplified as those so far were.
    """
    used, written = facts.percentage_used, facts.host_bytes_written
    if facts.endurance_bytes is not None:
        return facts
    why = _why_not(facts)
    if why or used is None or written is None:
        stated = facts.unknown.get("endurance_bytes", "the drive does not state it")
        return replace(facts, unknown={**facts.unknown, "endurance_bytes": f"{stated}; {why}"})
    return replace(
        facts,
        endurance_bytes=round(written * 100 / used),
        endurance_low_bytes=round(written * 100 / (used + 1)),
        endurance_high_bytes=round(written * 100 / (used - 1)),
        endurance_source=DERIVED,
        unknown={name: reason for name, reason in facts.unknown.items() if name != "endurance_bytes"},
    )


def _why_not(facts: SmartFacts) -> str:
    """Why it cannot be derived; empty when it can."""
    for name, words in (("percentage_used", "how much of it is used"), ("host_bytes_written", "how much was written")):
        if getattr(facts, name) is None:
            return f"it cannot be derived without knowing {words}"
    used = facts.percentage_used or 0
    if used < PERCENTAGE_USED_MIN:
        return f"it cannot be derived yet: {used} % of it is used, and it takes {PERCENTAGE_USED_MIN} %"
    if used > PERCENTAGE_USED_MAX:
        return "it cannot be derived: the drive's estimate of its wear has reached the end of its scale"
    return "" if facts.host_bytes_written else "it cannot be derived: the drive counts no writes"
