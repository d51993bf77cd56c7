"""What many drives gave over dates, in sentences: which became slower, whose firmware changed, and how they wore."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from drivelab.model.comparison import MetricComparison
from drivelab.model.fleet_history import DriveHistory, FleetHistory
from drivelab.model.history import EARLIER_MIN, HistoryRow
from drivelab.model.names import counted, in_number
from drivelab.model.units import format_count, format_percent
from drivelab.report.parts_of_text import capitalised
from drivelab.report.sentences.comparison import row_words
from drivelab.report.sentences.effect_words import ratio_change, than_words

_FIRMWARES_NAMED_MAX = 2


def fleet_history_sentences(history: FleetHistory) -> tuple[str, ...]:
    """The sentences, the one that answers first.

    Parameters
    ----------
    history : FleetHistory
        At least one drive.
    """
    return (
        *_slower(history),
        *_few(history),
        *_firmware(history.drives),
        *_wear(history.drives),
        *(f"{capitalised(note)}." for note in history.notes),
    )


def newest_words(one: DriveHistory) -> str:
    """How the newest run of a drive compares: its largest change, ``no change shown``, or how many runs it takes."""
    if one.changed:
        more = len(one.changed) - 1
        return f"{change_words(one.changed[0][1])}{f', and {more} more' if more else ''}"
    if one.missing_count:
        return f"{counted(one.missing_count, 'more run')} to judge"
    if not one.judged:
        return one.why_unjudged or "not judged"
    return "no change shown"


def change_words(row: MetricComparison) -> str:
    """``31 % slower: random reads, queue depth 8``."""
    return f"{_change(row)}: {row_words(row, {})}"


def _change(row: MetricComparison) -> str:
    return ratio_change(replace(row.ratio, low=None, high=None), is_more_slower=row.is_more_worse)


def firmware_words(one: DriveHistory) -> str:
    """``A1 -> B7 (2026-03-01)``, every change; without one what it is."""
    changes = one.firmware_changes
    return ", ".join(f"{before} -> {after} ({day(row)})" for row, before, after in changes) or one.drive.firmware


def wear_words(one: DriveHistory) -> str:
    """``3 % -> 7 %``, of the first and the last run that know it; empty where none does."""
    ends = list(dict.fromkeys(f"{wear:g} %" for _, wear in (*one.wear_percent[:1], *one.wear_percent[-1:])))
    return " -> ".join(ends)


def day(row: HistoryRow) -> str:
    """When a run began: ``2026-03-01``."""
    return row.started_utc[:10]


def _slower(history: FleetHistory) -> Iterator[str]:
    judged, count = history.judged_drives, len(history.drives)
    if not judged:
        return
    slower = [one for one in judged if one.is_slower]
    faster = [one for one in judged if one.changed and not one.is_slower]
    of = f"of {counted(len(judged), 'drive')} that have runs enough"
    if slower:
        worst = slower[0]
        run, row = next(one for one in worst.changed if one[1].verdict == "slower")
        change = _change(row)
        newest = next(each for each in worst.rows if each.run == run.run)
        yield (
            f"{format_count(len(slower))} {of} became slower; most {worst.drive.words}: {row_words(row, {})} was "
            f"{change} in its run of {day(newest)} {than_words(change)} in {run.earlier_count} earlier ones like it."
        )
    else:
        yield f"None {of} became slower."
    if faster:
        yield f"{counted(len(faster), 'drive')} became faster."
    hidden = median(row.detectable_ratio or 1.0 for one in judged for each in one.judged for row in each.rows)
    yield (
        f"{format_count(history.comparison_count)} {in_number(history.comparison_count, 'comparison')} "
        f"{in_number(history.comparison_count, 'were')} made and corrected for (Holm, 0.5 %). "
        f"A change below {format_percent(hidden - 1)} would mostly not have shown."
    )
    if left := count - len(judged):
        yield f"{counted(left, 'drive')} cannot be judged yet."


def _few(history: FleetHistory) -> Iterator[str]:
    """Where no drive is judged, why: too few runs, none on a quiet machine, or simulated drives."""
    if history.judged_drives:
        return
    count = len(history.drives)
    simulated = sum(one.is_simulated for one in history.drives)
    if simulated == count:
        yield (
            f"No drive of {count} can be judged: all are simulated, and a model does the same again, so there is no "
            "scatter to hold a run against; 'drivelab fleet report' holds them against each other."
        )
        return
    nearest = max(history.drives, key=lambda one: one.like_count)
    runs = counted(sum(len(one.rows) for one in history.drives), "run")
    most = f"and {nearest.drive.words} has most with {nearest.like_count}" if nearest.like_count else "and none has one"
    takes = f"{EARLIER_MIN + 1} runs of one kind on a quiet machine"
    yield f"No drive of {count} can be judged yet ({runs}): it takes {takes}, {most}."
    if simulated:
        yield f"{counted(simulated, 'drive', 'are')} simulated, and a model does the same again."
    whys = Counter(one.why_unjudged for one in history.drives if one.why_unjudged and not one.is_simulated)
    for why, drives in whys.items():
        yield f"All runs of {counted(drives, 'drive')} tell nothing of the drive itself: {why}."


def _firmware(drives: Sequence[DriveHistory]) -> Iterator[str]:
    changed = [one for one in drives if one.firmware_changes]
    if not changed:
        return
    named = [f"{one.drive.words}: {firmware_words(one)}" for one in changed[:_FIRMWARES_NAMED_MAX]]
    more = f"; and {len(changed) - len(named)} more" if len(changed) > len(named) else ""
    yield f"Another firmware came to {counted(len(changed), 'drive')}: {'; '.join(named)}{more}."


def _wear(drives: Sequence[DriveHistory]) -> Iterator[str]:
    known = [one for one in drives if one.wear_percent]
    if not known:
        return
    last = [one.wear_percent[-1][1] for one in known]
    most = max(known, key=lambda one: one.wear_grown)
    grew = (
        f"; most grew {most.drive.words}: {wear_words(most)} from {day(most.wear_percent[0][0])} to "
        f"{day(most.wear_percent[-1][0])}"
        if most.wear_grown > 0
        else ""
    )
    span = f"{min(last):g} %" if min(last) == max(last) else f"{min(last):g} to {max(last):g} %"
    yield f"Wear is known of {counted(len(known), 'drive')}, now {span} of their life{grew}."
