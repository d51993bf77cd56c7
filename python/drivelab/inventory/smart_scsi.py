"""SMART facts of SCSI and SAS drives from smartctl's JSON: log pages, not attributes."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from drivelab.inventory.smart_gathered import BILLION, Gathered, section, whole_number

# smartctl prints processed bytes in 10^9 bytes with three decimals
PROCESSED_STEP_BYTES = 10**6
_DIRECTIONS = {"read": "host_bytes_read", "write": "host_bytes_written"}


def gather(document: Mapping[str, Any]) -> Gathered:
    """Facts from what smartctl printed about a SCSI drive."""
    found = Gathered("scsi")
    passed = section(document, "smart_status").get("passed")
    found.put("health_passed", passed if isinstance(passed, bool) else None, "SMART status")
    _temperature(document, found)
    found.put("power_on_hours", whole_number(section(document, "power_on_time").get("hours")), "SCSI log pages")
    used = whole_number(document.get("scsi_percentage_used_endurance_indicator"))
    found.put("percentage_used", used, "Solid State Media log, Percentage Used Endurance Indicator")
    grown = whole_number(document.get("scsi_grown_defect_list"))
    found.put("reallocated_sectors", grown, "grown defect list")
    found.add_attribute("grown_defects", grown)
    _error_counters(document, found)
    for name, value in section(document, "scsi_start_stop_cycle_counter").items():
        found.add_attribute(name, whole_number(value))
    found.explain("critical_warning", "only NVMe drives have one")
    return found


def _temperature(document: Mapping[str, Any], found: Gathered) -> None:
    """Temperature and its limit; drives that keep none answer 0 to both."""
    now = whole_number(section(document, "temperature").get("current"))
    # the limit has moved within smartctl's output between 7.3 and 7.4
    limits = [section(document, name).get("drive_trip") for name in ("temperature", "scsi_temperature")]
    limit = next((number for number in map(whole_number, limits) if number), None)
    if now or limit:
        found.put("temperature_celsius", now, "Temperature log")
        found.put("temperature_warning_celsius", limit, "Temperature log, reference temperature")


def _error_counters(document: Mapping[str, Any], found: Gathered) -> None:
    log = section(document, "scsi_error_counter_log")
    uncorrected = []
    for direction in ("read", "write", "verify"):
        for name, value in section(log, direction).items():
            if name == "gigabytes_processed":
                _processed(direction, value, found)
            else:
                found.add_attribute(f"{direction}_{name}", whole_number(value))
        uncorrected.append(whole_number(section(log, direction).get("total_uncorrected_errors")))
    counted = [number for number in uncorrected if number is not None]
    found.put("media_errors", sum(counted) if counted else None, "error counter log, total uncorrected errors")


def _processed(direction: str, value: object, found: Gathered) -> None:
    text = value.strip() if isinstance(value, str) else ""
    if not text.replace(".", "", 1).isdecimal():
        return
    steps = round(Fraction(text) * BILLION / PROCESSED_STEP_BYTES)
    found.add_attribute(f"{direction}_processed_bytes", steps * PROCESSED_STEP_BYTES)
    name = _DIRECTIONS.get(direction)
    if name and steps:
        found.put_bytes(name, steps, PROCESSED_STEP_BYTES, f"error counter log, {direction}: bytes processed")
    elif name:
        found.explain(name, "the error counter log says 0 bytes: the drive does not count them")
