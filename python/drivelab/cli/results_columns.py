"""The columns of numbers in the table of a run: which there are, and how a cell is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from drivelab.model.judged_metric import LATENCY, MEAN_LATENCY, P99, RATE, THROUGHPUT
from drivelab.model.metric import END_SYNC, FLUSHES, REACHED, TENTHS, WRITES, metric_of
from drivelab.model.run_answer import REACHED_WHOLE, CombinationResult
from drivelab.model.units import format_quantity

NOTHING = "-"
SEEN = "~"
AT_LEAST, AT_MOST = ">=", "<="
# smaller I/Os are not issued for the bytes that they move
_THROUGHPUT_FROM_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """A column of numbers: its head, the metric, and whether it is the range over repeats."""

    head: str
    metric: str
    is_range: bool = False


Cells = tuple[NumberColumn, list[str]]


def filled_columns(rows: Sequence[CombinationResult], *, repeats: int, over_time: bool) -> list[Cells]:
    """The columns of a workload's table with their cells: the number that it is judged by first, empty ones left out.

    Parameters
    ----------
    rows : sequence of CombinationResult
        Of one workload.
    repeats : int
        The most trials that one of them has.
    over_time : bool
        Whether the experiment asks how the throughput changes meanwhile.
    """
    columns = [(column, [cell_text(one, column) for one in rows]) for column in _columns(rows, repeats, over_time)]
    filled = [(column, cells) for column, cells in columns if set(cells) != {NOTHING}]
    return _commands_in_one(filled)


def _columns(rows: Sequence[CombinationResult], repeats: int, over_time: bool) -> list[NumberColumn]:
    judged = rows[0].judged_metric
    by_throughput = judged in (THROUGHPUT, RATE)
    # files are no I/Os
    head = "per s" if judged == RATE else metric_of(judged).head
    latencies = [_column(judged.replace("p50", "p99").replace("mean", "p99"))]
    sizes = [one.block_size_bytes for one in rows if one.block_size_bytes is not None]
    if by_throughput:
        latencies = [_column(LATENCY), _column(P99)]
    if judged != MEAN_LATENCY and any(MEAN_LATENCY in one.metrics and LATENCY not in one.metrics for one in rows):
        latencies.insert(0, _column(MEAN_LATENCY))
    range_head = f"range of\n{head}" if repeats > 1 else f"95 % interval\nof {head}"
    columns = [NumberColumn(head, judged), NumberColumn(range_head, judged, is_range=True)]
    is_mixed = any(one.operation for one in rows)
    if is_mixed or (judged == THROUGHPUT and sizes and min(sizes) < _THROUGHPUT_FROM_BYTES):
        columns.append(_column(RATE))
    if by_throughput and over_time:
        columns += map(_column, TENTHS)
    columns += map(_column, ("writes_returned_ns", END_SYNC))
    if any(_is_partly_memory(one) for one in rows):
        columns.append(_column(REACHED))
    columns += latencies
    if not by_throughput and max(one.block_size_bytes or 0 for one in rows) >= _THROUGHPUT_FROM_BYTES:
        columns.append(_column(THROUGHPUT))
    if not any(one.is_durable for one in rows):
        return columns
    return [*columns, NumberColumn("writes\nper op", WRITES), NumberColumn("flushes\nper op", FLUSHES)]


def _column(metric: str) -> NumberColumn:
    """A column under the head of its metric, in two lines where that is long."""
    words = metric_of(metric).head.split()
    heads = (f"{' '.join(words[:place])}\n{' '.join(words[place:])}".strip() for place in range(len(words)))
    return NumberColumn(min(heads, key=lambda head: max(map(len, head.split("\n")))), metric)


def _commands_in_one(columns: Sequence[Cells]) -> list[Cells]:
    """Writes and flushes beside each other in one column, where there are both."""
    places = {column.metric: place for place, (column, _) in enumerate(columns)}
    if WRITES not in places or FLUSHES not in places:
        return list(columns)
    (_, writes), (_, flushes) = columns[places[WRITES]], columns[places[FLUSHES]]
    both = [
        f"{one.replace(' to ', '-')}/{other.replace(' to ', '-')}" for one, other in zip(writes, flushes, strict=True)
    ]
    rest = [one for one in columns if one[0].metric not in (WRITES, FLUSHES)]
    return [*rest, (NumberColumn("writes/flushes\nper op", WRITES), both)]


def _is_partly_memory(one: CombinationResult) -> bool:
    reached = one.metrics.get(REACHED)
    return reached is not None and reached.median < REACHED_WHOLE


def cell_text(one: CombinationResult, column: NumberColumn) -> str:
    """One cell: ``333 us``, ``~333 us`` of the sample only, ``>=333 us``, or between what it lies."""
    metric = one.metrics.get(column.metric)
    if metric is None:
        return _bounds_text(one, column)
    if column.is_range and metric.at_first is not None:
        return f"at first {_text(metric.at_first, metric.unit, column)}"
    if column.is_range:
        return _span(*metric.ends, metric.unit, column)
    mark = SEEN if metric.is_seen else ""
    return mark + _text(metric.value, metric.unit, column)


def _bounds_text(one: CombinationResult, column: NumberColumn) -> str:
    low, high = one.bounds.get(column.metric, (None, None))
    if low is None or column.is_range:
        return NOTHING
    unit = metric_of(column.metric).unit
    return f"{AT_LEAST}{_text(low, unit, column)}" if high is None else _span(low, high, unit, column)


def _span(low: float | None, high: float | None, unit: str, column: NumberColumn) -> str:
    if low is None or high is None:
        sign, end = (AT_LEAST, low) if high is None else (AT_MOST, high)
        return NOTHING if end is None else f"{sign}{_text(end, unit, column)}"
    lowest, highest = _text(low, unit, column), _text(high, unit, column)
    if lowest == highest and unit == "1":
        return lowest
    # the unit once when it is the same: 13 to 15.1 ms; the last digits of 15 000 are none
    number, _, name = lowest.rpartition(" ")
    is_same = bool(number) and not name.isdigit() and highest.endswith(f" {name}")
    return f"{number if is_same else lowest} to {highest}"


def _text(value: float, unit: str, column: NumberColumn) -> str:
    if metric_of(column.metric).is_share:
        return f"{100 * value:.0f} %"
    return f"{value:.2f}" if unit == "1" else format_quantity(value, unit)


def marks_note(texts: str) -> str:
    """What the marks in some cells mean; empty when there are none."""
    notes = []
    if SEEN in texts:
        notes.append(f"{SEEN} seen in the sample, too few independent I/Os for an interval")
    if AT_LEAST in texts:
        notes.append(f"{AT_LEAST} a lower bound, the data do not give the number")
    if AT_MOST in texts:
        notes.append(f"{AT_MOST} an upper bound")
    return "; ".join(notes)
