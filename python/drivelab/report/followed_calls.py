"""What is told of a followed program: the answer, its calls, and the slowest of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from drivelab.model.names import names_in_words
from drivelab.model.system_calls import SYNC_ALL
from drivelab.model.trace import PART_MEANINGS, PART_TITLES, Part
from drivelab.report.numerals import count_text, latency_text, number_text
from drivelab.report.tables.table import Table, TableColumn, text_rows

_TOLD_FROM = 0.05
# from such a share of a call on it is told that others were at the drive while nothing of it was
_OTHERS_TOLD_FROM = 0.1
_TOLD_AT_MOST = 3
STORY_PROCESSES = 3
# from such a share of the calls on those are told of whose file nobody knows: starting a program makes a few
_UNKNOWN_TOLD_FROM = 0.01
# a column that a narrow screen can do without
PER_SECOND = "per s"
# until when what is submitted lasts, by how the names of its calls begin
_SUBMITTED = {"io_uring": "the kernel has posted the completion", "aio": "its last bio has ended"}
_SHORT: Mapping[Part, str] = {
    "fs_in": "file system",
    "layers": "layers",
    "queue": "queue",
    "device": "device",
    "flush": "flush",
    "between": "between",
    "return": "return",
}
SOFTWARE: tuple[Part, ...] = ("fs_in", "between", "return")
_IN_SENTENCE: Mapping[str, tuple[Part, ...]] = {
    "flush": ("flush",),
    "device": ("device",),
    "queue": ("queue",),
    "layers": ("layers",),
    "software": SOFTWARE,
}
# a call that has none of them had nothing done below the file system
_BELOW: tuple[Part, ...] = ("layers", "queue", "device", "flush", "between")


class Summary(Protocol):
    """The calls of one name: `drivelab.analyse.followed_calls.CallSummary`."""

    @property
    def call(self) -> str:
        """Its name."""

    @property
    def count(self) -> int:
        """How many."""

    @property
    def per_second(self) -> float:
        """How many in a second."""

    @property
    def p50_ns(self) -> float:
        """Median."""

    @property
    def p99_ns(self) -> float | None:
        """99 % quantile; None of too few calls."""

    @property
    def p99_at_least_ns(self) -> float | None:
        """What bounds it then."""

    @property
    def slowest_ns(self) -> float:
        """The longest."""

    @property
    def time_ns(self) -> int:
        """How long all of them took together."""

    @property
    def parts_ns(self) -> Mapping[Part, int]:
        """Sums of the parts."""

    @property
    def layers_ns(self) -> Mapping[str, int]:
        """Of the parts what was spent in layers, by title."""

    @property
    def of_unknown_files(self) -> int:
        """How many more there were whose file nobody knows."""


def answer(
    name: str,
    summaries: Sequence[Summary],
    refusal: str = "",
    recorded: str = "",
    over: str = "",
    callers: Sequence[str] = (),
) -> str:
    """Where the time of those calls went that the program waited for longest in all.

    Parameters
    ----------
    name : str
        What was followed.
    summaries : sequence of Summary
        Its calls by name, those that took most time first.
    refusal : str
        Why nothing can be said of where the time went; empty where it can.
    recorded : str
        From `recorded_words`: which part of its calls the sentence is about; empty where that is all.
    over : str
        From `over_words`: how many of them the sentence is about; empty where that is all.
    callers : sequence of str
        Programs that made these calls, the one that made most first: one that only starts others makes none.
    """
    main = main_call(summaries)
    if main is None:
        return f"{recorded}{over}" if over else f"{name} made no call on this disk."
    recorded += f"{over} Of these, " if over else ""
    caller, *others = callers or (name,)
    whose = "their" if over else "its" if caller == name and not others else "the"
    time = "time" if over else "time in calls"
    share = f"({100 * main.time_ns / max(1, sum(one.time_ns for one in summaries)):.0f} % of {whose} {time})"
    told = f"{recorded}{_subject(main, caller, len(others))} {share} took {_latencies(main)}"
    return f"{told}; where it went is not known: {refusal}." if refusal else f"{told}: {_shares(main)}."


def _subject(main: Summary, caller: str, others: int) -> str:
    """Whose calls they are: ``sqlite3's 112 fdatasync calls``, ``9 fsync calls of etcd and 1 other program``."""
    is_only = main.count == 1 and not _has_unknown(main)
    known = f"{main.call} call{'' if is_only else 's'}{' whose file is known' * _has_unknown(main)}"
    counted = "only" if is_only else _counted(main)
    if not others:
        return f"{caller}'s {counted} {known}"
    return f"{counted} {known} of {caller} and {others} other program{'' if others == 1 else 's'}"


