"""Numbers in print: three digits, one unit for a column, bounds that say so."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivelab.model.estimate import Estimate
from drivelab.report.numerals import (
    DisplayUnit,
    column_unit,
    count_text,
    estimate_numbers,
    latency_text,
    number_text,
    percent_text,
    round_latency_text,
    shown_number,
    span_beside,
    typeset,
)

PLAIN = DisplayUnit("", 1)
MICROSECONDS = DisplayUnit("µs", 1e3)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (333, "333"),
        (9.82, "9.82"),
        (9.8, "9.80"),
        (9.996, "10.0"),
        (12345, "12\u202f300"),
        (0.01234, "0.0123"),
    ],
)
def test_a_number_has_three_significant_digits(value: float, text: str) -> None:
    assert number_text(value) == text


@given(st.floats(min_value=1e-6, max_value=1e15))
def test_printing_a_number_changes_it_by_less_than_half_a_percent(value: float) -> None:
    printed = float(number_text(value).replace("\u202f", ""))
    assert abs(printed - value) <= 0.00501 * value


def test_a_number_that_is_none_is_printed_as_a_dash() -> None:
    assert number_text(float("nan")) == "–"


def test_digits_of_counts_stand_in_groups() -> None:
    assert count_text(1_234_567) == "1\u202f234\u202f567"


@pytest.mark.parametrize(
    ("values", "unit", "name"),
    [
        ([80_000, 333_000, 9_820_000], "ns", "µs"),
        ([4_200_000, 8_700_000], "ns", "ms"),
        ([None, 700], "ns", "ns"),
        ([538e6, 2.1e9], "B/s", "MB/s"),
        ([5e9], "B/s", "MB/s"),
        ([12_000], "B/s", "kB/s"),
        ([], "B/s", "MB/s"),
        ([4096.0], "B", "KiB"),
        ([2.0], "1", ""),
    ],
)
def test_a_column_has_the_unit_of_its_middle_value(values: list[float | None], unit: str, name: str) -> None:
    assert column_unit(values, unit).name == name


def test_a_measured_latency_keeps_its_zeros_and_a_chosen_one_does_not() -> None:
    assert latency_text(10_000_000) == "10.0\u00a0ms"
    assert round_latency_text(10_000_000) == "10\u00a0ms"
    assert round_latency_text(100) == "100\u00a0ns"


def test_an_estimate_is_printed_with_its_interval(make_estimate: Callable[..., Estimate]) -> None:
    assert estimate_numbers(make_estimate(333_000, 320_000, 345_000), MICROSECONDS) == ("333", "320–345")


def test_a_quantile_that_is_not_carried_is_printed_as_a_bound(make_estimate: Callable[..., Estimate]) -> None:
    assert estimate_numbers(make_estimate(None, 812_000, None), MICROSECONDS) == ("≥\u202f812", "")
    assert estimate_numbers(make_estimate(None, None, None), MICROSECONDS) == ("–", "")


def test_a_count_between_bounds_is_printed_as_both(make_estimate: Callable[..., Estimate]) -> None:
    assert estimate_numbers(make_estimate(None, 1, 2, "1"), PLAIN) == ("1.00–2.00", "")
    assert estimate_numbers(make_estimate(None, 1.999, 2.001, "1"), PLAIN) == ("2.00", "")


def test_an_exact_count_has_no_interval(make_estimate: Callable[..., Estimate]) -> None:
    assert estimate_numbers(make_estimate(2, 2, 2, "1"), PLAIN) == ("2.00", "")
    assert estimate_numbers(make_estimate(2, 1.5, 2.5, "1"), PLAIN) == ("2.00", "1.50–2.50")


def test_an_interval_with_one_end_is_a_bound(make_estimate: Callable[..., Estimate]) -> None:
    assert estimate_numbers(make_estimate(5_000, None, 7_000), MICROSECONDS) == ("5.00", "≤\u202f7.00")
    assert estimate_numbers(make_estimate(5_000, 4_000, None), MICROSECONDS) == ("5.00", "≥\u202f4.00")


def test_shares_are_told_in_percent() -> None:
    assert percent_text(0.2468) == "24.7\u00a0%"


def test_sentences_of_terminals_are_typeset_for_pages() -> None:
    assert (
        typeset("durable within 299 us (limit 10 ms), 4 KiB")
        == "durable within 299\u00a0µs (limit 10\u00a0ms), 4\u00a0KiB"
    )
    assert typeset("6 050 to 20 700 with 32 clients") == "6\u00a0050 to 20\u00a0700 with 32 clients"
    assert typeset("99 percent of 3 users") == "99 percent of 3 users"
    assert typeset("478 MB/s -> 173 MB/s") == "478\u00a0MB/s\u00a0→ 173\u00a0MB/s"


@pytest.mark.parametrize(
    ("value", "low", "observed", "number"),
    [(5.0, 4.0, None, 5.0), (0.0, None, None, 0.0), (None, 4.0, 9.0, 4.0), (None, None, 9.0, 9.0)],
)
def test_the_unit_follows_the_value_else_a_bound_else_what_was_seen(
    value: float | None, low: float | None, observed: float | None, number: float
) -> None:
    assert shown_number(Estimate(value, low, None, "ns", 10, 10.0, "", observed)) == number
    assert shown_number(Estimate(None, None, None, "ns", 0, 0.0, "")) is None


def test_an_interval_beside_its_number_has_no_end_at_nothing() -> None:
    assert span_beside("1.42 GB/s", "0 B/s", "3.42 GB/s") == "≤3.42 GB/s"
    assert span_beside("1.42 GB/s", "1.4 GB/s", "1.45 GB/s") == "1.4–1.45"
    assert span_beside("0", "0", "0") == "0–0"


def test_a_column_of_throughput_has_the_unit_of_its_fastest() -> None:
    assert column_unit([158e3, 302e3, 309e3, 2.87e9], "B/s").name == "MB/s"
    assert column_unit([158e3, 302e3], "B/s").name == "kB/s"
