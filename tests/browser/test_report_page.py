"""The report in a real browser: every figure drawn, nothing clipped, nothing asked of a network, all reachable."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))

from large_run import write_large_run
from make_runs import HOSTILE_MODEL, NAMES

from browser.page_log import PageLog
from browser.tab_key import missed_by_tab
from drivelab.joint_report import joint_report
from drivelab.report.html import write_html_report
from drivelab.report.placed import WIDTHS_PX
from drivelab.store.read import StoredRun, open_run

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
pytestmark = [pytest.mark.needs_tool("chromium")]
WIDTHS = (1440, 768, 390)
LARGE = "large-run"
RUNS = (*NAMES, LARGE)
DRAWN = "html[data-figures=drawn]"
# as it is seen, whatever the page calls it
LINE_COLOUR = "getComputedStyle(document.querySelector('#latency-histogram svg path[stroke-linejoin]')).stroke"
FOLDED = "#more-figures > details"
OpenPage = Callable[..., "OpenedPage"]


class OpenedPage:
    """A report in a browser, and everything it complained about or asked for."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page = page
        self.log = PageLog(page)
        self.is_unfolded = False
        page.goto(path.as_uri())
        page.wait_for_selector(DRAWN, state="attached")

    def unfold(self) -> None:
        """Open what is folded of the figures, and wait until all of them are drawn."""
        self.is_unfolded = True
        self.page.evaluate(f"document.querySelectorAll('{FOLDED}').forEach((fold) => fold.open = true)")
        self.page.wait_for_function(f"() => !document.querySelector('{FOLDED} .plot:not([data-drawn])')")


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The reports of the golden runs and of one with hundreds of trials, by name."""
    directory = tmp_path_factory.mktemp("reports")
    runs = [*(GOLDEN / "runs" / name for name in NAMES), write_large_run(directory / LARGE, shifts=2)]
    return {path.name: _report(open_run(path), directory / f"{path.name}.html") for path in runs}


def _report(run: StoredRun, path: Path) -> Path:
    return write_html_report(joint_report([run]), path)


@pytest.fixture(scope="module")
def browser(chromium: Browser) -> Browser:
    """The system's Chromium: one for all tests, because two at a time are not to be had."""
    return chromium


@pytest.fixture(scope="module")
def open_page(browser: Browser, reports: dict[str, Path]) -> Iterator[OpenPage]:
    """Opens a report: ``open_page(name, width=..., scheme="dark", fresh=True)``.

    The same page is given to every test that asks for it with the same words,
    unless it wants a fresh one, which it may change; ``is_mobile`` is a telephone.
    What is folded of its figures is open unless ``folded=True``.
    """
    opened: dict[tuple[object, ...], OpenedPage] = {}
    contexts: list[BrowserContext] = []

    def make(name: str, *, folded: bool = False, fresh: bool = False, **look: Any) -> OpenedPage:
        look = {"width": 1440, "scheme": "light", "is_mobile": False} | look
        key = (name, *look.values(), len(opened) if fresh else None)
        if key not in opened or (folded and opened[key].is_unfolded):
            size = {"width": look["width"], "height": 900}
            touch = {"has_touch": look["is_mobile"], "is_mobile": look["is_mobile"]}
            contexts.append(browser.new_context(viewport=size, color_scheme=look["scheme"], offline=True, **touch))
            opened[key] = OpenedPage(contexts[-1].new_page(), reports[name])
        if not folded and not opened[key].is_unfolded:
            opened[key].unfold()
        return opened[key]

    yield make
    for context in contexts:
        context.close()


