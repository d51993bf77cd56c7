"""Where a report goes and in which format: what was typed, what it means, and the writing of it."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from drivelab.model.errors import DrivelabError
from drivelab.report.formats import FORMAT_OF_SUFFIX, SUFFIXES, Format, PictureFormat, write_report_files
from drivelab.report.joint import Joint
from drivelab.store.durable import typed_file
from drivelab.store.remote.cache import is_cached
from drivelab.streams import verbatim_stdout

WITHOUT_PICTURES = "none"
STDOUT = "-"
_OF_SEVERAL = "joint-report"


def chosen_format(name: str | None, out: Path | None, *, has_option: bool = True, is_brief: bool = False) -> Format:
    """The format that was asked for; without a word the one that the file's name ends in, else a page.

    Parameters
    ----------
    has_option : bool
        Whether the command has ``--format``.
    is_brief : bool
        Whether the short form is wanted: without a word that is Markdown.
    """
    if name is None and (out is None or out.is_dir()):
        return "markdown" if is_brief else "html"
    if name is None:
        ending = out.suffix.lower() if out else ""
        if ending not in FORMAT_OF_SUFFIX:
            do = f"name it one of {', '.join(SUFFIXES.values())}{', or add --format' if has_option else ''}"
            raise DrivelabError("U005", f"no format of reports ends in '{ending}'", where=f"--out {out}", do=do)
        return FORMAT_OF_SUFFIX[ending]
    for known in SUFFIXES:
        if known == name.lower():
            return known
    raise DrivelabError("U005", f"unknown format '{name}'", where="--format", do=f"one of {', '.join(SUFFIXES)}")


def named_place(typed: str | None, format_name: str | None) -> Path | None:
    """What was typed behind ``--out``: a name that ends in a slash is a directory, which only CSV makes by itself."""
    if typed is None:
        return None
    if not typed.endswith("/") or Path(typed).is_dir() or (format_name or "").lower() == "csv":
        return Path(typed)
    raise DrivelabError("O802", f"there is no directory {typed}", where="--out", do=f"make it: mkdir -p {quote(typed)}")


def destination(
    format_name: Format, out: Path | None, directories: Sequence[Path], pages: Sequence[str]
) -> Path | None:
    """The file, or for CSV also the directory, to write; None for stdout.

    Parameters
    ----------
    out : Path or None
        As typed; ``-`` is stdout, and a directory takes a file under the name of the run.
    pages : sequence of str
        Names of the published pages in it.

    Returns
    -------
    Path or None
        Without `out` a page goes to the directory of the run (of several: the
        first), under a name that leaves the run's own page alone; of nothing
        but published pages, and of runs of a store elsewhere, to the working directory. All other formats go to stdout.
    """
    if out is not None and str(out) == STDOUT:
        return None
    several = len(directories) + len(pages) > 1
    if out is not None:
        # CSV takes a directory for itself: a file per table
        if not out.is_dir() or format_name == "csv":
            return typed_file(out)
        name = _OF_SEVERAL if several else directories[0].resolve().name if directories else pages[0]
        return out / f"{name}{SUFFIXES[format_name]}"
    if format_name != "html":
        return None
    if not directories or is_cached(directories[0]):
        # a run that was brought here from a store elsewhere has no place of its own
        name = _OF_SEVERAL if several else directories[0].name if directories else pages[0]
        return Path(f"{name}{SUFFIXES[format_name]}")
    return directories[0] / (f"{_OF_SEVERAL}.html" if several else "report.html")


def chosen_pictures(name: str | None, format_name: Format, *, is_brief: bool = False) -> PictureFormat | None:
    """What the pictures of a Markdown report are; None for a report without."""
    option = "--brief" if is_brief else "--figures"
    if format_name != "markdown" and (is_brief or name is not None):
        what = f"{option} is for Markdown, and this report is {format_name}"
        do = f"write Markdown: --format markdown {option}; or leave {option} out"
        raise DrivelabError("U004", what, where="drivelab report", do=do)
    if name is None:
        return "svg"
    if name not in ("svg", "png", WITHOUT_PICTURES):
        do = f"one of svg, png, {WITHOUT_PICTURES}"
        raise DrivelabError("U005", f"unknown kind of picture '{name}'", where="--figures", do=do)
    return "svg" if name == "svg" else "png" if name == "png" else None


def write_report(
    joint: Joint, format_name: Format, path: Path | None, pictures: PictureFormat | None, *, is_brief: bool = False
) -> tuple[Path, ...]:
    """The files that were written; none when the report went to stdout.

    Parameters
    ----------
    pictures : str or None
        What the pictures beside a Markdown file are; printed Markdown has none.
    is_brief : bool
        Whether Markdown is the answer, one picture and one table only.
    """
    if path is not None and format_name != "csv" and not path.parent.is_dir():
        # before anything is drawn: a place that was mistyped is told at once, and no folder of pictures is made there
        raise DrivelabError("O802", f"there is no directory {path.parent}", where=str(path))
    if path is not None:
        return write_report_files(joint, format_name, path, pictures, is_brief=is_brief)
    with tempfile.TemporaryDirectory(prefix="drivelab-report-") as directory:
        aside = Path(directory) / f"report{SUFFIXES[format_name]}"
        (file,) = write_report_files(joint, format_name, aside, None, is_brief=is_brief)
        if hasattr(sys.stdout, "reconfigure"):
            # a report is UTF-8, as its page says, whatever the locale
            sys.stdout.reconfigure(encoding="utf-8")
        with file.open(encoding="utf-8", newline="") as text:
            if format_name == "html":
                # what it holds of others is spelled out for browsers, and its scripts are known by their hashes
                with verbatim_stdout() as out:
                    shutil.copyfileobj(text, out)
            else:
                sys.stdout.write(text.read())
    return ()
