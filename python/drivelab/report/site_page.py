"""The list of a site: every run of many drives on one page that is filtered, sorted and compared in the browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drivelab.report.html import page_templates, policy_of, template_text
from drivelab.report.placed import packed_json
from drivelab.report.report_file import report_file
from drivelab.report.sentences.comparison import how_to_read

_SCRIPTS = ("unpack.js", "two_sides.js", "site.js")


@dataclass(frozen=True, slots=True)
class SiteRow:
    """A run on one target.

    Attributes
    ----------
    cells : tuple of str
        What stands below each column; empty where it is not known.
    page : str
        Link to its own report; empty where there is none.
    place : tuple of int
        Of its experiment, of itself and of its drive in what the page compares with; empty where it has no numbers.
    """

    run: str
    cells: tuple[str, ...]
    page: str = ""
    place: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SiteChoice:
    """A column that rows are chosen by: its name, its place, and its levels."""

    name: str
    column: int
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SiteLink:
    """Another page of the site."""

    href: str
    text: str


@dataclass(frozen=True, slots=True)
class SiteList:
    """What the list shows.

    Attributes
    ----------
    sentences : tuple of str
        What the runs tell.
    links : tuple of SiteLink
        The other pages.
    choices : tuple of SiteChoice
        What rows are chosen by.
    pairwise : mapping of str to object
        What two of them are compared with, plain data.
    shown_max : int
        Rows that are shown before somebody asks for all.
    """

    title: str
    sentences: tuple[str, ...]
    links: tuple[SiteLink, ...]
    columns: tuple[str, ...]
    rows: tuple[SiteRow, ...]
    choices: tuple[SiteChoice, ...]
    pairwise: Mapping[str, Any]
    shown_max: int = 200


def choices_of(columns: Sequence[str], rows: Sequence[SiteRow], names: Sequence[str]) -> tuple[SiteChoice, ...]:
    """The columns of these names that have more than one level."""
    found = []
    for name in names:
        column = columns.index(name)
        levels = sorted({row.cells[column] for row in rows} - {""})
        if len(levels) > 1:
            found.append(SiteChoice(name, column, tuple(levels)))
    return tuple(found)


def write_site_list(site: SiteList, path: Path) -> None:
    """Write the page, whole or not at all.

    Raises
    ------
    DrivelabError
        O801: what pages are made with is not installed. O802: it cannot be written.
    """
    templates = page_templates()
    script = "\n".join(template_text(name).strip() for name in _SCRIPTS)
    page = templates.get_template("site.html.j2").generate(
        site=site,
        style=template_text("page.css") + template_text("site.css"),
        policy=policy_of(script),
        packed=packed_json(site.pairwise),
        how_to_read=how_to_read(),
    )
    with report_file(path) as aside, aside.open("wb") as file:
        for text in page:
            file.write(text.encode("utf-8", "backslashreplace"))
        file.write(f"<script>{script}</script>\n</body>\n</html>\n".encode())
