"""The command ``drivelab replay``: a recorded load, issued again to one or several targets."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from drivelab import __version__
from drivelab.cli.io import exit_code, wrapped
from drivelab.cli.replay_files import direct_files
from drivelab.cli.replay_lines import answer_words, replay_lines, voids_of_answer
from drivelab.cli.replay_result import Replayed, compared_calls, recording_json, replay_json
from drivelab.cli.replay_target import Place, held, require_allowed, told_before
from drivelab.inventory.consent import require_unused
from drivelab.inventory.host import host_facts
from drivelab.inventory.loop_target import with_loop_as_drive
from drivelab.model.errors import DrivelabError, error_words
from drivelab.model.recording import Recording
from drivelab.model.units import format_bytes, parse_bytes
from drivelab.plan.time_left import AwaitedStep
from drivelab.recordings.issue import fitted, records_of, workload_of
from drivelab.recordings.issued_rows import IssuedRows
from drivelab.recordings.read import is_of_program, read_recording
from drivelab.run.begun import begun
from drivelab.run.engine import StopRequest
from drivelab.run.interruption import interruptible
from drivelab.run.measure import measure
from drivelab.run.progress import RunProgress
from drivelab.state.drive_lock import held_drives
from drivelab.store.layout import default_parent
from drivelab.store.place import TrialPlace
from drivelab.store.write import RunWriter, create_run

_NAME = "replay"


@dataclass(frozen=True, slots=True)
class _Asked:
    """How the load is to be issued."""

    recording: Recording
    speed: float
    erase: tuple[str, ...]
    overwrite_file: bool
    record_ios: bool


@dataclass(frozen=True, slots=True)
class _Shown:
    """Where the run is kept, and how its answer is printed."""

    parent: Path
    details: bool
    as_json: bool


def command(
    recording: Annotated[
        str,
        typer.Argument(
            help="A followed program, fio's iolog, a run (or its file) with kept I/Os, a blktrace recording."
        ),
    ],
    targets: Annotated[list[str], typer.Argument(metavar="TARGET...", help="Directories, files or block devices.")],
    speed: Annotated[float, typer.Option(metavar="TIMES", help="How many times as fast as recorded.")] = 1.0,
    as_fast_as_possible: Annotated[
        bool, typer.Option("--as-fast-as-possible", help="In the order of each thread, without its pauses.")
    ] = False,
    scale_to_target: Annotated[
        bool, typer.Option("--scale-to-target", help="Move places together where the target is smaller.")
    ] = False,
    scale_to: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Move places together until they need no more than SIZE.")
    ] = None,
    size: Annotated[str | None, typer.Option(help="Bytes of what is made there; default: as recorded.")] = None,
    commands: Annotated[
        bool, typer.Option("--commands", help="Of a followed program, in a directory: the commands of its disk.")
    ] = False,
    only: Annotated[
        str, typer.Option(metavar="NAME", help="The trial of a run, or the device (8:0) of a block trace.")
    ] = "",
    queue_depth: Annotated[
        int, typer.Option(min=0, max=4096, help="Most I/Os outstanding in each thread; 0: as recorded, of an iolog 1.")
    ] = 0,
    buffered: Annotated[bool, typer.Option("--buffered", help="Go through the page cache.")] = False,
    record_ios: Annotated[bool, typer.Option("--record-ios", help="Keep a row for every I/O in the run.")] = False,
    erase: Annotated[
        list[str] | None, typer.Option(metavar="SERIAL", help="Consent to overwrite the block device of this name.")
    ] = None,
    overwrite_file: Annotated[
        bool, typer.Option("--overwrite-file", help="Consent to overwrite an existing file.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory to keep the run in; else where all runs are kept.")
    ] = None,
    details: Annotated[bool, typer.Option("--details", help="Tell all that is known of every target.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Issue a recorded load again, with its order, starts, places, sizes and threads, and compare its latencies.

    Where a call waited for another, it waits here too. In a directory a file is
    made for it and removed again; the calls of a followed program go to files
    as large as its own. A recording that writes needs --erase SERIAL for a block
    device, --overwrite-file for a file of yours. Several targets are ranked.
    """
    _require_speed(speed, as_fast_as_possible=as_fast_as_possible)
    calls = _plays_calls(recording, targets, commands=commands or bool(only))
    load = _scaled_to(read_recording(recording, only=only, queue_depth=queue_depth, calls=calls), scale_to)
    if load.direct is None and buffered:
        # who says so knows it
        load = replace(load, direct=False, not_compared=(), doubt="")
    if not load.has_starts and not as_fast_as_possible and load.count > 1:
        as_fast_as_possible = True
        print("note: the recording tells no starts: it is issued as fast as possible", file=sys.stderr)
    asked = _Asked(load, 0.0 if as_fast_as_possible else speed, tuple(erase or ()), overwrite_file, record_ios)
    for text in targets if load.writes else ():
        require_unused(text)
    file_bytes = parse_bytes(size) if size is not None else 0
    places = [Place.of(text, load, file_bytes=file_bytes, buffered=buffered) for text in targets]
    _require_usable(places, asked, scales=scale_to_target)
    for note in told_before(load, places):
        print(f"note: {note}", file=sys.stderr)
    return _replay(asked, places, _Shown(out or default_parent(), details, as_json))


def _plays_calls(recording: str, targets: Sequence[str], *, commands: bool) -> bool:
    """Whether it is the system calls of a followed program that are issued, and not the commands of its disk."""
    if not is_of_program(recording):
        return False
    in_directories = {Path(text).is_dir() for text in targets}
    if not commands and len(in_directories) > 1:
        what = "directories take the program's calls, and devices its disk's commands: they cannot be ranked together"
        raise DrivelabError("U004", what, where="drivelab replay", do="play the commands on all of them: --commands")
    return not commands and in_directories == {True}


