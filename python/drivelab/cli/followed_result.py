"""What a program that was followed comes to, on the terminal, as a report and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from drivelab.analyse.followed_calls import SlowCall, neighbour
from drivelab.answers.followed import FollowedAnswer
from drivelab.model.names import counted
from drivelab.model.system_calls import FILE_UNKNOWN
from drivelab.report.content import TracedCombination
from drivelab.report.figures.waterfall import waterfall
from drivelab.report.followed_calls import (
    PER_SECOND,
    SOFTWARE,
    STORY_PROCESSES,
    answer,
    calls_table,
    is_told_of_unknown,
    main_call,
    over_words,
    part_meanings,
    program_words,
    recorded_words,
    shown_calls,
    slowest_table,
    story,
)
from drivelab.report.followed_remarks import (
    elsewhere_words,
    left_out_lines,
    neighbour_words,
    outside_words,
    processor_words,
    recording_words,
)
from drivelab.report.joint import Joint
from drivelab.report.numerals import latency_text
from drivelab.report.parts_of_text import parts_within
from drivelab.report.sentences.explanation import asked_of_drive
from drivelab.report.tables.call_numbers import BY_NAME, SINGLE, call_numbers
from drivelab.report.tables.device_work import device_work_table
from drivelab.report.tables.parts import parts_table
from drivelab.report.tables.table import Table
from drivelab.report.tables.trace_conduct import trace_conduct_table
from drivelab.report.terminal.clean_text import terminal_text
from drivelab.report.terminal.wrapped import GAP, both_ends, table_lines, wrapped
from drivelab.store.followed import CALLS
from drivelab.streams import make_console
from drivelab.trace.files_of_calls import REGISTERED, SUBMISSIONS

SCHEMA = 1
_STORIES_IN_TERMINAL, _STORY_LINES, _CALLS_IN_TERMINAL, _SCREEN_LINES = 3, 2, 5, 30
# of a file that has less room nothing could be told apart
_FILE_MIN = 20
_QUESTION = "Where does the time of this program go?"
# a share of its calls that is not followed, from which the answer says so itself
_BESIDE_TOLD_FROM = 0.1


def followed_joint(found: FollowedAnswer) -> Joint:
    """What a program came to, as a report."""
    traced = [TracedCombination(one, one.label, (found.calls,), (found.events,)) for one in found.explanations]
    calls = calls_table(found.summaries, is_whole=found.recorded_share == 1)
    calls = replace(calls, data=call_numbers(BY_NAME, [one.to_json() for one in found.summaries]))
    slowest = slowest_table(_stories(found))
    if slowest is not None:
        slowest = replace(slowest, data=call_numbers(SINGLE, [one.to_json() for one in found.slowest]))
    tables = (
        replace(calls, caption=" ".join((f"{calls.caption}.", *_left_out(found)))),
        slowest,
        parts_table(traced),
        device_work_table(traced),
        trace_conduct_table(traced),
    )
    figure = waterfall(traced)
    return Joint(
        title=f"{found.record.program} on {found.record.disk}",
        question=_QUESTION,
        sentences=(*_first(found), *recording_words(found.record.calls_trace), *_meanwhile(found)),
        tables=tuple(table for table in tables if table is not None),
        figures=(figure,) if figure is not None else (),
    )


def answer_words(found: FollowedAnswer) -> str:
    """Where the time went, in one sentence."""
    recorded = recorded_words(found.recorded_share, found.recorded_until_ns, found.record.duration_ns)
    every = found.every
    over = ""
    if found.over_ns:
        over = over_words(found.summaries, found.over_ns, every.count, every.time_ns, every.slowest)
    return answer(found.record.program, found.summaries, found.refusal, recorded, over, found.callers)


def _first(found: FollowedAnswer) -> list[str]:
    """The answer and its cause; what of the program's I/O it leaves out where that is much; how the program ended."""
    record = found.record
    software_ns = 0 if found.refusal else sum(found.every.parts_ns[part] for part in SOFTWARE)
    causes = (
        neighbour_words(*neighbour(found.at_drive_ns, 0 if found.refusal else found.sync_wait_ns)),
        processor_words(record.processor_wait_ns, record.duration_ns, software_ns, len(record.threads)),
    )
    told = [answer_words(found), *filter(None, (program_words(found.by_program), *causes))]
    if work := _work(found):
        told.append(work)
    followed = found.every.count
    for reason in (FILE_UNKNOWN, SUBMISSIONS, REGISTERED):
        beside = found.record.left_out.get(reason, 0)
        share = beside / (beside + followed)
        if share > _BESIDE_TOLD_FROM:
            told.append(f"That is not all of its I/O: {100 * share:.0f} % of the calls are {reason}.")
    outside, calls_ns = found.outside, found.every.time_ns
    told_beside = (
        outside_words(outside.count, outside.size_bytes, outside.time_ns, calls_ns),
        elsewhere_words(record.elsewhere_ns, record.elsewhere_path, calls_ns, record.duration_ns),
    )
    told += filter(None, told_beside)
    # one that drivelab asked to end has a negative one
    if (found.record.command_status or 0) > 0:
        told.append(f"{found.record.program} ended with status {found.record.command_status}.")
    return told


