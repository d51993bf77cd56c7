"""What drives that were checked are fit for: needs as rows, drives as columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from drivelab.model.verdict import verdicts_in
from drivelab.report.content import ReportContent
from drivelab.report.outcome_words import SHORT_WORDS
from drivelab.report.sentences.several_drives import shortened
from drivelab.report.tables.table import Table, TableCell, TableColumn

KEY = "fitness"
_NOTE = "?: undecided, and the report of that run alone says why. Needs without a published limit are left out."
_TOLD_MAX = 4


def fitness_table(runs: Sequence[ReportContent], names: Sequence[str]) -> Table | None:
    """Whether each drive is fit for each need.

    Parameters
    ----------
    runs : sequence of ReportContent
        Checks and others.
    names : sequence of str
        What to call the drive of each.

    Returns
    -------
    Table or None
        None where fewer than two runs judged a need that has a limit.
    """
    checked = _checked(runs, names)
    if len(checked) < 2:
        return None
    titles = {need: title for _, found in checked for need, (title, _) in found.items()}
    rows = tuple(
        (
            TableCell(title),
            *(TableCell(SHORT_WORDS.get(found[need][1], "") if need in found else "") for _, found in checked),
        )
        for need, title in titles.items()
    )
    columns = (TableColumn("fit for"), *(TableColumn(name) for name, _ in checked))
    return Table(KEY, "What each drive is fit for", columns, rows, notes=(_NOTE,))


def fitness_sentence(runs: Sequence[ReportContent], names: Sequence[str]) -> str:
    """How many needs each drive meets, the fittest first; empty where fewer than two were checked."""
    checked = _checked(runs, names)
    if len(checked) < 2:
        return ""
    counted = [(name, Counter(outcome for _, outcome in found.values())) for name, found in checked]
    counted.sort(key=lambda one: (-one[1]["pass"], one[1]["fail"]))
    told = [f"{name} is fit for {counts['pass']} of {counts.total()} needs" for name, counts in counted[:_TOLD_MAX]]
    if len(counted) > _TOLD_MAX:
        told.append(f"{len(counted) - _TOLD_MAX} more are fit for as many or fewer")
    return f"{', '.join(told)}."


_Found = Mapping[str, tuple[str, str]]


def _checked(runs: Sequence[ReportContent], names: Sequence[str]) -> list[tuple[str, _Found]]:
    """Of each run that judged: title and outcome by need."""
    found = ((shortened(name), dict(_judged(run.verdict))) for run, name in zip(runs, names, strict=True))
    return [(name, judged) for name, judged in found if judged]


def _judged(verdict: Mapping[str, Any] | None) -> Iterator[tuple[str, tuple[str, str]]]:
    for one in verdicts_in(verdict):
        if one.get("need") and one.get("outcome") in {"pass", "fail", "undecided"}:
            yield str(one["need"]), (str(one.get("title") or one["need"]), str(one["outcome"]))
