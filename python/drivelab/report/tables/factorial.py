"""Which factors matter how much, alone and in pairs, and where one changes what another does."""

from __future__ import annotations

import math
from collections.abc import Iterator

from drivelab.model.estimate import Estimate
from drivelab.model.factorial import Factorial, Interaction
from drivelab.model.level_words import level_text
from drivelab.model.metric import metric_of
from drivelab.model.names import counted
from drivelab.model.run_answer import RunAnswer
from drivelab.report.figures.figure import Cell, DataTable
from drivelab.report.numerals import number_text, typeset
from drivelab.report.tables.table import Table, TableCell, TableColumn

# the largest of them; the CSV holds all
INTERACTIONS_SHOWN = 24
TERMS_CAPTION = (
    "Share: of all variance of the logarithm within blocks. What a level does stands with the effects; where one "
    "factor changes what another does stands below."
)
PAIRS_CAPTION = (
    "What a level does against the first one of its factor, at two levels of another factor; the last ratio is 1 where "
    "that makes no difference. In parentheses 95\u00a0% intervals, each for itself; verdicts are corrected for all "
    "interactions (Holm)."
)
_NOTHING = "–"


def factorial_tables(answer: RunAnswer, run: str = "") -> tuple[Table, ...]:
    """The tables of a run's factorials: terms, then interactions, of each workload on each target.

    Parameters
    ----------
    answer : RunAnswer
        Of a full design.
    run : str
        Name of the run, where there are several.

    Returns
    -------
    tuple of Table
        Those of several workloads have the same key: whoever brings them together numbers them.
    """
    found: list[Table] = []
    for one in answer.factorials:
        title = _title(one, answer, run)
        if one.terms:
            found.append(_terms(one, title, "factorial-terms"))
        # without scatter nothing tells them from chance
        if any(pair.ratio.low is not None for pair in one.interactions):
            found.append(_pairs(one, title, "interactions"))
    return tuple(found)


def _title(one: Factorial, answer: RunAnswer, run: str) -> str:
    labels = {each.workload: each.label for each in answer.combinations}
    what = f"{metric_of(one.metric).words}{f', {run}' if run else ''}"
    return f"{labels.get(one.workload, one.workload)} on {one.target}: {what}"


def _terms(one: Factorial, title: str, key: str) -> Table:
    rows = [_row(name, share) for name, _, share in _shares(one)]
    columns = (TableColumn("term"), TableColumn("share", "%", is_number=True))
    words = [f"{_basis(one)}.", TERMS_CAPTION]
    if one.notes:
        words.append(f"To be known: {'; '.join(one.notes)}.")
    caption = typeset(" ".join(words))
    return Table(key, f"Which factor matters how much: {title}", columns, tuple(rows), caption, data=_terms_data(one))


def _shares(one: Factorial) -> Iterator[tuple[str, int | None, float]]:
    """Name, degrees of freedom where they are of a term, and share of all that is told apart."""
    for term in one.terms:
        yield term.name, term.degrees_of_freedom, term.share
    if len({factor for term in one.terms for factor in term.factors}) > 2:
        yield "three factors and more together", None, one.higher_order_share
    if one.block_count > 1:
        yield "scatter between repeats", None, one.scatter_share


def _basis(one: Factorial) -> str:
    alone = " (one repeat: shares contain scatter too, and some of that may be chance)"
    cells, blocks = counted(one.cell_count, "combination"), counted(one.block_count, "complete block")
    return f"{cells} in {blocks}{alone * (one.block_count == 1)}"


def _row(name: str, share: float) -> tuple[TableCell, ...]:
    return TableCell(name), TableCell(f"{100 * share:.1f}")


def _pairs(one: Factorial, title: str, key: str) -> Table:
    shown = sorted(one.interactions, key=lambda pair: -abs(math.log(pair.ratio.value or 1.0)))[:INTERACTIONS_SHOWN]
    columns = (
        TableColumn("level"),
        TableColumn("at first", is_number=True),
        TableColumn("at second", is_number=True),
        TableColumn("second over first", is_number=True),
        TableColumn("verdict"),
    )
    caption = PAIRS_CAPTION
    if len(shown) < len(one.interactions):
        caption += f" The {len(shown)} largest of {len(one.interactions)}; the CSV holds all."
    rows = tuple(_pair_row(pair) for pair in shown)
    title = f"Where one factor changes what another does: {title}"
    return Table(key, title, columns, rows, caption, data=_pairs_data(one))


def _pair_row(pair: Interaction) -> tuple[TableCell, ...]:
    names = [level_text(pair.other_factor, level) for level in (pair.other_baseline, pair.other_level)]
    level = f"{pair.factor} {level_text(pair.factor, pair.level)} against {level_text(pair.factor, pair.baseline)}"
    return (
        TableCell(f"{level}, at {pair.other_factor} {names[0]} and {names[1]}"),
        *(_ratio(ratio) for ratio in (pair.at_other_baseline, pair.at_other_level, pair.ratio)),
        TableCell(pair.verdict),
    )


def _ratio(ratio: Estimate) -> TableCell:
    ends = (ratio.low, ratio.high)
    span = "" if None in ends else "–".join(number_text(end or 0.0) for end in ends)
    return TableCell(_NOTHING if ratio.value is None else number_text(ratio.value), span)


def _terms_data(one: Factorial) -> DataTable:
    rows: list[list[Cell]] = [[one.target, one.workload, one.metric, *each] for each in _shares(one)]
    return DataTable(("target", "workload", "metric", "term", "degrees_of_freedom", "share"), rows)


def _pairs_data(one: Factorial) -> DataTable:
    words = ("target", "workload", "metric", "factor", "level", "baseline")
    others = ("other_factor", "other_level", "other_baseline")
    numbers = [f"{name}{end}" for name in ("at_baseline", "at_level", "ratio") for end in ("", "_low", "_high")]
    rows: list[list[Cell]] = [
        [
            *(one.target, one.workload, one.metric, pair.factor, pair.level, pair.baseline),
            *(pair.other_factor, pair.other_level, pair.other_baseline),
            *_ends(pair),
            *(pair.p_value, pair.adjusted_p_value, pair.verdict),
        ]
        for pair in one.interactions
    ]
    return DataTable((*words, *others, *numbers, "p_value", "adjusted_p_value", "verdict"), rows)


def _ends(pair: Interaction) -> Iterator[float | None]:
    for ratio in (pair.at_other_baseline, pair.at_other_level, pair.ratio):
        yield from (ratio.value, ratio.low, ratio.high)
