"""Sizes, times and rates: what is read, what is refused, what is printed."""

from __future__ import annotations

import io
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from drivelab.model import units
from drivelab.model.errors import DrivelabError
from drivelab.streams import make_console

BYTE_UNITS = {"": 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12} | {
    f"{prefix}iB": 1024**power for power, prefix in enumerate("KMGT", start=1)
}
TIME_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}


@given(st.integers(0, 10**6), st.sampled_from(sorted(BYTE_UNITS)), st.sampled_from(["", " "]))
def test_a_size_is_its_number_times_its_unit(number: int, unit: str, space: str) -> None:
    assert units.parse_bytes(f"{number}{space}{unit}") == number * BYTE_UNITS[unit]


@given(st.integers(0, 10**6), st.integers(0, 999), st.sampled_from(["kB", "MB", "GB", "TB"]))
def test_a_size_with_decimals_is_exact(whole: int, thousandths: int, unit: str) -> None:
    exact = Fraction(whole * 1000 + thousandths, 1000) * BYTE_UNITS[unit]
    assert units.parse_bytes(f"{whole}.{thousandths:03}{unit}") == exact


@pytest.mark.parametrize("text", ["0.1TiB", "0.3KiB", "1.5B", "0.0001kB", "4096.5"])
@pytest.mark.provokes("U001")
def test_a_part_of_a_byte_is_refused(text: str) -> None:
    with pytest.raises(DrivelabError, match="not a whole number") as refusal:
        units.parse_bytes(text)
    assert refusal.value.code == "U001"


@pytest.mark.parametrize("text", ["", "KiB", "-1", "-4KiB", "+4KiB", "1e6", "4 K iB", "1,5MB", "4kib", "4KB", "٤"])
@pytest.mark.provokes("U001")
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(DrivelabError, match="is not a size") as refusal:
        units.parse_bytes(text)
    assert refusal.value.code == "U001"


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("4k", "write 4KiB (powers of 1024) or 4kB (powers of 1000)"),
        ("4K", "write 4KiB (powers of 1024) or 4kB (powers of 1000)"),
        ("1.5 m", "write 1.5MiB (powers of 1024) or 1.5MB (powers of 1000)"),
        ("2G", "write 2GiB (powers of 1024) or 2GB (powers of 1000)"),
    ],
)
@pytest.mark.provokes("U001")
def test_a_bare_prefix_is_refused_with_both_readings(text: str, advice: str) -> None:
    with pytest.raises(DrivelabError) as refusal:
        units.parse_bytes(text)
    assert (refusal.value.code, refusal.value.do) == ("U001", advice)


@given(st.integers(0, 10**4), st.sampled_from(sorted(TIME_UNITS)))
def test_a_duration_is_its_number_times_its_unit(number: int, unit: str) -> None:
    assert units.parse_duration_ns(f"{number}{unit}") == number * TIME_UNITS[unit]


@pytest.mark.parametrize(("text", "expected"), [("0.5s", 5 * 10**8), ("1.5 min", 9 * 10**10), ("0.25us", 250)])
def test_a_duration_may_have_decimals(text: str, expected: int) -> None:
    assert units.parse_duration_ns(text) == expected


@pytest.mark.parametrize("text", ["", "5", "5 minutes", "-1s", "5S", "1e3s", "s"])
@pytest.mark.provokes("U002")
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(DrivelabError, match="is not a duration") as refusal:
        units.parse_duration_ns(text)
    assert refusal.value.code == "U002"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (512, "512 B"),
        (2300, "2300 B"),
        (4096, "4 KiB"),
        (16384, "16 KiB"),
        (1536 * 2**20, "1.5 GiB"),
        (10**12, "931 GiB"),
        (2**40, "1 TiB"),
    ],
)
def test_sizes_are_printed_in_powers_of_1024(count: int, text: str) -> None:
    assert units.format_bytes(count) == text


