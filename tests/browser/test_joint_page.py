"""The page of several runs, and of published numbers, in a real browser: whole, reachable, quiet, drawn when opened."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))

from made_up_results import observed, result_set

from browser.page_log import PageLog
from browser.tab_key import missed_by_tab
from drivelab.joint_report import joint_report
from drivelab.reference.load import load_reference, reference_names
from drivelab.report.html import write_html_report
from drivelab.report.joint import Joint
from drivelab.report.joint_of import joint_of
from drivelab.store.read import open_run
from golden_reports import golden_joint

pytestmark = [pytest.mark.needs_tool("chromium")]
RUNS = Path(__file__).resolve().parents[1] / "golden" / "runs"
WIDTHS = (1440, 768, 390)
DRAWN = "html[data-figures=drawn]"
LONG = ("<script>alert(3)</script>'\"" + "W" * 4096)[:4096]
NAMES = ("run", "runs", "run-and-page", "page", "pages", "hostile")
# all golden runs take half a minute at each width: what a page of few does not have is looked at where room is least
AT_WIDTHS = [(name, width) for name in ("few", "pages", "hostile") for width in WIDTHS] + [("runs", 390)]
# of every kind one: a check, an explanation, and an experiment with levels
FEW = ("check-directory", "explained-appends", "settings-scan-drive")
OpenPage = Callable[..., "OpenedPage"]


class OpenedPage:
    """A report in a browser, and everything it complained about or asked for."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page = page
        self.log = PageLog(page)
        self.is_unfolded = False
        page.goto(path.as_uri())
        self.wait()

    def wait(self) -> None:
        """Wait until every figure that is not folded has been drawn."""
        self.page.wait_for_function(
            """() => document.documentElement.dataset.figures === "drawn" && [...document.querySelectorAll(".plot")]
              .every((plot) => plot.closest("details:not([open])") || plot.querySelector("svg"))""",
        )

    def open_all(self) -> None:
        """Open everything that is folded, and wait for its figures."""
        self.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        self.wait()
        self.is_unfolded = True


