"""What a figure shows in a notebook without Plotly's own form: it shows pictures, and asks nobody for anything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import drivelab

if TYPE_CHECKING:
    from playwright.sync_api import Browser

RUNS = Path(__file__).resolve().parents[1] / "golden" / "runs"
pytestmark = [pytest.mark.needs_tool("chromium")]


def test_figures_of_several_cells_draw_themselves_offline(chromium: Browser, tmp_path: Path) -> None:
    run = drivelab.open(RUNS / "fill-level-drive")
    cells = [run.figures[key]._repr_mimebundle_()["text/html"] for key in ("throughput-over-time", "latency-histogram")]
    page_file = tmp_path / "cells.html"
    page_file.write_text(f"<!doctype html><meta charset=utf-8>{''.join(cells)}", encoding="utf-8")
    context = chromium.new_context(offline=True)
    page = context.new_page()
    asked: list[str] = []
    failed: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: failed.append(str(error)))
    page.goto(page_file.as_uri())
    sizes = page.evaluate("[...document.images].map((one) => one.complete && one.naturalWidth)")
    assert sizes == [900] * 3
    assert [url for url in asked if not url.startswith("data:")] == [page_file.as_uri()]
    assert failed == []
    context.close()
