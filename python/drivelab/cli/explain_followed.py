"""``drivelab explain --pid, --path, --command``: where the time of somebody's program goes, while it runs."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from drivelab.analyse.explanation import TracedPass, explanation_of
from drivelab.analyse.followed_calls import CallSummary, SlowCall, at_drive, call_summaries, slowest_calls
from drivelab.analyse.operation_parts import operation_parts
from drivelab.cli.explain_options import ExplainOptions
from drivelab.cli.page import write_page
from drivelab.cli.workload_arguments import located
from drivelab.inventory.target import resolve_target
from drivelab.model.errors import EXIT_NOT_TRUSTED, EXIT_OK, DrivelabError
from drivelab.model.system_calls import call_numbers
from drivelab.model.target import TargetFacts
from drivelab.model.trace import OPERATION_NAMES, PARTS, Explanation
from drivelab.model.units import parse_duration_ns
from drivelab.report.content import TracedCombination
from drivelab.report.figures.waterfall import waterfall
from drivelab.report.followed_calls import (
    answer,
    calls_table,
    left_out_lines,
    main_call,
    over_words,
    part_meanings,
    processor_words,
    slowest_table,
    story,
)
from drivelab.report.html import FILE_NAME
from drivelab.report.joint import Joint
from drivelab.report.numerals import count_text, latency_text
from drivelab.report.sentences.explanation import asked_of_drive
from drivelab.report.tables.device_work import device_work_table
from drivelab.report.tables.parts import parts_table
from drivelab.report.tables.trace_conduct import trace_conduct_table
from drivelab.report.terminal.wrapped import table_lines, wrapped
from drivelab.run.following.follow import Followed, follow, place_of
from drivelab.run.following.processes import StartedCommand, name_of, processes_with, require_process, with_descendants
from drivelab.run.interruption import interruptible
from drivelab.run.traced_pass import traced_device
from drivelab.store.layout import default_parent
from drivelab.streams import make_console
from drivelab.trace.join import JoinedTrace, join_trace
from drivelab.trace.operations_of_calls import ELSEWHERE, SUBMISSIONS, FollowedCalls, operations_of_calls

SCHEMA = 1
_STORIES, _STORIES_IN_TERMINAL, _CALLS_IN_TERMINAL, _REMARK_LINES = 20, 3, 5, 8
_QUESTION = "Where does the time of this program go?"
# a share of its calls that is not followed, from which the answer says so itself
_BESIDE_TOLD_FROM = 0.1
# options that say something of a program that is followed; all others are of I/O that drivelab makes itself
_OF_FOLLOWED = ("what", "pid", "path", "is_command", "over", "runtime", "out", "details", "as_json")


@dataclass(frozen=True, slots=True)
class _Answer:
    """What was found out about a program."""

    name: str
    followed: Followed
    counted: FollowedCalls
    joined: JoinedTrace
    rows: pa.Table
    summaries: tuple[CallSummary, ...]
    slowest: tuple[SlowCall, ...]
    at_drive_ns: Mapping[str, int]
    explanations: tuple[Explanation, ...]
    over: str = ""

    @property
    def refusal(self) -> str:
        """Why nothing can be said of where the time went; empty where it can."""
        return next((one.refusal for one in self.explanations if one.refusal), "")

    @property
    def stories(self) -> list[str]:
        """The slowest calls, a line each; none where nobody knows where their time went."""
        return (
            [] if self.refusal else [story(one, self.followed.names.get(one.thread, self.name)) for one in self.slowest]
        )


def is_followed(options: ExplainOptions) -> bool:
    """Whether a program is to be followed."""
    return options.pid is not None or options.path is not None or options.is_command


def explain_followed(options: ExplainOptions) -> int:
    """Exit status, after a program was followed and its answer shown.

    Raises
    ------
    DrivelabError
        U002, U003: not a duration. U004: options that exclude each other. R430 to R434: nothing can be traced here.
        R440: no disk beneath. R442: not a process. R443: nobody has the file open. R444: no such program.
        R445: no call on the disk.
    """
    _require_one(options)
    runtime_ns = _duration("--runtime", options.runtime) if options.runtime else None
    over_ns = _duration("--over", options.over) if options.over else 0
    if os.geteuid() != 0:
        raise DrivelabError("R430", "the system calls of programs can be traced by root only")
    facts, pids = _subject(options)
    directory = _directory(options)
    name = os.path.basename(options.what[0]) if options.what else name_of(pids[0])
    try:
        command = StartedCommand(options.what) if options.is_command else None
        pids = [command.pid] if command is not None else pids
        with interruptible() as stop:
            followed = follow(
                facts,
                pids,
                directory / "recording",
                command=command,
                runtime_ns=runtime_ns,
                stop=stop,
                begun=partial(print, f"following {name} on {facts.path}; Ctrl-C ends it", file=sys.stderr, flush=True),
            )
        found = _answer_of(name, followed, over_ns)
        _store(found, directory)
    except DrivelabError:
        # nothing in it answers anything, and it is this command's own
        shutil.rmtree(directory, ignore_errors=True)
        raise
    page = write_page(_joint(found), directory / FILE_NAME)
    if options.as_json:
        print(json.dumps(_document(found, directory, page), indent=2))
    else:
        _print(found, directory, page)
    return EXIT_NOT_TRUSTED if found.refusal else EXIT_OK


def _require_one(options: ExplainOptions) -> None:
    named = [name for name, given in (("--pid", options.pid), ("--command", options.is_command)) if given]
    if len(named) > 1:
        raise DrivelabError("U004", "--pid and --command name two programs", where="drivelab explain")
    strange = [
        one.name
        for one in fields(options)
        if one.name not in _OF_FOLLOWED and getattr(options, one.name) != _default(one)
    ]
    if strange:
        what = f"{_spelled(strange[0])} is for I/O that drivelab makes, and a program is followed"
        raise DrivelabError("U004", what, where="drivelab explain", do="leave one of them out")
    if options.is_command and not options.what:
        do = "drivelab explain --command -- PROGRAM ARGUMENTS"
        raise DrivelabError("U004", "--command without a command", where="option --command", do=do)
    if not options.is_command and options.what:
        what = f"{options.what[0]} is a target, and a program is followed"
        raise DrivelabError("U004", what, where="drivelab explain", do="leave one of them out")


def _default(option: Field[Any]) -> object:
    return option.default_factory() if option.default_factory is not MISSING else option.default


def _spelled(name: str) -> str:
    """An option as it is typed."""
    return f"--{name.replace('_', '-')}"


def _duration(option: str, text: str) -> int:
    duration_ns = located(option, parse_duration_ns, text)
    if duration_ns <= 0:
        raise DrivelabError("U003", f"{option} has to be more than 0", where=f"option {option}")
    return int(duration_ns)


def _subject(options: ExplainOptions) -> tuple[TargetFacts, list[int]]:
    """Where the files lie, and who is followed; nobody yet where a command is to be started."""
    if options.is_command:
        facts = resolve_target(options.path or os.getcwd())
        traced_device(facts)
        return facts, []
    if options.pid is not None:
        require_process(options.pid)
        pids = with_descendants(options.pid)
        facts = resolve_target(options.path) if options.path else place_of(pids)
        traced_device(facts)
        return facts, pids
    assert options.path is not None
    facts = resolve_target(options.path)
    traced_device(facts)
    return facts, processes_with(Path(options.path))


def _directory(options: ExplainOptions) -> Path:
    parent = Path(options.out) if options.out else default_parent()
    directory = parent / f"followed-{datetime.now(UTC):%Y%m%d-%H%M%S}-{os.getpid()}"
    try:
        directory.mkdir(parents=True)
    except OSError as error:
        raise DrivelabError("R434", f"no directory can be made: {error.strerror}", where=str(directory)) from error
    return directory


def _answer_of(name: str, followed: Followed, over_ns: int) -> _Answer:
    calls = followed.calls
    numbers = call_numbers(os.uname().machine)
    counted = operations_of_calls(calls.calls, numbers, followed.files, followed.devices, followed.processes)
    if not counted.operations.num_rows:
        left_out = ", ".join(f"{count} {reason}" for reason, count in counted.left_out.items()) or "no call at all"
        what = f"{name} made no call on {followed.disk} that could be explained: {left_out}"
        raise DrivelabError("R445", what, where=followed.disk)
    threads = set(followed.processes) | set(calls.calls["thread"].to_pylist()) | set(calls.forks["child"].to_pylist())
    joined = join_trace(
        followed.trace.files,
        counted.operations,
        own_threads=sorted(threads),
        names=followed.names,
        lost_events=followed.trace.lost_events,
    )
    rows = joined.operations
    for column in counted.calls.column_names:
        rows = rows.append_column(column, counted.calls[column])
    at_work = at_drive(rows, joined.events, threads)
    chosen = counted.operations["is_durable"].to_numpy(zero_copy_only=False)
    explanations = tuple(_explanations(name, followed, joined, rows))
    summaries = call_summaries(rows, followed.ended_ns - followed.began_ns)
    if any(one.refusal for one in explanations):
        summaries = tuple(replace(one, parts_ns=dict.fromkeys(PARTS, 0)) for one in summaries)
    return _Answer(
        name=name,
        followed=followed,
        counted=counted,
        joined=joined,
        rows=rows.filter(pc.greater(rows["latency_ns"], over_ns)) if over_ns else rows,
        summaries=summaries,
        slowest=slowest_calls(rows, at_work, _STORIES, over_ns),
        at_drive_ns={who: int(times[chosen].sum()) for who, times in at_work.items()},
        explanations=explanations,
        over=over_words(rows["latency_ns"].to_numpy(), over_ns) if over_ns else "",
    )


def _explanations(name: str, followed: Followed, joined: JoinedTrace, rows: pa.Table) -> list[Explanation]:
    conduct = replace(
        joined.conduct,
        source=followed.trace.source,
        reason="private trace instances, of the calls and of the disk",
        clock=followed.trace.clock,
        device=followed.disk,
        lost_events=max(joined.conduct.lost_events, followed.trace.lost_events, _untold_losses(followed)),
        # bios that the program queued outside of the calls that are followed (page faults, closing) explain no call
        unmatched_bios=0,
        environment=followed.environment,
    )
    found = []
    for operation in ("sync", "durable_write", "write", "read"):
        if pc.any(pc.equal(rows["operation"], OPERATION_NAMES.index(operation))).as_py():
            passed = TracedPass(operation, operation_parts(rows, operation), conduct)
            explanation = explanation_of([passed], operation, label=f"{name}: {operation}")
            found.append(replace(explanation, target=followed.disk))
    return found


def _untold_losses(followed: Followed) -> int:
    """Events of calls that were lost nobody knows when: then every call may be two halves of others."""
    return 0 if followed.calls.facts["gaps"] else followed.calls.lost_events


def _store(found: _Answer, directory: Path) -> None:
    try:
        pq.write_table(found.rows, directory / "calls.parquet")
        pq.write_table(found.joined.events, directory / "events.parquet")
    except OSError as error:
        raise DrivelabError("R434", f"the calls cannot be kept: {error.strerror}", where=str(directory)) from error


def _joint(found: _Answer) -> Joint:
    traced = [TracedCombination(one, one.label, (found.rows,), (found.joined.events,)) for one in found.explanations]
    calls = calls_table(found.summaries)
    tables = (
        replace(calls, caption=" ".join((f"{calls.caption}.", *_left_out(found)))),
        slowest_table(found.stories),
        parts_table(traced),
        device_work_table(traced),
        trace_conduct_table(traced),
    )
    figure = waterfall(traced)
    return Joint(
        title=f"{found.name} on {found.followed.disk}",
        question=_QUESTION,
        sentences=(*_first(found), *_meanwhile(found)),
        tables=tuple(table for table in tables if table is not None),
        figures=(figure,) if figure is not None else (),
    )


def _first(found: _Answer) -> list[str]:
    """The answer; how much of the program's I/O it leaves out where that is more than little; how the program ended."""
    told = [answer(found.name, found.summaries, found.refusal)]
    main = main_call(found.summaries)
    work = asked_of_drive(found.explanations[0]) if found.explanations and main is not None else ""
    if work and main is not None:
        told.append(f"Each {main.call} made the drive do {work}.")
    if found.over:
        told.append(found.over)
    beside = found.counted.left_out.get(SUBMISSIONS, 0)
    followed = found.counted.operations.num_rows
    share = beside / (beside + followed)
    if share > _BESIDE_TOLD_FROM:
        told.append(f"That is not all of its I/O: {100 * share:.0f} % of the calls are {SUBMISSIONS}.")
    elsewhere = found.counted.left_out.get(ELSEWHERE, 0)
    if elsewhere > followed:
        told.append(
            f"Most of its calls ({count_text(elsewhere)}) are on files of other disks: name theirs with --path."
        )
    # one that drivelab asked to end has a negative one
    if (found.followed.status or 0) > 0:
        told.append(f"{found.name} ended with status {found.followed.status}.")
    return told


