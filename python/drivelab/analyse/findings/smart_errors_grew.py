"""The drive counted new errors during the run: of its medium, or of its link."""

from __future__ import annotations

from drivelab.analyse.smart_difference import smart_difference
from drivelab.model.finding import Finding, Severity
from drivelab.model.smart import SmartFacts

CODE = "smart-errors-grew"
# a counter, its weight, what it counts, what it means for the numbers, and what to do
_COUNTERS: tuple[tuple[str, Severity, str, str, str], ...] = (
    (
        "media_errors",
        "invalid",
        "media errors",
        "the drive could not read data back, and the time it spent trying is in the numbers",
        "back up what is on it and replace it; a self-test tells more: smartctl --test=long",
    ),
    (
        "reallocated_sectors",
        "warning",
        "reallocated sectors",
        "the drive replaced bad places, which takes time that is in the numbers",
        "run again; if the number keeps growing, replace the drive",
    ),
    (
        "pending_sectors",
        "warning",
        "sectors that wait to be reallocated",
        "the drive met places that it reads badly or not at all, and retries are in the numbers",
        "run again; if the number keeps growing, replace the drive",
    ),
    (
        "crc_errors",
        "warning",
        "transfers that arrived damaged over the link",
        "they were sent again, which takes time that is in the numbers",
        "try another cable, slot or port",
    ),
)


def find_in_smart(name: str, before: SmartFacts, after: SmartFacts) -> list[Finding]:
    """One finding for each kind of error that grew on a drive."""
    difference = smart_difference(before, after)
    found = []
    for counter, severity, words, meaning, advice in _COUNTERS:
        grown = getattr(difference, counter)
        if grown is None or grown <= 0:
            continue
        source = after.sources.get(counter, "")
        text = f"{name} counted {grown} new {words} during the run ({source}): {meaning}"
        facts = {"drive": name, "counter": counter, "new": grown, "after": getattr(after, counter), "source": source}
        found.append(Finding(CODE, severity, text, "", facts, advice))
    return found
