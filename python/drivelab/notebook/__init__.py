"""For notebooks and scripts: runs as tables, figures and sentences (``docs/how-to/use-in-a-notebook.md``).

Nothing of ours imports this layer; ``drivelab.open`` loads it when it is called.
"""

from __future__ import annotations

from drivelab.notebook.results import OpenedResults
from drivelab.notebook.run import OpenedRun
from drivelab.notebook.shown_figure import ShownFigure, ShownPlot
from drivelab.notebook.shown_table import ShownTable
from drivelab.notebook.sources import compare_runs as compare
from drivelab.notebook.sources import open_results as open  # noqa: A004

__all__ = ["OpenedResults", "OpenedRun", "ShownFigure", "ShownPlot", "ShownTable", "compare", "open"]