def _latencies(main: Summary) -> str:
    """How long calls took: one or two each, the median of more, and of few the slowest beside it."""
    if main.count <= 2 and not _has_unknown(main):
        each = (main.p50_ns,) if main.count == 1 else (main.time_ns - main.slowest_ns, main.slowest_ns)
        return " and ".join(map(latency_text, each))
    slow = f"at most {latency_text(main.slowest_ns)}" if main.p99_ns is None else f"{latency_text(main.p99_ns)} at p99"
    return f"{latency_text(main.p50_ns)} at the median, {slow}"


def shown_calls(summaries: Sequence[Summary], most: int) -> Sequence[Summary]:
    """So many that took most time; those of which some are missing in any case."""
    incomplete = sum(map(_has_unknown, summaries[most:]))
    first = summaries[: max(0, most - incomplete)]
    return [*first, *(one for one in summaries[len(first) :] if _has_unknown(one))]


def program_words(by_program: Mapping[str, Sequence[Summary]]) -> str:
    """Which of several programs waited for what; empty for one alone.

    Parameters
    ----------
    by_program : mapping of str to sequence of Summary
        By program its calls.
    """
    if len(by_program) < 2:
        return ""
    whole = sum(one.time_ns for summaries in by_program.values() for one in summaries) or 1
    told = []
    for name, summaries in by_program.items():
        share = 100 * sum(one.time_ns for one in summaries) / whole
        main = main_call(summaries)
        if main is None:
            told.append(f"{name} made none")
            continue
        called = f"{count_text(main.count)} {main.call} calls of {latency_text(main.p50_ns)} at the median"
        told.append(f"{name} {share:.0f} % (most in {called})")
    return f"By program, of the time in calls: {names_in_words(told)}."


def recorded_words(share: float, until_ns: int, duration_ns: int) -> str:
    """How an answer begins that is about a part of the calls; empty where none was lost.

    Parameters
    ----------
    share : float
        Which part of the calls was recorded.
    until_ns, duration_ns : int
        For how long calls were recorded, and how long the program was followed.
    """
    if share >= 1:
        return ""
    percent = f"{math.floor(100 * share)} %" if share >= 0.01 else "less than 1 %"
    until = f", until {latency_text(until_ns)} of {latency_text(duration_ns)}" if until_ns < duration_ns else ""
    return f"Of the {percent} of calls that were recorded{until}, "


def main_call(summaries: Sequence[Summary]) -> Summary | None:
    """The call that is told of first: the one that took most time in all."""
    return max(summaries, key=lambda one: one.time_ns, default=None)


def _has_unknown(one: Summary) -> bool:
    """Whether calls of a name are missing in its row that are worth to be told of."""
    return is_told_of_unknown(one.of_unknown_files, one.count)


def is_told_of_unknown(of_unknown_files: int, known: int) -> bool:
    """Whether calls of unknown files are so many beside those of known ones that the first screen says so."""
    return of_unknown_files > 0 and of_unknown_files >= _UNKNOWN_TOLD_FROM * (of_unknown_files + known)


def _counted(one: Summary) -> str:
    """How many calls are in a row, and of how many where that is not all: ``248 of 100 003``."""
    whole = f" of {count_text(one.count + one.of_unknown_files)}" if _has_unknown(one) else ""
    return f"{count_text(one.count)}{whole}"


def _numbers(one: Summary) -> list[str]:
    """Count, rate, median, p99 and slowest; of less than half of the calls only what bounds them."""
    rate, slowest = number_text(one.per_second), latency_text(one.slowest_ns)
    if one.count < one.of_unknown_files:
        return [_counted(one), f"≥ {rate}", "unknown", "unknown", f"≥ {slowest}"]
    p99 = p99_text(one.p99_ns, one.p99_at_least_ns)
    return [_counted(one), rate, latency_text(one.p50_ns), p99, slowest]


def p99_text(p99_ns: float | None, at_least_ns: float | None) -> str:
    """A 99 % quantile, or what bounds that of too few calls: ``≥ 9.30 ms``."""
    return f"≥ {latency_text(at_least_ns or 0.0)}" if p99_ns is None else latency_text(p99_ns)


def _shares(one: Summary) -> str:
    whole = sum(one.parts_ns.values())
    if not whole:
        return "nothing of it is known"
    sums = {name: sum(one.parts_ns.get(part, 0) for part in parts) for name, parts in _IN_SENTENCE.items()}
    told = sorted(((time / whole, name) for name, time in _layers_named(sums, one.layers_ns).items()), reverse=True)
    return ", ".join(f"{100 * share:.0f} % {name}" for share, name in told if share >= 0.005)


def where(one: Any) -> str:
    """Where the time of some calls, or of a slow one, went, the largest part first: ``flush 73 %, device 20 %``."""
    whole = sum(one.parts_ns.values()) or 1
    times = _layers_named({_SHORT[part]: time for part, time in one.parts_ns.items()}, one.layers_ns)
    told = sorted(((time / whole, name) for name, time in times.items()), reverse=True)
    return ", ".join(f"{name} {100 * share:.0f} %" for share, name in told[:_TOLD_AT_MOST] if share >= _TOLD_FROM)


