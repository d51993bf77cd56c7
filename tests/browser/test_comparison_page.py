"""The page of a comparison in a real browser: its figure drawn, its numbers readable, nothing asked of a network."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))

from compared_runs import write_compared_run

from browser.page_log import PageLog
from drivelab.answers.comparison import compare_runs
from drivelab.report.comparison_joint import joint_of_comparison
from drivelab.report.html import write_html_report

pytestmark = [pytest.mark.needs_tool("chromium")]
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of two runs, of which one is slower and has a hostile name for its kernel and its workload."""
    parent = tmp_path_factory.mktemp("runs")
    filesystems = ("ext4", "xfs", "btrfs")
    changes = {"factor": 1.5, "kernel": HOSTILE, "title": HOSTILE, "flushes": 2.0}
    base, new = (
        [
            write_compared_run(parent / f"{name}-{seed}", seed, filesystems=filesystems, repeats=2, **given)  # type: ignore[arg-type]
            for seed in seeds
        ]
        for name, seeds, given in (("base", (1, 4, 5), {}), ("new", (2, 3, 6), changes))
    )
    found = compare_runs(base, new, with_distributions=True)
    return write_html_report(joint_of_comparison(found), parent / "page.html")


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_drawn_and_fits(chromium: Browser, page_file: Path, width: int, scheme: str) -> None:
    context = chromium.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,  # type: ignore[arg-type]
        offline=True,
    )
    page = context.new_page()
    log = PageLog(page)
    page.goto(page_file.as_uri())
    page.wait_for_selector("html[data-figures=drawn]", state="attached")
    assert log.complaints == []
    assert len(log.requests) == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#comparison-ratios .plot svg").count() > 0
    assert page.locator("#quantile-shift .plot svg").count() > 0
    # of each of three combinations one number is judged, and drawn
    told = page.evaluate("document.querySelector('#comparison-ratios .plot').drawing.told")
    assert sum(len(points["text"]) for points in told) == 3
    assert "3 slower by more than" in page.inner_text("section.answer")
    assert HOSTILE in page.inner_text("main")
    context.close()
