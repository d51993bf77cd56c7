"""Every figure of a report with a name of its own, which is that of its files."""

from __future__ import annotations

import re
from dataclasses import dataclass

from drivelab.model.names import free_name
from drivelab.report.figures.figure import Figure
from drivelab.report.figures.of_run import figures_of_run, overview_of_run, traced_figures_of_run
from drivelab.report.joint import Joint

# no second drawing of a figure, which is NAME-2
_FORM = "{}-b{}"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class NamedFigure:
    """A figure and its name.

    Attributes
    ----------
    name : str
        The figure's key; of one run of several, the name of the run before it.
    run : int or None
        Place (from 0) of the run that it is about; None for all of them together.
    """

    name: str
    figure: Figure
    run: int | None = None


def named_figures(joint: Joint) -> tuple[NamedFigure, ...]:
    """The figures of a report: those of all runs together, then those of each run, the most telling one first."""
    found: dict[str, NamedFigure] = {}
    for figure in joint.figures:
        name = free_name(figure.key, found, _FORM)
        found[name] = NamedFigure(name, figure)
    for place, content in enumerate(joint.runs):
        prefix = f"{file_name(content.name)}-" if len(joint.runs) > 1 else ""
        own = (overview_of_run(content), *traced_figures_of_run(content), *figures_of_run(content))
        for figure in filter(None, own):
            name = free_name(f"{prefix}{figure.key}", found, _FORM)
            found[name] = NamedFigure(name, figure, place)
    return tuple(found.values())


def file_name(text: str) -> str:
    """A text from outside as part of a file's name."""
    return _NOT_IN_NAMES.sub("-", text).strip("-.") or "unnamed"
