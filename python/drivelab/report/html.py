"""Writes a report as a page: one HTML file that needs no network, no server and nothing beside it."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from drivelab.model.errors import DrivelabError
from drivelab.report import outcome_words
from drivelab.report.joint import Joint
from drivelab.report.joint_page import JointPage, joint_page_of
from drivelab.report.numerals import count_text, typeset
from drivelab.report.report_file import report_file
from drivelab.report.reported_findings import ended
from drivelab.report.sparkline import BASE, HEIGHT, WIDTH

if TYPE_CHECKING:
    from types import ModuleType

    from jinja2 import Environment

FILE_NAME = "report.html"


def write_html_report(joint: Joint, path: Path) -> Path:
    """Path of the report, written whole or not at all.

    Raises
    ------
    DrivelabError
        O801: what pages are made with is not installed. O802: the file cannot be written.
    """
    # first: without these there is nothing to be made
    templates = page_templates()
    page = joint_page_of(joint)
    with report_file(path) as aside, aside.open("wb") as file:
        for piece in html_pieces(page, templates):
            file.write(piece)
    return path


def html_pieces(page: JointPage, templates: Environment) -> Iterator[bytes]:
    """The page in pieces, so that it is never held as a whole."""
    behaviour = f"{template_text('unpack.js').strip()}\n{template_text('page.js').strip()}"
    head = templates.get_template("page.html.j2").generate(
        report=page,
        style=template_text("page.css"),
        policy=policy_of(behaviour),
        spark={"width": WIDTH, "height": HEIGHT, "base": BASE},
    )
    for text in head:
        # the name of a file need not be UTF-8
        yield text.encode("utf-8", "backslashreplace")
    yield f"<script>{behaviour}</script>\n</body>\n</html>\n".encode()


def page_templates() -> Environment:
    """The templates of pages, with what they call.

    Raises
    ------
    DrivelabError
        O801: Jinja is not installed.
    """
    try:
        import jinja2
    except ImportError as error:
        raise DrivelabError("O801", "the jinja2 package is not installed") from error
    return _compiled_templates(jinja2)


# compiling them takes a quarter of the time of a small page
@functools.cache
def _compiled_templates(jinja2: ModuleType) -> Environment:
    environment: Environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(template_text),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["count"] = count_text
    environment.globals["outcomes"] = outcome_words
    environment.filters["typeset"] = typeset
    environment.filters["ended"] = ended
    return environment


def template_text(name: str) -> str:
    """A file of the templates folder."""
    return (files("drivelab.report") / "templates" / name).read_text(encoding="utf-8")


def policy_of(script: str) -> str:
    """A content security policy: this script, no other, and not a single request."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; base-uri 'none'"
