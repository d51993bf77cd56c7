"""How the answer to a query is printed: a table for people, lines for pipes, JSON and CSV for programs.

JSON, CSV and lines are written as the rows come, however many there are.
"""

from __future__ import annotations

import csv
import itertools
import json
import math
import sys
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from drivelab.report.csv_text import csv_cell
from drivelab.store.query import QueryAnswer
from drivelab.streams import make_console

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA = 1
# rows that decide how wide the columns of lines are
_MEASURED_ROWS = 1000
_TERMINAL_ROWS_MAX = 1000
_CELL_COLUMNS_MAX = 60
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL")


def print_json(answer: QueryAnswer) -> None:
    """Print one document: ``{"schema": 1, "columns": [...], "rows": [{...}, ...]}``.

    Numbers that JSON does not have (infinity, not a number) are null.
    """
    columns = [{"name": column.name, "type": column.type} for column in answer.columns]
    print(f'{{"schema": {SCHEMA}, "columns": {json.dumps(columns)}, "rows": [', end="")
    names = [column.name for column in answer.columns]
    separator = "\n"
    for batch in answer.batches():
        objects = ",\n".join(_json_object(dict(zip(names, row, strict=True))) for row in batch)
        print(f"{separator}{objects}", end="")
        separator = ",\n"
    print("\n]}")


def print_csv(answer: QueryAnswer) -> None:
    """Print comma-separated values with a line of names; null is empty, lists are JSON."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([csv_cell(column.name) for column in answer.columns])
    are_numbers = [_is_number(column.type) for column in answer.columns]
    for batch in answer.batches():
        if all(are_numbers):
            writer.writerows(batch)
        else:
            writer.writerows(
                [
                    value if is_number else csv_cell(_csv_value(value))
                    for value, is_number in zip(row, are_numbers, strict=True)
                ]
                for row in batch
            )


def print_lines(answer: QueryAnswer) -> None:
    """Print aligned columns, two spaces apart, for pipes and files."""
    rows = answer.rows()
    measured = [[_cell(value) for value in row] for row in itertools.islice(rows, _MEASURED_ROWS)]
    heading = [_printable(column.name) for column in answer.columns]
    widths = [max(map(len, column)) for column in zip(heading, *measured, strict=True)]
    to_the_right = [_is_number(column.type) for column in answer.columns]
    for cells in itertools.chain([heading], measured, ([_cell(value) for value in row] for row in rows)):
        aligned = (
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(cells, widths, to_the_right, strict=True)
        )
        print("  ".join(aligned).rstrip())


def print_table(answer: QueryAnswer) -> None:
    """Print a table on a terminal; one value per line where the columns do not fit beside each other."""
    console = make_console()
    rows = answer.rows()
    shown = [[_shortened(_cell(value)) for value in row] for row in itertools.islice(rows, _TERMINAL_ROWS_MAX)]
    heading = [_printable(column.name) for column in answer.columns]
    widths = [max(map(len, column)) for column in zip(heading, *shown, strict=True)]
    if sum(widths) + 2 * (len(widths) - 1) <= console.width:
        _print_beside(heading, shown, [_is_number(column.type) for column in answer.columns], console)
    else:
        _print_below(heading, shown, console)
    console.print(f"{len(shown)} rows" if len(shown) != 1 else "1 row", style="dim")
    if next(rows, None) is not None:
        console.print("there are more; all of them: --csv or --json", style="dim")


def _print_beside(
    heading: Sequence[str], rows: Sequence[Sequence[str]], to_the_right: Sequence[bool], console: Console
) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name, is_right in zip(heading, to_the_right, strict=True):
        table.add_column(Text(name), justify="right" if is_right else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


def _print_below(heading: Sequence[str], rows: Sequence[Sequence[str]], console: Console) -> None:
    from rich.text import Text

    width = max(map(len, heading))
    for number, row in enumerate(rows, start=1):
        console.print(f"row {number}", style="bold")
        for name, cell in zip(heading, row, strict=True):
            line = Text.assemble((f"  {name.ljust(width)}  ", "dim"), cell, no_wrap=True, overflow="ellipsis")
            console.print(line)


def _cell(value: Any) -> str:
    """A value for people: numbers with at most three decimals, or six digits when they are small."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return _number_text(value)
    plain = _plain(value)
    return _printable(plain if isinstance(plain, str) else json.dumps(plain))


def _number_text(value: float) -> str:
    if not math.isfinite(value) or value == 0 or not 1e-3 <= abs(value) < 1e15:
        return f"{value:.6g}"
    text = f"{value:.3f}" if abs(value) >= 1 else f"{value:.6f}"
    return text.rstrip("0").rstrip(".")


def _printable(text: str) -> str:
    """Text without characters that a terminal would obey."""
    return "".join(character if character.isprintable() else "?" for character in text)


def _shortened(text: str) -> str:
    return text if len(text) <= _CELL_COLUMNS_MAX else f"{text[: _CELL_COLUMNS_MAX - 3]}..."


def _json_object(row: dict[str, Any]) -> str:
    try:
        return json.dumps(row, allow_nan=False)
    except (TypeError, ValueError):
        # rare, and looking at every value takes as long as writing it
        return json.dumps(_plain(row))


def _csv_value(value: Any) -> Any:
    plain = _plain(value)
    return json.dumps(plain) if isinstance(plain, bool | list | dict) else plain


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, dict):
        return {str(_plain(key)): _plain(inner) for key, inner in value.items()}
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value.hex() if isinstance(value, bytes) else str(value)


def _is_number(kind: str) -> bool:
    return kind.removeprefix("U").startswith(_NUMBERS) and not kind.endswith("]")
