"""``drivelab explain --pid, --path, --command``: where the time of somebody's program goes, while it runs."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from drivelab.analyse.followed_calls import reads_outside
from drivelab.answers.followed import FollowedAnswer, followed_answer, followed_differences, why_no_difference
from drivelab.cli.explain_options import ExplainOptions
from drivelab.cli.explain_result import print_differences
from drivelab.cli.followed_live import live_table
from drivelab.cli.followed_refusal import no_call
from drivelab.cli.followed_result import answer_words, followed_document, followed_joint, print_followed
from drivelab.cli.memory_use import give_memory_back, keep_memory_low
from drivelab.cli.page import write_page
from drivelab.cli.workload_arguments import located
from drivelab.inventory.target import resolve_target
from drivelab.model.errors import EXIT_NOT_TRUSTED, EXIT_OK, DrivelabError
from drivelab.model.system_calls import call_numbers
from drivelab.model.target import TargetFacts
from drivelab.model.trace import TraceConduct
from drivelab.model.units import parse_duration_ns
from drivelab.report.html import FILE_NAME
from drivelab.report.numerals import count_text
from drivelab.report.terminal.clean_text import terminal_text
from drivelab.run.following.containers import processes_of_container
from drivelab.run.following.follow import Followed, follow
from drivelab.run.following.place import place_of
from drivelab.run.following.processes import (
    StartedCommand,
    command_words,
    is_ring_worker,
    name_of,
    processes_with,
    require_process,
    with_descendants,
)
from drivelab.run.following.seen_file import SeenFile, disk_of_number
from drivelab.run.interruption import interruptible
from drivelab.run.traced_pass import traced_device
from drivelab.state.working_files import empty_in_journal
from drivelab.store.followed import (
    RECORDING,
    FollowedFile,
    FollowedRecord,
    create_followed,
    open_followed,
    write_followed,
)
from drivelab.store.layout import default_parent
from drivelab.trace.file_positions import plain_path
from drivelab.trace.join import JoinedTrace, join_trace
from drivelab.trace.operations_of_calls import (
    FollowedCalls,
    operations_of_calls,
    with_submissions,
)
from drivelab.trace.submissions import polled_requests

# options that say something of a program that is followed; all others are of I/O that drivelab makes itself
_OF_FOLLOWED = ("what", "pid", "path", "container", "is_command", "over", "runtime", "out", "details", "as_json")
# which take a second or two
_JOINING_TOLD_FROM = 100_000
_OF_STORED = ("what", "over", "details", "as_json")
_OF_BOTH = ("what", "as_json")


def is_followed(options: ExplainOptions) -> bool:
    """Whether a program is to be followed."""
    return options.is_command or bool(options.pid) or options.path is not None or options.container is not None


def explain_followed(options: ExplainOptions) -> int:
    """Exit status, after a program was followed and its answer shown.

    Raises
    ------
    DrivelabError
        U002, U003: not a duration. U004: options that exclude each other. R430 to R434: nothing can be traced here.
        R440: no disk beneath. R442: not a process. R443: nobody has the file open. R444: no such program.
        R445: no call on the disk.
    """
    keep_memory_low()
    _require_one(options)
    words = command_words(options.what) if options.is_command else list(options.what)
    runtime_ns = _duration("--runtime", options.runtime) if options.runtime else None
    over_ns = _duration("--over", options.over) if options.over else 0
    if os.geteuid() != 0:
        raise DrivelabError("R430", "the system calls of programs can be traced by root only")
    facts, pids = _subject(options)
    name = os.path.basename(words[0]) if words else options.container or _name_of_processes(options.pid or pids[:1])
    began = datetime.now(UTC)
    directory = create_followed(Path(options.out) if options.out else default_parent(), name, began)
    try:
        command = StartedCommand(words) if options.is_command else None
        pids = [command.pid] if command is not None else pids
        with live_table() as shown, interruptible() as stop, empty_in_journal(str(directory), "explain"):
            followed = follow(
                facts,
                pids,
                directory / RECORDING,
                command=command,
                runtime_ns=runtime_ns,
                stop=stop,
                begun=partial(print, f"following {name} on {facts.path}; Ctrl-C ends it", file=sys.stderr, flush=True),
                # what a command prints would be drawn over
                shown=shown if command is None else None,
            )
        count = followed.calls.calls.num_rows
        joining = f"joining {terminal_text(count_text(count), plain=True)} calls with the commands of {followed.disk}"
        try:
            if count >= _JOINING_TOLD_FROM:
                print(f"{joining}; Ctrl-C gives them up, and keeps nothing", file=sys.stderr, flush=True)
            found = _kept(name, facts, followed, began, directory, over_ns)
        except KeyboardInterrupt:
            print(f"interrupted while {joining}: nothing is kept", file=sys.stderr)
            raise
    except (DrivelabError, KeyboardInterrupt):
        # nothing in it answers anything, and it is this command's own
        shutil.rmtree(directory, ignore_errors=True)
        raise
    try:
        status = _show(found, directory, write_page(followed_joint(found), directory / FILE_NAME), options)
    except KeyboardInterrupt:
        kept = shlex.quote(str(directory))
        told = f"the recording is kept; to see it: drivelab explain {kept}; its page: drivelab report {kept}"
        print(f"interrupted while the page was made: {told}", file=sys.stderr)
        raise
    # Ctrl-C is how one that was given no time is meant to end
    return status if stop.signal_number in (0, signal.SIGINT) else stop.exit_code


def explain_again(options: ExplainOptions, directory: Path) -> int:
    """Exit status, after what was stored of a followed program was shown again.

    Raises
    ------
    DrivelabError
        U002, U003: not a duration. S505, S506: it cannot be read.
    """
    _require_only(options, _OF_STORED, "is for what is measured now, and a program was followed")
    over_ns = _duration("--over", options.over) if options.over else 0
    stored = open_followed(directory)
    found = followed_answer(stored.record, stored.calls(), stored.events(), over_ns)
    page = directory / FILE_NAME
    return _show(found, directory, page if page.is_file() else None, options)


def explain_both(options: ExplainOptions, directories: Sequence[Path]) -> int:
    """Exit status, after the parts of two followed programs were shown beside each other.

    Raises
    ------
    DrivelabError
        S505, S506: one cannot be read. U004: an option that says nothing of them. U022: they have nothing in common.
    """
    _require_only(options, _OF_BOTH, "is for what is measured now, and two programs were followed")
    base, new = map(open_followed, directories)
    found = followed_differences(base, new)
    if not found:
        raise DrivelabError("U022", why_no_difference(base, new), where=", ".join(map(str, directories)))
    print_differences(found, directories, (), as_json=options.as_json)
    return EXIT_OK


def _show(found: FollowedAnswer, directory: Path, page: Path | None, options: ExplainOptions) -> int:
    if options.as_json:
        print(json.dumps(followed_document(found, directory, page), indent=2))
    else:
        print_followed(found, directory, page, details=options.details)
    return EXIT_NOT_TRUSTED if found.refusal else EXIT_OK


def _require_one(options: ExplainOptions) -> None:
    given = {"--pid": options.pid, "--container": options.container, "--command": options.is_command}
    named = [name for name, value in given.items() if value not in (None, False, [])]
    if len(named) > 1:
        raise DrivelabError("U004", f"{' and '.join(named)} name two programs", where="drivelab explain")
    _require_only(options, _OF_FOLLOWED, "is for I/O that drivelab makes, and a program is followed")
    if options.is_command and not options.what:
        do = "drivelab explain --command -- PROGRAM ARGUMENTS"
        raise DrivelabError("U004", "--command without a command", where="option --command", do=do)
    if not options.is_command and options.what:
        what = f"{options.what[0]} is a target, and a program is followed"
        raise DrivelabError("U004", what, where="drivelab explain", do="leave one of them out")


def _require_only(options: ExplainOptions, meant: Sequence[str], why: str) -> None:
    strange = [
        one.name for one in fields(options) if one.name not in meant and getattr(options, one.name) != _default(one)
    ]
    if strange:
        what = f"{_spelled(strange[0])} {why}"
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
    if options.pid or options.container is not None:
        pids = _named_processes(options)
        facts = resolve_target(options.path) if options.path else place_of(pids)
        traced_device(facts)
        return facts, pids
    assert options.path is not None
    facts = resolve_target(options.path)
    traced_device(facts)
    return facts, processes_with(Path(options.path))


def _named_processes(options: ExplainOptions) -> list[int]:
    """Those of a container, or some with all that they have started."""
    if options.container is not None:
        return processes_of_container(options.container)
    for pid in options.pid:
        require_process(pid)
    # one may have started another
    return list(dict.fromkeys(one for pid in options.pid for one in with_descendants(pid)))


def _name_of_processes(pids: Sequence[int]) -> str:
    """What programs are called; several of one name are one."""
    return "+".join(dict.fromkeys(map(name_of, pids)))


def _kept(
    name: str, facts: TargetFacts, followed: Followed, began: datetime, directory: Path, over_ns: int
) -> FollowedAnswer:
    """What a program comes to, once what was recorded of it is joined and stored."""
    calls, requests = followed.calls, followed.requests
    numbers = call_numbers(os.uname().machine)
    counted = operations_of_calls(
        calls.calls, numbers, followed.files, followed.devices, followed.processes, requests.requests, calls.forks
    )
    # every one that was started is among them
    threads = {*followed.processes, *pc.unique(calls.calls["thread"]).to_pylist()}
    recorded = calls.calls.num_rows + (requests.requests.num_rows if requests.requests is not None else 0)
    polled = polled_requests(requests.requests, followed.processes)
    # of a million calls they are 77 MB, which nobody needs any more
    followed.calls = calls = replace(calls, calls=calls.calls.schema.empty_table())
    give_memory_back()
    layers = [(layer.number, layer.below) for layer in followed.trace.disk.layers]

    def join(operations: pa.Table, layers: list[tuple[Any, Any]]) -> JoinedTrace:
        return join_trace(
            followed.trace.files,
            operations,
            layers=layers,
            # what they do is charged to the thread that they work for, which their names tell
            own_threads=sorted(thread for thread in threads if not is_ring_worker(followed.names.get(thread, ""))),
            names=followed.names,
            lost_events=followed.trace.lost_events,
        )

    if counted.submissions:
        # bios as the program's threads queued them, above all layers
        counted = with_submissions(counted, join(counted.operations, []).events)
    elsewhere_ns, elsewhere_path = max(_on_disks(counted), default=(0, ""))
    if not counted.operations.num_rows:
        outside = reads_outside(join(counted.operations, layers).events, threads, followed.trace.disk.layer_above)
        raise no_call(name, followed, counted.left_out, (elsewhere_ns, elsewhere_path), outside)
    joined = join(counted.operations, layers)
    rows = joined.operations
    for column in counted.calls.column_names:
        rows = rows.append_column(column, counted.calls[column])
    counted = replace(counted, operations=rows, calls=rows)
    give_memory_back()
    record = FollowedRecord(
        program=name,
        disk=followed.disk,
        target=facts.to_json(),
        started_utc=began.isoformat(timespec="seconds"),
        typed=shlex.join(["drivelab", *sys.argv[1:]]),
        duration_ns=followed.ended_ns - followed.began_ns,
        processor_wait_ns=followed.processor_wait_ns,
        conduct=_conduct(followed, joined),
        threads=tuple(sorted(threads)),
        names={thread: name for thread, name in followed.names.items() if thread in threads},
        left_out=dict(counted.left_out),
        of_unknown_files=dict(counted.of_unknown_files),
        elsewhere_ns=elsewhere_ns,
        elsewhere_path=elsewhere_path,
        layer_above=followed.trace.disk.layer_above,
        lost_events=calls.lost_events + requests.lost_events,
        unpaired_calls=calls.facts["unfinished"] + calls.facts["unbegun"],
        calls_trace=calls.facts | {"recorded": recorded, "polled_requests": polled},
        command_status=followed.status,
        files=dict(_files(followed.files, counted.sizes)),
        parents=dict(zip(*(calls.forks[name].to_pylist() for name in ("child", "parent")), strict=True)),
    )
    found = followed_answer(record, rows, joined.events, over_ns)
    found = replace(found, record=replace(record, answer=answer_words(found)))
    write_followed(directory, found.record, rows, joined.events)
    return found


def _on_disks(counted: FollowedCalls) -> Iterator[tuple[int, str]]:
    """Of each other disk how long calls on its files took, in ns, and the file with most of it."""
    return (told for device, told in counted.elsewhere.items() if disk_of_number(device))


def _files(seen: Sequence[SeenFile], sizes: Mapping[str, int]) -> Iterator[tuple[str, FollowedFile]]:
    """What is known of each file that a call was on."""
    by_path: dict[str, list[SeenFile]] = defaultdict(list)
    for file in seen:
        by_path[plain_path(file.path)].append(file)
    for path, size_bytes in sizes.items():
        of_path = by_path[path]
        kinds = {file.kind for file in of_path} - {""}
        yield (
            path,
            FollowedFile(
                size_bytes=size_bytes,
                kind=kinds.pop() if len(kinds) == 1 else "",
                inodes=len({file.inode for file in of_path} - {0}),
            ),
        )


def _conduct(followed: Followed, joined: JoinedTrace) -> TraceConduct:
    return replace(
        joined.conduct,
        source=followed.trace.source,
        reason=f"calls by {followed.calls.facts['source']}, commands by a private trace instance",
        clock=followed.trace.clock,
        device=followed.disk,
        layers=tuple(layer.title for layer in followed.trace.disk.layers),
        drives=followed.trace.disk.drives,
        lost_events=max(joined.conduct.lost_events, followed.trace.lost_events, _untold_losses(followed)),
        # bios that the program queued outside of the calls that are followed (page faults, closing) explain no call
        unmatched_bios=0,
        environment=followed.environment,
    )


def _untold_losses(followed: Followed) -> int:
    """Events of calls that were lost nobody knows when: then every call may be two halves of others."""
    sides = (followed.calls, followed.requests)
    return sum(side.lost_events for side in sides if not side.facts.get("gaps"))
