"""Numbers before they have a unit: several as one, ratios, and what a page prints instead."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drivelab.report.numerals import DisplayUnit
from drivelab.report.tables.number import (
    WITHHELD,
    Number,
    disagreement,
    number_of,
    printed_number,
    ratio_of,
    ratio_text,
    significant_digits,
)
from drivelab.report.tables.number_table import NumberColumn, NumberRow, best_of, number_table
from made_result_sets import observation

MS = DisplayUnit("ms", 1e6)


def known(value: float, low: float | None = None, high: float | None = None, **parts: object) -> Number:
    """A latency in ms."""
    ends = [None if end is None else end * 1e6 for end in (low, high)]
    return Number(value * 1e6, *ends, "ns", **parts)  # type: ignore[arg-type]


def test_observations_that_a_table_does_not_tell_apart_are_averaged_and_their_ends_spanned() -> None:
    number = number_of([observation("D", 8e6, 7e6, 9e6), observation("D", 9e6, 8.5e6, 9.5e6)])
    assert number is not None
    assert (number.value, number.low, number.high) == (8.5e6, 7e6, 9.5e6)
    assert (number.text(MS), number.interval(MS)) == ("8.50", "7.00–9.50")


def test_one_end_that_is_missing_leaves_the_mean_without_an_interval() -> None:
    number = number_of([observation("D", 8e6, 7e6, 9e6), observation("D", 9e6)])
    assert number is not None
    assert (number.low, number.high) == (None, None)
    assert number.interval(MS) == ""


def test_a_bound_stays_one_and_says_so() -> None:
    number = number_of([observation("D", None, 12e6), observation("D", 9e6, 8e6, 10e6)])
    assert number is not None
    assert number.value is None
    assert number.text(MS) == "≥\u202f8.00"
    assert number.notes == (WITHHELD,)


def test_less_than_is_printed_as_less_than() -> None:
    number = number_of([observation("D", None, 0.0, 1e6, printed="<1ms per write")])
    assert number is not None
    assert number.text(MS) == "<\u202f1"


def test_invalid_trials_are_counted_in_a_note() -> None:
    number = number_of([observation("D", 1e6, trial_count=5, invalid_trials=2)])
    assert number is not None
    assert not number.is_valid
    assert number.notes == ("2 of 5 trials do not describe the drive",)


def test_a_published_number_keeps_the_digits_that_were_printed() -> None:
    number = number_of([observation("D", 8e6, printed="~8")])
    assert number is not None
    assert number.text(MS) == "~8"
    assert number.text(DisplayUnit("µs", 1e3)) == "~8\u202f000"


@pytest.mark.parametrize(
    ("printed", "digits"), [("~8", 1), ("3.10", 3), ("0.048", 2), ("440us per write", 2), ("10.1ms", 3), ("41.3", 3)]
)
def test_digits_are_those_that_somebody_read(printed: str, digits: int) -> None:
    assert significant_digits(printed) == digits


def test_a_ratio_reaches_from_the_farthest_ends() -> None:
    ratio = ratio_of(known(10, 9, 11), known(2, 1.8, 2.2))
    assert ratio is not None
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((5, 9 / 2.2, 11 / 1.8))
    assert ratio_of(known(10), known(0)) is None
    assert ratio_of(None, known(1)) is None


@pytest.mark.parametrize(
    ("on", "off", "text"),
    [(234, 61.4, "3.8x"), (175, 135, "1.3x"), (251, 257, "0.98x"), (253, 228, "1.1x"), (107, 39.7, "2.7x")],
)
def test_bandwidth_ratios_read_as_published(on: float, off: float, text: str) -> None:
    assert ratio_text(on / off) == text


@pytest.mark.parametrize(
    ("printed", "value", "says"),
    [
        ("40.1", 40.7, "the page prints 40.1; its own raw table gives 40.7"),
        ("5.5", 5.55, ""),
        ("42", 41.85, ""),
        ("0.25", 0.245, ""),
        ("6.05", 6.055, ""),
        ("30", 31.0, "the page prints 30; its own raw table gives 31"),
    ],
)
def test_a_cell_of_a_page_is_held_against_its_own_numbers(printed: str, value: float, says: str) -> None:
    assert disagreement(printed, known(value)) == says


def test_a_ratio_that_a_page_prints_is_held_against_its_own_numbers() -> None:
    ratio = ratio_of(known(3.1), known(2.9))
    assert disagreement("1.06x", ratio) == "the page prints 1.06x; its own raw table gives 1.07x"
    assert disagreement("1.07x", ratio) == ""
    assert disagreement("", ratio) == ""


def test_what_a_page_prints_takes_the_place_of_what_follows_from_it() -> None:
    number = printed_number("40.1", known(40.7))
    assert number.value == pytest.approx(40.1e6)
    assert number.notes == ("the page prints 40.1; its own raw table gives 40.7",)
    assert printed_number("n/a", known(40.7)) == known(40.7)


@pytest.mark.parametrize(
    ("numbers", "best"),
    [
        ([known(1, 0.9, 1.1), known(2, 1.8, 2.2)], 0),
        ([known(2, 1.8, 2.2), known(1, 0.9, 1.1), None], 1),
        # they overlap
        ([known(1, 0.9, 1.5), known(1.6, 1.4, 1.8)], None),
        # the third is far behind, and so unsure that it may be the best
        ([known(1, 0.9, 1.1), known(2, 1.8, 2.2), known(9, 0.5, 20)], None),
        # without an interval nothing is ranked
        ([known(1), known(2, 1.8, 2.2)], None),
        ([known(1, 0.9, 1.1), known(2)], None),
        # the next one is known to be worse, so what is behind it need not be
        ([known(1, 0.9, 1.1), known(2, 1.8, 2.2), known(50)], 0),
        ([known(1, 0.9, 1.1, is_valid=False), known(2, 1.8, 2.2)], None),
        # a bound can be worse for sure, and never best
        ([known(1, 0.9, 1.1), Number(None, 5e6, None, "ns")], 0),
        ([known(1, 0.9, 1.1)], None),
    ],
)
def test_the_best_is_marked_only_beyond_the_noise(numbers: list[Number | None], best: int | None) -> None:
    assert best_of(numbers, is_better_when_low=True) == best


@pytest.mark.parametrize(("repeats", "best"), [(1, 0), (2, None), (3, None), (10, 0)])
def test_ranges_of_few_repeats_beside_each_other_make_nobody_the_best(repeats: int, best: int | None) -> None:
    numbers = [replace(one, trial_count=repeats) for one in (known(1.0, 0.97, 1.03), known(1.07, 1.04, 1.1))]
    assert best_of(numbers, is_better_when_low=True) == best
    # three times as long is more than two repeats scatter
    assert best_of([numbers[0], replace(known(3.0, 2.9, 3.1), trial_count=repeats)], is_better_when_low=True) == 0


def test_numbers_of_two_runs_have_no_best() -> None:
    numbers = [replace(known(1, 0.9, 1.1), run="monday"), replace(known(2, 1.8, 2.2), run="friday")]
    assert best_of(numbers, is_better_when_low=True) is None
    assert best_of([replace(one, run="monday") for one in numbers], is_better_when_low=True) == 0


def test_of_rates_the_highest_is_the_best() -> None:
    assert best_of([known(1, 0.9, 1.1), known(2, 1.8, 2.2)], is_better_when_low=False) == 1
    assert best_of([known(1, 0.9, 1.1), known(2, 1.8, 2.2)], is_better_when_low=None) is None


def test_a_long_table_is_cut_and_its_csv_is_not() -> None:
    rows = [NumberRow((f"row {number}",), (known(number + 1, number + 0.9, number + 1.1),)) for number in range(301)]
    table = number_table("k", "t", ("row",), (NumberColumn("latency", "ns", is_better_when_low=True),), rows)
    assert (len(table.rows), len(table.plain().rows)) == (300, 301)
    assert "The first 300 of 301 rows" in table.caption
    assert table.plain().columns == ("row", "latency [ns]", "latency, low [ns]", "latency, high [ns]")
    assert table.plain().rows[0] == ["row 0", 1e6, 0.9e6, 1.1e6]


def test_columns_that_hold_nothing_are_left_out_and_notes_are_told_once() -> None:
    noted = replace(known(1), notes=("why",))
    columns = (NumberColumn("a", "ns"), NumberColumn("b", "B/s"))
    rows = [NumberRow(("x", ""), (noted, None)), NumberRow(("y", ""), (noted, None))]
    table = number_table("k", "t", ("row", "firmware"), columns, rows)
    assert [column.full for column in table.columns] == ["row", "a [ms]"]
    assert table.notes == ("why",)
    assert [row[1].notes for row in table.rows] == [(1,), (1,)]
