"""The site of a fleet in Chromium: the list is filtered and sorted, and two runs are compared as the command does."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Browser, Page

from browser.page_log import PageLog
from drivelab.answers.comparison import compare_runs
from drivelab.cli.main import run
from drivelab.model.comparison import Comparison
from drivelab.model.metric import metric_of
from drivelab.report.site_page import SiteList, SiteRow, write_site_list
from drivelab.store.read import open_run
from made_up_fleet import made_up_drives, write_fleet

pytestmark = [pytest.mark.needs_tool("chromium")]
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
CHECK = Path(__file__).resolve().parents[1] / "golden" / "runs" / "check-directory"
_SLOWNESS = (1.0, 1.0, 1.03, 1.2)
_RUNS = 4
_ROWS = """[...document.querySelectorAll('#ratios tbody tr')].map((row) => [...row.cells].map((cell) => [
    cell.firstChild.textContent, cell.title, cell.className, cell.querySelector('.interval')?.textContent ?? '']))"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four drives with four runs each, a fifth with one, and a check of each of two others."""
    parent = tmp_path_factory.mktemp("site")
    made = [
        replace(one, slowness=slow, tags={"rack": HOSTILE if place == 3 else "r01"})
        for place, (one, slow) in enumerate(zip(made_up_drives(4, per_host=2), _SLOWNESS, strict=True))
    ]
    write_fleet(parent / "runs", made, runs_each=_RUNS)
    other = replace(made[0], serial="SN000009", host="host009", slowness=1.1)
    write_fleet(parent / "runs", [other], seed=3)
    checked = [replace(made[0], serial=f"SN00010{place}", slowness=1 + place / 5) for place in range(2)]
    write_fleet(parent / "runs", checked, base=CHECK)
    assert run(["fleet", "site", str(parent / "runs"), "--out", str(parent / "site"), "--no-run-pages"]) == 0
    return parent


