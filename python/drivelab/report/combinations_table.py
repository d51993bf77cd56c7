"""The results of an experiment by combination: a row per combination, the median over its repeats and their range."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from drivelab.model.estimate import Unit
from drivelab.model.judged_metric import LATENCY, MEAN_LATENCY, P99, RATE, RESPONSE, THROUGHPUT, is_counted
from drivelab.model.metric import FLUSHES, REACHED, TENTHS, WRITES, metric_of
from drivelab.model.operations_apart import OPERATION
from drivelab.model.run_answer import REACHED_WHOLE, CombinationResult, RepeatedMetric, RunAnswer
from drivelab.report.combination_labels import combination_labels, invalid_words, over_words, row_words
from drivelab.report.csv_text import csv_file_name, csv_link
from drivelab.report.figures.figure import Cell, DataTable
from drivelab.report.numerals import THIN_SPACE, DisplayUnit, cell_number, column_unit
from drivelab.report.results_table import Header, bands_of, header_of
from drivelab.report.tables.table import BEYOND_OF_ONE

# more rows nobody reads; the CSV behind the table holds all of them
ROWS_MAX = 300
_COLUMNS = (
    LATENCY,
    MEAN_LATENCY,
    P99,
    RESPONSE,
    RATE,
    THROUGHPUT,
    *TENTHS,
    REACHED,
    WRITES,
    FLUSHES,
)
_SEEN = "seen"
_KINDS: tuple[Unit, ...] = ("ns", "B/s", "1/s", "1")
# stands at each number
_OWN = DisplayUnit("", 1)
_NOTHING = "–"


@dataclass(frozen=True, slots=True)
class CombinationRow:
    """One combination: its label, and for each header the number and what stands below it.

    The number is the median over the repeats, or between which bounds it lies;
    below it their range, or the 95 % interval of the only repeat.
    """

    label: str
    cells: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CombinationGroup:
    """The combinations of one workload on one target."""

    title: str
    constant: str
    rows: tuple[CombinationRow, ...]


@dataclass(frozen=True, slots=True)
class CombinationsTable:
    """Headers, rows by workload and target, and everything as CSV."""

    headers: tuple[Header, ...]
    groups: tuple[CombinationGroup, ...]
    row_count: int
    csv_link: str
    has_uncertain: bool = False
    is_of_one_repeat: bool = False

    @property
    def repeat_words(self) -> str:
        """What telling two numbers apart means where nothing was repeated; empty where it was."""
        return BEYOND_OF_ONE if self.is_of_one_repeat and self.row_count > 1 else ""

    @property
    def bands(self) -> list[tuple[str, int]]:
        """The bands of neighbouring columns, each with the number of its columns."""
        return bands_of(self.headers)

    @property
    def csv_name(self) -> str:
        """Name of the file that its link saves, without what tells several runs apart."""
        return csv_file_name("combinations", self.csv_link)

    @property
    def shown_count(self) -> int:
        """Rows that are shown."""
        return sum(len(group.rows) for group in self.groups)


def combinations_table(
    answer: RunAnswer, *, is_one_at_a_time: bool = False, over_time: bool = False
) -> CombinationsTable | None:
    """The table of a run's combinations; None when there are none.

    Parameters
    ----------
    is_one_at_a_time : bool
        Whether each combination differs in one level from the first.
    over_time : bool
        Whether the experiment asks how the throughput changes.
    """
    combinations = answer.rows
    if not combinations:
        return None
    by_place: dict[tuple[str, str], list[CombinationResult]] = {}
    by_workload: dict[str, list[CombinationResult]] = {}
    for one in combinations:
        by_place.setdefault((one.target, one.workload), []).append(one)
        by_workload.setdefault(one.workload, []).append(one)
    units_of = {name: {kind: _unit(members, kind) for kind in _KINDS} for name, members in by_workload.items()}
    headers = _headers(combinations, _common(list(units_of.values())), over_time=over_time)
    groups, left = [], ROWS_MAX
    for (_, workload), members in by_place.items():
        if left > 0:
            group = _group(members, headers, units_of[workload], left, is_one_at_a_time=is_one_at_a_time)
            groups.append(group)
            left -= len(group.rows)
    shown = [cell for group in groups for row in group.rows for cell in row.cells]
    has_uncertain = any(value.startswith("≥") or below.startswith((_SEEN, "≥", "≤")) for value, below in shown)
    return CombinationsTable(
        headers,
        tuple(groups),
        len(combinations),
        csv_link(combinations_data(combinations)),
        has_uncertain,
        all(one.trial_count == 1 for one in combinations),
    )


def _common(units: Sequence[Mapping[Unit, DisplayUnit]]) -> dict[str, DisplayUnit]:
    """The units that all workloads have; where they have several, a head has none and each number its own."""
    found: dict[str, DisplayUnit] = {}
    for kind in _KINDS:
        known = {one[kind] for one in units}
        found[kind] = known.pop() if len(known) == 1 else _OWN
    return found


def _unit(combinations: Sequence[CombinationResult], unit: Unit) -> DisplayUnit:
    metrics = [metric for metric in _COLUMNS if metric_of(metric).unit == unit]
    values = [one.metrics[metric].value for one in combinations for metric in metrics if metric in one.metrics]
    bounds = [one.bounds[metric][0] for one in combinations for metric in metrics if metric in one.bounds]
    return column_unit(values or bounds, unit)


def _headers(
    combinations: Sequence[CombinationResult], units: Mapping[str, DisplayUnit], *, over_time: bool
) -> tuple[Header, ...]:
    headers = []
    for metric in _COLUMNS:
        found = [one.metrics[metric].value for one in combinations if metric in one.metrics]
        found += [one.bounds[metric][0] for one in combinations if metric in one.bounds]
        is_dull = metric == REACHED and all(each >= REACHED_WHOLE for each in found)
        is_dull = is_dull or (metric == RATE and not any(map(_has_rate, combinations)))
        # beside a median the mean tells little; some programs tell nothing else
        is_dull = is_dull or (metric == MEAN_LATENCY and not any(map(_has_mean_alone, combinations)))
        if not found or is_dull or (metric in TENTHS and not over_time):
            continue
        headers.append(header_of(metric, units))
    return tuple(headers)


def _has_mean_alone(one: CombinationResult) -> bool:
    """Whether the mean is what it is judged by, or all that is known of its latency."""
    return one.judged_metric == MEAN_LATENCY or (
        MEAN_LATENCY in one.metrics and LATENCY not in {**one.metrics, **one.bounds}
    )


def _has_rate(one: CombinationResult) -> bool:
    """Whether IOPS are what its reader looks for: small I/Os, several at a time or by a schedule, mixed, no bytes."""
    return bool(one.operation) or one.judged_metric == RATE or is_counted(one.judged_metric, one.block_size_bytes)


def _group(
    members: Sequence[CombinationResult],
    headers: Sequence[Header],
    units: Mapping[Unit, DisplayUnit],
    rows_max: int,
    *,
    is_one_at_a_time: bool,
) -> CombinationGroup:
    labels = combination_labels(members, is_one_at_a_time=is_one_at_a_time)
    repeats = max(one.trial_count for one in members)
    has_interval = any(metric.low is not None for one in members for metric in one.metrics.values())
    alone = "one repeat, 95 % intervals below the numbers" if has_interval else "one repeat"
    over = f"{over_words(members)}, below it their range" if repeats > 1 else alone
    rows = []
    for one, words in zip(members[:rows_max], labels.rows, strict=False):
        cells = tuple(_cell(one, header, units) for header in headers)
        label = _label(labels.names, words, is_one_at_a_time) or one.label
        rows.append(CombinationRow(f"{label}{invalid_words([one])}", cells))
    title = f"{members[0].label} on {members[0].target}: {over}"
    return CombinationGroup(title, labels.constant, tuple(rows))


def _label(names: Sequence[str], words: Sequence[str], is_one_at_a_time: bool) -> str:
    if is_one_at_a_time:
        return " ".join(word for word in words if word)
    return row_words(names, words)


def _cell(one: CombinationResult, header: Header, units: Mapping[Unit, DisplayUnit]) -> tuple[str, str]:
    """A number, with its unit where the head has none, and what stands below it."""
    of = metric_of(header.key)
    number, below = _numbers(one, header.key, partial(cell_number, of, units[of.unit]))
    own = "" if header.unit or of.unit not in ("ns", "B/s") or number == _NOTHING else units[of.unit].name
    return f"{number}\u00a0{own}" if own else number, below


def _numbers(one: CombinationResult, key: str, written: Callable[[float], str]) -> tuple[str, str]:
    metric = one.metrics.get(key)
    if metric is None:
        low, high = one.bounds.get(key, (None, None))
        if low is None:
            return _NOTHING, ""
        return (
            f"≥{THIN_SPACE}{written(low)}" if high is None else _span(written(low), written(high)) or written(low)
        ), ""
    below = _below(*("" if end is None else written(end) for end in metric.ends))
    return written(metric.value), f"{_SEEN} {below}".strip() if metric.is_seen else below


def _below(low: str, high: str) -> str:
    """What stands below a number: its range or interval, or the one end that is known."""
    if low and high:
        return _span(low, high)
    return f"≥{THIN_SPACE}{low}" if low else f"≤{THIN_SPACE}{high}" if high else ""


def _span(low: str, high: str) -> str:
    """From one to the other; empty where they are the same in print."""
    return "" if low == high else f"{low}–{high}"


def combinations_data(combinations: Sequence[CombinationResult]) -> DataTable:
    """Every combination with every metric that is shown somewhere, in internal units."""
    factors = list(dict.fromkeys(name for one in combinations for name in one.levels))
    metrics = [metric for metric in _COLUMNS if any(metric in one.metrics for one in combinations)]
    is_mixed = any(one.operation for one in combinations)
    columns = ["target", "workload", *factors, *([OPERATION] if is_mixed else []), "trial_count", "invalid_trials"]
    columns += [f"{metric}{end}" for metric in metrics for end in ("_median", "_lowest", "_highest")]
    rows: list[list[Cell]] = []
    for one in combinations:
        row: list[Cell] = [one.target, one.workload, *(one.levels.get(name) for name in factors)]
        row += [*([one.operation] if is_mixed else []), one.trial_count, one.invalid_trials]
        for metric in metrics:
            row += repeated_cells(one.metrics.get(metric))
        rows.append(row)
    return DataTable(tuple(columns), rows)


def repeated_cells(found: RepeatedMetric | None) -> list[Cell]:
    """Median, lowest and highest of the repeats, in the internal unit."""
    return [None] * 3 if found is None else [float(f"{x:.6g}") for x in (found.median, found.lowest, found.highest)]
