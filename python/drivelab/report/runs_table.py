"""Which runs and published pages a report is made of: what, on which drive and host, when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from drivelab.model.result_set import MeasuredDrive, ResultSet
from drivelab.report.content import ReportContent
from drivelab.report.numerals import count_text
from drivelab.report.parts_of_text import shortened
from drivelab.report.tables.table import Table, TableColumn, text_rows

KEY = "runs"


def runs_table(runs: Sequence[ReportContent], sets: Sequence[ResultSet]) -> Table:
    """A row per run and page.

    Parameters
    ----------
    runs : sequence of ReportContent
        In the order of their result sets.
    sets : sequence of ResultSet
        Those of the runs, then published pages.
    """
    counts = [count_text(run.all_trial_count) for run in runs] + [""] * (len(sets) - len(runs))
    rows = [
        (
            shortened(one.key),
            shortened(one.title),
            "; ".join(_drive(drive) for drive in one.drives),
            "; ".join(_each(machine.name for machine in one.machines)),
            "; ".join(_each(machine.kernel for machine in one.machines)),
            one.measured.replace("T", " ")[:16],
            count,
        )
        for one, count in zip(sets, counts, strict=True)
    ]
    columns = (
        TableColumn("run"),
        TableColumn("what was run"),
        TableColumn("drives"),
        TableColumn("hosts"),
        TableColumn("kernel"),
        TableColumn("measured"),
        TableColumn("trials", is_number=True),
    )
    return Table(KEY, "What this report is made of", columns, text_rows(rows))


def _drive(drive: MeasuredDrive) -> str:
    parts = [drive.name]
    if drive.model and drive.model not in drive.name:
        parts.append(drive.model)
    if drive.firmware:
        parts.append(f"firmware {drive.firmware}")
    return ", ".join(shortened(part) for part in parts)


def _each(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(shortened(text) for text in texts if text))