@pytest.mark.parametrize("name", sorted({*RUNS} - {"explained-appends"}))
def test_one_picture_stands_before_the_numbers_and_all_others_are_folded(open_page: OpenPage, name: str) -> None:
    page = open_page(name, folded=True).page
    first = page.locator("figure:visible").first
    assert (first.locator("h3").text_content() or "").startswith("Figure 1. ")
    order = "document.querySelector('.hero').compareDocumentPosition(document.querySelector('#numbers'))"
    assert page.evaluate(order) & 4, "the numbers follow"
    titles = page.locator("figure > h3").all_text_contents()
    assert [title.split(".")[0] for title in titles] == [f"Figure {number}" for number in range(1, len(titles) + 1)]
    # opened by a finding about the course of a trial, if at all
    kept_open = page.locator(f"{FOLDED}[open] figure").evaluate_all("found => found.map((one) => one.id)")
    assert {*kept_open} <= {"latency-over-time", "throughput-over-time"}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits_its_width_without_complaint_or_request(open_page: OpenPage, name: str, width: int) -> None:
    opened = open_page(name, width=width)
    assert opened.log.complaints == []
    assert [url for url in opened.log.requests if not url.startswith("file:")] == []
    assert len(opened.log.requests) == 1
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", ["check-hostile-names", "settings-scan-drive", LARGE])
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_cut_off_at_the_side(open_page: OpenPage, name: str, width: int) -> None:
    page = open_page(name, width=width).page
    beyond = page.evaluate(
        """() => [...document.querySelectorAll("h1, h2, h3, p, li, dd, dt, summary, .results *, .plot, .plot svg")]
          .filter((element) => element.getClientRects().length && !element.closest(".scroll, .data-scroll, thead"))
          .filter((element) => !element.matches(".visually-hidden, .visually-hidden *, .skip"))
          .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
          .map((element) => element.outerHTML.slice(0, 120))"""
    )
    assert beyond == []


def test_names_of_trials_are_not_broken_letter_by_letter(open_page: OpenPage) -> None:
    page = open_page("write-size-two-drives", fresh=True).page
    widths_px = page.evaluate(
        """() => {
          document.querySelectorAll("details").forEach((fold) => fold.open = true);
          document.querySelectorAll("table.settings tbody td").forEach((cell) => cell.append(" rw,relatime,discard"));
          return [...document.querySelectorAll("table.settings tbody th")].map((cell) => cell.clientWidth);
        }"""
    )
    assert widths_px, "the table is there"
    assert min(widths_px) >= 150


@pytest.mark.parametrize("width", [1280, 820, 700, 390])
def test_words_of_a_source_are_not_broken(open_page: OpenPage, width: int) -> None:
    page = open_page("check-directory", width=width, fresh=True).page
    broken = page.evaluate(
        """() => {
          document.querySelectorAll("details").forEach((fold) => fold.open = true);
          document.querySelectorAll(".checks .source").forEach((cell) => {
            cell.textContent = "documentation of etcd: wal_fsync_duration_seconds p99 of a quiet machine";
          });
          const lines = (node, from, to) => {
            const range = document.createRange();
            range.setStart(node, from);
            range.setEnd(node, to);
            return new Set([...range.getClientRects()].map((box) => box.top)).size;
          };
          const words = [...document.querySelectorAll(".checks .source")].map((cell) => cell.firstChild)
            .flatMap((node) => [...node.data.matchAll(/\\w+/g)].map((word) => [node, word]));
          return words.length ? words.filter(([node, word]) => lines(node, word.index, word.index + word[0].length) > 1)
            .map(([_, word]) => word[0]) : ["no word"];
        }"""
    )
    assert broken == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", ["check-hostile-names", "settings-scan-drive", "fill-level-drive", LARGE])
@pytest.mark.parametrize("width", WIDTHS)
def test_words_inside_figures_are_not_cut_off(open_page: OpenPage, name: str, width: int) -> None:
    page = open_page(name, width=width).page
    beyond = page.evaluate(
        """() => [...document.querySelectorAll(".plot")].flatMap((plot) => {
          const right = plot.getBoundingClientRect().right;
          return [...plot.querySelectorAll("svg text")]
            .filter((text) => text.getBoundingClientRect().right > right + 2)
            .map((text) => `${plot.dataset.source}: ${text.textContent}`);
        })"""
    )
    assert beyond == []


@pytest.mark.parametrize("name", RUNS)
def test_every_figure_is_drawn_with_named_axes(open_page: OpenPage, name: str) -> None:
    page = open_page(name).page
    plots = page.evaluate(
        """() => [...document.querySelectorAll(".plot")]
          .filter((plot) => plot.dataset.drawn).map((plot) => ({
          source: plot.dataset.source,
          marks: plot.drawing.told.length,
          words: [...plot.querySelectorAll("svg text")].map((text) => text.textContent),
        }))"""
    )
    assert len(plots) >= 5
    for plot in plots:
        assert plot["marks"] > 0, plot["source"]
        assert any("[" in words for words in plot["words"]), plot


