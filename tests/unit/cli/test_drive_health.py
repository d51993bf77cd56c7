"""The lines of ``drivelab drives --smart``."""

from __future__ import annotations

from drivelab.cli.drive_health import health_rows
from drivelab.model.smart import SmartFacts, nothing_known

TB = 10**12
NVME = SmartFacts(
    drive="nvme0n1",
    protocol="nvme",
    health_passed=True,
    temperature_celsius=38,
    temperature_warning_celsius=70,
    temperature_critical_celsius=85,
    throttle_count=3,
    power_on_hours=9123,
    power_cycles=87,
    unsafe_shutdowns=14,
    host_bytes_written=72 * TB,
    host_bytes_read=50 * TB,
    media_bytes_written=151 * TB,
    percentage_used=12,
    available_spare_percent=98,
    media_errors=0,
    error_log_entries=5,
    endurance_bytes=600 * TB,
    endurance_source="endurance group log",
)


def test_a_drive_that_tells_everything_takes_five_lines() -> None:
    assert [(name, value) for name, value, _ in health_rows(NVME)] == [
        ("health", "good, 9123 h on, 87 power cycles, 14 unsafe shutdowns"),
        ("temperature", "38 C, hot from 70 C on, too hot from 85 C on, throttled itself 3 times so far"),
        ("wear", "12 % used, 98 % of the spare capacity left, rated for 600 TB (endurance group log)"),
        ("moved", "72 TB written by hosts, 151 TB to the flash, 50 TB read by hosts"),
        ("errors", "entries in the error log: 5"),
    ]


def test_what_is_missing_comes_with_the_reason_those_of_one_reason_on_one_line() -> None:
    told = dict.fromkeys(("host_bytes_written", "percentage_used"), "smartctl does not know this drive")
    told["endurance_bytes"] = "the drive does not state it"
    rows = list(health_rows(SmartFacts(drive="sda", protocol="ata", reallocated_sectors=0, unknown=told)))
    assert rows == [
        ("health", "the drive gives no verdict", ""),
        ("errors", "none", ""),
        ("unknown", "temperature: the drive does not report it", "dim"),
        ("unknown", "percentage used, host writes: smartctl does not know this drive", "dim"),
        ("unknown", "rated endurance: the drive does not state it", "dim"),
    ]


def test_a_drive_that_tells_nothing_takes_one_line() -> None:
    assert list(health_rows(nothing_known("vda", "a virtio drive tells nothing of its health"))) == [
        ("health", "unknown: a virtio drive tells nothing of its health", "dim")
    ]


def test_a_failing_drive_stands_out() -> None:
    name, value, style = next(health_rows(SmartFacts(drive="sda", health_passed=False)))
    assert (name, value, style) == ("health", "FAILING, says the drive", "red")


def test_a_derived_endurance_is_a_range() -> None:
    derived = SmartFacts(drive="sda", endurance_bytes=600, endurance_low_bytes=554 * TB, endurance_high_bytes=655 * TB)
    wear = {name: value for name, value, _ in health_rows(derived)}["wear"]
    assert wear == "lasts for 554 TB to 655 TB (derived from the wear so far)"
