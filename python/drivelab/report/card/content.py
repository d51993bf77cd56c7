"""What a card says: the question, the answer, a picture of the most telling numbers, and what limits them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from drivelab.model.judged_metric import RATE, THROUGHPUT
from drivelab.model.merged_texts import merged_texts
from drivelab.model.verdict import verdicts_in
from drivelab.report.answer import answer_of
from drivelab.report.card.result_rows import rows_of_sets
from drivelab.report.card.rows import (
    Row,
    Rows,
    numbers_of_bursts,
    rows_of_bursts,
    rows_of_commits,
    rows_of_differences,
    rows_of_overall,
    rows_of_parts,
    rows_of_pauses,
    rows_of_rounds,
    rows_of_ways,
)
from drivelab.report.check_table import (
    TOLD_BY_NUMBERS,
    durable_trials,
    footnotes,
    lasting_words,
    marks_of,
    rate_trials,
    region_words,
    shape_of,
)
from drivelab.report.content import ReportContent, TrialContent
from drivelab.report.figures.limit_gauge import Gauge, gauges_of
from drivelab.report.in_short import (
    WARNING_LENGTH_MAX,
    drives_words,
    simulated_sentences,
    source_words,
    warnings_of,
    where_words,
)
from drivelab.report.joint import Joint
from drivelab.report.numerals import latency_text, span_beside, value_writer
from drivelab.report.parts_of_text import parts_within
from drivelab.report.reported_findings import ReportedFinding
from drivelab.report.sentences.traced import are_explained, leads, told_differences

_NUMBERS_MAX, _WARNINGS_MAX = 4, 3
# of three lines
_TWO_SENTENCES_LENGTH_MAX = 210
# numbers of findings that share a range
_ALIKE_TIMES = 3.0
_MARKED = ("invalid", "warning")


@dataclass(frozen=True, slots=True)
class Card:
    """One picture to share.

    Attributes
    ----------
    outcome : str
        Of a check that judged: pass, fail, undecided, mixed, no_limit; else empty.
    title, where : str
        What was asked; drive, host and date.
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
    check = own if own and own.experiment.get("name") == "check" else None
    commits = rows_of_commits(own, drives_words(joint)) if own else None
    shown = _check_trials(check) if check and not commits else []
    notes = (
        footnotes([one for one in check.findings if one.severity in _MARKED], shown, check.finding_lines)
        if check
        else []
    )
    numbers = tuple(_number(trial, notes) for trial in shown) or (numbers_of_bursts(own) if own else ())
    rows = commits
    if own and rows is None:
        of_kinds = rows_of_ways(own) or rows_of_pauses(own) or rows_of_rounds(own) or rows_of_bursts(own)
        rows = rows_of_parts(own) if leads(own) else of_kinds or rows_of_overall(own, joint.sentences)
    differences = joint.part_differences if are_explained(joint) else ()
    if differences:
        rows = rows_of_differences(differences[0])
    rows = None if numbers else rows or rows_of_sets(joint.drive_sets, _named_first(joint))
    if rows is not None and len(rows.rows) == 1:
        # a bar alone tells nothing, and the one number of a page is what its answer is about
        numbers = () if rows.rows[0].is_published else (replace(rows.rows[0], name=rows.title),)
        rows = None
    others = () if numbers or rows else joint.sentences[1:]
    # that drives are simulated is said with the warnings
    told = [one for one in joint.sentences if one not in simulated_sentences(joint.result_sets)]
    marked = [one for one in notes if any(one.mark in row.span for row in numbers)]
    sentence = (answer.sentence if answer else "") or _answer((*told_differences(differences), *told), others)
    return Card(
        outcome=answer.outcome if answer else "",
        title=joint.question,
        where=where_words(joint),
        sentence=sentence,
        gauge=_gauge(check) if check else None,
        numbers=numbers,
        rows=rows,
        others=others,
        warnings=_warnings(joint, (sentence, *others), marked, [TOLD_BY_NUMBERS] if check and numbers else ()),
        source=source_words(joint),
    )


