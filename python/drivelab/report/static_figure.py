"""Figures as SVG and PNG files, for formats that run no script: drawn by the system's Chromium in one start.

The script of the charts is the one that the page carries, so that a picture
is what the page shows. Kaleido does the same, but brings five packages and draws
parts under names of chance, so that no file is ever the same again; driving the
browser directly (`report.chromium`) needs neither, and is no slower.

Colours are those of the page in light. Letters are those of Arial, or of fonts
of the same widths: a picture is looked at on another computer than the one that drew it.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from drivelab.held_directory import HeldDirectory
from drivelab.model.errors import DrivelabError
from drivelab.model.printable import printable
from drivelab.report.chromium import Chromium
from drivelab.report.figures.figure import Figure, Plot
from drivelab.report.joint import Joint
from drivelab.report.named_figures import file_name, named_figures
from drivelab.report.plotly_script import script
from drivelab.report.report_file import report_file

Format = Literal["svg", "png"]
WIDTH_PX = 900
# dots of a PNG for each of its pixels: screens have two
PNG_SCALE = 2
FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"
_VARIABLE = re.compile(r"--([\w-]+):\s*([^;]+);")
# width of a letter of a label; what is longer than the picture is cut, as the page does it
_LETTER_PX = 6.4
_ROW_MARGIN_PX, _PANEL_MARGIN_PX = 30, 80
# names of workloads may be as long as a file's name, and there is an ending to come
_NAME_LENGTH_MAX = 80
_PANEL = re.compile(r"<b>(.*?)</b>(.*)", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
# same picture, same bytes: the names of its parts are drawn from a sequence that starts again with each
_DRAW = """
(async (figure, format, scale) => {
  let state = 1;
  Math.random = () => { state = (state * 48271) % 2147483647; return state / 2147483647; };
  const holder = document.createElement("div");
  document.body.append(holder);
  const {width, height} = figure.layout;
  await Plotly.newPlot(holder, figure.data, figure.layout, {staticPlot: true});
  const address = await Plotly.toImage(holder, {format, width, height, scale});
  Plotly.purge(holder);
  holder.remove();
  return format === "svg" ? decodeURIComponent(address.slice(address.indexOf(",") + 1)) : address;
})
"""
_DRAW_PICTURE = """
(async (address, width, height) => {
  const picture = new Image();
  picture.src = address;
  await picture.decode();
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  canvas.getContext("2d").drawImage(picture, 0, 0, width, height);
  return canvas.toDataURL("image/png");
})
"""


@dataclass(frozen=True, slots=True)
class FigureFile:
    """A picture that was written: under which name, of which plot of which figure, and where."""

    name: str
    figure: Figure
    plot: Plot
    path: Path


def figure_svg(figure: Figure) -> tuple[str, ...]:
    """The drawings of a figure as SVG documents, one per plot.

    Raises
    ------
    DrivelabError
        O803, O804: Chromium is missing, or did not draw.
    """
    return tuple(data.decode() for data in _drawn(figure.plots, "svg"))


def figure_png(figure: Figure) -> tuple[bytes, ...]:
    """The drawings of a figure as PNG files, one per plot, `PNG_SCALE` dots to a pixel.

    Raises
    ------
    DrivelabError
        O803, O804: Chromium is missing, or did not draw.
    """
    return tuple(_drawn(figure.plots, "png"))


def write_figures(
    figures: Sequence[tuple[str, Figure]], directory: Path, kind: Format = "svg"
) -> tuple[FigureFile, ...]:
    """The pictures of figures, written in one start of the browser: ``NAME.svg``, of several ``NAME-SHOWN.svg``.

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
        O802: a file cannot be written. O803, O804: Chromium is missing, or did not draw; nothing is written then.
    """
    plots = [
        (name, figure, plot, directory / f"{name}{own}.{kind}")
        for name, figure in figures
        for plot, own in zip(figure.plots, _own_names(figure.plots), strict=True)
    ]
    drawn = list(_drawn([plot for _, _, plot, _ in plots], kind)) if plots else []
    is_new = not directory.exists()
    try:
        for data, (_, _, _, path) in zip(drawn, plots, strict=True):
            _write(path, data)
    except BaseException:
        if is_new:
            # pictures without their report help nobody
            shutil.rmtree(directory, ignore_errors=True)
        raise
    return tuple(FigureFile(*one) for one in plots)


def _own_names(plots: Sequence[Plot]) -> Iterator[str]:
    """What the file of each drawing has behind the name of its figure: what it shows, or its number."""
    names = [file_name(plot.name).lower()[:_NAME_LENGTH_MAX] if plot.name else "" for plot in plots]
    for number, name in enumerate(names, start=1):
        is_told_apart = name and names.count(name) == 1
        yield f"-{name}" if is_told_apart and len(plots) > 1 else "" if number == 1 else f"-{number}"


def write_report_figures(joint: Joint, directory: Path, kind: Format = "svg") -> tuple[Path, ...]:
    """Every figure of a report as files in a directory, under the names that its Markdown uses.

    Raises
    ------
    DrivelabError
        As `write_figures`.
    """
    named = [(one.name, one.figure) for one in named_figures(joint)]
    return tuple(one.path for one in write_figures(named, directory, kind))


def svg_as_png(svg: str, width_px: int, height_px: int) -> bytes:
    """An SVG document as a PNG file of that size.

    Raises
    ------
    DrivelabError
        O803, O804: Chromium is missing, or did not draw.
    """
    address = f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
    with Chromium() as browser:
        text = browser.evaluate(f'{_DRAW_PICTURE}("{address}", {width_px}, {height_px})')
    return base64.b64decode(text.partition(",")[2])


def _write(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # the name of the folder is ours: a link in its place would lead to somebody else's files
        with HeldDirectory.open(path.parent.parent) as place, report_file(path, inside=place) as aside:
            aside.write_bytes(data)
    except OSError as error:
        raise DrivelabError("O802", error.strerror or str(error), where=str(path)) from error


def _drawn(plots: Sequence[Plot], kind: Format) -> Iterator[bytes]:
    """The drawings as files, in their order."""
    colours = page_colours()
    with Chromium() as browser:
        browser.evaluate("document.documentElement.innerHTML = '<body></body>'")
        browser.evaluate(script().decode() + "\n;0")
        for plot in plots:
            picture = json.dumps(static_plot(plot, colours))
            text = browser.evaluate(f'{_DRAW}({picture}, "{kind}", {PNG_SCALE if kind == "png" else 1})')
            yield text.encode() if kind == "svg" else base64.b64decode(text.partition(",")[2])


def page_colours() -> dict[str, str]:
    """What the page's style sheet calls its colours in light, by name: ``{"ink": "#1a1e23"}``."""
    style = files("drivelab.report").joinpath("templates", "page.css").read_text(encoding="utf-8")
    # the first block holds them for light; later ones are for dark and paper
    return dict(_VARIABLE.findall(style.partition("}")[0])) | {"font": FONT}


