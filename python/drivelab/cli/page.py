"""The page that a command ends with, which is no reason to fail where the libraries for it are not installed."""

from __future__ import annotations

from pathlib import Path

from drivelab.cli.failure import print_message
from drivelab.model.errors import DrivelabError
from drivelab.report.html import write_html_report
from drivelab.report.joint import Joint


def write_page(joint: Joint, path: Path) -> Path | None:
    """The page that was written; None where what pages are made with is not installed, which is told on stderr."""
    try:
        return write_html_report(joint, path)
    except DrivelabError as error:
        if error.code != "O801":
            raise
        print_message(f"no page ({error.code}): {error.what}. do: {error.do}")
        return None
