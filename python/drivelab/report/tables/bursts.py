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
    rows = [
        (
            TableCell(target),
            TableCell(READS[bucket.token]),
            TableCell(bucket.rate_text(bucket.burst_per_s) if bucket.burst_per_s else _NOTHING),
            TableCell("used up" if bucket.verdict == "empty" else lasts_words(bucket) or _NOTHING),
            TableCell(_told(*then_words(bucket))),
        )
        for target, bucket in in_order(buckets)
    ]
    return (Table(KEY, "Bursts", tuple(map(TableColumn, heads)), tuple(rows)),)


def in_order(buckets: Sequence[tuple[str, TokenBucket]]) -> list[tuple[str, TokenBucket]]:
    """Random reads before large ones."""
    return sorted(buckets, key=lambda one: one[1].token == "bytes")


def lasts_words(bucket: TokenBucket) -> str:
    """How long reads are fast: ``33 min``, ``at least 15 min``; nothing where that is not known."""
    if bucket.verdict == "no end":
        return f"at least {time_text(bucket.watched_s)}"
    return time_text(bucket.lasts_s) if bucket.lasts_s else ""


def then_words(bucket: TokenBucket) -> tuple[str, str]:
    """The rate without credit, and the lowest to the highest that were seen; nothing where it never ended."""
    if bucket.verdict == "no end" or bucket.base_per_s is None:
        return "", ""
    text, *ends = map(bucket.rate_text, (bucket.base_per_s, *bucket.base_range_per_s))
    return text, span_beside(text, *ends) if len(ends) == 2 else ""


def _told(text: str, span: str) -> str:
    return f"{text} ({span})" if span else text or _NOTHING
