"""Tables in the form that a notebook works with: Arrow, pandas or polars."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Literal, get_args

import pyarrow as pa

from drivelab.model.errors import DrivelabError
from drivelab.report.figures.figure import Cell, DataTable

Frame = Literal["arrow", "pandas", "polars"]
FRAMES: tuple[Frame, ...] = get_args(Frame)


def checked_frame(name: str) -> Frame:
    """The form, if there is one of that name and its library is there.

    Raises
    ------
    DrivelabError
        O820: its library is not installed. O821: there is no such form.
    """
    for known in FRAMES:
        if known == name:
            if known != "arrow":
                _library(known)
            return known
    raise DrivelabError("O821", f"no tables of the kind '{name}'", where="frame=", do=f"one of {', '.join(FRAMES)}")


def as_frame(table: pa.Table, frame: Frame) -> Any:
    """An Arrow table as a table of that form: pyarrow.Table, pandas.DataFrame or polars.DataFrame.

    Raises
    ------
    DrivelabError
        O820: the library is not installed.
    """
    if frame == "arrow":
        return table
    library = _library(frame)
    return table.to_pandas() if frame == "pandas" else library.from_arrow(table)


def arrow_of_rows(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> pa.Table:
    """An Arrow table of rows; a column of texts and numbers becomes one of texts."""
    by_column = list(zip(*rows, strict=True)) if rows else [() for _ in columns]
    return pa.table({name: _array(values) for name, values in zip(columns, by_column, strict=True)})


def arrow_of_data(data: DataTable) -> pa.Table:
    """What stands behind a figure or a table, as an Arrow table."""
    return arrow_of_rows(data.columns, data.rows)


def json_text(value: Any) -> str:
    """Nested data as one text, for a column."""
    return json.dumps(value, ensure_ascii=False)


def _array(values: Sequence[Cell]) -> pa.Array:
    known = [value for value in values if value is not None]
    if any(isinstance(value, str) for value in known):
        return pa.array([None if value is None else str(value) for value in values], pa.string())
    if known and all(isinstance(value, bool) for value in known):
        return pa.array(values, pa.bool_())
    if known and all(isinstance(value, int) for value in known):
        return pa.array(values, pa.int64())
    return pa.array([None if value is None else float(value) for value in values], pa.float64())


def _library(name: Frame) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise DrivelabError("O820", f"{name} is not installed", do=f"pip install {name}") from error
