"""The report of many drives: sentences, the figure of all drives, tables."""

from __future__ import annotations

from collections.abc import Mapping

from drivelab.model.drive_values import FleetAnswerOfRuns, NumberKey
from drivelab.model.names import counted
from drivelab.report.figures.drive_dots import drive_dots
from drivelab.report.joint import Joint
from drivelab.report.sentences.fleet_drives import fleet_sentences
from drivelab.report.tables.fleet_drives import DRIVES, fleet_tables


def joint_of_fleet(answer: FleetAnswerOfRuns, medians: Mapping[NumberKey, Mapping[str, float]]) -> Joint:
    """The report.

    Parameters
    ----------
    answer : FleetAnswerOfRuns
        What the runs came to; at least one number.
    """
    return Joint(
        title=counted(len(answer.drives), "drive"),
        question=f"Are these {len(answer.drives)} drives alike?",
        sentences=fleet_sentences(answer),
        tables=fleet_tables(answer, medians),
        figures=(drive_dots(answer, medians),),
        flat_key=DRIVES,
    )
