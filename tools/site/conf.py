"""How Sphinx makes a site of the Markdown pages: the pages themselves know nothing of it.

The contents at the left come from the lists of links in ``docs/index.md``, the
one place where a page has to be entered.
"""

import re
from pathlib import Path

from sphinx.application import Sphinx

PROJECT = Path(__file__).resolve().parents[2]
INDEX = "docs/index"

project = "drivelab"
copyright = "the drivelab authors"  # noqa: A001
extensions = ["myst_parser"]
include_patterns = ["docs/**", "README.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"]
root_doc = INDEX
myst_heading_anchors = 4
myst_enable_extensions = ["tasklist"]
# console sessions and shortened JSON are shown as they are
suppress_warnings = ["misc.highlighting_failure"]
html_theme = "furo"
html_title = "drivelab"
html_additional_pages = {"index": "to_docs.html"}
templates_path = ["templates"]
html_copy_source = False
html_show_copyright = False

_SECTION = re.compile(r"^## (.+?)$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_PAGE_LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)\.md(?:#[^)]*)?\)")
_START = "tutorial"


def _contents(index: str) -> str:
    """Sphinx's lists of contents, one for each section of the index."""
    sections = [("", _START)]
    for title, text in _SECTION.findall(index):
        pages = dict.fromkeys(_PAGE_LINK.findall(text))
        sections.append((title, "\n".join(page for page in pages if page != _START)))
    return "".join(
        f"\n```{{toctree}}\n:hidden:\n{f':caption: {title}' if title else ''}\n\n{pages}\n```\n"
        for title, pages in sections
    )


def _add_contents(_app: Sphinx, page: str, source: list[str]) -> None:
    if page == INDEX:
        source[0] += _contents(source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.connect("source-read", _add_contents)
    return {"parallel_read_safe": True}