def test_every_figure_has_a_table_that_opens(open_page: OpenPage) -> None:
    page = open_page("check-directory", fresh=True).page
    figures = page.locator("figure:visible")
    assert figures.count() == 7
    for number in range(figures.count()):
        figure = figures.nth(number)
        summary = figure.locator(".behind summary")
        summary.focus()
        page.keyboard.press("Enter")
        assert figure.locator("table.data tbody tr").first.is_visible()


def test_the_data_of_a_figure_is_one_click_away(open_page: OpenPage) -> None:
    page = open_page("check-directory").page
    with page.expect_download() as waiting:
        page.get_by_role("link", name="CSV of figure 2").click()
    download = waiting.value
    assert download.suggested_filename == "latency-overview.csv"
    lines = Path(download.path()).read_text().splitlines()
    assert lines[0] == "trial,operation,quantile,latency_ns,latency_ns_low,latency_ns_high,io_count"
    assert len(lines) > 20


def test_a_long_csv_is_packed_in_the_page_and_saved_as_text(open_page: OpenPage) -> None:
    opened = open_page("check-directory", fresh=True)
    link = opened.page.locator("a[href^='data:application/gzip']").first
    assert (link.get_attribute("download") or "").endswith(".csv.gz")
    with opened.page.expect_download() as waiting:
        link.evaluate("element => element.click()")
    assert waiting.value.suggested_filename.endswith(".csv")
    assert Path(waiting.value.path()).read_text().splitlines()[0].startswith("trial,")
    assert opened.log.complaints == []


@pytest.mark.parametrize("width", WIDTHS)
def test_a_model_that_is_a_script_is_text(open_page: OpenPage, width: int) -> None:
    opened = open_page("check-hostile-names", width=width)
    assert opened.log.complaints == []
    assert HOSTILE_MODEL in opened.page.locator("dl.facts").inner_text()
    assert opened.page.locator("script").count() == 1
    if width == 1440:
        assert HOSTILE_MODEL in " ".join(opened.page.locator("#latency-histogram svg text").all_text_contents())


def test_hovering_tells_value_unit_and_count(open_page: OpenPage) -> None:
    page = open_page("check-directory").page
    plot = page.locator("#latency-histogram .plot").first
    plot.scroll_into_view_if_needed()
    box = plot.locator("svg path[fill='var(--fill)']").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 8, box["y"] + box["height"] / 2)
    label = plot.locator(".told")
    label.wait_for()
    words = label.text_content() or ""
    page.mouse.move(0, 0)
    label.wait_for(state="detached")
    assert "µs" in words
    assert "I/Os" in words
    assert "%" in words


def test_arrow_keys_read_the_points_of_a_figure(open_page: OpenPage) -> None:
    page = open_page("check-directory").page
    page.locator("#latency-overview .plot").focus()
    page.keyboard.press("ArrowRight")
    spoken = page.locator("#spoken").text_content() or ""
    assert "512 B appended + fdatasync" in spoken
    assert "median" in spoken
    page.keyboard.press("ArrowRight")
    assert "2300 B appended" in (page.locator("#spoken").text_content() or "")
    page.keyboard.press("ArrowDown")
    assert "p99" in (page.locator("#spoken").text_content() or "")


def test_everything_that_can_be_used_is_reached_by_the_tab_key(open_page: OpenPage) -> None:
    page = open_page("ssd-latency-scratch").page
    assert missed_by_tab(page, "a[href], summary, .plot, [tabindex='0']") == []


def test_single_trials_are_folded_until_a_finding_leads_to_one(open_page: OpenPage) -> None:
    page = open_page("settings-scan-drive", fresh=True).page
    assert page.locator("table.combinations tr.trial").first.is_visible()
    trial = page.locator("details.single-trials tr.trial").first
    assert not trial.is_visible()
    link = page.locator("ol.findings a[href^='#trial-']").first
    # more trials than a reader wants to see are folded in the finding too
    assert not link.is_visible()
    page.locator("ol.findings summary").first.click()
    link.click()
    trial.wait_for(state="visible")