@given(st.sampled_from(["B", "KiB", "MiB", "GiB", "TiB"]), st.integers(1, 1023))
def test_a_printed_size_is_read_back(unit: str, number: int) -> None:
    count = number * BYTE_UNITS[unit]
    assert units.parse_bytes(units.format_bytes(count)) == count


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0 ns"),
        (1, "1 ns"),
        (999, "999 ns"),
        (999.6, "1.00 us"),
        (1000, "1 us"),
        (333_333, "333 us"),
        (999_999, "1.00 ms"),
        (9_820_000, "9.82 ms"),
        (1_200_000_000, "1.2 s"),
        (3_600_000_000_000, "3600 s"),
    ],
)
def test_times_are_printed_with_three_digits(nanoseconds: float, text: str) -> None:
    assert units.format_duration_ns(nanoseconds) == text


@given(st.floats(1, 1e15))
def test_a_printed_time_is_within_half_a_percent(nanoseconds: float) -> None:
    number, unit = units.format_duration_ns(nanoseconds).split()
    assert math.isclose(float(number) * TIME_UNITS[unit], nanoseconds, rel_tol=0.00501)


@pytest.mark.parametrize(
    ("rate", "text"),
    [(0, "0 B/s"), (512, "512 B/s"), (538.2e6, "538 MB/s"), (999.9e6, "1.00 GB/s"), (7.12e9, "7.12 GB/s")],
)
def test_throughput_is_printed_in_powers_of_1000(rate: float, text: str) -> None:
    assert units.format_rate_bytes_per_s(rate) == text


@pytest.mark.parametrize(
    ("rate", "text"), [(0, "0"), (9.821, "9.82"), (104.4, "104"), (98_512, "98 500"), (1_234_567, "1 230 000")]
)
def test_operations_per_second_are_printed_with_three_digits(rate: float, text: str) -> None:
    assert units.format_rate_per_s(rate) == text


@given(st.floats(1, 1e9))
def test_printed_operations_per_second_are_within_half_a_percent(rate: float) -> None:
    assert math.isclose(float(units.format_rate_per_s(rate).replace(" ", "")), rate, rel_tol=0.00501)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (2e6, "ns", "2 ms"),
        (4096, "B", "4 KiB"),
        (2e6, "B/s", "2 MB/s"),
        (50, "1/s", "50"),
        (1.2345, "1", "1.23"),
        (float("inf"), "1", "inf"),
        (float("nan"), "1", "nan"),
    ],
)
def test_each_unit_has_its_own_way_to_be_printed(value: float, unit: str, text: str) -> None:
    assert units.format_quantity(value, unit) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (12 * 10**9, "12 GB"),
        (600 * 10**12, "600 TB"),
        (2470950000000000, "2471 TB"),
        (999_999, "1 MB"),
    ],
)
def test_sizes_of_drives_are_in_powers_of_1000(count: int, text: str) -> None:
    assert units.format_decimal_bytes(count) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0 %"),
        (2e-5, "0.002 %"),
        (0.12, "12 %"),
        (0.123, "12 %"),
        (1, "100 %"),
        (3.14e-6, "0.00031 %"),
        (12, "1200 %"),
    ],
)
def test_shares_have_two_digits(share: float, text: str) -> None:
    assert units.format_percent(share) == text


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [(9_801_300, "9.80 ms"), (1_099_800_000, "1.10 s"), (10_000_000, "10 ms"), (1_500_000_000, "1.5 s")],
)
def test_a_zero_that_was_measured_is_a_digit_and_one_that_was_chosen_is_none(nanoseconds: int, text: str) -> None:
    assert units.format_duration_ns(nanoseconds) == text
    assert units.format_rate_bytes_per_s(1.0996e9) == "1.10 GB/s"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 090/s of 12 MB/s", "1_090/s of 12_MB/s"),
        ("99 % within 10 ms, 1 234 567 IOPS", "99_% within 10_ms, 1_234_567_IOPS"),
        ("2 of 31 trials, step 3 minutes", "2 of 31 trials, step 3 minutes"),
    ],
)
def test_no_end_of_a_line_parts_a_number_from_its_unit(text: str, expected: str) -> None:
    assert units.glued(text) == expected.replace("_", "\u00a0")
    for width in range(20, 40):
        printed = io.StringIO()
        make_console(printed, width=width).print(Text(f"as long as it takes: {text}"))
        lines = [line.rstrip() for line in printed.getvalue().splitlines()]
        assert " ".join(lines) == f"as long as it takes: {text}", "and blanks are blanks again"
        for piece in expected.split():
            assert any(piece.replace("_", " ") in line for line in lines)
