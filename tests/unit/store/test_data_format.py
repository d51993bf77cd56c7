"""The page that describes a run directory says what is written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from drivelab.store.columns import (
    EVENT_COLUMNS,
    HISTOGRAM_COLUMNS,
    INTERVAL_COLUMNS,
    OPERATION_COLUMNS,
    RECORD_COLUMNS,
    TRIAL_COLUMNS,
    Column,
)
from drivelab.store.query_runs_table import RUN_COLUMNS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "data_format.md"


def table_under(heading: str) -> list[tuple[str, ...]]:
    """The rows of the first table under a heading of the page."""
    section = PAGE.read_text().split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return [tuple(cell.strip().strip("`") for cell in re.split(r"(?<!\\)\|", row)[1:-1]) for row in rows]


@pytest.mark.parametrize(
    ("heading", "columns"),
    [
        ("trials.parquet", TRIAL_COLUMNS),
        ("intervals.parquet", INTERVAL_COLUMNS),
        ("histograms.parquet", HISTOGRAM_COLUMNS),
        ("ios/TRIAL.parquet", RECORD_COLUMNS),
        ("operations/TRIAL.parquet", OPERATION_COLUMNS),
        ("events/TRIAL.parquet", EVENT_COLUMNS),
        ("Queries", RUN_COLUMNS),
    ],
)
def test_the_page_lists_every_column(heading: str, columns: tuple[Column, ...]) -> None:
    assert table_under(heading) == [(column.name, column.type, column.meaning) for column in columns]
