"""Figures as SVG and PNG files, for formats that run no script.

Colours are those of the page in light. Letters of an SVG are those of Arial, or of fonts of the same widths: it is
looked at on another computer than the one that drew it. A PNG has those of a font of ours, so that it is the same
everywhere; only letters that this lacks are taken from the system's.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from drivelab.held_directory import HeldDirectory
from drivelab.model.errors import DrivelabError
from drivelab.report.figures.figure import Figure, Plot
from drivelab.report.named_figures import file_name
from drivelab.report.report_file import report_file
from drivelab.report.svg.drawing import draw

Format = Literal["svg", "png"]
WIDTH_PX = 900
# dots of a PNG for each of its pixels: 300 to an inch where it is as wide as a page
PNG_SCALE = 2
FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"
_OUR_FONT = "Liberation Sans"
# our font has no such cross, and what it marks must not be believed
_LETTERS = {"✗": "×"}
_VARIABLE = re.compile(r"--([\w-]+):\s*([^;]+);")
_FAMILY = re.compile(r'font-family="[^"]*"')
# names of workloads may be as long as a file's name, and there is an ending to come
_NAME_LENGTH_MAX = 80


@dataclass(frozen=True, slots=True)
class FigureFile:
    """A picture that was written: under which name, of which plot of which figure, and where."""

    name: str
    figure: Figure
    plot: Plot
    path: Path


def write_figures(
    figures: Sequence[tuple[str, Figure]], directory: Path, kind: Format = "svg"
) -> tuple[FigureFile, ...]:
    """The pictures of figures: ``NAME.svg``, of several drawings ``NAME-SHOWN.svg``.

    Parameters
    ----------
    figures : sequence of (name, Figure)
        What is drawn; the name is that of the files, without their ending.
    directory : Path
        Where the files go; made when it is not there.
    kind : str
        svg or png.

    Raises
    ------
    DrivelabError
        O802: a file cannot be written. O803: what PNGs are made with is not installed; nothing is written then.
    """
    plots = [
        (name, figure, plot, directory / f"{name}{own}.{kind}")
        for name, figure in figures
        for plot, own in zip(figure.plots, _own_names(figure.plots), strict=True)
    ]
    rasterised = png_maker() if kind == "png" else None
    is_new = not directory.exists()
    try:
        for _, figure, plot, path in plots:
            svg = plot_svg(plot, figure.title)
            _write(path, rasterised(svg) if rasterised else svg.encode())
    except BaseException:
        if is_new:
            # pictures without their report help nobody
            shutil.rmtree(directory, ignore_errors=True)
        raise
    return tuple(FigureFile(*one) for one in plots)


def plot_svg(plot: Plot, title: str) -> str:
    """One drawing of a figure as an SVG document, in the page's light colours."""
    named = ", ".join(filter(None, (title, plot.name)))
    return draw(plot, WIDTH_PX, colours=page_colours(), title=named).svg


def png_maker(scale: int = PNG_SCALE) -> Callable[[str], bytes]:
    """What makes a PNG of an SVG document, so many dots to a pixel.

    Raises
    ------
    DrivelabError
        O803: the library that does it is not installed.
    """
    try:
        from resvg_py import svg_to_bytes
    except ImportError as error:
        raise DrivelabError("O803", "the resvg-py package is not installed") from error
    fonts = [str(path) for path in (files("drivelab.report") / "fonts").iterdir() if path.name.endswith(".ttf")]

    def png(svg: str) -> bytes:
        for letter, other in _LETTERS.items():
            svg = svg.replace(letter, other)
        svg = _FAMILY.sub(f'font-family="{_OUR_FONT}"', svg, count=1)
        return bytes(svg_to_bytes(svg_string=svg, zoom=scale, font_files=sorted(fonts), font_family=_OUR_FONT))

    return png


def _own_names(plots: Sequence[Plot]) -> Iterator[str]:
    """What the file of each drawing has behind the name of its figure: what it shows, or its number."""
    names = [file_name(plot.name).lower()[:_NAME_LENGTH_MAX] if plot.name else "" for plot in plots]
    for number, name in enumerate(names, start=1):
        is_told_apart = name and names.count(name) == 1
        yield f"-{name}" if is_told_apart and len(plots) > 1 else "" if number == 1 else f"-{number}"


def _write(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # the name of the folder is ours: a link in its place would lead to somebody else's files
        with HeldDirectory.open(path.parent.parent) as place, report_file(path, inside=place) as aside:
            aside.write_bytes(data)
    except OSError as error:
        raise DrivelabError("O802", error.strerror or str(error), where=str(path)) from error


@lru_cache(maxsize=1)
def page_colours() -> dict[str, str]:
    """What the page's style sheet calls its colours in light, by name: ``{"ink": "#1a1e23"}``."""
    style = files("drivelab.report").joinpath("templates", "page.css").read_text(encoding="utf-8")
    # the first block holds them for light; later ones are for dark and paper
    return dict(_VARIABLE.findall(style.partition("}")[0])) | {"font": FONT}