def hostile() -> Joint:
    """Two runs whose drive, host and levels are long scripts."""
    sets = [
        result_set(
            f"{LONG}{number}",
            observed(LONG, 50 + 9 * number, 45, 90, levels={"filesystem": LONG}, title=LONG, note=LONG),
            measured=f"2026-0{number + 1}-01",
            title=LONG,
            question=f"{LONG}{number}",
        )
        for number in range(2)
    ]
    stored = golden_joint("check-hostile-names").runs[0]
    return joint_of([replace(stored, name=one.key, question=one.question) for one in sets], sets)


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run alone; all golden runs together, and few; a run beside a page; one page and all of them; hostile names."""
    directory = tmp_path_factory.mktemp("reports")
    pages = [load_reference(name) for name in reference_names()]
    joints = {
        "run": golden_joint("settings-scan-drive"),
        "runs": golden_joint(*(path.name for path in sorted(RUNS.iterdir()))),
        "few": golden_joint(*FEW),
        "run-and-page": joint_report([open_run(RUNS / "settings-scan-drive")], [load_reference("ssd-latency")]),
        "page": joint_of([], [load_reference("ssd-latency")]),
        "pages": joint_of([], pages),
        "hostile": hostile(),
    }
    return {name: write_html_report(joint, directory / f"{name}.html") for name, joint in joints.items()}


@pytest.fixture(scope="module")
def open_page(chromium: Browser, reports: dict[str, Path]) -> Iterator[OpenPage]:
    """Opens a report, offline: ``open_page(name, width=..., scheme="dark", fresh=True)``.

    The same page is given to every test that asks for it with the same words, unless it wants a fresh one, which it
    may change; with ``unfolded=True`` everything in it has been opened, and who wants it folded later gets another.
    """
    opened: dict[tuple[object, ...], OpenedPage] = {}
    contexts: list[BrowserContext] = []

    def make(
        name: str, *, width: int = 1440, scheme: str = "light", unfolded: bool = False, fresh: bool = False
    ) -> OpenedPage:
        key = (name, width, scheme, len(opened) if fresh else None)
        if key not in opened or (opened[key].is_unfolded and not unfolded):
            size = {"width": width, "height": 900}
            context = chromium.new_context(viewport=size, color_scheme=scheme, offline=True)  # type: ignore[arg-type]
            contexts.append(context)
            opened[key] = OpenedPage(context.new_page(), reports[name])
        if unfolded and not opened[key].is_unfolded:
            opened[key].open_all()
        return opened[key]

    yield make
    for context in contexts:
        context.close()


@pytest.mark.parametrize(("name", "width"), AT_WIDTHS)
def test_nothing_is_clipped_asked_for_or_complained_about(open_page: OpenPage, name: str, width: int) -> None:
    for unfolded in (False, True):
        opened = open_page(name, width=width, unfolded=unfolded)
        beyond = opened.page.evaluate(
            """() => [...document.querySelectorAll("h1, h2, h3, p, li, dd, dt, summary, .results *, .plot, .plot svg")]
              .filter((element) => element.getClientRects().length && element.checkVisibility())
              .filter((element) => !element.closest(".scroll, .data-scroll, thead"))
              .filter((element) => !element.matches(".visually-hidden, .visually-hidden *, .skip"))
              .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
              .map((element) => element.outerHTML.slice(0, 120))"""
        )
        assert beyond == []
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
        assert opened.log.complaints == []
        assert len(opened.log.requests) == 1


@pytest.mark.parametrize(("name", "width"), AT_WIDTHS)
def test_words_inside_figures_are_not_cut_off(open_page: OpenPage, name: str, width: int) -> None:
    page = open_page(name, width=width, unfolded=True).page
    beyond = page.evaluate(
        """() => [...document.querySelectorAll(".plot")].flatMap((plot) => {
          const right = plot.getBoundingClientRect().right;
          return [...plot.querySelectorAll("svg text")]
            .filter((text) => text.getBoundingClientRect().right > right + 2)
            .map((text) => `${plot.dataset.source}: ${text.textContent}`);
        })"""
    )
    assert beyond == []


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_is_drawn_when_it_is_opened_with_named_axes_and_units(open_page: OpenPage, name: str) -> None:
    opened = open_page(name, width=390, unfolded=True)
    plots = opened.page.evaluate(
        """() => [...document.querySelectorAll(".plot")].map((plot) => ({
          source: plot.dataset.source,
          marks: plot.drawing.told.length,
          words: [...plot.querySelectorAll("svg text")].map((text) => text.textContent),
        }))"""
    )
    assert plots
    for plot in plots:
        assert plot["marks"] > 0, plot
        assert any("[" in words for words in plot["words"]), plot


def test_folded_figures_wait_until_they_are_opened(open_page: OpenPage) -> None:
    opened = open_page("few", fresh=True)
    page = opened.page
    folded = page.locator("#run-1 details.run-figures")
    drawn = folded.locator(".plot svg")
    assert drawn.count() == 0
    folded.locator("summary").first.click()
    opened.wait()
    assert drawn.count() >= folded.locator(".plot").count() > 3
    # as wide as figures are, not as wide as nothing
    width = folded.locator(".plot svg").first.evaluate("(svg) => svg.getBoundingClientRect().width")
    assert width == 1000


@pytest.mark.parametrize("name", ["runs", "page"])
def test_behind_every_figure_is_a_table_and_every_link_saves_a_csv(open_page: OpenPage, name: str) -> None:
    page = open_page(name, width=390, unfolded=True).page
    figures = page.locator("figure").evaluate_all(
        """(found) => found.map((figure) => {
          const row = figure.querySelector("table.data tbody tr");
          const box = row.getBoundingClientRect();
          const isSeen = box.width > 0 && box.height > 0 && getComputedStyle(row).visibility === "visible";
          return [isSeen, figure.querySelectorAll("a[download*='.csv']").length];
        })"""
    )
    assert figures
    assert all(figure == [True, 1] for figure in figures)
    blocks = page.locator(".table-block").evaluate_all(
        """(found) => found.map((block) => block.querySelectorAll("a[download*='.csv']").length)"""
    )
    assert all(count == 1 for count in blocks)
    first = page.locator("a[download]").first
    with page.expect_download() as waiting:
        first.click()
    lines = Path(waiting.value.path()).read_text().splitlines()
    assert waiting.value.suggested_filename.endswith(".csv")
    assert len(lines) > 2
    assert all(len(line.split(",")) > 1 for line in lines)


@pytest.mark.parametrize("name", ["few", "page"])
def test_the_tab_key_reaches_everything_that_can_be_used(open_page: OpenPage, name: str) -> None:
    opened = open_page(name, fresh=True)
    page = opened.page
    assert missed_by_tab(page, "a[href], summary, input, .plot, [tabindex='0']") == []


def test_a_link_to_what_is_folded_opens_all_that_it_lies_in(open_page: OpenPage) -> None:
    opened = open_page("few", fresh=True)
    page = opened.page
    trial = page.locator("details:not([open]) [id^='run-'][id*='-trial-']").first.get_attribute("id")
    assert not page.locator(f"#{trial}").is_visible()
    page.evaluate("(id) => { location.hash = id; }", trial)
    page.locator(f"#{trial}").wait_for(state="visible")


def test_a_link_leads_from_a_number_to_its_note(open_page: OpenPage) -> None:
    page = open_page("page", fresh=True).page
    mark = page.locator(".table-block sup.mark a").first
    place = str(mark.get_attribute("href"))
    mark.click()
    assert page.evaluate("location.hash") == place
    assert page.locator(f"[id='{place[1:]}']").is_visible()


def test_paper_has_the_tables_of_folded_parts_and_the_screen_folds_them_again(
    open_page: OpenPage, tmp_path: Path
) -> None:
    opened = open_page("few", scheme="dark", fresh=True)
    page = opened.page
    part = page.locator("#run-1 details.on-paper").first
    assert not is_open(part)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert is_open(part)
    assert not is_open(page.locator("#run-1 details.run-figures"))
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert not is_open(part)
    page.pdf(path=tmp_path / "joint.pdf", format="A4")
    assert (tmp_path / "joint.pdf").stat().st_size > 100_000
    assert opened.log.complaints == []


def is_open(details: Locator) -> bool:
    """Whether a part of the page is unfolded."""
    return bool(details.evaluate("(one) => one.open"))


def test_colours_of_a_figure_that_was_folded_again_follow_the_scheme(open_page: OpenPage) -> None:
    opened = open_page("few", scheme="dark", fresh=True)
    page = opened.page
    folded = page.locator("#run-1 details.run-figures")

    line = "getComputedStyle(document.querySelector('#run-1-latency-histogram svg path[stroke-linejoin]')).stroke"

    def toggle() -> None:
        folded.locator("summary").first.click()
        opened.wait()

    toggle()
    dark = page.evaluate(line)
    toggle()
    page.emulate_media(color_scheme="light")
    toggle()
    page.wait_for_function(f"(dark) => {line} !== dark", arg=dark)