def _layers_named(times_ns: Mapping[str, int], layers_ns: Mapping[str, int]) -> dict[str, int]:
    """The same with each layer by its title, where titles are known."""
    if not layers_ns:
        return dict(times_ns)
    return {name: time for name, time in times_ns.items() if name != _SHORT["layers"]} | dict(layers_ns)


def over_words(summaries: Sequence[Summary], over_ns: int, count: int, time_ns: int, slowest: tuple[str, int]) -> str:
    """How many of all calls took longer than somebody asked about, and how much of the time they are.

    Parameters
    ----------
    summaries : sequence of Summary
        Those that took longer.
    count, time_ns : int
        How many calls there are in all, and how long they took together.
    slowest : (str, int)
        The slowest of all, and how long it took, in ns.
    """
    slow = sum(one.count for one in summaries)
    share = 100 * sum(one.time_ns for one in summaries) / max(1, time_ns)
    counted = f"{count_text(slow)} of {count_text(count)} calls took longer than {latency_text(over_ns)}"
    if slow:
        return f"{counted}: {share:.0f} % of the time."
    call, slowest_ns = slowest
    return f"{counted}; the slowest, of {call}, took {latency_text(slowest_ns)}." if call else f"{counted}."


def part_meanings(summaries: Sequence[Summary], layers: Sequence[str] = ()) -> Iterator[str]:
    """What the parts are that the table names and nobody knows: those of software, and layers."""
    named = " ".join(map(where, summaries))
    told = [f"{_SHORT[part]}: {PART_MEANINGS[part]}" for part in SOFTWARE if f"{_SHORT[part]} " in named]
    for way, end in _SUBMITTED.items():
        if any(f"{way} " in one.call for one in summaries):
            yield f"{way}: until {end}, and not until the program looks for it."
    if any(one.call == SYNC_ALL for one in summaries):
        yield f"{SYNC_ALL} waits for all disks: what others than this one did meanwhile is not known, and is software."
    meanings = []
    if told:
        parts = names_in_words([_SHORT[part] for part in SOFTWARE])
        meanings.append(f"Software is {parts} together; {'; '.join(told)}.")
    if in_table := [title for title in layers if f"{title} " in named]:
        are = "is a layer" if len(in_table) == 1 else "are layers"
        meanings.append(f"{names_in_words(in_table)} {are} between the file system and the drive.")
    if meanings:
        yield " ".join(meanings)


def calls_table(summaries: Sequence[Summary], *, is_whole: bool = True) -> Table:
    """The calls by name; where some were lost the table is not whole, and its head says so."""
    names = ("calls" if is_whole else "calls recorded", PER_SECOND, "median", "p99", "slowest")
    return Table(
        key="followed-calls",
        title="The calls of the program",
        columns=(
            TableColumn("call"),
            *(TableColumn(name, is_number=True) for name in names),
            TableColumn("where its time went"),
        ),
        rows=text_rows(
            [
                [
                    one.call,
                    *_numbers(one),
                    where(one),
                ]
                for one in summaries
            ]
        ),
        caption="From the entry of each call to its return. "
        + "; ".join(f"{PART_TITLES[part]}: {text}" for part, text in PART_MEANINGS.items()),
    )


def story(slow: Any, name: str, most: int = STORY_PROCESSES) -> str:
    """A slow call in one line: ``12.3 ms fsync by etcd of /srv/wal: flush 80 %; at the drive meanwhile: ...``.

    Parameters
    ----------
    slow : SlowCall
        The call.
    most : int
        How many of the processes that were at the drive meanwhile are named; of the others their number is told.
    """
    # one that was closed again before its name was looked up
    file = f" of {slow.file}" if slow.file else ""
    told = f"{latency_text(slow.latency_ns)} {slow.call} by {name}{file}: {where(slow)}"
    if not any(slow.parts_ns.get(part, 0) for part in _BELOW):
        return f"{told}; nothing of it went to the drive"
    named = [f"{who} {latency_text(time)}" for who, time in slow.at_drive_ns.items()][:most]
    if more := len(slow.at_drive_ns) - len(named):
        named.append(f"{more} more")
    if not named:
        return f"{told}; nothing was at the drive"
    told += f"; at the drive meanwhile: {names_in_words(named)}"
    if slow.others_alone_ns < _OTHERS_TOLD_FROM * slow.latency_ns:
        return told
    return f"{told}; others were there for {latency_text(slow.others_alone_ns)} while nothing of it was"


def slowest_table(stories: Sequence[str]) -> Table | None:
    """The slowest calls with their stories; None where there is none."""
    if not stories:
        return None
    return Table(
        key="slowest-calls",
        title="The slowest calls",
        columns=(TableColumn("the slowest first"),),
        rows=text_rows([[text] for text in stories]),
        caption=(
            "Where the time of each went, and for how long bios of each process were on their way meanwhile. Those "
            "times overlap: a bio of the journal may wait for one of the program."
        ),
    )
