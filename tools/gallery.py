"""Draws the pictures of ``docs/gallery.md`` from the stored runs of the tests: ``make gallery``.

Pages are seen in a browser, shrunk to the width that the documentation shows;
cards and the picture of a short report are what drivelab writes itself.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from report_picture import take_picture

PROJECT = Path(__file__).resolve().parents[1]
RUNS = PROJECT / "tests" / "golden" / "runs"
PLACE = PROJECT / "docs" / "images" / "gallery"
sys.path.insert(0, str(PROJECT / "tests"))
# of a page: its top, as far as a screen shows it
HEIGHT_PX, JPEG_QUALITY = 860, 72
REPORTS = {
    "page-check": ["check-directory"],
    "page-experiment": ["write-size-two-drives"],
    "page-explain": ["explained-appends"],
    "page-published": ["write-size-two-drives", "--with-reference", "intel-530"],
}
CARDS = {"card-check": "check-directory", "card-experiment": "settings-scan-drive"}


def main() -> None:
    """Draw all of them again."""
    from drivelab.cli.main import run

    write_compared_run = import_module("golden.compared_runs").write_compared_run

    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        for name, (first, *options) in REPORTS.items():
            run(["report", str(RUNS / first), *options, "--out", str(place / f"{name}.html")])
        sides = {"ext4": 1.0, "xfs": 1 / 2.7}
        for number, (name, factor) in enumerate((side, size) for side, size in sides.items() for _ in range(5)):
            write_compared_run(place / name / str(number), number, factor=factor, run_noise=0.05, filesystems=(name,))
        run(["compare", str(place / "ext4"), str(place / "xfs"), "--out", str(place / "page-compare.html")])
        for page in place.glob("*.html"):
            take_picture(page, PLACE / f"{page.stem}.jpg", 0, HEIGHT_PX, JPEG_QUALITY)
    for name, stored in CARDS.items():
        run(["report", str(RUNS / stored), "--out", str(PLACE / f"{name}.svg")])


if __name__ == "__main__":
    main()
