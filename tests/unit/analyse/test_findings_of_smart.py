"""What drives say of themselves that touches the numbers of a run."""

from __future__ import annotations

from typing import Any

import pytest

from drivelab.analyse.findings import drive_hot, smart_errors_grew, smart_findings
from drivelab.model.smart import SmartFacts, nothing_known

COOL: dict[str, Any] = {
    "temperature_celsius": 40,
    "temperature_warning_celsius": 70,
    "temperature_critical_celsius": 85,
    "throttle_count": 2,
    "throttled_s": 30,
    "over_warning_temperature_min": 7,
    "over_critical_temperature_min": 0,
    "media_errors": 1,
    "reallocated_sectors": 4,
    "pending_sectors": 2,
    "crc_errors": 3,
}
BEFORE = SmartFacts(drive="nvme0n1", protocol="nvme", **COOL)


def after(**changes: Any) -> SmartFacts:
    sources = {name: f"where {name} is from" for name in changes}
    return SmartFacts(drive="nvme0n1", protocol="nvme", **{**COOL, **changes, "sources": sources})


def before(*names: str) -> SmartFacts:
    return SmartFacts(
        drive="nvme0n1", protocol="nvme", **COOL, sources={name: f"where {name} is from" for name in names}
    )


@pytest.mark.parametrize(
    ("counter", "severity", "words"),
    [
        ("media_errors", "invalid", "could not read data back"),
        ("reallocated_sectors", "warning", "replaced bad places"),
        ("pending_sectors", "warning", "retries are in the numbers"),
        ("crc_errors", "warning", "sent again"),
    ],
)
def test_each_kind_of_error_weighs_what_it_means(counter: str, severity: str, words: str) -> None:
    (found,) = smart_errors_grew.find_in_smart("nvme0n1", before(counter), after(**{counter: 9}))
    assert (found.severity, found.trial) == (severity, "")
    assert words in found.text
    assert f"(where {counter} is from)" in found.text
    assert found.evidence["new"] == 9 - COOL[counter]
    assert found.advice


def test_errors_that_were_there_before_are_none_of_the_run() -> None:
    assert smart_errors_grew.find_in_smart("nvme0n1", BEFORE, after()) == []
    assert smart_errors_grew.find_in_smart("nvme0n1", before("pending_sectors"), after(pending_sectors=0)) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"throttle_count": 3, "throttled_s": 71}, "throttled itself once during the run, for 41 s"),
        ({"throttle_count": 5}, "throttled itself 3 times during the run"),
        ({"throttled_s": 31}, "throttled itself for 1 s during the run"),
        ({"over_warning_temperature_min": 9}, "above its warning temperature for 2 min"),
        ({"over_critical_temperature_min": 1}, "above its critical temperature for 1 min"),
        ({"temperature_celsius": 70}, "had 70 C at the end, and its warning limit is 70 C"),
        ({"temperature_celsius": 90}, "had 90 C at the end, and its critical limit is 85 C"),
    ],
)
def test_a_drive_that_was_hot_is_told(changes: dict[str, int], words: str) -> None:
    (found,) = drive_hot.find_in_smart("nvme0n1", before(*changes), after(**changes))
    assert found.severity == "warning"
    assert words in found.text
    assert found.evidence["temperature_warning_celsius"] == 70


def test_a_drive_that_stays_cool_is_not() -> None:
    assert drive_hot.find_in_smart("nvme0n1", before("temperature_celsius"), after(temperature_celsius=69)) == []


def test_a_drive_without_limits_or_without_smart_is_not_judged() -> None:
    warm = after(temperature_celsius=99, temperature_warning_celsius=None, temperature_critical_celsius=None)
    assert drive_hot.find_in_smart("sda", BEFORE, warm) == []
    unknown = nothing_known("vda", "a virtio drive tells nothing")
    assert smart_findings([("vda", unknown, unknown), ("sda", unknown, BEFORE)]) == []


def test_all_drives_are_told_of_the_gravest_first() -> None:
    hot = ("sda", before("temperature_celsius"), after(temperature_celsius=95))
    failing = ("sdb", before("media_errors"), after(media_errors=2))
    assert [(one.severity, one.evidence["drive"]) for one in smart_findings([hot, failing])] == [
        ("invalid", "sdb"),
        ("warning", "sda"),
    ]
