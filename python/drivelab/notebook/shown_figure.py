"""A figure that shows itself in a notebook, as data for Plotly or as a page of its own, without any network."""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import dataclass
from html import escape
from typing import Any

from drivelab.notebook.frames import Frame, arrow_of_data, as_frame, checked_frame
from drivelab.report.figures.figure import Figure, Plot
from drivelab.report.plotly_script import packed_script
from drivelab.report.static_figure import page_colours, resolved

PLOTLY_MIME = "application/vnd.plotly.v1+json"
# loads the script once per page: a second figure finds it there
_LOADER = """
<script>
(async () => {
  const draw = () => PLOTS.forEach(([id, plot]) =>
    window.Plotly.newPlot(id, plot.data, plot.layout, {responsive: true, displaylogo: false}));
  if (!window.Plotly) {
    window.drivelabPlotly ??= (async () => {
      const packed = Uint8Array.from(atob("SCRIPT"), (letter) => letter.charCodeAt(0));
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      new Function("module", "exports", "define", await new Response(stream).text())();
    })();
    await window.drivelabPlotly;
  }
  draw();
})();
</script>
"""


@dataclass(frozen=True, slots=True, repr=False)
class ShownPlot:
    """One drawing of a figure."""

    plot: Plot
    title: str

    def plotly(self) -> dict[str, Any]:
        """What ``plotly.graph_objects.Figure`` takes: data and layout, the colours those of the page in light."""
        colours = page_colours()
        layout = resolved(self.plot.layout, colours)
        layout |= {
            "height": self.plot.height_px,
            "paper_bgcolor": colours["paper"],
            "plot_bgcolor": colours["paper"],
        }
        return {"data": resolved(self.plot.data, colours), "layout": layout}

    def __repr__(self) -> str:
        return f"<plot: {self.plot.name or self.title}>"

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, Any]:
        return {PLOTLY_MIME: self.plotly(), "text/html": _html((self,), ""), "text/plain": repr(self)}


@dataclass(frozen=True, slots=True, repr=False)
class ShownFigure:
    """A figure of a report; one of several drawings shows them one below the other.

    Attributes
    ----------
    figure : Figure
        What is drawn, its words, and the numbers behind it.
    default_frame : str
        The form of `frame` when none is named.
    """

    figure: Figure
    default_frame: Frame = "arrow"

    @property
    def title(self) -> str:
        """What it shows."""
        return self.figure.title

    @property
    def caption(self) -> str:
        """How to read it."""
        return self.figure.caption

    @property
    def plots(self) -> tuple[ShownPlot, ...]:
        """Its drawings, each of which shows itself."""
        return tuple(ShownPlot(plot, self.title) for plot in self.figure.plots)

    def frame(self, kind: str = "") -> Any:
        """The numbers that it was drawn from.

        Parameters
        ----------
        kind : str
            ``arrow``, ``pandas`` or ``polars``; left out, that of the run.

        Raises
        ------
        DrivelabError
            O820: the library is not installed. O821: there is no such form.
        """
        return as_frame(arrow_of_data(self.figure.table), checked_frame(kind or self.default_frame))

    def __repr__(self) -> str:
        count = len(self.figure.plots)
        return f"<figure {self.figure.key}: {self.title}, {count} drawing{'' if count == 1 else 's'}>"

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, Any]:
        plots = self.plots
        bundle: dict[str, Any] = {"text/html": _html(plots, self.title, self.caption), "text/plain": repr(self)}
        # Plotly's form holds one drawing; of several, a reader that prefers it would see the first only
        return {PLOTLY_MIME: plots[0].plotly(), **bundle} if len(plots) == 1 else bundle


def _html(plots: tuple[ShownPlot, ...], title: str, caption: str = "") -> str:
    """The drawings as HTML that needs nothing beside it."""
    parts = [f'<div style="margin-top:1em"><b>{escape(title)}</b></div>'] if title else []
    drawn = []
    for shown in plots:
        name = f"drivelab-{uuid.uuid4().hex}"
        drawn.append([name, shown.plotly()])
        if shown.plot.name and title:
            parts.append(f"<div>{escape(shown.plot.name)}</div>")
        parts.append(f'<div id="{name}" style="height:{shown.plot.height_px}px"></div>')
    parts += [f"<div><small>{escape(caption)}</small></div>"] if caption else []
    # in three pieces: what one holds is never taken for the place of another
    head, middle, tail = re.split("PLOTS|SCRIPT", _LOADER)
    return "".join([*parts, head, _script_json(drawn), middle, packed_script().decode("ascii"), tail])


def _script_json(value: list[Any]) -> str:
    """JSON that may stand inside a script element: no character of it can end the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
