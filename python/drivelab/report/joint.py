"""What a report says before any format writes it: of one run or of several, with published numbers beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from drivelab.model.result_set import ResultSet
from drivelab.model.trace import ExplanationDifference
from drivelab.report.content import ReportContent
from drivelab.report.figures.figure import Figure
from drivelab.report.runs_joined import runs_joined
from drivelab.report.sentences.contest import Subject
from drivelab.report.sentences.drive_names import DriveOfRun
from drivelab.report.tables.drives_beside import KEY as DRIVES_BESIDE
from drivelab.report.tables.fitness import KEY as FITNESS
from drivelab.report.tables.rounds import KEY as ROUNDS
from drivelab.report.tables.rounds import MEASURED
from drivelab.report.tables.table import Table

# whose squares a short form has room for
_DRIVES_MAX = 2


@dataclass(frozen=True, slots=True)
class Joint:
    """A report.

    Attributes
    ----------
    title, question : str
        What was run, and what was asked.
    sentences : tuple of str
        The answer, the most important one first.
    figures : tuple of Figure
        Drawn from all runs together, the most telling one first.
    runs : tuple of ReportContent
        Each run by itself; none in a report of nothing but published numbers.
    result_sets : tuple of ResultSet
        What tables and figures were made from: runs in the order given, then published pages.
    notes : tuple of str
        What limits a comparison of the runs: other kernels, other settings, other workloads.
    part_differences : tuple of ExplanationDifference
        Of runs that were traced: which part of the latency differs between the first and each other.
    drives : mapping of Subject to DriveOfRun
        Of several runs: the drive behind each name.
    flat_key : str
        Key of the table that one flat CSV has where there are no result sets; the first by default.
    """

    title: str
    question: str
    sentences: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    runs: tuple[ReportContent, ...] = ()
    result_sets: tuple[ResultSet, ...] = ()
    notes: tuple[str, ...] = ()
    part_differences: tuple[ExplanationDifference, ...] = ()
    drives: Mapping[Subject, DriveOfRun] = field(default_factory=dict)
    flat_key: str = ""

    @property
    def leading_tables(self) -> tuple[Table, ...]:
        """What a short form shows of the tables.

        The first, or what drives are fit for and all that stands beside, or what was measured
        in a steady state before what is said of that state: on each of a few drives, or on none of them.
        """
        if self.tables and self.tables[0].key == ROUNDS:
            measured = [table for table in self.tables if table.key.startswith(MEASURED)]
            first = [one for one in measured if one.key.removeprefix(measured[0].key).strip("-0123456789") == ""]
            return (*(first if len(first) <= _DRIVES_MAX else ()), self.tables[0])
        beside = tuple(table for table in self.tables if table.key.startswith(DRIVES_BESIDE))
        if beside and self.tables[0].key == FITNESS:
            return (self.tables[0], *beside)
        # beside the sentences of one run stand the numbers that they tell
        told = tuple(table for table in self.tables if not (table.is_of_means and self.only_run))
        return (told or self.tables)[:1]

    @property
    def drive_sets(self) -> tuple[ResultSet, ...]:
        """`result_sets` as tables and figures show them: where several drives have several runs, by the drive."""
        return runs_joined(self.result_sets, self.drives)

    @property
    def only_run(self) -> ReportContent | None:
        """The run, where the report is about a single one and nothing stands beside it."""
        return self.runs[0] if len(self.runs) == 1 and len(self.result_sets) <= 1 else None
