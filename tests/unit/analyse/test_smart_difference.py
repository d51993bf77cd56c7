"""What changed between two readings, and never more than the counters can tell."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivelab.analyse.smart_difference import RATIO_ERROR_MAX, smart_difference
from drivelab.model.smart import EVERYTHING, SmartDifference, SmartFacts, nothing_known

MIB, GIB = 2**20, 2**30
STEPS = [1, 512, 512_000, 32 * MIB, GIB, 10**9]


def reading(**facts: Any) -> SmartFacts:
    return SmartFacts(drive="sda", protocol="nvme", **facts)


def counting(host: int = 0, media: int = 0, host_step: int = 1, media_step: int = 1) -> SmartFacts:
    steps = {"host_bytes_written": host_step, "media_bytes_written": media_step}
    return reading(host_bytes_written=host, media_bytes_written=media, resolution_bytes=steps)


@given(
    start=st.integers(0, 10**13),
    written=st.integers(0, 10**12),
    step=st.sampled_from(STEPS),
    rounds_up=st.booleans(),
)
def test_what_was_written_lies_within_the_bounds(start: int, written: int, step: int, rounds_up: bool) -> None:
    # the drive knows every byte, and shows full steps only
    shown = [count + (step - 1 if rounds_up else 0) for count in (start, start + written)]
    before, after = (counting(host=count // step * step, host_step=step) for count in shown)
    change = smart_difference(before, after).host_bytes_written
    if after.host_bytes_written == 0:
        assert change is None
    else:
        assert change is not None
        assert change.low_bytes <= written <= change.high_bytes
        assert (change.value_bytes, change.resolution_bytes) == (round(change.value_bytes / step) * step, step)


@given(
    starts=st.tuples(st.integers(0, 10**13), st.integers(0, 10**13)),
    host=st.integers(1, 10**12),
    amplification=st.floats(0.5, 20),
    steps=st.tuples(st.sampled_from(STEPS), st.sampled_from(STEPS)),
)
def test_write_amplification_is_right_where_it_is_told(
    starts: tuple[int, int], host: int, amplification: float, steps: tuple[int, int]
) -> None:
    media = round(host * amplification)
    before = counting(*(start // step * step for start, step in zip(starts, steps, strict=True)), *steps)
    ends = (starts[0] + host, starts[1] + media)
    after = counting(*(end // step * step for end, step in zip(ends, steps, strict=True)), *steps)
    told = smart_difference(before, after)
    if told.write_amplification is not None:
        ratio = told.write_amplification
        assert ratio.low <= media / host <= ratio.high
        assert math.isclose(ratio.value, media / host, rel_tol=3 * RATIO_ERROR_MAX)
    else:
        assert told.unknown["write_amplification"]


def test_too_little_for_coarse_counters_is_no_ratio() -> None:
    before, after = counting(10 * GIB, 20 * GIB, 32 * MIB, GIB), counting(11 * GIB, 22 * GIB, 32 * MIB, GIB)
    difference = smart_difference(before, after)
    assert difference.write_amplification is None
    assert difference.unknown["write_amplification"].endswith("it lies between 0.97 and 3.1")
    much = smart_difference(before, counting(110 * GIB, 220 * GIB, 32 * MIB, GIB))
    assert much.write_amplification is not None
    assert much.write_amplification.value == 2
    nothing = smart_difference(before, before)
    assert nothing.unknown["write_amplification"] == "too little was written for counters as coarse as these"


def test_flash_pages_tell_the_ratio_where_bytes_do_not() -> None:
    before = reading(attributes={"Host_Program_Page_Count": 1000, "Bckgnd_Program_Page_Cnt": 500})
    after = reading(attributes={"Host_Program_Page_Count": 2000, "Bckgnd_Program_Page_Cnt": 2000})
    ratio = smart_difference(before, after).write_amplification
    assert ratio is not None
    # pages programmed for hosts and for the drive's own ends, over those for hosts
    assert ratio.value == (1000 + 1500) / 1000
    assert ratio.low < 2.5 < ratio.high
    assert smart_difference(after, before).write_amplification is None


def test_a_counter_that_goes_back_is_no_difference() -> None:
    difference = smart_difference(reading(media_errors=5), reading(media_errors=2))
    assert difference.media_errors is None
    assert "went back from 5 to 2" in difference.unknown["media_errors"]


def test_a_counter_that_stands_at_0_is_not_kept() -> None:
    difference = smart_difference(counting(), counting())
    assert difference.host_bytes_written is None
    assert "does not keep it" in difference.unknown["host_bytes_written"]


def test_different_counters_are_not_subtracted() -> None:
    one = reading(throttle_count=1, sources={"throttle_count": "OCP"})
    other = reading(throttle_count=9, sources={"throttle_count": "health log"})
    assert "different counters" in smart_difference(one, other).unknown["throttle_count"]


def test_errors_that_our_own_questions_made_are_not_counted() -> None:
    before = reading(error_log_entries=5, error_log_entries_when_done=6)
    assert smart_difference(before, reading(error_log_entries=6)).error_log_entries == 0
    assert smart_difference(reading(error_log_entries=5), reading(error_log_entries=6)).error_log_entries == 1


def test_levels_may_rise_and_fall() -> None:
    before = reading(temperature_celsius=40, pending_sectors=3, percentage_used=1, available_spare_percent=100)
    after = reading(temperature_celsius=35, pending_sectors=0, percentage_used=2, available_spare_percent=99)
    difference = smart_difference(before, after)
    assert (difference.temperature_rise_celsius, difference.pending_sectors) == (-5, -3)
    assert (difference.percentage_used_rise, difference.available_spare_rise_percent) == (1, -1)


def test_every_counter_that_moved_is_told_by_its_own_name() -> None:
    before, after = reading(attributes={"a": 1, "b": 2, "gone": 1}), reading(attributes={"a": 4, "b": 2, "new": 9})
    assert smart_difference(before, after).attributes == {"a": 3}


def test_every_missing_difference_has_a_reason() -> None:
    difference = smart_difference(reading(), reading())
    for one in fields(SmartDifference):
        if getattr(difference, one.name) is None:
            assert difference.unknown[one.name]


@pytest.mark.parametrize("first", [True, False])
def test_a_reading_that_failed_is_the_only_reason(first: bool) -> None:
    failed, read = nothing_known("sda", "needs root"), reading(media_errors=1)
    difference = smart_difference(*((failed, read) if first else (read, failed)))
    assert difference == SmartDifference(unknown={EVERYTHING: "needs root"})
    assert difference.to_json()["unknown"] == {EVERYTHING: "needs root"}
