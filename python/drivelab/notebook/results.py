"""What was opened: one run, several of them, published pages, or a comparison, with its answer, tables and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from drivelab.model.errors import DrivelabError
from drivelab.model.names import free_name
from drivelab.model.result_set import ResultSet
from drivelab.notebook.frames import Frame, arrow_of_data, as_frame
from drivelab.notebook.named import Named
from drivelab.notebook.shown_figure import ShownFigure
from drivelab.notebook.shown_table import ShownTable
from drivelab.report.flat_csv import flat_table
from drivelab.report.formats import FORMAT_OF_SUFFIX, SUFFIXES, write_report_files
from drivelab.report.joint import Joint
from drivelab.report.named_figures import named_figures
from drivelab.report.run_tables import result_tables, setting_tables
from drivelab.report.sentences.run import plain_text
from drivelab.report.tables.table import Table
from drivelab.store.durable import followed


class OpenedResults:
    """Results that were opened: the same as their report.

    Parameters
    ----------
    frame : str
        The form of its tables: arrow, pandas or polars.
    """

    def __init__(self, joint: Joint, frame: Frame = "arrow") -> None:
        self._joint = joint
        self._frame = frame

    @property
    def joint(self) -> Joint:
        """The report before any format writes it."""
        return self._joint

    @property
    def title(self) -> str:
        """What was measured."""
        return self.joint.title

    @property
    def question(self) -> str:
        """What was asked."""
        return self.joint.question

    @property
    def answer(self) -> tuple[str, ...]:
        """The answer in sentences, the most important one first."""
        return tuple(plain_text(sentence) for sentence in self.joint.sentences)

    @property
    def notes(self) -> tuple[str, ...]:
        """What limits a comparison."""
        return tuple(plain_text(note) for note in self.joint.notes)

    @property
    def is_reference(self) -> bool:
        """Whether somebody else published all of it."""
        sets = self.joint.result_sets
        return bool(sets) and all(one.is_reference for one in sets)

    @property
    def result_sets(self) -> tuple[ResultSet, ...]:
        """What tables and figures were made from."""
        return self.joint.result_sets

    @property
    def observations(self) -> Any:
        """One row per number: whose drive and machine, what was done, and the value with its interval.

        The columns are those of ``results.csv``: a factor with the name of one of them is ``factor_NAME``.
        """
        return self._framed(arrow_of_data(flat_table(self.result_sets)))

    @cached_property
    def tables(self) -> Mapping[str, ShownTable]:
        """Every table of the report by its key, the most telling one first; each shows itself in a notebook."""
        found: dict[str, ShownTable] = {}
        for table in self._all_tables():
            found[free_name(table.key, found)] = ShownTable(table, self._frame)
        return Named("table", found)

    @cached_property
    def figures(self) -> Mapping[str, ShownFigure]:
        """Every figure of the report by its key; each shows itself in a notebook."""
        figures = {one.name: ShownFigure(one.figure, self._frame) for one in named_figures(self.joint)}
        return Named("figure", figures)

    def report(self, path: str | Path, format: str = "") -> Path:  # noqa: A002
        """Path of a report, written whole or not at all.

        Parameters
        ----------
        path : str or Path
            The file to write.
        format : str
            ``html``, ``markdown``, ``csv``, ``json`` or ``card``; left out, by the name of the file, else html.

        Raises
        ------
        DrivelabError
            O801, O802: it cannot be written. O803: PNGs need an extra. O822: there is no such format.
        """
        target = Path(path)
        ending = target.suffix.lower()
        asked = format or FORMAT_OF_SUFFIX.get(ending, ending.removeprefix("."))
        chosen = next((known for known in SUFFIXES if known == asked), None)
        if chosen is None:
            do = f"one of {', '.join(SUFFIXES)}"
            raise DrivelabError("O822", f"no report in the format '{asked}'", where=str(target), do=do)
        # a link there is meant by whoever named it
        return write_report_files(self.joint, chosen, target if target.is_dir() else followed(target))[0]

    def __repr__(self) -> str:
        kinds = [f"{one.key}" for one in self.result_sets]
        return f"<drivelab: {self.title}{f', {len(kinds)} sources' if len(kinds) > 1 else ''}>"

    def _repr_markdown_(self) -> str:
        lines = [f"**{plain_text(self.title)}**", "", *(f"- {sentence}" for sentence in self.answer)]
        return "\n".join(lines)

    def _framed(self, table: Any) -> Any:
        return as_frame(table, self._frame)

    def _all_tables(self) -> Sequence[Table]:
        of_runs = [table for run in self.joint.runs for table in (*result_tables(run), *setting_tables(run))]
        return [*self.joint.tables, *of_runs]