def _work(found: FollowedAnswer) -> str:
    """What each of the calls that the answer tells of made the drive do; empty for nothing."""
    main = main_call(found.summaries)
    work = asked_of_drive(found.explanation_of_call(main.call)) if main else ""
    return f"Each {main.call} made the drive do {work}." if main and work else ""


def _meanwhile(found: FollowedAnswer) -> list[str]:
    told = [] if found.refusal else [f"{who} {latency_text(time)}" for who, time in _by_time(found.at_drive_ns)]
    return [f"At the drive while it waited for syncs: {', '.join(told)}."] if told else []


def _left_out(found: FollowedAnswer, *, details: bool = True) -> list[str]:
    """What does not count; without details nothing of the few files that nobody knows after a program has started."""
    record = found.record
    left_out = dict(record.left_out)
    if not details and not is_told_of_unknown(left_out.get(FILE_UNKNOWN, 0), found.every.count):
        left_out.pop(FILE_UNKNOWN, None)
    return list(left_out_lines(left_out, record.unpaired_calls, record.lost_events, record.of_unknown_files))


def _by_time(times: Mapping[str, int]) -> Sequence[tuple[str, int]]:
    return [(who, time) for who, time in sorted(times.items(), key=lambda one: -one[1]) if time > 0][:4]


def followed_document(found: FollowedAnswer, directory: Path, page: Path | None) -> dict[str, Any]:
    """The same for programs."""
    return {
        "schema": SCHEMA,
        "program": found.record.program,
        "disk": found.record.disk,
        "directory": str(directory),
        "report": str(page) if page is not None else None,
        "answer": answer_words(found),
        "command_status": found.record.command_status,
        "duration_ns": found.record.duration_ns,
        "processor_wait_ns": found.record.processor_wait_ns,
        "calls": [one.to_json() for one in found.summaries],
        "slowest": [one.to_json() for one in found.slowest],
        "at_drive_ns": dict(found.at_drive_ns),
        "outside_of_calls": asdict(found.outside),
        "explanations": [one.to_json() for one in found.explanations],
        "left_out": dict(found.record.left_out),
        "lost_events": found.record.lost_events,
        "recorded_share": found.recorded_share,
        "remarks": list(recording_words(found.record.calls_trace)),
        "calls_trace": dict(found.record.calls_trace),
    }


