"""Takes a picture of a report: ``python tools/report_picture.py REPORT.html PICTURE.png [TOP_PX HEIGHT_PX]``.

The pictures of the documentation are made with it, so that they can be made again.
"""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from system_packages import find_program

WIDTH_PX = 1100
TOP_PX, HEIGHT_PX = 0, 1000


def take_picture(report: Path, picture: Path, top_px: int, height_px: int, jpeg_quality: int | None = None) -> None:
    """Open a report without a network, in light colours, and keep a part of it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_program("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH_PX, "height": top_px + height_px}, color_scheme="light")
        page.goto(report.resolve().as_uri())
        page.wait_for_selector("html[data-figures=drawn]", state="attached")
        page.screenshot(
            path=picture,
            clip={"x": 0, "y": top_px, "width": WIDTH_PX, "height": height_px},
            quality=jpeg_quality,
        )
        browser.close()


if __name__ == "__main__":
    report_path, picture_path, *part = sys.argv[1:]
    top, height = (int(number) for number in part) if part else (TOP_PX, HEIGHT_PX)
    take_picture(Path(report_path), Path(picture_path), top, height)
