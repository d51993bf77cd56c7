"""The page of a thousand drives in Chromium: it stays small, opens, and draws a dot for each drive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from drivelab.analyse.drive_comparison import compare_drives
from drivelab.analyse.drive_spread import drive_medians
from drivelab.model.drive_values import FleetDrive, FleetNumber, FleetNumbers, NumberKey
from drivelab.report.fleet_joint import joint_of_fleet
from drivelab.report.html import write_html_report
from made_up_fleet import made_up_drives

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.needs_tool("chromium")]
PAGE_BYTES_MAX = 3_000_000


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A thousand drives of three models, twenty numbers of each."""
    random = np.random.default_rng(1)
    made = list(made_up_drives(1000, models=("A 480", "B 960", "<i>C</i>")))
    drives = [
        FleetDrive(f"{one.host}/{one.serial}", one.host, one.serial, one.name, one.model, one.firmware, one.tags)
        for one in made
    ]
    numbers = []
    for depth in range(20):
        key = NumberKey("grid", "reads", "random reads", "read", (("queue_depth", f"{depth}"),), "iops")
        slowness = [one.slowness * (1.4 if place == 7 else 1) for place, one in enumerate(made)]
        values = [(((1000 * (depth + 1)) / slow * float(np.exp(random.normal(0, 0.01))),),) for slow in slowness]
        numbers.append(FleetNumber(key, True, {drive.key: its for drive, its in zip(drives, values, strict=True)}))
    found = FleetNumbers(tuple(drives), tuple(numbers))
    joint = joint_of_fleet(compare_drives(found), {one.key: drive_medians(one) for one in numbers})
    return write_html_report(joint, tmp_path_factory.mktemp("fleet") / "fleet.html")


@pytest.mark.parametrize("width", [360, 1440])
def test_a_thousand_drives_are_drawn_on_a_small_page(chromium: Browser, page_file: Path, width: int) -> None:
    assert page_file.stat().st_size < PAGE_BYTES_MAX
    context = chromium.new_context(viewport={"width": width, "height": 900}, offline=True)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(page_file.as_uri())
    page.wait_for_function("document.documentElement.dataset.figures === 'drawn'")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    told = "document.querySelector('.plot').drawing.told.map((line) => line.x.length).reduce((a, b) => a + b)"
    assert page.evaluate(told) == 1000
    assert page.inner_text(".sentence").startswith("999 of 1000 drives are alike")
    assert complaints == []
    context.close()
