"""How fast reads are while a burst lasts, how long that is, and how fast they are then, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from drivelab.model.token_bucket import TokenBucket
from drivelab.report.numerals import span_beside
from drivelab.report.sentences.bursts import READS, time_text
from drivelab.report.tables.table import Table, TableCell, TableColumn

KEY = "bursts"
_NOTHING = "–"


def burst_tables(buckets: Sequence[tuple[str, TokenBucket]]) -> tuple[Table, ...]:
    """A row for each target and kind of reads; no table of a run that watched for no burst.

    Parameters
    ----------
    buckets : sequence of (str, TokenBucket)
        What trials have seen, with their targets.
    """
    if not buckets:
        return ()
    heads = ("drive", "reads", "fast", "for", "then")
    order = sorted(buckets, key=lambda one: one[1].token == "bytes")
    rows = [
        (
            TableCell(target),
            TableCell(READS[bucket.token]),
            TableCell(bucket.rate_text(bucket.burst_per_s) if bucket.burst_per_s else _NOTHING),
            TableCell(_lasts(bucket)),
            _then(bucket),
        )
        for target, bucket in order
    ]
    return (Table(KEY, "Bursts", tuple(map(TableColumn, heads)), tuple(rows)),)


def _lasts(bucket: TokenBucket) -> str:
    if bucket.verdict == "no end":
        return f"at least {time_text(bucket.watched_s)}"
    if bucket.verdict == "empty":
        return "used up"
    return time_text(bucket.lasts_s) if bucket.lasts_s else _NOTHING


def _then(bucket: TokenBucket) -> TableCell:
    """The rate without credit between the lowest and the highest that were seen."""
    if bucket.verdict == "no end" or bucket.base_per_s is None:
        return TableCell(_NOTHING)
    text, *ends = map(bucket.rate_text, (bucket.base_per_s, *bucket.base_range_per_s))
    span = span_beside(text, *ends) if len(ends) == 2 else ""
    return TableCell(f"{text} ({span})" if span else text)