def test_dark_and_light_have_colours_of_their_own(open_page: OpenPage) -> None:
    def colours(scheme: str) -> tuple[str, str]:
        page = open_page("check-directory", scheme=scheme).page
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        line = page.evaluate(LINE_COLOUR)
        return background, line

    light, dark = colours("light"), colours("dark")
    assert light[0] != dark[0]
    assert light[1] != dark[1]


def test_colours_follow_a_change_of_scheme_and_of_medium(open_page: OpenPage) -> None:
    page = open_page("check-hostile-names", scheme="dark", fresh=True).page

    dark = page.evaluate(LINE_COLOUR)
    page.emulate_media(color_scheme="light")
    light = page.evaluate(LINE_COLOUR)
    assert light != dark
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(LINE_COLOUR) == dark
    # paper is light, whatever the screen is
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(LINE_COLOUR) == light


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_their_background(open_page: OpenPage, scheme: str) -> None:
    page = open_page("check-directory", scheme=scheme).page
    ratios = page.evaluate(
        """() => {
          const channel = (value) => (value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
          const luminance = (colour) => { const [r, g, b] = colour.match(/[0-9.]+/g).map(Number).map(channel);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
          const style = getComputedStyle(document.documentElement);
          const probe = document.createElement("i"); document.body.append(probe);
          const colour = (name) => {
            probe.style.color = style.getPropertyValue(name);
            return getComputedStyle(probe).color;
          };
          const paper = luminance(colour("--paper"));
          const names = ["--ink", "--muted", "--link", "--pass", "--fail", "--undecided"];
          return Object.fromEntries(names.map((name) => { const ink = luminance(colour(name));
            return [name, (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05)]; }));
        }"""
    )
    # WCAG 2.2, contrast (minimum)
    assert {name: ratio for name, ratio in ratios.items() if ratio < 4.5} == {}


def test_the_page_prints(open_page: OpenPage, tmp_path: Path) -> None:
    opened = open_page("check-directory", scheme="dark", fresh=True)
    opened.page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert (tmp_path / "report.pdf").stat().st_size > 100_000
    assert opened.log.complaints == []


def test_a_finger_on_a_figure_tells_its_numbers_and_scrolls_the_page(open_page: OpenPage) -> None:
    page = open_page("check-hostile-names", width=390, is_mobile=True).page
    plot = page.locator("#latency-histogram .plot").first
    plot.scroll_into_view_if_needed()
    assert page.evaluate("getComputedStyle(document.querySelector('.plot')).touchAction") == "auto"
    assert plot.evaluate("(plot) => plot.drawing.width") == min(WIDTHS_PX)
    box = plot.locator("svg path[fill='var(--fill)']").first.bounding_box()
    assert box is not None
    page.touchscreen.tap(box["x"] + box["width"] / 8, box["y"] + box["height"] / 2)
    assert "I/Os" in plot.locator(".told").inner_text()


def test_a_figure_on_a_page_that_becomes_narrow_is_drawn_for_it(open_page: OpenPage) -> None:
    page = open_page("check-hostile-names", fresh=True).page
    width = "document.querySelector('#latency-histogram .plot').drawing.width"
    assert page.evaluate(width) == max(WIDTHS_PX)
    page.set_viewport_size({"width": 390, "height": 900})
    page.wait_for_function(f"() => {width} === {min(WIDTHS_PX)}")


def test_without_scripts_the_numbers_are_there(browser: Browser, reports: dict[str, Path]) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(reports["check-directory"].as_uri())
    assert page.locator("table.results tr.trial").count() == 9
    assert page.locator("table.results svg.spark path.outline").first.is_visible()
    assert "The figures need JavaScript" in page.locator("noscript").inner_text()
    context.close()


def test_a_browser_that_cannot_unpack_the_script_says_so(browser: Browser, reports: dict[str, Path]) -> None:
    page = browser.new_page()
    page.add_init_script("delete window.DecompressionStream")
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(reports["check-directory"].as_uri())
    page.get_by_text("This browser has no DecompressionStream").wait_for()
    assert complaints == []
    page.close()
