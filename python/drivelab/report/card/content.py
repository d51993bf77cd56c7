"""What a card says: the question, the answer, a picture of the most telling numbers, and what limits them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from drivelab.model.judged_metric import RATE, THROUGHPUT
from drivelab.report.answer import answer_of
from drivelab.report.card.rows import Row, Rows, rows_of_commits, rows_of_parts, rows_of_sets
from drivelab.report.content import ReportContent, TrialContent
from drivelab.report.figures.limit_gauge import Gauge, gauges_of
from drivelab.report.in_short import source_words, warnings_of, where_words
from drivelab.report.joint import Joint
from drivelab.report.numerals import latency_text, span_beside, value_writer
from drivelab.report.sentences.traced import leads

_NUMBERS_MAX, _WARNINGS_MAX = 4, 2


@dataclass(frozen=True, slots=True)
class Card:
    """One picture to share.

    Attributes
    ----------
    outcome : str
        Of a check that judged: pass, fail, undecided, mixed, no_limit; else empty.
    title, where : str
        What was asked; drive, host and date.
    sentence : str
        The answer.
    gauge : Gauge or None
        The limit that the answer hangs on.
    numbers : tuple of Row
        Single numbers, told large.
    rows : Rows or None
        What is drawn as bars where there are no `numbers`.
    others : tuple of str
        What else was answered, where there is nothing to draw.
    warnings : tuple of str
        What limits the numbers, the gravest first.
    source : str
        Who measured.
    """

    outcome: str
    title: str
    where: str
    sentence: str
    gauge: Gauge | None = None
    numbers: tuple[Row, ...] = ()
    rows: Rows | None = None
    others: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    source: str = ""


def card_of(joint: Joint) -> Card:
    """The card of a report."""
    own = joint.only_run
    answer = answer_of(own.verdict, (), ()) if own else None
    # trials of a check have nothing in common that could be drawn as bars
    is_check = own is not None and own.experiment.get("name") == "check"
    commits = rows_of_commits(own) if own else None
    numbers = tuple(_check_numbers(own)) if own and is_check and not commits else ()
    rows = commits or (rows_of_parts(own) if own and leads(own) else None)
    rows = None if numbers else rows or rows_of_sets(joint.result_sets)
    if rows is not None and len(rows.rows) == 1:
        # a bar alone tells nothing, and the one number of a page is what its answer is about
        numbers = () if rows.rows[0].is_published else (replace(rows.rows[0], name=rows.title),)
        rows = None
    return Card(
        outcome=answer.outcome if answer else "",
        title=joint.question,
        where=where_words(joint),
        sentence=(answer.sentence if answer else "") or next(iter(joint.sentences), ""),
        gauge=_gauge(own) if own and is_check else None,
        numbers=numbers,
        rows=rows,
        others=() if numbers or rows else joint.sentences[1:],
        warnings=tuple(warnings_of(joint)[:_WARNINGS_MAX]),
        source=source_words(joint),
    )


def _gauge(content: ReportContent) -> Gauge | None:
    """The first latency that decided the verdict of a single need, beside its limit."""
    verdict = content.verdict or {}
    if len(verdict.get("verdicts", ())) > 1:
        return None
    return next((one for one in gauges_of(verdict) if one.unit == "ns" and one.is_at_most and one.value), None)


def _check_numbers(content: ReportContent) -> Iterator[Row]:
    """What a durable write takes, and the rates beside it; of nothing but durable writes their latencies."""
    durable = [trial for trial in content.trials if trial.is_durable]
    others = [trial for trial in content.trials if not trial.is_durable]
    found = [*durable[: max(1, _NUMBERS_MAX - len(others))], *others]
    for trial in found[:_NUMBERS_MAX]:
        yield _number(trial)


def _number(trial: TrialContent) -> Row:
    is_random = str((trial.workload.get("access") or {}).get("kind", "")) == "random"
    metric = RATE if is_random else THROUGHPUT
    estimate = trial.estimate("p50" if trial.is_durable else metric)
    write = latency_text if trial.is_durable else value_writer(metric)
    name = f"{trial.label}, typical" if trial.is_durable else trial.label
    if estimate is None or estimate.value is None:
        seen = None if estimate is None else estimate.observed if estimate.observed is not None else estimate.low
        return Row(name, "?" if seen is None else f"≥ {write(seen)}", "too few data" if estimate else "")
    if estimate.low is None or estimate.high is None:
        return Row(name, write(estimate.value), "")
    span = span_beside(write(estimate.value), write(estimate.low), write(estimate.high))
    return Row(name, write(estimate.value), span, estimate.value, estimate.low, estimate.high)
