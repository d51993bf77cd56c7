"""Figures on a page: each drawing is made once for each width."""

from __future__ import annotations

import pytest
from drawn_result_sets import depth_set

from drivelab.report import placed
from drivelab.report.figures.queue_depth import queue_depth


def test_the_first_picture_of_a_page_is_not_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    figure = queue_depth([depth_set()])
    assert figure is not None
    drawn = []
    draw = placed.draw

    def counting(*given: object) -> object:
        drawn.append(draw(*given))  # type: ignore[arg-type]
        return drawn[-1]

    monkeypatch.setattr(placed, "draw", counting)
    on_page = placed.placed_figure(figure, "1")
    assert on_page.first_svg == drawn[0].svg
    assert len(drawn) == len(placed.WIDTHS_PX) * len(figure.plots)
