"""Pictures in a real browser: no word leaves its picture, and none lies over another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from drivelab.reference.load import load_reference, reference_names
from drivelab.report.card.content import Card, card_of
from drivelab.report.card.drawing import HEIGHT_PX, WIDTH_PX, card_svg
from drivelab.report.card.rows import ROWS_MAX, Row, Rows
from drivelab.report.figures.figure import Plot
from drivelab.report.joint_of import joint_of
from drivelab.report.named_figures import named_figures
from drivelab.report.placed import WIDTHS_PX
from drivelab.report.static_figure import page_colours
from drivelab.report.svg.drawing import draw
from golden_reports import golden_joint

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.needs_tool("chromium")]
GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "runs"
_BOXES = """
(svg => {
  document.body.innerHTML = svg;
  const origin = document.querySelector("svg").getBoundingClientRect();
  return Array.from(document.querySelectorAll("text")).map(one => {
    const box = one.getBoundingClientRect();
    const [left, top] = [box.left - origin.left, box.top - origin.top];
    return [one.textContent, left, top + 0.2 * box.height, left + box.width, top + 0.8 * box.height];
  });
})
"""
Box = tuple[str, float, float, float, float]


def boxes_of(chromium: Browser, svgs: Iterable[str]) -> list[list[Box]]:
    """Each text of the pictures with the box around its letters, as a browser draws them."""
    page = chromium.new_page()
    found = [[tuple(one) for one in page.evaluate(_BOXES, svg)] for svg in svgs]
    page.close()
    return found


def overlapping(boxes: list[Box]) -> list[tuple[str, str]]:
    return [
        (one[0], other[0])
        for place, one in enumerate(boxes)
        for other in boxes[place + 1 :]
        if one[1] < other[3] and other[1] < one[3] and one[2] < other[4] and other[2] < one[4]
    ]


LONG = Card(
    outcome="undecided",
    title="How long does " + "W" * 90 + " take, " * 30,
    where="MANUFACTURER MODEL " * 20,
    sentence="It takes " + "very, very " * 80 + "long.",
    rows=Rows(
        "latency " * 40,
        tuple(
            Row("drive " * 30 + str(n), "12 345 678 MB/s", "12 345 678–23 456 789 MB/s", 1.0) for n in range(ROWS_MAX)
        ),
    ),
    warnings=("Warning: " + "漢字" * 200,) * 2,
    source="measured by " + "x" * 300,
)


def test_no_text_leaves_the_card_or_meets_another(chromium: Browser) -> None:
    cards = [card_of(golden_joint(path.name)) for path in sorted(GOLDEN.iterdir())]
    numbers = tuple(Row("a very long name of a workload " * 5, "12 345 678 MB/s", "1–2" * 30) for _ in range(4))
    cards += [LONG, replace(LONG, rows=None, numbers=numbers)]
    for card, boxes in zip(cards, boxes_of(chromium, map(card_svg, cards)), strict=True):
        outside = [b for b in boxes if b[1] < 0 or b[2] < 0 or b[3] > WIDTH_PX or b[4] > HEIGHT_PX]
        assert (outside, overlapping(boxes)) == ([], []), card.title


@pytest.fixture(scope="module")
def plots() -> list[tuple[str, Plot]]:
    """Each plot of the golden runs and of the published pages, with the name of its figure."""
    joints = [golden_joint(path.name) for path in sorted(GOLDEN.iterdir())]
    joints.append(joint_of([], [load_reference(name) for name in reference_names()]))
    return [(one.name, plot) for joint in joints for one in named_figures(joint) for plot in one.figure.plots]


@pytest.mark.parametrize("width", WIDTHS_PX)
def test_no_word_of_a_figure_leaves_it_or_meets_another(
    chromium: Browser, plots: list[tuple[str, Plot]], width: int
) -> None:
    drawings = [draw(plot, width, colours=page_colours()) for _, plot in plots]
    wrong = []
    for (name, _), drawing, boxes in zip(
        plots, drawings, boxes_of(chromium, (one.svg for one in drawings)), strict=True
    ):
        outside = [b for b in boxes if b[1] < -1 or b[2] < -1 or b[3] > width + 1 or b[4] > drawing.height_px + 1]
        wrong += [(name, *pair) for pair in (*outside, *overlapping(boxes))]
    assert wrong == []
