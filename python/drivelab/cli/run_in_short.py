"""Kept runs in short: what each came to, and the table of them in a terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from drivelab.model.errors import DrivelabError
from drivelab.model.finding import trials_of
from drivelab.model.names import counted
from drivelab.model.stored_experiment import EXPLAIN, asks_total_time
from drivelab.model.units import glued
from drivelab.report.outcome_words import short_verdict
from drivelab.report.parts_of_text import capitalised, clauses_in_lines
from drivelab.report.terminal.clean_text import terminal_text
from drivelab.report.terminal.wrapped import ellipsis, one_line, table_lines
from drivelab.store.followed import StoredFollowed
from drivelab.store.read import StoredRun
from drivelab.store.run_record import RunRecord

if TYPE_CHECKING:
    from drivelab.model.run_answer import RunAnswer

_HEADS = ("#", "when (UTC)", "experiment", "drive")
_GAP = "  "
_DAMAGED = ("S506", "S515")
_EXPERIMENT_WIDTH, _TARGET_WIDTH, _ANSWER_WIDTH_MIN, _ANSWER_LINES_MAX = 16, 16, 20, 3


def record_of(stored: StoredRun | StoredFollowed) -> RunRecord:
    """What is stored of it, whichever kind of run it is."""
    return stored.as_run if isinstance(stored, StoredFollowed) else stored.record


def row_of(stored: StoredRun | StoredFollowed, number: int, known: RunAnswer | None = None) -> dict[str, Any]:
    """A run in plain data: when, what, on which targets, how it ended and what it came to (`told_in_short`)."""
    record = record_of(stored)
    return {
        "number": number,
        "run": stored.directory.name,
        "started_utc": record.started_utc or None,
        "experiment": record.experiment.get("name", ""),
        "targets": [str(one.get("label", "")) for one in record.targets],
        "tags": dict(record.tags),
        "status": record.status,
        "error": record.error or None,
        "failed_trials": len(record.failures),
        "outcome": record.verdict.get("outcome") or None,
        **told_in_short(stored, known),
    }


def told_in_short(stored: StoredRun | StoredFollowed, known: RunAnswer | None = None) -> dict[str, str]:
    """What a run came to, as ``answer`` in a sentence and ``in_short`` in a few words, or else in the same sentence.

    Parameters
    ----------
    known : RunAnswer, optional
        What its trials come to, where that is known already.
    """
    record = record_of(stored)
    told = record.verdict.get("sentence") or record.answer
    explanation = _explanation(stored) if isinstance(stored, StoredRun) else ("", "")
    found = told or explanation[1] or ("" if isinstance(stored, StoredFollowed) else _first_sentence(stored, known))
    found = found or "nothing was measured"
    return {"in_short": short_verdict(record.verdict) or explanation[0] or found, "answer": found}


def answer_of_targets(run: StoredRun) -> RunAnswer | None:
    """What the trials of a run of several targets come to; None of one target, and of a run with a verdict."""
    if len(run.record.targets) < 2 or run.record.verdict or run.record.answer:
        return None
    from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run

    try:
        return answer_of_run(run, SHOWN_METRICS)
    except DrivelabError:
        # the answer of the run says so
        return None


def told_of_targets(run: StoredRun, answer: RunAnswer) -> dict[str, str]:
    """What each target of a run came to by itself."""
    from drivelab.model.run_answer import RunAnswer
    from drivelab.report.sentences.run import plain_text, run_sentences

    told = {}
    for label in dict.fromkeys(one.target for one in answer.combinations):
        own, apart = (tuple(one for one in of if one.target == label) for of in (answer.combinations, answer.apart))
        of_tasks = asks_total_time(run.record.experiment)
        if sentences := run_sentences(RunAnswer(own, apart=apart), of_tasks=of_tasks):
            told[label] = plain_text(sentences[0])
    return told


def run_lines(rows: Sequence[Mapping[str, Any]], width: int, plain: bool, *, has_tags: bool = False) -> Iterator[str]:
    """A head, and a line or two each: number, date, experiment, drive, and what it came to as far as there is room.

    With `has_tags` what the user said of a run stands below that.
    """
    from rich.cells import cell_len

    cells = [
        (
            str(row["number"]),
            (row["started_utc"] or "")[:16].replace("T", " ") or "-",
            one_line(row["experiment"] or "-", _EXPERIMENT_WIDTH, plain),
            _targets(row["targets"], plain),
        )
        for row in rows
    ]
    columns = list(table_lines([_HEADS, *cells], plain, left=len(_HEADS)))
    start = max(cell_len(line) for line in columns) + len(_GAP)
    yield f"{columns[0].ljust(start)}answer"
    for line, row in zip(columns[1:], rows, strict=True):
        room = max(width - start, _ANSWER_WIDTH_MIN)
        mark = ellipsis(plain)
        text = glued(terminal_text(answer_words(row), plain))
        told = textwrap.wrap(text, room, max_lines=_ANSWER_LINES_MAX, placeholder=mark)
        # whole clauses, where two lines hold at least one
        told = clauses_in_lines(text, partial(textwrap.wrap, width=room), _ANSWER_LINES_MAX) or told
        first, *more = [terminal_text(one, plain) for one in told] or [""]
        yield f"{line}{' ' * (start - cell_len(line))}{first}"
        # a comma or a colon before what was cut off leads nowhere
        yield from (f"{' ' * start}{re.sub(rf'[:;,]{re.escape(mark)}$', mark, one)}" for one in more)
        tags = ", ".join(f"{key}={value}" for key, value in row["tags"].items()) if has_tags else ""
        yield from (f"{' ' * start}{one}" for one in textwrap.wrap(terminal_text(tags, plain), room))


def _targets(targets: Sequence[str], plain: bool) -> str:
    """The first target, of a long one its end, which tells paths apart, and how many more there are."""
    more = f" +{len(targets) - 1}" if len(targets) > 1 else ""
    text, room = terminal_text("".join(targets[:1]), plain), _TARGET_WIDTH - len(more)
    mark = ellipsis(plain)
    return (text if len(text) <= room else f"{mark}{text[len(mark) - room :]}") + more


def answer_words(row: Mapping[str, Any]) -> str:
    """How it ended, or how much failed, where that was not well; then its verdict in a few words, or first sentence."""
    if row["error"]:
        return f"{row['status']}: {row['error']}"
    told = row["in_short"]
    # nobody tells whether its process is still there
    status = {"running": "not ended"}.get(row["status"], row["status"])
    if status == "complete":
        failed = row["failed_trials"]
        return f"({counted(failed, 'trial')} failed) {told}" if failed else told
    return f"{status}; {told}"


def _explanation(run: StoredRun) -> tuple[str, str]:
    """Where the time of an explained run went, in a few words and in a sentence; empty for any other."""
    if run.record.experiment.get("name") != EXPLAIN:
        return "", ""
    from drivelab.answers.explanations import explanations_of
    from drivelab.report.sentences.explanation import explanation_sentences
    from drivelab.report.sentences.run import plain_text
    from drivelab.report.sentences.traced import short_explanation

    try:
        first = next(iter(explanations_of(run)), None)
    except DrivelabError:
        return "", ""
    if first is None:
        return "", ""
    return plain_text(short_explanation(first)), next(iter(explanation_sentences(first)), "")


def _first_sentence(run: StoredRun, known: RunAnswer | None) -> str:
    """The first sentence of what an experiment came to; without the name of its only workload, unless imported."""
    # imported here: where only checks are kept, nothing is analysed
    from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run
    from drivelab.report.sentences.run import plain_text, run_sentences

    try:
        answer = known or answer_of_run(run, SHOWN_METRICS)
    except DrivelabError as error:
        # a run without a single trial says why in its report
        return f"damaged: {error.what}" if error.code in _DAMAGED else ""
    if not answer.combinations:
        return trials_of(run.trials.num_rows, len(run.record.plan.get("steps", ())) or run.trials.num_rows)
    sentences = run_sentences(answer, of_tasks=asks_total_time(run.record.experiment))
    # that something was imported says nothing of what was measured
    labels = set() if run.record.imported else {one.label for one in answer.combinations}
    first = plain_text(next(iter(sentences), ""))
    short = first.removeprefix(f"{labels.pop()}: ") if len(labels) == 1 else first
    # what begins with the name of a job keeps its case
    return first if short == first else capitalised(short)
