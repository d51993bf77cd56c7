"""A figure that shows itself in a notebook, as data for Plotly or as a picture, without any network."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from drivelab.model.printable import printable
from drivelab.notebook.frames import Frame, arrow_of_data, as_frame, checked_frame
from drivelab.report.figures.figure import Figure, Plot
from drivelab.report.static_figure import page_colours, plot_svg

PLOTLY_MIME = "application/vnd.plotly.v1+json"
_VARIABLE = re.compile(r"var\(--([\w-]+)\)")


@dataclass(frozen=True, slots=True, repr=False)
class ShownPlot:
    """One drawing of a figure."""

    plot: Plot
    title: str

    def plotly(self) -> dict[str, Any]:
        """What ``plotly.graph_objects.Figure`` takes: data and layout, the colours those of the page in light."""
        colours = page_colours()
        layout = _resolved(self.plot.layout, colours)
        layout |= {
            "height": self.plot.height_px,
            "paper_bgcolor": colours["paper"],
            "plot_bgcolor": colours["paper"],
        }
        return {"data": _resolved(self.plot.data, colours), "layout": layout}

    def svg(self) -> str:
        """It as an SVG document, in the page's light colours."""
        return plot_svg(self.plot, self.title)

    def __repr__(self) -> str:
        return f"<plot: {self.plot.name or self.title}>"

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, Any]:
        return {PLOTLY_MIME: self.plotly(), "text/html": _html((self,), ""), "text/plain": repr(self)}


@dataclass(frozen=True, slots=True, repr=False)
class ShownFigure:
    """A figure of a report; one of several drawings shows them one below the other.

    Attributes
    ----------
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
    """The drawings as HTML that needs nothing beside it, each a document of its own: no part is taken for another's."""
    parts = [f'<div style="margin-top:1em"><b>{escape(title)}</b></div>'] if title else []
    for shown in plots:
        if shown.plot.name and title:
            parts.append(f"<div>{escape(shown.plot.name)}</div>")
        packed = base64.b64encode(shown.svg().encode()).decode("ascii")
        words = escape(shown.plot.name or shown.title)
        parts.append(f'<img alt="{words}" style="max-width:100%" src="data:image/svg+xml;base64,{packed}">')
    parts += [f"<div><small>{escape(caption)}</small></div>"] if caption else []
    return "".join(parts)


def _resolved(value: Any, colours: Mapping[str, str]) -> Any:
    """Plain data with every ``var(--name)`` replaced by its value."""
    if isinstance(value, str):
        found = _VARIABLE.fullmatch(value)
        return colours[found[1]] if found else printable(value)
    if isinstance(value, Mapping):
        return {key: _resolved(item, colours) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_resolved(item, colours) for item in value]
    return value
