"""Lines of ``drivelab drives --smart``: what a drive says of its health and its wear."""

from __future__ import annotations

from collections.abc import Iterator

from drivelab.model.names import counted
from drivelab.model.smart import SmartFacts
from drivelab.model.units import format_decimal_bytes

Row = tuple[str, str, str]
_ERRORS = (
    ("media_errors", "media errors"),
    ("reallocated_sectors", "reallocated sectors"),
    ("pending_sectors", "pending sectors"),
    ("crc_errors", "CRC errors on the link"),
    ("error_log_entries", "entries in the error log"),
)
# what a reader of these lines misses when it is not there
_MISSED = {
    "temperature_celsius": "temperature",
    "percentage_used": "percentage used",
    "host_bytes_written": "host writes",
    "endurance_bytes": "rated endurance",
}


def health_rows(smart: SmartFacts) -> Iterator[Row]:
    """Names, values and styles of the lines about one drive's SMART facts."""
    if not smart.is_known:
        yield "health", f"unknown: {smart.why_unknown('health_passed')}", "dim"
        return
    yield _health(smart)
    lines = {
        "temperature": _temperature(smart),
        "wear": _wear(smart),
        "moved": _moved(smart),
        "errors": _errors(smart),
    }
    for name, value in lines.items():
        if value:
            yield name, value, ""
    fields_by_reason: dict[str, list[str]] = {}
    for field, words in _MISSED.items():
        reason = smart.why_unknown(field)
        if reason:
            fields_by_reason.setdefault(reason, []).append(words)
    for reason, fields in fields_by_reason.items():
        yield "unknown", f"{', '.join(fields)}: {reason}", "dim"


def _health(smart: SmartFacts) -> Row:
    words = {True: "good", False: "FAILING, says the drive", None: "the drive gives no verdict"}[smart.health_passed]
    counts = (
        (smart.power_on_hours, "h on"),
        (smart.power_cycles, "power cycles"),
        (smart.unsafe_shutdowns, "unsafe shutdowns"),
    )
    told = [words, *(f"{count} {name}" for count, name in counts if count is not None)]
    return "health", ", ".join(told), "red" if smart.health_passed is False else ""


def _temperature(smart: SmartFacts) -> str:
    if smart.temperature_celsius is None:
        return ""
    limits = (
        (smart.temperature_warning_celsius, "hot from {} C on"),
        (smart.temperature_critical_celsius, "too hot from {} C on"),
    )
    told = [f"{smart.temperature_celsius} C", *(text.format(limit) for limit, text in limits if limit is not None)]
    if smart.throttle_count:
        told.append(f"throttled itself {counted(smart.throttle_count, 'time')} so far")
    return ", ".join(told)


def _wear(smart: SmartFacts) -> str:
    told = []
    if smart.percentage_used is not None:
        told.append(f"{smart.percentage_used} % used")
    if smart.available_spare_percent is not None:
        told.append(f"{smart.available_spare_percent} % of the spare capacity left")
    if smart.endurance_bytes is not None and smart.endurance_low_bytes is None:
        told.append(f"rated for {format_decimal_bytes(smart.endurance_bytes)} ({smart.endurance_source})")
    elif smart.endurance_low_bytes is not None and smart.endurance_high_bytes is not None:
        low, high = format_decimal_bytes(smart.endurance_low_bytes), format_decimal_bytes(smart.endurance_high_bytes)
        told.append(f"lasts for {low} to {high} (derived from the wear so far)")
    return ", ".join(told)


def _moved(smart: SmartFacts) -> str:
    parts = (
        (smart.host_bytes_written, "written by hosts"),
        (smart.media_bytes_written, "to the flash"),
        (smart.host_bytes_read, "read by hosts"),
    )
    return ", ".join(f"{format_decimal_bytes(count)} {words}" for count, words in parts if count is not None)


def _errors(smart: SmartFacts) -> str:
    """Counters that are not 0; how many there are when all of them are."""
    known = [(getattr(smart, name), words) for name, words in _ERRORS if getattr(smart, name) is not None]
    told = [f"{words}: {count}" for count, words in known if count]
    return ", ".join(told) or ("none" if known else "")
