"""The command ``drivelab export``: a run in the format of another program."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import pyarrow as pa
import typer

from drivelab.answers.followed import followed_answer
from drivelab.answers.result_set import result_set_of
from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run
from drivelab.answers.traced_devices import traced_devices
from drivelab.cli.failure import print_message
from drivelab.cli.followed_result import followed_joint
from drivelab.cli.report_output import write_report
from drivelab.interop.bonnie.export import bonnie_lines
from drivelab.interop.fio.export import export_fio
from drivelab.interop.openmetrics import openmetrics_text, openmetrics_text_of_program
from drivelab.interop.perfetto import perfetto_packets, traced_tables, with_devices_named
from drivelab.joint_report import joint_report
from drivelab.model.errors import DrivelabError
from drivelab.report.joint import Joint
from drivelab.report.report_file import report_file
from drivelab.report.tables.iozone_shape import spreadsheet_text, surface_tables
from drivelab.store.durable import typed_file
from drivelab.store.find_run import find_run
from drivelab.store.followed import StoredFollowed, holds_followed, open_followed
from drivelab.store.layout import IMPORTED
from drivelab.store.read import StoredRun, open_run
from drivelab.store.remote.cache import is_cached

_STDOUT = "-"
_TRACE = "trace.pftrace"
Form = Literal["fio", "bonnie", "iozone", "csv", "openmetrics", "perfetto"]


def command(
    form: Annotated[Form, typer.Argument(metavar="FORMAT", help="fio, bonnie, iozone, csv, openmetrics or perfetto.")],
    run: Annotated[str, typer.Argument(metavar="RUN", help="Directory of a run, or its name where runs are kept.")],
    out: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE",
            help="Directory for fio (else RUN/fio), file for perfetto (else in RUN) and the others (else stdout).",
        ),
    ] = None,
    logs: Annotated[bool, typer.Option(help="For fio: write latency, bandwidth and IOPS logs, too.")] = True,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON: what was written, and what was left out.")
    ] = False,
) -> int:
    """Write a run in another program's format: fio's, bonnie++'s, IOzone's, one table of values, or metrics.

    fio: `fio.json` holds every trial as a job, with all its options and with the
    bins of its latencies. Beside it lies a directory for each chart of fio-plot,
    with one file per combination (repeats taken together) and its logs.

    bonnie: a line of format 1.98 for each target and file system of a run of
    filesystem-suite, as `bon_csv2html` reads it.

    iozone: throughput over file size and record size of a run of record-surface,
    as IOzone prints it for spreadsheets with -R.

    csv: a row for each number; of a program that was followed for its calls of
    each name, with times in ns. Single calls lie in its `calls.parquet`.

    openmetrics: each number as a gauge, for the directory of text files that
    node_exporter reads; of a program that was followed its calls by name.

    perfetto: the traced passes of an explained run, or a program that was
    followed: a track for each thread, layer and slot of a queue, for
    ui.perfetto.dev.
    """
    directory = find_run(run)
    if out is None and form in ("fio", "perfetto") and is_cached(directory):
        raise DrivelabError("U014", "a run of a store elsewhere has no directory for it", where=run)
    is_program = form in ("csv", "openmetrics", "perfetto") and holds_followed(directory)
    stored = open_followed(directory) if is_program else open_run(directory)
    if isinstance(stored, StoredRun) and form not in ("csv", "openmetrics"):
        _refuse_imported(stored)
    try:
        if isinstance(stored, StoredFollowed):
            files, left_out = _program_written(form, stored, out)
        else:
            files, left_out = _written(form, stored, out, logs=logs)
    except OSError as error:
        raise DrivelabError("O812", f"the export cannot be written: {error.strerror}", where=error.filename) from error
    if as_json:
        name = directory.resolve().name
        document = {"schema": 1, "run": name, "files": [str(path) for path in files], "left_out": left_out}
        print(json.dumps(document, indent=2))
        return 0
    for reason in left_out:
        print_message(f"left out: {reason}")
    shown = files[:1] if form == "fio" else files
    for path in shown:
        print(path)
    if len(files) > 1 and form == "fio":
        print_message(f"{len(files) - 1} more files in the directories beside it, one for each chart of fio-plot")
    return 0


def _refuse_imported(stored: StoredRun) -> None:
    """An imported run has only what its files tell: in another format the rest would be zeros that nobody measured."""
    if not stored.record.imported:
        return
    files = stored.folder(IMPORTED)
    raise DrivelabError(
        "O811",
        "the run was imported: it holds too little to be written as if its program had been run here",
        where=stored.name,
        do=f"take the files that it was made of: {files}, or drivelab export csv RUN",
    )


def _written(form: Form, stored: StoredRun, out: str | None, *, logs: bool) -> tuple[list[Path], list[str]]:
    if form == "fio":
        done = export_fio(stored, Path(out) if out else stored.directory / "fio", with_logs=logs)
        if not done.job_count:
            raise DrivelabError("O811", "no trial of the run is a job that fio has", where=stored.name)
        return done.files, done.left_out
    if form == "csv":
        return _values_written(joint_report([stored], [], [answer_of_run(stored, SHOWN_METRICS)]), out), []
    if form == "perfetto":
        return _trace_written(stored, Path(out) if out else stored.directory / _TRACE)
    lines = {"bonnie": bonnie_lines, "iozone": _iozone_lines, "openmetrics": _metric_lines}[form](stored)
    if not lines:
        missing = "is a phase of bonnie++" if form == "bonnie" else "was measured over file size and record size"
        raise DrivelabError("O811", f"no workload of the run {missing}", where=stored.name)
    return _text_written("\n".join(lines) + "\n", out), []


def _values_written(joint: Joint, out: str | None) -> list[Path]:
    place = None if out in (None, _STDOUT) else typed_file(Path(str(out)))
    return list(write_report(joint, "csv", place, None))


def _text_written(text: str, out: str | None) -> list[Path]:
    if out in (None, _STDOUT):
        print(text, end="")
        return []
    # whole or not at all: a program may read it meanwhile
    with report_file(Path(str(out))) as aside:
        aside.write_text(text, encoding="utf-8")
    return [Path(str(out))]


def _trace_written(stored: StoredRun, path: Path) -> tuple[list[Path], list[str]]:
    if not stored.traced_trials:
        do = "trace one: drivelab explain --file-state append TARGET"
        raise DrivelabError("O811", "no trial of the run was traced", where=stored.name, do=do)
    names = traced_devices(stored)

    def events(trial: str) -> pa.Table | None:
        found = stored.events(trial)
        return None if found is None else with_devices_named(found, names[trial])

    return _packets_written(traced_tables(stored.traced_trials, stored.operations, events), path)


def _program_written(form: Form, stored: StoredFollowed, out: str | None) -> tuple[list[Path], list[str]]:
    record, calls, events = stored.record, stored.calls(), stored.events()
    if form == "perfetto":
        named = with_devices_named(events, record.conduct.names_of_devices(record.target))
        return _packets_written([(record.program, calls, named)], Path(out) if out else stored.directory / _TRACE)
    found = followed_answer(record, calls, events)
    if form == "csv":
        return _values_written(followed_joint(found), out), []
    told = [one.to_json() for one in found.summaries]
    name, target = stored.directory.resolve().name, str(record.target.get("path", ""))
    return _text_written(openmetrics_text_of_program(name, record.program, told, target, record.started_utc), out), []


def _packets_written(
    tables: Iterable[tuple[str, pa.Table, pa.Table | None]], path: Path
) -> tuple[list[Path], list[str]]:
    left_out: list[str] = []
    with report_file(path) as aside, aside.open("wb") as file:
        file.writelines(perfetto_packets(tables, left_out))
    return [path], left_out


def _metric_lines(stored: StoredRun) -> list[str]:
    results = result_set_of(stored, answer_of_run(stored, SHOWN_METRICS))
    return openmetrics_text(results, stored.findings, stored.record.verdict, stored.record.started_utc).splitlines()


def _iozone_lines(stored: StoredRun) -> list[str]:
    sets = [result_set_of(stored, answer_of_run(stored, SHOWN_METRICS))]
    return spreadsheet_text(sets).splitlines() if surface_tables(sets) else []