def static_plot(plot: Plot, colours: Mapping[str, str]) -> dict[str, Any]:
    """A plot as Plotly draws it on paper: colours in place of their names, a size, and labels that fit it.

    Parameters
    ----------
    plot : Plot
        As the page has it.
    colours : mapping of str to str
        Values of the CSS variables, by name.
    """
    layout = resolved(plot.layout, colours)
    layout |= {"width": WIDTH_PX, "height": plot.height_px, "autosize": False}
    # pages that show it may be dark
    layout |= {"paper_bgcolor": colours["paper"], "plot_bgcolor": colours["paper"]}
    for note in layout.get("annotations", ()):
        if note.get("name") == "panel":
            note["text"] = _panel_label(note["text"])
        elif note.get("name") == "row":
            note["text"] = _cut(note["text"], WIDTH_PX - _ROW_MARGIN_PX)
    data = resolved(plot.data, colours)
    for trace in data:
        if trace.get("name"):
            trace["name"] = _cut(trace["name"], WIDTH_PX - _PANEL_MARGIN_PX - _ROW_MARGIN_PX)
    return {"data": data, "layout": layout}


def resolved(value: Any, colours: Mapping[str, str]) -> Any:
    """Plain data with every ``var(--name)`` replaced by its value, and in characters that XML allows."""
    if isinstance(value, str):
        return colours[value[6:-1]] if value.startswith("var(--") else printable(value)
    if isinstance(value, Mapping):
        return {key: resolved(item, colours) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [resolved(item, colours) for item in value]
    return value


def _panel_label(text: str) -> str:
    found = _PANEL.fullmatch(text)
    label, more = (found[1], found[2]) if found else (text, "")
    room = WIDTH_PX - _PANEL_MARGIN_PX
    fits = (len(label) + len(_TAG.sub("", more))) * _LETTER_PX < room
    return text if fits else f"<b>{_cut(label, room)}</b>"


def _cut(text: str, room_px: float) -> str:
    """A label that fits its room; it is in Plotly's small markup, where three characters are written in words."""
    plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    letters = max(8, int(room_px / _LETTER_PX))
    if len(plain) <= letters:
        return text
    return f"{plain[: letters - 1]}…".replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