def print_followed(found: FollowedAnswer, directory: Path, page: Path | None, *, details: bool) -> None:
    """Print it, as much as has room on a screen or all of it."""
    console = make_console()
    width, plain = console.width, not console.encoding.startswith("utf")

    def in_lines(texts: Iterable[str]) -> list[list[str]]:
        return [wrapped(text, width, plain) for text in texts]

    lines = [*chain.from_iterable(in_lines(_first(found))), ""]
    summaries = found.summaries if details else shown_calls(found.summaries, _CALLS_IN_TERMINAL)
    table = calls_table(summaries, is_whole=found.recorded_share == 1)
    lines += _table_within(table, width, plain) if summaries else []
    if folded := len(found.summaries) - len(summaries):
        lines.append(f"and {counted(folded, 'other call')}: --details")
    lines += [*chain.from_iterable(in_lines(part_meanings(summaries, found.record.conduct.layers))), ""]
    needed, others = map(in_lines, _remarks(found, details=details))
    lines += chain.from_iterable(needed)
    # two more lines say where all of it is, and two are empty
    room = _SCREEN_LINES - len(lines) - 4
    stories = in_lines(_stories(found)) if details else list(_short_stories(found, width, plain))
    if not details:
        stories = [*stories[:1], *_within(stories[1:], room - sum(map(len, stories[:1])))]
    room -= sum(map(len, stories))
    lines += chain.from_iterable(others if details else _within(others, room))
    told_lines = ["", *lines, "", *chain.from_iterable(stories), ""]
    # what has nothing to tell leaves no empty line
    print("\n".join(line for before, line in pairwise(told_lines) if line or before))
    if page is not None:
        print(f"report: {page}")
    print(f"calls:  {directory / CALLS}")


def _remarks(found: FollowedAnswer, *, details: bool) -> tuple[list[str], list[str]]:
    """What is told in any case, since numbers are missing or not what they seem, and what has to have room."""
    left_out = _left_out(found, details=details)
    is_needed = is_told_of_unknown(found.record.left_out.get(FILE_UNKNOWN, 0), found.every.count)
    needed = [*recording_words(found.record.calls_trace), *left_out * is_needed]
    return needed, [*_meanwhile(found), *left_out * (not is_needed)]


def _within(remarks: Sequence[list[str]], room: int) -> Iterator[list[str]]:
    """The first remarks that have room in so many lines, each whole."""
    for remark in remarks:
        room -= len(remark)
        if room < 0:
            return
        yield remark


def _table_within(table: Table, width: int, plain: bool) -> list[str]:
    """The calls; where they have no room the rate gives way, then the smallest parts of where the time went."""
    rows = [[column.name for column in table.columns], *([cell.text for cell in row] for row in table.rows)]
    if max(map(len, table_lines(rows, plain))) > width:
        rows = [[cell for cell, head in zip(row, rows[0], strict=True) if head != PER_SECOND] for row in rows]
    numbers = list(table_lines([row[:-1] for row in rows], plain))
    room = width - max(map(len, numbers)) - len(GAP)
    ends = [rows[0][-1], *(parts_within(row[-1], room) for row in rows[1:])]
    return [f"{line}{GAP}{terminal_text(end, plain)}" for line, end in zip(numbers, ends, strict=True)]


def _stories(found: FollowedAnswer) -> list[str]:
    """The slowest calls, a line each; none where nobody knows where their time went."""
    return [story(one, _who(found, one)) for one in _told_slowest(found)]


def _short_stories(found: FollowedAnswer, width: int, plain: bool) -> Iterator[list[str]]:
    """The first of them, each in a few lines: fewer processes have room there, but one, and then less of the file."""
    for slow in _told_slowest(found)[:_STORIES_IN_TERMINAL]:
        by_most = [(slow, most) for most in range(STORY_PROCESSES, 0, -1)]
        rooms = range(len(slow.file) - 1, _FILE_MIN, -1)
        by_file = ((replace(slow, file=both_ends(slow.file, room, plain)), 1) for room in rooms)
        wraps: Iterator[list[str]] = (
            wrapped(story(one, _who(found, slow), most), width, plain) for one, most in chain(by_most, by_file)
        )
        for lines in wraps:
            if len(lines) <= _STORY_LINES:
                break
        yield lines


def _told_slowest(found: FollowedAnswer) -> Sequence[SlowCall]:
    return () if found.refusal else found.slowest


def _who(found: FollowedAnswer, slow: SlowCall) -> str:
    return found.record.names.get(slow.thread, found.record.program)
