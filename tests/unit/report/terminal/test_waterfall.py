"""Explanations in a terminal: as the stored texts have them at every width, bars that touch, nothing wider than asked.

``DRIVELAB_NEW_TEXTS=1 pytest tests/unit/report/terminal/test_waterfall.py`` writes the stored texts anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from itertools import pairwise, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from drivelab.report.terminal.explanation_difference import difference_lines, diverging_bar
from drivelab.report.terminal.scale import ASCII, UNICODE
from drivelab.report.terminal.waterfall import explanation_in_short, explanation_lines, positioned_bar
from made_up_explanations import difference, explanation
from made_up_operations import APPEND_NS, OVERWRITE_NS

TEXTS = Path(__file__).resolve().parents[3] / "golden" / "terminal"
WIDTHS = (40, 60, 80, 100, 120, 200)
STORED_WIDTHS = (40, 80, 120)
CACHE_OFF = {**APPEND_NS, "flush": 0.0, "device": 100_000.0}
Lines = Callable[..., list[str]]


def of_explanation(kind: str, count: int = 1000, **changes: object) -> Lines:
    return lambda width, plain=False: explanation_lines(explanation(kind, count, **changes), width, plain=plain)  # type: ignore[arg-type]


def in_short(kind: str, **changes: object) -> Lines:
    return lambda width, plain=False: explanation_in_short(explanation(kind, **changes), width, plain=plain)  # type: ignore[arg-type]


def of_difference(new_ns: Mapping[str, float], repeats: int, **changes: object) -> Lines:
    found = difference(new_ns=new_ns, repeats=repeats, **changes)  # type: ignore[arg-type]
    return lambda width, plain=False: difference_lines(found, width, plain=plain)


SHOWN: Mapping[str, Lines] = {
    "append": of_explanation("append", untraced_ns=1_100_000.0),
    "read-of-90": of_explanation("read", 90, untraced_ns=88_000.0),
    "refused": of_explanation("overwrite", conduct={"lost_events": 5}),
    "alarm": of_explanation("overwrite", work={"flushes": 0}, parts_ns={**OVERWRITE_NS, "flush": 0}),
    "append-in-short": in_short("append", untraced_ns=1_100_000.0),
    "refused-in-short": in_short("overwrite", conduct={"lost_events": 5}),
    "alarm-in-short": in_short("overwrite", work={"flushes": 0}, parts_ns={**OVERWRITE_NS, "flush": 0}),
    "difference": of_difference(CACHE_OFF, 3, new_work={"flushes": 0}),
    "no-difference": of_difference(APPEND_NS, 1),
}


@pytest.mark.parametrize(("name", "width"), list(product(SHOWN, STORED_WIDTHS)))
def test_the_text_is_the_stored_one(name: str, width: int) -> None:
    text = "\n".join(SHOWN[name](width)) + "\n"
    path = TEXTS / f"{name}-{width}.txt"
    if os.environ.get("DRIVELAB_NEW_TEXTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "plain"), list(product(SHOWN, (False, True))))
def test_no_line_is_wider_than_the_terminal(name: str, plain: bool) -> None:
    for width in WIDTHS:
        lines = SHOWN[name](width, plain)
        assert max(map(cell_len, lines)) <= width
        assert not any(line != line.rstrip() for line in lines)
        assert not plain or "".join(lines).isascii()


def test_a_narrower_terminal_than_forty_columns_counts_as_forty() -> None:
    assert SHOWN["append"](10) == SHOWN["append"](40)


def test_names_from_outside_cannot_break_the_page() -> None:
    hostile = explanation(label="\x1b[31m漢字" * 30 + "\n\x07", target="/dev/\u202esdb")
    for width in WIDTHS:
        lines = explanation_lines(hostile, width)
        assert max(map(cell_len, lines)) <= width
        assert all(line.isprintable() for line in lines)


def test_each_bar_begins_where_the_one_above_ends() -> None:
    lines = SHOWN["append"](80)
    cells = [{place for place, character in enumerate(line) if character == UNICODE.full} for line in lines[3:9]]
    filled = [one for one in cells if one]
    assert len(filled) >= 5
    for above, below in pairwise(filled):
        assert min(below) == max(above) + 1
    assert max(filled[-1]) == 79


@given(st.lists(st.floats(0, 1e10), min_size=1, max_size=8), st.integers(8, 150))
def test_bars_never_overlap_and_fill_the_whole(values: list[float], cells: int) -> None:
    whole = sum(values)
    begin, drawn = 0.0, []
    for value in values:
        bar = positioned_bar(begin, value, whole, cells, ASCII)
        assert len(bar) == cells
        assert bool(bar.strip()) == (value > 0 and whole > 0)
        drawn.append(bar)
        begin += value
    # what is too short for a character is drawn over a neighbour's; all others stand alone
    long = [bar for bar, value in zip(drawn, values, strict=True) if whole and value / whole * cells >= 1]
    for place in range(cells):
        assert sum(bar[place] == ASCII.full for bar in long) <= 1


@pytest.mark.parametrize(
    ("value", "bar"),
    [(10, "     |#####"), (-10, "#####|"), (5, "     |##"), (-0.1, "    -|"), (0, "     |")],
)
def test_a_bar_goes_to_the_left_for_less(value: float, bar: str) -> None:
    assert diverging_bar(value, 10, 11, ASCII, is_sure=abs(value) >= 1) == bar
    assert diverging_bar(0.0, 0.0, 11, ASCII, is_sure=False) == "     |"


def test_every_answer_has_its_checks() -> None:
    for name in ("append", "read-of-90"):
        text = " ".join(SHOWN[name](200))
        assert "the parts sum to the latency, residual 0 ns" in text
        assert "cost of tracing: " in text
        assert "0 events lost" in text
    refused = " ".join(SHOWN["refused"](200))
    assert "flush" not in refused
    assert "5 events lost" in refused
