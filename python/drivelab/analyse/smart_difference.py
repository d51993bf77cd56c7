"""What changed of a drive's SMART facts between two readings, no finer than its counters are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from drivelab.model.smart import EVERYTHING, CounterChange, RatioChange, SmartDifference, SmartFacts

# half the distance of the bounds of a ratio over the ratio itself: beyond it the ratio says too little
RATIO_ERROR_MAX = 0.1
_BYTE_COUNTERS = ("host_bytes_written", "host_bytes_read", "media_bytes_written")
# these only ever grow, unless the drive was reset or exchanged
_COUNTERS = (
    "media_errors",
    "reallocated_sectors",
    "crc_errors",
    "unsafe_shutdowns",
    "power_cycles",
    "throttle_count",
    "throttled_s",
    "over_warning_temperature_min",
    "over_critical_temperature_min",
)
_LEVELS = {
    "temperature_celsius": "temperature_rise_celsius",
    "percentage_used": "percentage_used_rise",
    "available_spare_percent": "available_spare_rise_percent",
    "pending_sectors": "pending_sectors",
}
# Micron and Crucial count flash pages: those programmed for hosts, and those for the drive's own ends
_HOST_PAGES = "Host_Program_Page_Count"
_OWN_PAGES = ("Bckgnd_Program_Page_Cnt", "FTL_Program_Page_Count")


def smart_difference(before: SmartFacts, after: SmartFacts) -> SmartDifference:
    """What changed between two readings of one drive.

    Notes
    -----
    A drive may write its counters down late (some once in minutes), so a short
    run can end before they have moved.
    """
    for reading in (before, after):
        if not reading.is_known:
            return SmartDifference(unknown={EVERYTHING: reading.unknown[EVERYTHING]})
    collected = _Collected(before, after)
    host, _, media = (collected.bytes_moved(name) for name in _BYTE_COUNTERS)
    collected.keep("write_amplification", *_write_amplification(host, media, before, after))
    for name in _COUNTERS:
        collected.counted(name)
    collected.error_log_entries()
    for name, difference_name in _LEVELS.items():
        old, new = getattr(before, name), getattr(after, name)
        collected.keep(difference_name, None if None in (old, new) else new - old, collected.why(name))
    return SmartDifference(**collected.found, attributes=_changed(before, after), unknown=collected.unknown)


@dataclass
class _Collected:
    """Differences as they are worked out, and why some are missing."""

    before: SmartFacts
    after: SmartFacts
    found: dict[str, Any] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)

    def keep(self, name: str, value: CounterChange | RatioChange | int | None, reason: str) -> None:
        """Note a difference, or why there is none."""
        if value is None:
            self.unknown[name] = reason
        else:
            self.found[name] = value

    def why(self, name: str) -> str:
        """Why a fact was missing in a reading."""
        return self.before.why_unknown(name) or self.after.why_unknown(name)

    def growth(self, name: str) -> tuple[int | None, str]:
        """How much a counter grew, or why that is not known."""
        if self.before.sources.get(name) != self.after.sources.get(name) and not self.why(name):
            return None, "the two readings have it from different counters"
        return _growth(getattr(self.before, name), getattr(self.after, name), self.why(name))

    def counted(self, name: str) -> None:
        """Note the growth of a counter."""
        self.keep(name, *self.growth(name))

    def error_log_entries(self) -> None:
        """New entries, without those that our own questions made before the first reading was done."""
        old = self.before.error_log_entries_when_done
        old = self.before.error_log_entries if old is None else old
        why = self.why("error_log_entries")
        self.keep("error_log_entries", *_growth(old, self.after.error_log_entries, why))

    def bytes_moved(self, name: str) -> CounterChange | None:
        """The growth of a byte counter with its bounds."""
        growth, reason = self.growth(name)
        if growth is not None and not getattr(self.after, name):
            growth, reason = None, "the counter stands at 0: the drive does not keep it"
        step = self.after.resolution_bytes.get(name, 1)
        change = None if growth is None else CounterChange(growth, max(0, growth - step), growth + step, step)
        self.keep(name, change, reason)
        return change


def _growth(old: int | None, new: int | None, reason: str) -> tuple[int | None, str]:
    if old is None or new is None:
        return None, reason
    if new < old:
        return None, f"the counter went back from {old} to {new}: it was reset, it overflowed, or the drive is another"
    return new - old, ""


def _write_amplification(
    host: CounterChange | None, media: CounterChange | None, before: SmartFacts, after: SmartFacts
) -> tuple[RatioChange | None, str]:
    """Flash writes per host write: from bytes where the drive counts both, else from pages."""
    if host is not None and media is not None:
        source = f"{after.sources.get('media_bytes_written', '')} over {after.sources.get('host_bytes_written', '')}"
        bounds = (media.low_bytes, media.high_bytes, host.low_bytes, host.high_bytes)
        return _ratio(media.value_bytes, host.value_bytes, bounds, source)
    own_name = next((name for name in _OWN_PAGES if name in before.attributes and name in after.attributes), "")
    if not own_name or _HOST_PAGES not in before.attributes or _HOST_PAGES not in after.attributes:
        return None, "the drive does not count what it writes to its flash and what hosts write"
    pages, own = (after.attributes[name] - before.attributes[name] for name in (_HOST_PAGES, own_name))
    if pages < 0 or own < 0:
        return None, "the counters of flash pages went back"
    bounds = (max(0, pages + own - 2), pages + own + 2, max(0, pages - 1), pages + 1)
    return _ratio(pages + own, pages, bounds, f"({_HOST_PAGES} + {own_name}) over {_HOST_PAGES}")


def _ratio(
    numerator: int, denominator: int, bounds: tuple[int, int, int, int], source: str
) -> tuple[RatioChange | None, str]:
    """A ratio, unless its bounds lie too far apart; `bounds` are those of the numerator, then the denominator."""
    numerator_low, numerator_high, denominator_low, denominator_high = bounds
    if not denominator_low or not numerator:
        return None, "too little was written for counters as coarse as these"
    value, low, high = numerator / denominator, numerator_low / denominator_high, numerator_high / denominator_low
    if (high - low) / 2 > RATIO_ERROR_MAX * value:
        reason = f"too little was written for counters as coarse as these: it lies between {low:.3g} and {high:.3g}"
        return None, reason
    return RatioChange(value, low, high, source), ""


def _changed(before: SmartFacts, after: SmartFacts) -> dict[str, int]:
    both = [name for name in after.attributes if name in before.attributes]
    changes = {name: after.attributes[name] - before.attributes[name] for name in both}
    return {name: change for name, change in changes.items() if change}
