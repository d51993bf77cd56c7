"""SMART facts of NVMe drives: the health log from smartctl or nvme-cli, and the logs that only nvme-cli reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drivelab.inventory.smart_gathered import BILLION, Gathered, section, whole_number

HEALTH_LOG = "SMART / Health Information log"
ENDURANCE_LOG = "endurance group log"
OCP_LOG = "OCP SMART log (C0h)"
# NVMe base specification, SMART / Health Information log: one unit is 1000 times 512 bytes, rounded up
DATA_UNIT_BYTES = 512_000
ENDURANCE_GROUPS_BIT = 1 << 4  # of CTRATT
_KELVIN = 273
# a fact, its name in smartctl's JSON and in nvme-cli's
_HEALTH = (
    ("critical_warning", "critical_warning", "critical_warning"),
    ("power_on_hours", "power_on_hours", "power_on_hours"),
    ("power_cycles", "power_cycles", "power_cycles"),
    ("unsafe_shutdowns", "unsafe_shutdowns", "unsafe_shutdowns"),
    ("percentage_used", "percentage_used", "percent_used"),
    ("available_spare_percent", "available_spare", "avail_spare"),
    ("media_errors", "media_errors", "media_errors"),
    ("error_log_entries", "num_err_log_entries", "num_err_log_entries"),
    ("over_warning_temperature_min", "warning_temp_time", "warning_temp_time"),
    ("over_critical_temperature_min", "critical_comp_time", "critical_comp_time"),
)
_MEDIA_WRITTEN = ("Physical media units written", "physical_media_units_written")
_THROTTLED = ("Number of Thermal throttling events", "number_of_thermal_throttling_events")


def begin() -> Gathered:
    """No facts yet, but the reasons of those that no NVMe drive tells."""
    found = Gathered("nvme")
    for name in ("reallocated_sectors", "pending_sectors", "crc_errors"):
        found.explain(name, "NVMe drives do not count them")
    return found


def gather(document: Mapping[str, Any]) -> Gathered:
    """Facts from what smartctl printed about an NVMe drive."""
    found = begin()
    passed = section(document, "smart_status").get("passed")
    found.put("health_passed", passed if isinstance(passed, bool) else None, "critical warning")
    log = section(document, "nvme_smart_health_information_log")
    for name, theirs, _ in _HEALTH:
        found.put(name, whole_number(log.get(theirs)), HEALTH_LOG)
    found.put("temperature_celsius", whole_number(log.get("temperature")), HEALTH_LOG)
    limits = section(document, "nvme_composite_temperature_threshold")  # since smartctl 7.5
    found.put("temperature_warning_celsius", whole_number(limits.get("warning")), "Identify Controller")
    found.put("temperature_critical_celsius", whole_number(limits.get("critical")), "Identify Controller")
    _log_counters(log, found)
    _add_attributes(log, found)
    return found


def add_health_log(log: Mapping[str, Any], found: Gathered, *, is_only_source: bool) -> None:
    """What ``nvme smart-log`` printed: the log that smartctl prints, too, and the counters of thermal management."""
    for name, _, theirs in _HEALTH:
        found.put(name, whole_number(log.get(theirs)), HEALTH_LOG)
    warning = found.value("critical_warning")
    found.put("health_passed", None if warning is None else not warning, "critical warning")
    kelvin = whole_number(log.get("temperature"))
    found.put("temperature_celsius", kelvin - _KELVIN if kelvin else None, HEALTH_LOG)
    _log_counters(log, found)
    counts = [whole_number(log.get(f"thm_temp{number}_trans_count")) for number in (1, 2)]
    times = [whole_number(log.get(f"thm_temp{number}_total_time")) for number in (1, 2)]
    source = f"{HEALTH_LOG}, thermal management transitions"
    found.put("throttle_count", _sum(counts), source)
    found.put("throttled_s", _sum(times), source)
    # smartctl has the same counters under other names, but not those of thermal management
    new = {name: value for name, value in log.items() if is_only_source or name.startswith("thm_")}
    _add_attributes(new, found)


def add_limits(controller: Mapping[str, Any], found: Gathered) -> None:
    """The temperature limits that ``nvme id-ctrl`` printed; 0 means none."""
    for name, theirs in (("temperature_warning_celsius", "wctemp"), ("temperature_critical_celsius", "cctemp")):
        kelvin = whole_number(controller.get(theirs))
        found.put(name, kelvin - _KELVIN if kelvin else None, "Identify Controller")


def has_endurance_groups(controller: Mapping[str, Any]) -> bool:
    """Whether ``nvme id-ctrl`` says that the controller has endurance groups."""
    return bool((whole_number(controller.get("ctratt")) or 0) & ENDURANCE_GROUPS_BIT)


def add_ocp_log(log: Mapping[str, Any], found: Gathered) -> None:
    """What ``nvme ocp smart-add-log`` printed: bytes written to the flash, and how often the drive throttled."""
    written = next((number for name in _MEDIA_WRITTEN if (number := whole_number(log.get(name))) is not None), None)
    found.put_bytes("media_bytes_written", written, 1, f"{OCP_LOG}, physical media units written")
    throttled = next((number for name in _THROTTLED if (number := whole_number(log.get(name))) is not None), None)
    found.put("throttle_count", throttled, f"{OCP_LOG}, number of thermal throttling events")
    for name, value in log.items():
        found.add_attribute(f"OCP {name}", whole_number(value))


def add_endurance_log(log: Mapping[str, Any], found: Gathered) -> None:
    """What ``nvme endurance-log`` printed.

    Its byte counters are in units of 10^9 bytes, rounded up, and 0 means that
    they are not kept (NVMe base specification, Endurance Group Information log).
    """
    for name in ("endurance_estimate", "data_units_written", "media_units_written"):
        found.add_attribute(f"endurance_group_{name}", whole_number(log.get(name)))
    media = whole_number(log.get("media_units_written")) or None
    found.put_bytes("media_bytes_written", media, BILLION, f"{ENDURANCE_LOG}, media units written")
    estimate = whole_number(log.get("endurance_estimate")) or None
    found.put("endurance_bytes", None if estimate is None else estimate * BILLION, ENDURANCE_LOG)


def _log_counters(log: Mapping[str, Any], found: Gathered) -> None:
    for name, theirs in (("host_bytes_written", "data_units_written"), ("host_bytes_read", "data_units_read")):
        found.put_bytes(name, whole_number(log.get(theirs)), DATA_UNIT_BYTES, f"{HEALTH_LOG}, {theirs}")


def _add_attributes(log: Mapping[str, Any], found: Gathered) -> None:
    for name, value in log.items():
        # a level and not a counter, in Celsius here and in Kelvin there
        if not name.startswith("temperature"):
            found.add_attribute(name, whole_number(value))


def _sum(numbers: list[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