def _named_first(joint: Joint) -> str:
    """The figure that the experiment of all runs names first; empty where they differ, or it names none."""
    named = {tuple(run.experiment.get("figures", ())[:1]) for run in joint.runs}
    return "".join(named.pop()) if len(named) == 1 else ""


def _answer(sentences: Sequence[str], others: Sequence[str]) -> str:
    """The first sentence, and the second where it has room behind it and stands nowhere else."""
    first, *rest = sentences or ("",)
    two = " ".join([first, *rest[:1]])
    return first if others or len(two) > _TWO_SENTENCES_LENGTH_MAX else two


def _gauge(content: ReportContent) -> Gauge | None:
    """What decided the verdict of a single need, beside its limit."""
    verdict = content.verdict or {}
    if len(verdict.get("verdicts", ())) > 1:
        return None
    return next((one for one in gauges_of(verdict) if one.value and one.outcome == verdict.get("outcome")), None)


def _warnings(
    joint: Joint, told: Sequence[str], notes: Sequence[ReportedFinding], by_numbers: Collection[str]
) -> tuple[str, ...]:
    """What limits the numbers: the gravest, and what their marks stand for, of a kind in one line."""
    kinds: dict[str, list[ReportedFinding]] = {}
    for one in notes:
        kinds.setdefault(one.code, []).append(one)
    marked = [line for members in kinds.values() for line in _marked_lines(members)]
    others = warnings_of(joint, told, {*kinds, *by_numbers})
    return (*others[: max(1, _WARNINGS_MAX - len(marked))], *marked)


def _marked_lines(members: Sequence[ReportedFinding]) -> list[str]:
    """What marks of one kind stand for, between what numbers that are alike lie where it is said with several."""
    groups: list[tuple[list[str], list[str]]] = []
    for one in members:
        text = parts_within(one.text, WARNING_LENGTH_MAX)
        alike = (group for group in groups if merged_texts([*group[1], text], _ALIKE_TIMES))
        marks, texts = next(alike, ([], []))
        if not marks:
            groups.append((marks, texts))
        marks.append(one.mark)
        texts.append(text)
    return [
        f"{' '.join(marks)} " + (merged_texts(texts).removeprefix("this trial was ") if len(texts) > 1 else texts[0])
        for marks, texts in groups
    ]


def _check_trials(content: ReportContent) -> list[TrialContent]:
    """A durable write, that which was judged if one was, and the deepest reads and writes, as its table tells them."""
    durable = durable_trials(content.trials)
    judged = [check["threshold"]["trial"] for one in verdicts_in(content.verdict) for check in one.get("checks", ())]
    durable.sort(key=lambda trial: judged.index(trial.name) if trial.name in judged else len(judged))
    deepest: dict[tuple[str, str], TrialContent] = {}
    for trial in rate_trials(content.trials):
        deepest.setdefault((trial.operation, shape_of(trial)[2]), trial)
    rates = sorted(deepest.values(), key=lambda trial: trial.operation != "write")
    return [*durable[: max(1, _NUMBERS_MAX - len(rates))], *rates][:_NUMBERS_MAX]


def _number(trial: TrialContent, notes: Sequence[ReportedFinding]) -> Row:
    metric = RATE if shape_of(trial)[2] == "random" else THROUGHPUT
    estimate = trial.estimate("p50" if trial.is_durable else metric)
    write = latency_text if trial.is_durable else value_writer(metric)
    within = region_words([trial]) if metric == RATE and not trial.is_durable else ""
    name = ", ".join(filter(None, (trial.label, "typical" if trial.is_durable else "", within)))
    if estimate is None or estimate.value is None:
        seen = None if estimate is None else estimate.observed if estimate.observed is not None else estimate.low
        return Row(name, "?" if seen is None else f"≥ {write(seen)}", "too few data" if estimate else "")
    marks = marks_of(trial, notes)
    if told := None if trial.is_durable else lasting_words(trial, metric):
        return Row(name, told[0], told[1] + marks)
    if estimate.low is None or estimate.high is None:
        return Row(name, write(estimate.value), marks.strip())
    span = span_beside(write(estimate.value), write(estimate.low), write(estimate.high)) + marks
    return Row(name, write(estimate.value), span, estimate.value, estimate.low, estimate.high)
