"""Tables of many drives: their numbers, those that stand apart, what explains the differences, and the drives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from drivelab.model.drive_values import MODEL, FleetAnswerOfRuns, FleetDrive, NumberKey
from drivelab.model.metric import metric_of
from drivelab.model.units import format_percent, format_quantity
from drivelab.report.figures.figure import DataTable
from drivelab.report.sentences.fleet_drives import NumberWords, change_words, peers_words
from drivelab.report.tables.table import Table, TableColumn, text_rows

# key of the table with a row for each drive
DRIVES = "drives"
_UNKNOWN = "–"


def fleet_tables(answer: FleetAnswerOfRuns, medians: Mapping[NumberKey, Mapping[str, float]]) -> tuple[Table, ...]:
    """All tables, the most telling one first.

    Parameters
    ----------
    answer : FleetAnswerOfRuns
        At least one number.
    """
    words = NumberWords([spread.key for spread in answer.spreads])
    drives = {drive.key: drive for drive in answer.drives}
    apart = (_apart(answer, drives, words),) if answer.apart else ()
    return (*apart, _factors(answer), _numbers(answer, drives, words), _drives(answer, medians, words))


def _apart(answer: FleetAnswerOfRuns, drives: Mapping[str, FleetDrive], words: NumberWords) -> Table:
    rows = [
        [
            drives[one.drive].words,
            drives[one.drive].model,
            words.words(one.key),
            _value(one.key, one.value),
            _value(one.key, one.peers_value),
            change_words(one),
            peers_words(one),
            f"{one.p_value:.2g}",
        ]
        for one in answer.apart
    ]
    heads = ("drive", "model", "number", "its median", "its peers'", "difference", "peers", "p")
    return Table(
        key="apart",
        title="Drives that stand apart from their peers",
        columns=tuple(TableColumn(head, is_number=place in (3, 4, 5, 7)) for place, head in enumerate(heads)),
        rows=text_rows(rows),
        caption="The worst drive first. p is corrected for all drives and numbers (Holm).",
    )


def _factors(answer: FleetAnswerOfRuns) -> Table:
    first = answer.explained[0]
    rows = []
    for share in first.shares:
        again = sum(
            any(one.factor == share.factor and one.is_shown for one in each.shares) for each in answer.explained
        )
        what = "of all" if share.factor == MODEL else "within models"
        told = _UNKNOWN if share.share is None else f"{format_percent(share.share)} {what}"
        p_value = _UNKNOWN if share.p_value is None else f"{share.p_value:.2g}"
        shown = share.reason or ("yes" if share.is_shown else "not shown")
        numbers = f"{again} of {len(answer.explained)}"
        most = "".join(f"{one.level} ({one.drive_count}): {one.ratio:.2f}x" for one in share.levels[:1]) or _UNKNOWN
        rows.append([share.factor, str(share.level_count), str(share.drive_count), told, p_value, shown, numbers, most])
    heads = ("factor", "levels", "drives", "explains", "p", "does it?", "in numbers", "level that stands out")
    return Table(
        key="factors",
        title="What explains the differences between drives",
        columns=tuple(TableColumn(head, is_number=place in (1, 2, 3, 4, 6)) for place, head in enumerate(heads)),
        rows=text_rows(rows),
        caption=(
            "Share of the variance of the first number of the table of numbers, less what as many levels explain by "
            "chance; drives that stand apart are left out. p is of 999 random deals of the levels to the drives of a "
            "model, corrected for the factors (Holm). The last column has the level that "
            "differs most, its drives, and their median over that of the others."
        ),
    )


def _numbers(answer: FleetAnswerOfRuns, drives: Mapping[str, FleetDrive], words: NumberWords) -> Table:
    rows = [
        [
            words.words(one.key),
            str(one.drive_count),
            _value(one.key, one.median),
            _UNKNOWN if one.between is None else format_percent(one.between),
            _UNKNOWN if one.within is None else format_percent(one.within),
            f"{_value(one.key, one.best_value)}, {drives[one.best].words}",
            f"{_value(one.key, one.worst_value)}, {drives[one.worst].words}",
        ]
        for one in answer.spreads
    ]
    heads = ("number", "drives", "median drive", "between", "within", "best", "worst")
    runs = any(one.has_runs_apart for one in answer.spreads)
    return Table(
        key="numbers",
        title="Numbers over all drives, and their spread",
        columns=tuple(TableColumn(head, is_number=place in (1, 2, 3, 4)) for place, head in enumerate(heads)),
        rows=text_rows(rows),
        caption=(
            "Standard deviations as shares of the number: between the drives' medians (from their median distance), "
            f"and of a drive's values around its mean{'' if runs else ' within its only run'}."
        ),
    )


def _drives(answer: FleetAnswerOfRuns, medians: Mapping[NumberKey, Mapping[str, float]], words: NumberWords) -> Table:
    """All drives, the farthest on the bad side of the median of its model in the first number at the top."""
    key = answer.spreads[0].key
    ratios = _ratios(answer.drives, medians[key])
    is_low_better = metric_of(key.metric).better == "low"
    odd = {one.drive for one in answer.apart}
    ordered = sorted(
        answer.drives,
        key=lambda drive: (drive.key not in ratios, -ratios.get(drive.key, 1.0) * (1 if is_low_better else -1)),
    )
    tags = sorted({tag for drive in answer.drives for tag in drive.tags})
    heads = ("host", "drive", "serial", "model", "firmware", *tags, "runs", "first number", "to its model's median", "")
    rows, plain = [], []
    for drive in ordered:
        value = medians[key].get(drive.key)
        facts = [
            drive.host,
            drive.name,
            drive.serial,
            drive.model,
            drive.firmware,
            *(drive.tags.get(t, "") for t in tags),
        ]
        number = _UNKNOWN if value is None else _value(key, value)
        ratio = _signed(ratios[drive.key] - 1) if drive.key in ratios else _UNKNOWN
        rows.append([*facts, str(drive.run_count), number, ratio, "apart" if drive.key in odd else ""])
        plain.append([*facts, drive.run_count, *(medians[spread.key].get(drive.key) for spread in answer.spreads)])
    numbers = [f"{words.words(spread.key)} [{metric_of(spread.key.metric).unit}]" for spread in answer.spreads]
    return Table(
        key=DRIVES,
        title="All drives",
        columns=tuple(TableColumn(head, is_number=place >= len(heads) - 4) for place, head in enumerate(heads)),
        rows=text_rows(rows),
        caption=f"The first number is {words.words(key)}; the CSV has all. The worst is at the top.",
        data=DataTable((*heads[: len(heads) - 3], *numbers), plain),
    )


def _signed(share: float) -> str:
    """A share in per cent with its sign: ``+1.5 %``; without one where it is ``0.0 %``."""
    rounded = round(100 * share, 1)
    return f"{rounded:+.1f} %" if rounded else "0.0 %"


def _ratios(drives: Sequence[FleetDrive], values: Mapping[str, float]) -> dict[str, float]:
    """Each drive's number over the median of its model."""
    models: dict[str, list[float]] = {}
    for drive in drives:
        if drive.key in values:
            models.setdefault(drive.model, []).append(values[drive.key])
    medians = {model: median(known) for model, known in models.items()}
    return {drive.key: values[drive.key] / medians[drive.model] for drive in drives if drive.key in values}


def _value(key: NumberKey, value: float) -> str:
    return format_quantity(value, metric_of(key.metric).unit)
