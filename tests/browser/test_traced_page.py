"""Where the time goes, in a real browser: every figure drawn, no label over another or cut off, in light and dark."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))

from traced_run import traced_run

from browser.page_log import PageLog
from drivelab.joint_report import joint_report
from drivelab.report.html import write_html_report
from golden_reports import golden_joint

pytestmark = [pytest.mark.needs_tool("chromium")]
RUNS = Path(__file__).resolve().parents[1] / "golden" / "runs"
WIDTHS = (1440, 768, 390)
FIGURES = ("waterfall", "parts-over-time", "part-cdf", "offset-map")
LONG = "<img src=x onerror=alert(1)>" + "W" * 300
OpenPage = Callable[..., "TracedPage"]
# of all texts that are shown in a figure, pairs of which one lies over the other
OVERLAPPING = """
() => [...document.querySelectorAll(".plot")].flatMap((plot) => {
  const boxes = [...plot.querySelectorAll("svg text")].filter((text) => text.textContent.trim())
    .map((text) => [text.textContent, text.getBoundingClientRect()]);
  return boxes.flatMap(([words, a], place) => boxes.slice(place + 1)
    .filter(([, b]) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3)
    .map(([others]) => `${plot.dataset.source}: ${words} | ${others}`));
})
"""
BEYOND = """
() => [...document.querySelectorAll(".plot")].flatMap((plot) => {
  const box = plot.getBoundingClientRect();
  return [...plot.querySelectorAll("svg text")]
    .filter((text) => {
      const own = text.getBoundingClientRect();
      return own.width && (own.right > box.right + 2 || own.left < box.left - 2);
    })
    .map((text) => `${plot.dataset.source}: ${text.textContent}`);
})
"""


class TracedPage:
    """A report in a browser, everything unfolded, and what it complained about."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page = page
        self.log = PageLog(page)
        page.goto(path.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        page.wait_for_function(
            """() => document.documentElement.dataset.figures === "drawn"
              && [...document.querySelectorAll(".plot")].every((plot) => plot.querySelector("svg"))""",
        )


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A traced run alone, two beside each other of which one has a hostile name, and one that lost events."""
    directory = tmp_path_factory.mktemp("traced")
    options = {"workloads": ("log-append",), "repeats": 1}
    on = traced_run(directory / "on", levels=("on",), **options)
    off = traced_run(directory / "off", levels=("off",), seed=900, title=LONG, **options)
    lost = traced_run(directory / "lost", levels=("on",), lost_events=9, **options)
    joints = {
        "alone": golden_joint("explained-appends"),
        "two": joint_report([on, off]),
        "lost": joint_report([lost]),
    }
    return {name: write_html_report(joint, directory / f"{name}.html") for name, joint in joints.items()}


@pytest.fixture(scope="module")
def open_page(chromium: Browser, reports: dict[str, Path]) -> Iterator[OpenPage]:
    """Opens a report, offline, or turns one that is open dark: ``open_page(name, width=..., scheme="dark")``."""
    opened: dict[tuple[str, int], TracedPage] = {}

    def make(name: str, *, width: int = 1440, scheme: Literal["light", "dark"] = "light") -> TracedPage:
        if (name, width) not in opened:
            context = chromium.new_context(viewport={"width": width, "height": 900}, offline=True)
            opened[name, width] = TracedPage(context.new_page(), reports[name])
        opened[name, width].page.emulate_media(color_scheme=scheme)
        return opened[name, width]

    yield make
    for one in opened.values():
        one.page.context.close()


@pytest.mark.parametrize("name", ["alone", "two", "lost"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits_and_complains_of_nothing(open_page: OpenPage, name: str, width: int) -> None:
    opened = open_page(name, width=width)
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.log.complaints == []


@pytest.mark.parametrize("name", ["alone", "two"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_word_of_a_figure_is_cut_off_or_lies_over_another(
    open_page: OpenPage, name: str, width: int, scheme: str
) -> None:
    page = open_page(name, width=width, scheme=scheme).page
    plots = page.evaluate("[...document.querySelectorAll('.plot')].map((plot) => plot.dataset.source)")
    own = [source for source in plots if any(key in source for key in (*FIGURES, "part-differences"))]
    assert len(own) >= len(FIGURES)
    for found in (page.evaluate(BEYOND), page.evaluate(OVERLAPPING)):
        assert [text for text in found if text.split(":")[0] in own] == []


def test_a_flush_has_a_colour_of_its_own(open_page: OpenPage) -> None:
    for scheme in ("light", "dark"):
        page = open_page("alone", scheme=scheme).page
        colors = page.evaluate(
            """() => [...document.querySelector("[data-source='waterfall-1']").querySelectorAll("svg > rect")]
              .slice(0, 6).map((bar) => getComputedStyle(bar).fill)"""
        )
        assert len(set(colors)) == 6


def test_arrow_keys_read_the_parts(open_page: OpenPage) -> None:
    page = open_page("alone").page
    page.locator("[data-source='waterfall-1']").focus()
    spoken = []
    for _ in range(6):
        page.keyboard.press("ArrowRight")
        spoken.append(page.inner_text("#spoken"))
    for words, part in zip(spoken, ("file system in", "queue", "device", "flush", "between", "return"), strict=True):
        assert words.startswith(part)
    assert "598" in spoken[3]


def test_the_difference_stands_before_the_runs(open_page: OpenPage) -> None:
    page = open_page("two").page
    tops = [page.locator(selector).first.bounding_box() for selector in ("#why", "#run-1")]
    assert tops[0] is not None
    assert tops[1] is not None
    assert tops[0]["y"] < tops[1]["y"]
    told = page.evaluate("document.querySelector('#part-differences .plot').drawing.told")
    assert [len(points["text"]) for points in told] == [7, 7, 7]
    assert page.inner_text("section.answer").count("flush") >= 1


def test_a_trace_without_an_answer_says_so_and_draws_no_parts(open_page: OpenPage) -> None:
    page = open_page("lost").page
    assert "9 events were lost" in page.inner_text("#traced")
    assert page.locator("#waterfall").count() == 0
    assert page.locator("#offset-map .plot svg").count() > 0
