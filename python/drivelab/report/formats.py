"""Writes a report as files in the format that was chosen: the one place that knows every format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from drivelab.report.joint import Joint

Format = Literal["html", "markdown", "csv", "json", "card"]
PictureFormat = Literal["svg", "png"]
SUFFIXES: Mapping[Format, str] = {
    "html": ".html",
    "markdown": ".md",
    "csv": ".csv",
    "json": ".json",
    "card": ".svg",
}
# a name without an ending is a page
FORMAT_OF_SUFFIX: Mapping[str, Format] = {suffix: name for name, suffix in SUFFIXES.items()} | {
    ".htm": "html",
    ".markdown": "markdown",
    ".png": "card",
    "": "html",
}


def write_report_files(
    joint: Joint,
    format_name: Format,
    path: Path,
    pictures: PictureFormat | None = "svg",
    *,
    is_brief: bool = False,
) -> tuple[Path, ...]:
    """The files that were written, each whole or not at all, the report itself first.

    Parameters
    ----------
    path : Path
        The file; for CSV a directory too.
    is_brief : bool
        Whether Markdown is the answer, one picture and one table only.

    Raises
    ------
    DrivelabError
        O801, O802: it cannot be written. O803: PNGs need an extra.
    """
    # imported here: each format needs libraries of its own
    if format_name == "html":
        from drivelab.report.html import write_html_report

        return (write_html_report(joint, path),)
    if format_name == "markdown":
        from drivelab.report.markdown.report import write_markdown_report

        return (write_markdown_report(joint, path, pictures, is_brief=is_brief),)
    if format_name == "csv":
        from drivelab.report.flat_csv import write_csv_report

        return write_csv_report(joint, path)
    if format_name == "card":
        from drivelab.report.card.drawing import write_card

        return (write_card(joint, path),)
    from drivelab.report.json_report import write_json_report

    return (write_json_report(joint, path),)
