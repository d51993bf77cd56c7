"""The command ``drivelab io``: one workload, every option of the engine a flag."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from drivelab import __version__
from drivelab.cli.io_options import IoOptions, with_options_of
from drivelab.cli.io_place import held_place
from drivelab.cli.io_result import io_json, io_lines
from drivelab.cli.io_target import find_target, require_consent
from drivelab.cli.io_workload import is_null, on_target, options_without_effect, workload_from
from drivelab.inventory.consent import require_unused
from drivelab.inventory.loop_target import with_loop_as_drive
from drivelab.model.errors import EXIT_FAILED, EXIT_NOT_TRUSTED, EXIT_OK, DrivelabError
from drivelab.model.estimate import Estimate
from drivelab.model.finding import MEASURE_LONGER, USE_DIRECT_IO, Finding
from drivelab.model.judged_metric import (
    LATENCY,
    P99,
    RATE,
    RESPONSE,
    RESPONSE_P99,
    THROUGHPUT,
    are_waited_for,
    told_metric,
)
from drivelab.model.measurement import Measurement
from drivelab.model.metric import metric_of
from drivelab.model.operations_apart import plural
from drivelab.model.tags import parse_tags
from drivelab.model.target import TargetFacts
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.units import format_bytes, glued
from drivelab.model.workload import Workload
from drivelab.plan.awaited import awaited_of_workload
from drivelab.report.numerals import span_between, value_writer
from drivelab.report.parts_of_text import capitalised
from drivelab.run.begun import begun
from drivelab.run.counting_pass import changed_count, command_counts
from drivelab.run.engine import RecordListener, StopRequest
from drivelab.run.interruption import interruptible
from drivelab.run.measure import measure
from drivelab.run.progress import RunProgress
from drivelab.run.simulated import SimulatedDrive
from drivelab.run.told_start import told_start
from drivelab.simulated.load import PREFIX
from drivelab.state.drive_lock import held_drives
from drivelab.state.held_device import held_if_device
from drivelab.store.place import TrialPlace
from drivelab.store.run_record import RunRecord

_WORDS = {"p50": "at the median", "p99": "at p99"}
_TRIAL = "io"
_WIDTH_MAX = 100
# what this command takes to follow an advice
_RUNTIME_S, _LONGER, _HOUR_S = 60, 3, 3600


@with_options_of(IoOptions)
def command(**typed: Any) -> int:
    """Issue one workload and show what it came to.

    Latencies: submission until the kernel has the I/O, completion from there
    until it is done, total for both, response from the scheduled start (open
    loop). Writing to a block device needs --erase with its serial; to a file
    that drivelab did not make, --overwrite-file. A new file is made when there
    is a size. Exit code 4: done, but the numbers do not describe the drive.
    """
    return _run_io(IoOptions(**typed))


def _run_io(options: IoOptions) -> int:
    """Exit status, after the workload has run and its result was printed."""
    asked = workload_from(options)
    tags = parse_tags(options.tag)
    for note in options_without_effect(options, asked):
        print(f"note: {note}", file=sys.stderr)
    is_real = not options.target.startswith(PREFIX)
    if is_real and asked.writes and asked.backend != "null" and asked.tree is None:
        require_unused(options.target)
    target = find_target(options.target, is_null=is_null(options), for_tree=asked.tree is not None)
    require_consent(target, asked, erase=options.erase, may_overwrite_file=options.overwrite_file)
    workload = on_target(asked, target)
    record = _begun(target, tags) if options.out is not None else None
    with interruptible() as stop:
        measured = _measure(options, workload, target, stop)
        summary, findings = _judge(measured, target)
        void = [one for one in findings if one.severity == "invalid"]
        # no number is the answer where none is the drive's
        sentence = f"Not to be trusted: {void[0].text}." if void else io_answer(workload, summary)
        told = sentence.replace("µs", "us")
        document = io_json(measured, target, summary, findings) | {"answer": told, "in_short": told}
        if record is not None:
            _store(Path(options.out or "."), replace(record, answer=sentence), measured, summary, findings)
    if options.as_json:
        print(json.dumps(document, indent=2))
    else:
        limits = [_finding_text(one, workload) for one in findings if one not in void]
        first = [f"Not to be trusted: {_finding_words(one, workload)}." for one in void]
        for line in [*(first or [told]), *io_lines(document), *limits]:
            print(wrapped(line), end="\n" * bool(line))
    _require_room(measured, target)
    if stop.is_set():
        return stop.exit_code
    return exit_code(measured, findings)


def exit_code(measured: Measurement, findings: Sequence[Finding]) -> int:
    """1 when I/O failed or nothing was measured, 4 when the numbers do not describe the drive."""
    if measured.engine["stopped_by"] == "error" or not measured.engine["measured_ns"]:
        return EXIT_FAILED
    return EXIT_NOT_TRUSTED if any(finding.severity == "invalid" for finding in findings) else EXIT_OK


def _require_room(measured: Measurement, target: TargetFacts) -> None:
    """Return only if the file system did not fill up meanwhile."""
    full = next((error for error in measured.engine["errors"] if error["name"] in ("ENOSPC", "EDQUOT")), None)
    if full is None:
        return
    left = Path(target.path).stat().st_size if target.kind in ("file", "missing_file") else 0
    if measured.workload.tree is not None:
        what = f"the file system filled up at file {full['first_offset_bytes']}"
        raise DrivelabError("E306", what, where=target.path, do="free space there, or choose fewer or smaller files")
    what = f"the file system filled up at {format_bytes(full['first_offset_bytes'])}"
    if left:
        what += f"; {target.path} is left with {format_bytes(left)}"
    do = f"free space there: rm {shlex.quote(target.path)}, or choose a smaller --size"
    raise DrivelabError("E306", what, where=target.path, do=do)


def _measure(options: IoOptions, workload: Workload, target: TargetFacts, stop: StopRequest) -> Measurement:
    erase = options.erase if workload.writes and workload.backend != "null" else None
    alone = target.kind == "block_device" and workload.writes
    drives = held_drives(with_loop_as_drive(target).drives, alone=alone, by="drivelab io")
    place = held_place(target, workload, may_overwrite_file=options.overwrite_file)
    shown = RunProgress(f"io {target.text}", awaited_of_workload(workload))
    if target.simulated is not None:
        drive = SimulatedDrive(target.simulated, workload.seed)
        with shown as progress, _record_sink(options, workload) as sink:
            progress.begins(1)
            return drive.measure(_TRIAL, workload, target, stop=stop, progress=progress.goes_on, on_records=sink)
    with drives, held_if_device(target, erase=erase), place as workload, shown as progress:
        progress.begins(1)
        with _record_sink(options, workload) as sink:
            start = told_start(stop) if options.start_when_told else nullcontext()
            with start as told:
                measured = measure(
                    _TRIAL, workload, target, stop=stop, progress=progress.goes_on, on_records=sink, start=told
                )
        if not options.count_commands or stop.is_set():
            return measured
        progress.doing("counting its commands")
        operations = changed_count(workload, measured.engine)
        counted = command_counts(
            workload, target, timed_operations=operations, timed_devices=measured.devices, stop=stop
        )
        return replace(measured, context=measured.context | counted)


@contextmanager
def _record_sink(options: IoOptions, workload: Workload) -> Iterator[RecordListener | None]:
    if options.record is None:
        yield None
        return
    # imported here: most workloads keep no records
    from drivelab.model.issued_as import IssuedAs
    from drivelab.store.records import RecordSink

    path = Path(options.record)
    if not path.absolute().parent.is_dir():
        what = f"the directory {path.absolute().parent} does not exist"
        raise DrivelabError("S501", what, where="option --record", do="make it, or name another file")
    # a link or a device node counts as well: records never replace anything
    if os.path.lexists(path):
        raise DrivelabError("C221", f"{path} exists already, and records never replace anything", where="--record")
    with RecordSink(path, open_loop=workload.is_open_loop, issued_as=IssuedAs.of(workload)) as sink:
        yield sink


def _judge(measured: Measurement, target: TargetFacts) -> tuple[TrialSummary, list[Finding]]:
    """The numbers of the workload, and what is to be known about them and about the target."""
    from drivelab.analyse.findings import importance, target_findings
    from drivelab.analyse.trial import judge_trial

    summary, findings = judge_trial(measured, target)
    return summary, sorted([*target_findings(target), *findings], key=importance)


def _finding_text(finding: Finding, workload: Workload) -> str:
    return f"  {finding.severity}: {_finding_words(finding, workload)}"


def _finding_words(finding: Finding, workload: Workload) -> str:
    longer = f": --runtime {longer_runtime(workload.limits.runtime_ns)}"
    option = {MEASURE_LONGER: longer, USE_DIRECT_IO: ": --direct"}.get(finding.advice, "")
    if workload.tree is not None and finding.advice == MEASURE_LONGER:
        # what has used up its files has come to its end
        option = ": more --files, or --runtime where files are only read"
    advice = f" ({finding.advice}{option})" if finding.advice else ""
    return f"{finding.text}{advice}"


def longer_runtime(runtime_ns: int) -> str:
    """What to give to --runtime so that a trial takes clearly longer than it did: ``60s``, ``18h``."""
    seconds = max(_RUNTIME_S, _LONGER * runtime_ns // 1_000_000_000)
    return f"{seconds}s" if seconds < _HOUR_S else f"{-(-seconds // _HOUR_S)}h"


def wrapped(line: str) -> str:
    """A line in the width of the terminal; what goes on is indented."""
    width = min(shutil.get_terminal_size().columns, _WIDTH_MAX)
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    broken = textwrap.fill(glued(line), width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
    return broken.replace("\u00a0", " ")


def _begun(target: TargetFacts, tags: Mapping[str, str]) -> RunRecord:
    from drivelab.inventory.host import host_facts

    before = [{"label": target.place, "facts_before": target.to_json()}]
    record = begun({"name": "io"}, before, host_facts(__version__), shlex.join(["drivelab", *sys.argv[1:]]))
    return replace(record, tags=tags)


def _store(
    parent: Path, record: RunRecord, measured: Measurement, summary: TrialSummary, findings: Sequence[Finding]
) -> None:
    from drivelab.store.write import create_run

    (target,) = record.targets
    path = target["facts_before"]["path"]
    writer = create_run(parent, "io", Path(path).name or target["label"], datetime.fromisoformat(record.started_utc))
    writer.write_run_json(record.to_json())
    place = TrialPlace(target=target["label"], started_utc=record.started_utc)
    # what several of them have in common is no name
    named = _what_is_done(measured.workload, summary.operation)
    writer.add_trial(measured, replace(summary, label=named), place=place, findings=findings)
    writer.finish(findings)
    print(f"stored in {writer.directory}", file=sys.stderr)


def io_answer(workload: Workload, summary: TrialSummary | None) -> str:
    """The number that the workload is judged by, with its interval; empty without any."""
    if summary is None or workload.backend == "null":
        return ""
    size, outstanding = _one_size(workload), workload.queue_depth * workload.job_count
    is_durable = summary.operation == "durable_write"
    what = _what_is_done(workload, summary.operation)
    is_scheduled = RESPONSE in summary.estimates
    told: list[str] = []
    if is_scheduled or are_waited_for([(size, is_durable, outstanding)]):
        names = (RESPONSE, RESPONSE_P99) if is_scheduled else (LATENCY, P99)
        told = [f"{number} {_WORDS[name[-3:]]}" for name in names if (number := _number(summary.estimates, name))]
        lead = f"{what} {'were answered within' if is_scheduled else 'took'}"
    if not told:
        name = told_metric(THROUGHPUT if size else RATE, [size])
        told = [number for one in (name, RATE) if (number := _number(summary.estimates, one))][:1]
        lead = f"{what}:"
    return f"{capitalised(lead)} {', '.join(told)}." if told else ""


def _one_size(workload: Workload) -> int | None:
    sizes = {share.bytes for share in workload.block_sizes}
    return sizes.pop() if len(sizes) == 1 and workload.tree is None else None


def _what_is_done(workload: Workload, operation: str) -> str:
    """The workload in words: ``4 KiB reads, 32 at a time``."""
    size, outstanding = _one_size(workload), workload.queue_depth * workload.job_count
    depth = f", {outstanding} at a time" if outstanding > 1 else ""
    return f"{f'{format_bytes(size)} ' if size else ''}{plural(operation)}{depth}"


def _number(estimates: Mapping[str, Estimate], name: str) -> str:
    """A number with its interval, or the bound that is known of it: ``169 us (95 % interval 165 to 172 us)``."""
    one, write = estimates.get(name), value_writer(name)
    if one is None or (one.value is None and one.low is None):
        return ""
    if one.value is None:
        return f"at least {write(one.low or 0.0)}"
    if one.low is None or one.high is None:
        end = "too few to tell how sure" if one.low is None else f"at least {write(one.low)}"
        return f"{write(one.value)} ({end})"
    interval = "" if metric_of(name).quantity == "latency" and name.endswith("p99") else "95 % interval "
    return f"{write(one.value)} ({interval}{span_between(write(one.low), write(one.high))})"
