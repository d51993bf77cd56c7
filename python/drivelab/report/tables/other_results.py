"""Results of every workload that is not made of small durable writes: reads, large writes, many at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drivelab.model.judged_metric import LATENCY, MEAN_LATENCY, P99, RATE, RESPONSE, THROUGHPUT
from drivelab.model.metric import metric_of
from drivelab.model.result_set import Observation, ResultSet
from drivelab.model.units import format_bytes
from drivelab.report.combination_labels import NOT_APPLICABLE
from drivelab.report.tables.drive_rows import DriveRow, drive_rows
from drivelab.report.tables.number import Number, number_of
from drivelab.report.tables.number_table import NumberColumn, NumberRow, number_table
from drivelab.report.tables.page_form import page_form
from drivelab.report.tables.small_writes import BLOCK_SIZE, factor_head, factor_words, is_small_write
from drivelab.report.tables.table import Table

KEY = "other-results"
# beside tables of small durable writes, and alone
TITLE, ONLY_TITLE = "Other workloads", "Results"
_METRICS = (THROUGHPUT, RATE, LATENCY, MEAN_LATENCY, P99, RESPONSE)
_CAPTION = (
    "Over several repeats a number is their median, over rounds their mean, and its interval their range; "
    "of one measurement the interval holds the true value with 95 %. A latency reaches from the call to its "
    "completion, a response latency from the time at which the I/O was due."
)
_Key = tuple[str, str, int | None, tuple[tuple[str, str], ...]]


def other_results(sets: Sequence[ResultSet]) -> Table | None:
    """A row per drive, workload and setting; None where everything is told by the tables of small durable writes."""
    found: list[tuple[DriveRow, dict[str, Observation]]] = []
    for row in drive_rows(sets):
        small = {_key(one) for one in row.observations if is_small_write(one)}
        combined: dict[_Key, dict[str, Observation]] = {}
        for one in row.observations:
            if _key(one) not in small and one.metric in _METRICS and not _is_told(row, one):
                combined.setdefault(_key(one), {}).setdefault(one.metric, one)
        found += [(row, metrics) for metrics in combined.values()]
    if not found:
        return None
    factors = list(dict.fromkeys(name for _, metrics in found for name in _first(metrics).levels if name != BLOCK_SIZE))
    shown = [NumberRow(_texts(row, _first(metrics), factors), _numbers(metrics)) for row, metrics in found]
    names = ("drive", "workload", "size", *map(factor_head, factors))
    is_page = len(sets) == 1 and sets[0].is_reference
    caption = "" if is_page else _CAPTION
    columns = [NumberColumn(metric_of(metric).words, metric_of(metric).unit) for metric in _METRICS]
    is_only = not any(is_small_write(one) for each in sets for one in each.observations)
    return number_table(KEY, ONLY_TITLE if is_only else TITLE, names, columns, shown, caption, as_printed=is_page)


def _key(one: Observation) -> _Key:
    return (one.workload, one.operation, one.block_size_bytes, tuple(sorted(one.levels.items())))


def _is_told(row: DriveRow, one: Observation) -> bool:
    """Whether the page itself has the number in its table of the write cache."""
    is_of_effect = any(page_form(each, "write-cache-effect") is not None for each in row.sets)
    return row.is_reference and is_of_effect and one.is_durable


def _first(metrics: Mapping[str, Observation]) -> Observation:
    return next(iter(metrics.values()))


def _numbers(metrics: Mapping[str, Observation]) -> tuple[Number | None, ...]:
    return tuple(number_of([metrics[metric]]) if metric in metrics else None for metric in _METRICS)


def _texts(row: DriveRow, one: Observation, factors: Sequence[str]) -> tuple[str, ...]:
    size = format_bytes(one.block_size_bytes) if one.block_size_bytes is not None else NOT_APPLICABLE
    return (row.name, one.title or one.workload, size, *(factor_words(name, one.levels) for name in factors))