@pytest.fixture
def page(chromium: Browser, site: Path) -> Iterator[Page]:
    """The list, which complains of nothing and asks for nothing."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900}, offline=True)
    page = context.new_page()
    log = PageLog(page)
    page.goto((site / "site" / "index.html").as_uri())
    yield page
    assert log.complaints == []
    assert len(log.requests) == 1
    context.close()


def compared(page: Page, base: str, new: str) -> list[Any]:
    """The cells of a comparison of two runs, by their names."""
    for name in (base, new):
        page.check(f"#rows tr[data-run='{name}'] input")
    page.click("#compare")
    page.wait_for_selector("dialog[open]")
    found: list[Any] = page.evaluate(_ROWS)
    return found


def is_the_same(rows: list[Any], comparison: Comparison) -> None:
    """Hold the numbers of a page to those of the command, which come in the same order."""
    assert [row[0][3] for row in rows] == [metric_of(row.metric).title for row in comparison.rows]
    for cells, row in zip(rows, comparison.rows, strict=True):
        verdict = cells[5][0].split(":")[0].split(",")[0]
        assert verdict == row.verdict
        assert cells[5][0].partition(": ")[2] == "; ".join(row.why if verdict == "not comparable" else ())
        known = [one for one in (row.ratio.value, row.ratio.low, row.ratio.high) if one is not None]
        assert [float(one) for one in cells[3][1].split()] == pytest.approx(known, rel=2e-5)
        if row.adjusted_p_value is not None:
            assert float(cells[5][1].split()[2].rstrip(",")) == pytest.approx(row.adjusted_p_value, rel=2e-2)


def runs_of(site: Path, serial: str) -> list[Path]:
    """The runs of a drive, the oldest first."""
    return sorted((site / "runs").glob(f"*-{serial}"))


@pytest.mark.parametrize(("base", "new"), [(0, 3), (0, 1), (0, 2), (3, 2)])
def test_two_drives_with_several_runs_are_judged_as_the_command_does(
    page: Page, site: Path, base: int, new: int
) -> None:
    sides = [runs_of(site, f"SN{number:06d}") for number in (base, new)]
    rows = compared(page, sides[0][-1].name, sides[1][-1].name)
    assert page.is_checked("#all-runs")
    comparison = compare_runs(*([open_run(one) for one in side] for side in sides))
    is_the_same(rows, comparison)
    told = page.inner_text("#told")
    for verdict, count in Counter(row.verdict for row in comparison.rows if row.is_judged).items():
        assert f"{count} {verdict}" in told
    command = page.inner_text("#command")
    assert all(f"--base {one.name}" in command for one in sides[0])
    assert all(f"--new {one.name}" in command for one in sides[1])


def test_one_run_each_is_seen_and_not_judged(page: Page, site: Path) -> None:
    sides = [runs_of(site, f"SN{number:06d}")[-1] for number in (0, 3)]
    compared(page, sides[0].name, sides[1].name)
    page.uncheck("#all-runs")
    is_the_same(page.evaluate(_ROWS), compare_runs([open_run(sides[0])], [open_run(sides[1])]))
    assert page.inner_text("#told").startswith("Nothing is judged: one run each, and another run may differ.")


def test_four_runs_beside_one_and_checks_are_seen_only(page: Page, site: Path) -> None:
    four, one = runs_of(site, "SN000000"), runs_of(site, "SN000009")
    compared(page, four[-1].name, one[0].name)
    assert not page.is_checked("#all-runs")
    page.check("#all-runs")
    is_the_same(page.evaluate(_ROWS), compare_runs([*map(open_run, four)], [open_run(one[0])]))
    assert page.inner_text("#told").startswith("Nothing is judged: 4 and 1 runs")
    page.click("#swap")
    is_the_same(page.evaluate(_ROWS), compare_runs([open_run(one[0])], [*map(open_run, four)]))
    page.click("#close")
    page.click("#clear")
    checks = [runs_of(site, f"SN00010{place}")[0] for place in range(2)]
    rows = compared(page, checks[0].name, checks[1].name)
    is_the_same(rows, compare_runs(*([open_run(check)] for check in checks)))
    page.click("#close")
    page.click("#clear")
    assert compared(page, checks[0].name, one[0].name) == []
    assert "different experiments" in page.inner_text("#told")


def test_the_list_is_filtered_by_words_and_choices_and_sorted(page: Page) -> None:
    shown = "[...document.querySelectorAll('#rows tr:not([hidden])')].map((row) => row.cells[5].textContent)"
    assert page.inner_text("#count") == "19 runs"
    page.fill("#words", "sn000003 GRID")
    assert page.evaluate(shown) == ["SN000003"] * _RUNS
    assert page.inner_text("#count") == "4 of 19 runs"
    page.click("button[type=reset]")
    page.select_option("select >> nth=0", "check")
    assert sorted(page.evaluate(shown)) == ["SN000100", "SN000101"]
    page.select_option("select >> nth=0", "")
    column = page.evaluate(
        "[...document.querySelectorAll('#filters label')].findIndex((l) => l.textContent.startsWith('rack'))"
    )
    page.select_option(f"#filters label >> nth={column} >> select", HOSTILE)
    assert page.evaluate(shown) == ["SN000003"] * _RUNS
    page.click("button[type=reset]")
    page.click("button.sort:text-is('serial')")
    page.click("button.sort:text-is('serial')")
    assert page.evaluate(shown)[:3] == ["SN000101", "SN000100", "SN000009"]
    assert page.get_attribute("th[aria-sort]", "aria-sort") == "descending"


def test_of_many_rows_the_first_are_shown_until_all_are_asked_for(chromium: Browser, tmp_path: Path) -> None:
    rows = tuple(SiteRow(f"run-{place}", (f"run {place}", "odd" if place % 2 else "even")) for place in range(1000))
    listed = SiteList("many", (), (), ("name", "answer"), rows, (), {})
    write_site_list(listed, tmp_path / "index.html")
    page = chromium.new_page()
    page.goto((tmp_path / "index.html").as_uri())
    assert page.locator("#rows tr:visible").count() == listed.shown_max
    assert page.inner_text("#more") == "show all 1000"
    page.fill("#words", "run 99")
    assert page.locator("#rows tr:visible").count() == 19
    assert not page.is_visible("#more")
    page.fill("#words", "odd")
    page.click("#more")
    assert page.locator("#rows tr:visible").count() == 500
    page.close()
    without_scripts = chromium.new_context(java_script_enabled=False)
    page = without_scripts.new_page()
    page.goto((tmp_path / "index.html").as_uri())
    assert page.locator("#rows tr:visible").count() == 1000
    without_scripts.close()


def test_a_third_tick_takes_back_the_oldest(page: Page) -> None:
    boxes = page.locator("#rows input")
    for place in range(3):
        boxes.nth(place).check()
    assert [boxes.nth(place).is_checked() for place in range(3)] == [False, True, True]


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1440, "light")])
def test_list_and_comparison_fit_the_page(chromium: Browser, site: Path, width: int, scheme: Any) -> None:
    context = chromium.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True)
    page = context.new_page()
    page.goto((site / "site" / "index.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.fill("#words", "sn000003")
    assert page.locator("#rows tr:visible").count() == _RUNS
    page.fill("#words", "")
    compared(page, runs_of(site, "SN000000")[0].name, runs_of(site, "SN000003")[0].name)
    assert page.evaluate("document.querySelector('dialog').getBoundingClientRect().right") <= width
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


def test_what_one_side_lacks_is_said(chromium: Browser, tmp_path: Path) -> None:
    runs = write_fleet(tmp_path / "runs", list(made_up_drives(2)))
    trials = pq.read_table(runs[1] / "trials.parquet")  # type: ignore[no-untyped-call]
    pq.write_table(trials.slice(0, 10), runs[1] / "trials.parquet")  # type: ignore[no-untyped-call]
    comparison = compare_runs(*([open_run(one)] for one in runs))
    assert run(["fleet", "site", str(tmp_path / "runs"), "--out", str(tmp_path / "site"), "--no-run-pages"]) == 0
    page = chromium.new_page()
    page.goto((tmp_path / "site" / "index.html").as_uri())
    compared(page, runs[0].name, runs[1].name)
    # one size alone is judged by another number than several sizes are
    both = len({tuple(row.levels.items()) for row in comparison.rows})
    assert f"Of {both} combinations the judged number is left out: only one side has it." in page.inner_text("#told")
    said = f"BASE has {len(comparison.only_base)} combinations that NEW lacks: "
    told = page.inner_text("#told")
    assert told.partition(said)[2].split("; ")[3:] == [f"and {len(comparison.only_base) - 3} more."]
    for name, metric in (("BASE", "throughput_bytes_per_s"), ("NEW", "iops")):
        assert f"Only {name} has {metric_of(metric).title} ({both} combinations)." in told
    page.click("#swap")
    swapped = said.replace("BASE", "x").replace("NEW", "BASE").replace("x", "NEW")
    assert swapped in page.inner_text("#told")
    page.close()


def test_a_run_of_two_drives_is_counted_once(chromium: Browser, tmp_path: Path) -> None:
    shutil.copytree(CHECK.parent / "write-size-two-drives", tmp_path / "runs" / "both")
    write_fleet(tmp_path / "runs", list(made_up_drives(1)))
    assert run(["fleet", "site", str(tmp_path / "runs"), "--out", str(tmp_path / "site"), "--no-run-pages"]) == 0
    page = chromium.new_page()
    page.goto((tmp_path / "site" / "index.html").as_uri())
    assert page.inner_text("h1") == "2 runs of 3 drives"
    assert page.inner_text("#count") == "2 runs, 3 rows"
    page.fill("#words", "sdb")
    assert page.inner_text("#count") == "1 of 2 runs, 1 of 3 rows"
    page.close()
