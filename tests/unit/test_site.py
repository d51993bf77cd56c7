"""The documentation as a site: it builds without a warning, and its contents lead to every page."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


def test_the_site_holds_every_page_and_leads_to_it(tmp_path: Path) -> None:
    site = tmp_path / "site"
    options = ["--quiet", "--fail-on-warning", "-c", "tools/site", "-d", str(tmp_path / "doctrees")]
    made = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, ".", str(site)], cwd=PROJECT, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    start = (site / "docs" / "index.html").read_text()
    contents = start[start.index('class="sidebar-tree"') : start.index("</aside>")]
    listed = {(site / "docs" / link).resolve() for link in re.findall(r'href="([^"#]+)"', contents)}
    pages = {page.with_suffix(".html") for page in (PROJECT / "docs").rglob("*.md") if page.name != "index.md"}
    assert {site / page.relative_to(PROJECT) for page in pages} <= listed
    assert 'url=docs/index.html"' in (site / "index.html").read_text()