def _scaled_to(load: Recording, text: str | None) -> Recording:
    """The load within so many bytes, where somebody says how many."""
    if text is None:
        return load
    where = "option --scale-to"
    try:
        size_bytes = parse_bytes(text)
    except DrivelabError as error:
        do = "write --scale-to 50MiB TARGET; to the size of each target it is --scale-to-target"
        raise DrivelabError(error.code, error.what, where=where, do=do) from None
    largest = max(int(thread.size_bytes.max()) for thread in load.threads)
    if size_bytes < largest:
        what = f"the recording has an I/O of {format_bytes(largest)}, which does not fit in {format_bytes(size_bytes)}"
        raise DrivelabError("E309", what, where=where, do=f"name {format_bytes(largest)} or more")
    return fitted(load, size_bytes)


def _require_speed(speed: float, *, as_fast_as_possible: bool) -> None:
    if not 0 < speed <= 1e6:
        raise DrivelabError("U003", f"{speed:g} is no speed", where="option --speed", do="write --speed 2: above 0")
    if as_fast_as_possible and speed != 1:
        raise DrivelabError("U004", "as fast as possible knows no speed", where="option --speed")


def _require_usable(places: Sequence[Place], asked: _Asked, *, scales: bool) -> None:
    for place in places:
        place.require_room(asked.recording, scales=scales)
        require_allowed(place, asked.recording, erase=asked.erase, may_overwrite_file=asked.overwrite_file)
    labels = [place.target.place for place in places]
    for number, label in enumerate(labels):
        if label in labels[:number]:
            raise DrivelabError("U006", f"{label} is named twice", where="drivelab replay", do="name each target once")


def _replay(asked: _Asked, places: Sequence[Place], shown: _Shown) -> int:
    before = [{"label": each.target.place, "facts_before": each.target.to_json()} for each in places]
    record = begun({"name": _NAME}, before, host_facts(__version__), shlex.join(["drivelab", *sys.argv[1:]]))
    writer = create_run(shown.parent, _NAME, Path(places[0].target.path).name, datetime.now(UTC))
    writer.write_run_json(record.to_json())
    length_ns = round(asked.recording.length_ns / asked.speed) if asked.speed else 0
    steps = [AwaitedStep(each.target.place, "", length_ns) for each in places]
    done: list[Replayed] = []
    try:
        with interruptible() as stop, RunProgress(f"replay {asked.recording.source}", steps) as progress:
            for number, place in enumerate(places, start=1):
                if not stop.is_set():
                    progress.begins(number)
                    name = _NAME if len(places) == 1 else f"{_NAME}-{number}"
                    done.append(_replay_on(place, name, asked, writer, progress, stop))
    except BaseException as error:
        writer.give_up(error=error_words(error))
        raise
    if not done:
        writer.give_up(status="interrupted")
        return stop.exit_code
    document = replay_json(asked.recording, asked.speed, done, str(writer.directory))
    writer.write_run_json({"answer": answer_words(document)})
    writer.finish(
        [finding for each in done for finding in each.findings], status="interrupted" if stop.is_set() else "complete"
    )
    if shown.as_json:
        print(json.dumps(document, indent=2))
    else:
        for line in replay_lines(document, details=shown.details):
            print(wrapped(line) if line.startswith("  ") else line)
    print(f"stored in {writer.directory}", file=sys.stderr)
    if stop.is_set():
        return stop.exit_code
    voids = {one["trial"]: voids_of_answer(document, one) for one in document["targets"]}
    return max(
        exit_code(each.measured, [one for one in each.findings if one.text in voids[each.measured.name]])
        for each in done
    )


def _replay_on(
    place: Place, name: str, asked: _Asked, writer: RunWriter, progress: RunProgress, stop: StopRequest
) -> Replayed:
    # imported here: the analysis takes its time to load, and a wrong option should be told at once
    from drivelab.analyse.findings import target_findings
    from drivelab.analyse.trial import judge_trial

    target, load = place.target, fitted(asked.recording, place.size_bytes)
    rows = IssuedRows(load)
    workload = workload_of(load, speed=asked.speed, direct=place.direct, record_ios=asked.record_ios or rows.are_wanted)
    alone = target.kind == "block_device" and workload.writes
    started = datetime.now(UTC).isoformat(timespec="milliseconds")
    progress.doing("laying out its file" if place.makes_file else "")
    with (
        held_drives(with_loop_as_drive(target).drives, alone=alone, by="drivelab replay"),
        held(place, workload, load, erase=asked.erase, may_overwrite_file=asked.overwrite_file, stop=stop) as on_target,
        records_of(load, on_target) as ready,
        writer.record_sink(name, open_loop=ready.is_open_loop) if asked.record_ios else nullcontext() as sink,
    ):
        rows.sink = sink
        measured = measure(name, ready, target, stop=stop, progress=progress.goes_on, on_records=rows.take)
        direct = direct_files(ready) if load.files else None
    told = {"recording": recording_json(load)}
    if direct is not None:
        told["direct_bytes"] = load.bytes_on_files(direct)
    measured = replace(measured, context=measured.context | told)
    summary, findings = judge_trial(measured, target)
    findings = [*target_findings(target), *findings]
    writer.add_trial(
        measured, summary, place=TrialPlace(target=target.place, workload=_NAME, started_utc=started), findings=findings
    )
    changes = compared_calls(load, rows, target, asked.speed)
    return Replayed(
        target, load, measured, tuple(findings), changes=changes, direct_files=None if direct is None else len(direct)
    )
