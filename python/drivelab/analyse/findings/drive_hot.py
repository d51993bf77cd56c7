"""The drive was hot: it slowed itself down, or was as warm as its maker allows."""

from __future__ import annotations

from collections.abc import Iterator

from drivelab.analyse.smart_difference import smart_difference
from drivelab.model.finding import Finding
from drivelab.model.smart import SmartDifference, SmartFacts

CODE = "drive-hot"
_ADVICE = "cool the drive, or let it rest between trials, and run again"


def find_in_smart(name: str, before: SmartFacts, after: SmartFacts) -> list[Finding]:
    """One finding when heat may have made a drive slower."""
    difference = smart_difference(before, after)
    signs = [*_throttled(difference), *_too_warm(difference), *_warm_now(after)]
    if not signs:
        return []
    text = f"{name} was hot: {', '.join(signs)}; numbers may be those of a drive that slowed itself down"
    facts = {
        "drive": name,
        "temperature_before_celsius": before.temperature_celsius,
        "temperature_after_celsius": after.temperature_celsius,
        "temperature_warning_celsius": after.temperature_warning_celsius,
        "temperature_critical_celsius": after.temperature_critical_celsius,
        "throttle_count": difference.throttle_count,
        "throttled_s": difference.throttled_s,
        "over_warning_temperature_min": difference.over_warning_temperature_min,
        "over_critical_temperature_min": difference.over_critical_temperature_min,
    }
    return [Finding(CODE, "warning", text, "", facts, _ADVICE)]


def _throttled(difference: SmartDifference) -> Iterator[str]:
    count, seconds = difference.throttle_count or 0, difference.throttled_s or 0
    if count and seconds:
        yield f"it throttled itself {_times(count)} during the run, for {seconds} s"
    elif count:
        yield f"it throttled itself {_times(count)} during the run"
    elif seconds:
        yield f"it throttled itself for {seconds} s during the run"


def _too_warm(difference: SmartDifference) -> Iterator[str]:
    for minutes, word in (
        (difference.over_critical_temperature_min, "critical"),
        (difference.over_warning_temperature_min, "warning"),
    ):
        if minutes:
            yield f"it was above its {word} temperature for {minutes} min of the run"
            return


def _warm_now(after: SmartFacts) -> Iterator[str]:
    now = after.temperature_celsius
    for limit, word in (
        (after.temperature_critical_celsius, "critical"),
        (after.temperature_warning_celsius, "warning"),
    ):
        if now is not None and limit is not None and now >= limit:
            yield f"it had {now} C at the end, and its {word} limit is {limit} C"
            return


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