def _meanwhile(found: _Answer) -> list[str]:
    told = [] if found.refusal else [f"{who} {latency_text(time)}" for who, time in _by_time(found.at_drive_ns)]
    busy = processor_words(found.followed.processor_wait_ns, found.followed.ended_ns - found.followed.began_ns)
    at_drive = f"While it waited for syncs, bios were on their way: {', '.join(told)}." if told else ""
    return [sentence for sentence in (busy, at_drive) if sentence]


def _left_out(found: _Answer) -> list[str]:
    facts = found.followed.calls.facts
    unfinished = facts["unfinished"] + facts["unbegun"]
    return list(left_out_lines(found.counted.left_out, unfinished, found.followed.calls.lost_events))


def _by_time(times: Mapping[str, int]) -> Sequence[tuple[str, int]]:
    return [(who, time) for who, time in sorted(times.items(), key=lambda one: -one[1]) if time > 0][:4]


def _document(found: _Answer, directory: Path, page: Path | None) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "program": found.name,
        "disk": found.followed.disk,
        "directory": str(directory),
        "report": str(page) if page is not None else None,
        "answer": answer(found.name, found.summaries, found.refusal),
        "command_status": found.followed.status,
        "duration_ns": found.followed.ended_ns - found.followed.began_ns,
        "processor_wait_ns": found.followed.processor_wait_ns,
        "calls": [one.to_json() for one in found.summaries],
        "slowest": [one.to_json() for one in found.slowest],
        "at_drive_ns": dict(found.at_drive_ns),
        "explanations": [one.to_json() for one in found.explanations],
        "left_out": dict(found.counted.left_out),
        "lost_events": found.followed.calls.lost_events,
        "calls_trace": found.followed.calls.facts,
    }


def _print(found: _Answer, directory: Path, page: Path | None) -> None:
    console = make_console()
    width, plain = console.width, not console.encoding.startswith("utf")
    lines = [line for sentence in _first(found) for line in wrapped(sentence, width, plain)] + [""]
    table = calls_table(found.summaries[:_CALLS_IN_TERMINAL])
    rows = [[column.name for column in table.columns], *([cell.text for cell in row] for row in table.rows)]
    lines += table_lines(rows, plain)
    lines += [line for meaning in part_meanings(found.summaries) for line in wrapped(meaning, width, plain)]
    lines.append("")
    remarks = [line for remark in (*_meanwhile(found), *_left_out(found)) for line in wrapped(remark, width, plain)]
    lines += remarks[:_REMARK_LINES]
    lines += ["", *_stories(found, width, plain=plain), ""]
    print("\n".join(lines))
    if page is not None:
        print(f"report: {page}")
    print(f"calls:  {directory / 'calls.parquet'}")


def _stories(found: _Answer, width: int, *, plain: bool) -> list[str]:
    """The slowest calls, in two lines each at most."""
    lines = []
    for text in found.stories[:_STORIES_IN_TERMINAL]:
        lines += wrapped(text, width, plain)[:2]
    return lines
