"""The data of a figure as CSV: exact, quoted, and harmless in a spreadsheet."""

from __future__ import annotations

import base64
import csv
import gzip
import io

import pytest

from drivelab.report.csv_text import csv_file_name, csv_link, csv_text
from drivelab.report.figures.figure import DataTable


def test_csv_reads_back_as_it_was_written() -> None:
    table = DataTable(("trial", "latency_ns", "share"), [('a, "b"', 123_456_789, 0.25), ("c\nd", None, 1e-7)])
    rows = list(csv.reader(io.StringIO(csv_text(table), newline="")))
    assert rows == [["trial", "latency_ns", "share"], ['a, "b"', "123456789", "0.25"], ["c\nd", "", "1e-07"]]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx"])
def test_text_that_a_spreadsheet_would_run_is_made_text(text: str) -> None:
    assert f"'{text}" in csv_text(DataTable(("a",), [(text,)]))


def test_negative_numbers_stay_numbers() -> None:
    assert csv_text(DataTable(("a",), [(-5,)])).splitlines()[1] == "-5"


def test_the_link_holds_the_csv() -> None:
    table = DataTable(("trial",), [("µ",)])
    head, _, body = csv_link(table).partition(",")
    assert head == "data:text/csv;charset=utf-8;base64"
    assert base64.b64decode(body).decode() == csv_text(table)


def test_a_long_csv_is_packed_and_the_name_of_its_file_says_so() -> None:
    table = DataTable(("issued_s", "io_count"), [(number / 1000, number % 7) for number in range(20_000)])
    link = csv_link(table)
    head, _, body = link.partition(",")
    assert head == "data:application/gzip;base64"
    assert gzip.decompress(base64.b64decode(body)).decode() == csv_text(table)
    assert link == csv_link(table)
    assert csv_file_name("figure", link) == "figure.csv.gz"
    assert csv_file_name("figure", csv_link(DataTable(("trial",), [("a",)]))) == "figure.csv"
