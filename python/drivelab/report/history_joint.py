"""The history of a drive as a report, so that it is written as any other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import median

from drivelab.model.estimate import Estimate
from drivelab.model.history import EARLIER_MIN, NUMBERS, History, HistoryRow, JudgedRun
from drivelab.model.names import counted, of_all
from drivelab.model.units import format_percent
from drivelab.report.figures.over_dates import over_dates
from drivelab.report.joint import Joint
from drivelab.report.numerals import latency_text, number_text, rate_text, span_between, value_writer
from drivelab.report.outcome_words import SHORT_WORDS
from drivelab.report.parts_of_text import capitalised, first_in_few_words
from drivelab.report.reported_findings import ended
from drivelab.report.sentences.comparison import row_words
from drivelab.report.sentences.effect_words import ratio_change, than_words
from drivelab.report.tables.table import Table, TableCell, TableColumn

# key of the table with a row for each run
RUNS = "history"
# what each number is: a line each for its columns in a terminal, where units stand with the numbers
HEADS: Mapping[str, tuple[str, str, str]] = {
    "durable_write_p50": ("4 KiB", "append", "median"),
    "durable_write_p99": ("4 KiB", "append", "p99"),
    "sequential_write": ("1 MiB", "writes", "QD 8"),
    "random_read": ("4 KiB", "reads", "QD 32"),
    "flushes": ("flushes", "per", "append"),
}
CAPTION = (
    "Appends are durable (fdatasync), writes sequential, reads random; QD: I/Os outstanding. "
    "Only checks (drivelab check) have these numbers."
)
# why a run is held against no other, in the width of a column
_INTERRUPTED = "interrupted"
_CONDUCTS = {_INTERRUPTED: "cut off", "busy machine": "busy"}
_OUTCOMES = {name: word.lower() for name, word in SHORT_WORDS.items()} | {"no_limit": "measured"}
_SAYS = {"pass": "says yes to", "fail": "says no to", "undecided": "is undecided on"}
_KINDS_TOLD_MAX = 3
_FIRST_NUMBER, _SPAN_FROM = "durable_write_p50", 2
_FAILURES_TOLD_MAX = 3
_UNKNOWN, _NOTHING = "–", "?"
_ENDS: Mapping[str, Callable[[Sequence[tuple[float, str]]], tuple[float, str]]] = {"lowest": min, "highest": max}


def joint_of_history(history: History) -> Joint:
    """The report: what first and last run say, the figure over dates, and all runs."""
    figure = over_dates(history.rows)
    return Joint(
        title=f"{history.target} over time",
        question=f"What did {history.target} give over time?",
        sentences=tuple(sentences(history)),
        tables=(*([ends_table(history.rows)] if history.has_numbers else []), _history_table(history.rows)),
        figures=(figure,) if figure else (),
        flat_key=RUNS,
    )


def sentences(history: History) -> list[str]:
    """Whether the newest run of each kind differs from those before, how many there are, and which are left out."""
    rows = history.rows
    told = judged_sentences(history)
    told.append(f"{counted(len(rows), 'run')}, from {when(rows[0])} to {when(rows[-1])} UTC.")
    if left_out := Counter(row.left_out for row in rows if row.left_out):
        whys = ", ".join(f"{why} ({count})" for why, count in left_out.items())
        told.append(f"Held against no other run: {whys}.")
    told += [f"The run of {when(row)} failed: {row.error}." for row in rows if row.error][-_FAILURES_TOLD_MAX:]
    if changes := sum(bool(row.changes) for row in rows):
        told.append(f"Since the run before, something else had changed in {counted(changes, 'run')}: see the marks.")
    if words := history.other_kinds_words:
        told.append(f"{capitalised(words)}.")
    if words := history.places_words:
        told.append(f"{words}.")
    if words := history.left_of_burst_words:
        told.append(f"{words}.")
    if words := history.with_other_drives_words:
        told.append(f"{words}.")
    if history.others:
        told.append(f"{counted(history.others, 'run')} of the same path left out: another drive was beneath.")
    return told


def judged_sentences(history: History) -> list[str]:
    """A sentence for each kind of run that could be judged, what changed first, and one for those with too few runs.

    Where none could be, what all gave comes first, and the verdict of the newest check, or what the newest run came to.
    """
    rows = {row.run: row for row in history.rows}
    known = sorted((one for one in history.judged if one.rows), key=lambda one: not one.changed)
    told = []
    if history.is_of_other_places:
        what = "check" if history.has_numbers else "run"
        told = [f"No {what} of {history.target} itself is kept, but of its drive, at {', '.join(history.places)}."]
    told += [_changed(one, history) if one.changed else _unchanged(one, history) for one in known[:_KINDS_TOLD_MAX]]
    told += [] if known else _span(history)
    checks = [row for row in history.rows if row.experiment == "check" and row.answer]
    if checks and not known:
        whole = [row for row in checks if row.left_out != _INTERRUPTED]
        newest = (whole or checks)[-1]
        kind = "The newest check" if newest is checks[-1] else "The newest complete check"
        verdict = f" {_SAYS[newest.outcome]}" if newest.need and newest.outcome in _SAYS else ":"
        told.append(
            ended(first_in_few_words((f"{kind} ({when(newest)}{_at(newest, history)}){verdict} {_answer(newest)}",))[0])
        )
    elif not known:
        told += _newest_answer(history)
    if few := [one for one in history.judged if not one.rows]:
        needed = [f"{counted(one.missing_count, 'more run')} of '{_kind(one, history)}'" for one in few]
        least = counted(min(one.missing_count for one in few), "more run")
        takes = f"{least} of one kind" if len(needed) > 1 else needed[0]
        told.append(f"Whether a run is an exception can't be told yet: that takes {takes} on a quiet machine.")
    elif history.is_simulated:
        told.append(
            "Simulated: a model does the same again, so a number differs only where a seed or something else that was "
            "asked of it differs."
        )
    elif not known and rows:
        whys = dict.fromkeys(row.left_out for row in history.rows if row.left_out)
        why = f" ({', '.join(whys)})" if whys else ""
        # the newest, and those that it is held against
        takes = f"{EARLIER_MIN + 1} runs of one kind on a quiet machine"
        told.append(f"No run here shows the drive undisturbed{why}. Whether a run is an exception takes {takes}.")
    return told


def _span(history: History) -> list[str]:
    """``4 KiB appends took 1.31 ms (median) in all 39 checks since 2026-11-27 11:36``; of less than two nothing."""
    # of a drive with several directories those of the one that was asked for
    here = [row for row in history.rows if history.target not in history.places or not _at(row, history)]
    known = [(one.value, row) for row in here if (one := row.numbers.get(_FIRST_NUMBER)) and one.value]
    if len(known) < _SPAN_FROM:
        return []
    low, high = (latency_text(end(value for value, _ in known)) for end in (min, max))
    every = of_all(len(known), len(known))
    took = f"{low} (median) in {every}" if low == high else f"{span_between(low, high)} (median) in {len(known)}"
    return [f"4 KiB appends took {took} checks since {when(known[0][1])}."]


def _at(row: HistoryRow, history: History) -> str:
    """``, of /srv/other``: where a run was made that was not made at the place that was asked for."""
    place = row.facts.get("target", "")
    return f", of {place}" if place and len(history.places) > 1 and place != history.target else ""


def _answer(row: HistoryRow) -> str:
    """The sentence of a verdict; the rate that was asked for stands behind the program, where no words cut it off."""
    program, _, told = row.answer.partition(": ")
    return f"{program}{_wanted(row)}: {told}" if row.wanted_per_s else row.answer


def _wanted(row: HistoryRow) -> str:
    """`` at 250/s``: the commits a second that were asked for; empty where none were."""
    return f" at {number_text(row.wanted_per_s)}/s" if row.wanted_per_s else ""


def _newest_answer(history: History) -> list[str]:
    """What the newest run came to, where there are no checks with numbers beside each other."""
    newest = next((row for row in reversed(history.rows) if row.answer), None)
    if newest is None or history.has_numbers:
        return []
    return [ended(first_in_few_words((f"Newest ({newest.experiment}, {when(newest)}): {newest.answer}",))[0])]


def _changed(one: JudgedRun, history: History) -> str:
    """``4 KiB append was 31 % slower in the check of 2026-02-28 than in 8 earlier runs like it: 412 us, where ...``."""
    first, *more = one.changed
    row = next(row for row in history.rows if row.run == one.run)
    value = value_writer(first.metric)
    newest = first.new.value if first.new else 0.0
    ends = [value(newest / (end or 1.0)) for end in (first.ratio.high, first.ratio.low)]
    # the interval beside the verdict is that of the value, not of the ratio
    change = ratio_change(replace(first.ratio, low=None, high=None), is_more_slower=first.is_more_worse)
    others = f" {counted(len(more), 'more number')} changed, too." if more else ""
    return (
        f"{row_words(first, {})} was {change} in the {_kind(one, history)} of {when(row)} {than_words(change)} in "
        f"{one.earlier_count} earlier runs like it: {value(newest)}, where {ends[0]} to {ends[1]} was to be "
        f"expected.{others}"
    )


def _unchanged(one: JudgedRun, history: History) -> str:
    row = next(row for row in history.rows if row.run == one.run)
    hidden = median(row.detectable_ratio or 1.0 for row in one.rows)
    return (
        f"No change shown: the {_kind(one, history)} of {when(row)} lies within the scatter of {one.earlier_count} "
        f"earlier runs like it. A change below {format_percent(hidden - 1)} would not have shown."
    )


def _kind(one: JudgedRun, history: History) -> str:
    """``check``, ``check --quick``; with the file system where that tells kinds apart."""
    name, scale, filesystem = one.kind
    is_alone = sum(other.kind[:2] == one.kind[:2] for other in history.judged) == 1
    quick = " --quick" * (scale == "quick")
    return f"{name}{quick}{'' if is_alone or not filesystem else f' on {filesystem}'}"


def ends_table(rows: Sequence[HistoryRow]) -> Table:
    """The numbers of the first full run that has any and of the last one, and of each the lowest and the highest."""
    known = [row for row in rows if row.numbers and row.is_full]
    found: dict[str, list[tuple[float, str]]] = {name: [] for name in HEADS}
    for row in known:
        for name, one in row.numbers.items():
            least = one.low if one.value is None else one.value
            found[name] += [] if least is None else [(least, cell_text(name, row.numbers))]
    return Table(
        key="history-ends",
        title="First and last, lowest and highest",
        columns=(TableColumn("of full checks, quiet machine"), *_number_columns()),
        rows=(
            *(
                (TableCell(word), *(TableCell(cell_text(name, row.numbers)) for name in HEADS))
                for word, row in zip(("first", "last"), (*known[:1], *known[-1:]), strict=False)
            ),
            *(
                (TableCell(word), *(TableCell(end(values)[1] if values else _UNKNOWN) for values in found.values()))
                for word, end in _ENDS.items()
            ),
        ),
        caption=CAPTION,
    )


def _number_columns() -> tuple[TableColumn, ...]:
    return tuple(TableColumn(" ".join(head), is_number=True) for head in HEADS.values())


def _history_table(rows: Sequence[HistoryRow]) -> Table:
    """One row for each run, the oldest first, with what changed before it."""
    has_numbers = any(row.numbers for row in rows)
    heads = (TableColumn("when (UTC)"), TableColumn("fit?" if has_numbers else "experiment"), TableColumn("conduct"))
    numbers = _number_columns() if has_numbers else (TableColumn("what it came to"),)
    judged = (TableColumn("judged by"),) if any(row.judged for row in rows) else ()
    return Table(
        key=RUNS,
        title="All runs",
        columns=(*heads, *numbers, *judged, TableColumn("changed since the run before"), TableColumn("run")),
        rows=tuple(
            (
                TableCell(when(row)),
                TableCell(outcome(row)),
                TableCell(conduct(row)),
                *(
                    [TableCell(cell_text(name, row.numbers), _interval(name, row.numbers)) for name in HEADS]
                    if has_numbers
                    else [TableCell(row.answer)]
                ),
                *(TableCell(row.judged) for _ in judged),
                TableCell("; ".join(row.changes)),
                TableCell(row.run),
            )
            for row in rows
        ),
    )


def outcome(row: HistoryRow) -> str:
    """Whether a check found the drive fit, and for what; what was run where that was no check."""
    if row.experiment != "check":
        return row.experiment
    if row.outcomes:
        return ", ".join(f"{row.outcomes[name]} {word}" for name, word in _OUTCOMES.items() if name in row.outcomes)
    if row.need and row.outcome == "no_limit":
        return f"{_UNKNOWN} {row.need}"
    # the verdict first: of a narrow column the end is cut
    return " ".join(filter(None, (_OUTCOMES.get(row.outcome, row.outcome), row.need))) + _wanted(row)


def conduct(row: HistoryRow) -> str:
    """What tells a run from full ones on a quiet machine: ``quick``, ``busy``; empty where nothing does."""
    # of a check without a verdict that is its outcome
    why = "" if row.left_out == outcome(row) else _CONDUCTS.get(row.left_out, row.left_out)
    return ", ".join(filter(None, ("quick" * row.is_quick, why)))


def when(row: HistoryRow) -> str:
    """When a run began: ``2026-11-22 09:24``."""
    return row.started_utc[:16].replace("T", " ") or _UNKNOWN


def cell_text(name: str, numbers: Mapping[str, Estimate]) -> str:
    """One number of a run, or a bound where the data carry no more."""
    one = numbers.get(name)
    if one is None:
        return _UNKNOWN
    if one.value is not None:
        return _written(name, one.value)
    return f"≥ {_written(name, one.low)}" if one.low is not None else _NOTHING


def _interval(name: str, numbers: Mapping[str, Estimate]) -> str:
    one = numbers.get(name)
    if one is None or one.low is None or one.high is None:
        return ""
    return f"{_written(name, one.low)} to {_written(name, one.high)}"


def _written(name: str, value: float) -> str:
    return rate_text(value) if name == "flushes" else value_writer(NUMBERS[name][1])(value)
