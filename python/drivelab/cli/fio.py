"""The command ``drivelab fio``: fio's own command line, its output on stdout, and a run that is kept."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from drivelab import __version__
from drivelab.cli.conduct import announce_files, conduct_for, progress_of, put_back_left_over
from drivelab.cli.ended_jobs import ending
from drivelab.cli.failure import print_message
from drivelab.cli.fio_status import Status, interval_ns
from drivelab.cli.job_file import STORED_NAME, SUFFIX, JobFilePlan, plan_job_file, tell_options
from drivelab.cli.run_options import EraseOption, OverwriteOption, StrictOption
from drivelab.interop.fio.asked_logs import LOG_OPTIONS, asked_logs
from drivelab.interop.fio.command_line import CommandLine, placed, read_command_line, with_places
from drivelab.interop.fio.export import fio_document
from drivelab.interop.fio.exported_text import normal_text, starting_text, terse_text
from drivelab.interop.fio.host import environment_of_host
from drivelab.interop.fio.options import nearest
from drivelab.interop.fio.translate import translate_file
from drivelab.interop.fio.translated import REFUSED_EFFECTS, Environment, TranslatedJob, Translation
from drivelab.inventory.consent import Consent
from drivelab.model.errors import EXIT_FAILED, EXIT_OK, DrivelabError
from drivelab.plan.awaited import awaited_of_run, fillings_of_run
from drivelab.run.interruption import interruptible
from drivelab.run.preflight import require_possible
from drivelab.run.progress import RunProgress
from drivelab.run.recorded import record_run
from drivelab.state.stuck import require_apart
from drivelab.store.durable import typed_file, written_aside
from drivelab.store.layout import default_parent
from drivelab.store.read import StoredRun, open_run

_TERSE = ("terse", "minimal", "csv")
_FORMATS = ("normal", "json", "json+", *_TERSE)
_TERSE_VERSION = "3"
_SOME_BYTES = 2**40
# fio's, whatever the signal
_EXIT_ENDED = 128


def command(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="WORDS...", help="What stands behind 'fio' in a command line of it.")
    ] = None,
    erase: EraseOption = None,
    overwrite_file: OverwriteOption = False,
    strict: StrictOption = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory to keep the run in; else where all runs are kept.")
    ] = None,
) -> int:
    """Do what a command line of fio asks for, and print what fio prints.

    Options of jobs, job files, --section, --output, --output-format=normal,json,json+,terse, --minimal,
    --status-interval, --readonly, --parse-only and --showcmd are fio's. What is not done as fio does it is said on
    stderr. The run is kept: drivelab report LAST.
    """
    asked = read_command_line(words or [])
    if "version" in asked.program:
        print(f"drivelab-{__version__}")
        return EXIT_OK
    formats = _formats(asked.program)
    if "showcmd" in asked.program:
        print(asked.as_words(environment_of_host()))
        return EXIT_OK
    is_quiet = asked.program.get("eta") == "never"
    _tell_program(asked, strict=strict, is_quiet=is_quiet)
    is_parsed_only = "parse-only" in asked.program
    stuck = [] if is_parsed_only else put_back_left_over()
    with tempfile.TemporaryDirectory() as folder:
        found = _on_job_file(asked, Path(folder), strict=strict, plans=not is_parsed_only)
    translation = found.translation if isinstance(found, JobFilePlan) else found
    _refuse_unknown(translation)
    tell_options(translation, is_brief=is_quiet)
    if not isinstance(found, JobFilePlan):
        return EXIT_OK
    _refuse_writes(asked, found)
    require_apart(stuck, found.targets.values())
    progress = progress_of("fio", found.plan)
    if is_quiet:
        progress = RunProgress("fio", awaited_of_run(found.plan), StringIO(), fillings=fillings_of_run(found.plan))
    _require_places(asked, found)
    printed = _Printed(formats, asked.program.get("output"))
    if "normal" in formats:
        printed.write(starting_text(found.translation.jobs, f"drivelab-{__version__}"))
    every = asked.program.get("status-interval")
    watch = Status(interval_ns(every) if every else 0, _jobs_of_trials(found), printed.take)
    consent = Consent(tuple(erase or ()), overwrite_files=overwrite_file)
    document, status = _run(found, progress, consent, out or default_parent(), watch, is_quiet=is_quiet)
    printed.take(document)
    printed.close()
    return status


class _Printed:
    """What goes to stdout as it comes, or to a file, which then has all of it."""

    def __init__(self, formats: list[str], output: str | None) -> None:
        self._formats = formats
        self._output = output
        self._text = ""
        # /dev/null, /dev/stderr, a pipe: nothing can take their place
        self._stream: IO[str] | None = None
        if output is not None and Path(output).exists() and not Path(output).is_file():
            self._stream = open(output, "w", encoding="utf-8")  # noqa: SIM115

    def take(self, document: dict[str, Any]) -> None:
        """Write one more document, in each of the formats."""
        self.write("".join(_text(document, form) for form in self._formats))

    def write(self, text: str) -> None:
        """Write as much more."""
        if self._output is None:
            print(text, end="", flush=True)
            return
        if self._stream is not None:
            self._stream.write(text)
            self._stream.flush()
            return
        self._text += text
        _write(self._text, self._output)

    def close(self) -> None:
        """End what was written to a pipe or the like."""
        if self._stream is not None:
            self._stream.close()


def _jobs_of_trials(found: JobFilePlan) -> dict[str, TranslatedJob]:
    jobs = dict(found.jobs)
    return {step.trial: jobs[step.workload] for step in found.plan.steps if step.workload in jobs}


def _formats(program: Mapping[str, str]) -> list[str]:
    """The formats that are asked for, in the order in which fio writes them."""
    asked = ["normal"]
    for name, value in program.items():
        if name in ("minimal", "output-format"):
            asked = ["terse"] if name == "minimal" else value.split(",")
    asked += ["terse"] if "append-terse" in program else []
    for name in asked:
        if name not in _FORMATS:
            raise DrivelabError("U006", f"there is no output format {name}", do="normal, json, json+ or terse")
    if program.get("terse-version", _TERSE_VERSION) != _TERSE_VERSION:
        raise DrivelabError("U006", f"terse output has version {_TERSE_VERSION} here", do="leave out --terse-version")
    terse = ["terse"] if set(asked) & set(_TERSE) else []
    as_json = ["json+"] if "json+" in asked else ["json"] if "json" in asked else []
    return [*terse, *as_json, *(["normal"] if "normal" in asked else [])]


def _tell_program(asked: CommandLine, *, strict: bool, is_quiet: bool) -> None:
    """Say what is not done of the options of the program."""
    for note in asked.notes:
        what = f"--{note.option}: {note.effect.replace('-', ' ')}: {note.what}"
        if strict and note.effect in REFUSED_EFFECTS:
            raise DrivelabError("U036", what, where=f"{note.path}:{note.line}")
        if note.what and not (is_quiet and note.effect == "noted"):
            print_message(what)


def _refuse_unknown(translation: Translation) -> None:
    """As fio, which drops such a job: what was misspelt would be measured without it."""
    for note in (each for each in translation.notes if each.effect == "unknown"):
        what = f"{note.option} is no option that drivelab knows"
        like = nearest(note.option)
        do = f"{like}?" if like else "leave it out, or use fio"
        raise DrivelabError("U032", what, where=f"{note.path}:{note.line}", do=do)


def _on_job_file(asked: CommandLine, folder: Path, *, strict: bool, plans: bool) -> JobFilePlan | Translation:
    """What the command line becomes, by way of a job file that says the same."""
    text, places = asked.as_job_file()
    path = folder / ((re.sub(r"[^A-Za-z0-9.-]+", "-", asked.name).strip("-.")[:40] or "fio") + SUFFIX)
    path.write_text(text, encoding="utf-8")
    try:
        if not plans:
            return placed(translate_file(path, _where_every_file_is(), strict=strict), places)
        found = plan_job_file(str(path), (), strict=strict)
    except DrivelabError as error:
        what, where, do = (with_places(text, str(path), places) for text in (error.what, error.where, error.do))
        do = "say how large: --size=..." if do.startswith("add file_size") else do
        raise DrivelabError(error.code, what, where=where, do=do) from error
    of_words = placed(found.translation, places)
    moved = dict(zip(map(id, found.translation.jobs), of_words.jobs, strict=True))
    return replace(found, translation=of_words, jobs=tuple((name, moved[id(job)]) for name, job in found.jobs))


def _where_every_file_is() -> Environment:
    """This computer with files wherever there are none: only options are looked at, and a size may come later."""
    host = environment_of_host()
    return replace(host, size_of=lambda path: host.size_of(path) or _SOME_BYTES)


def _refuse_writes(asked: CommandLine, found: JobFilePlan) -> None:
    for job in found.translation.jobs:
        if "readonly" in asked.program and job.pattern.writes:
            what = f"{job.name} writes to {job.targets[0]}, and --readonly forbids it"
            raise DrivelabError("U006", what, where=f"{job.path}:{job.line}", do="leave out --readonly")


def _run(
    found: JobFilePlan,
    progress: RunProgress,
    consent: Consent,
    parent: Path,
    watch: Status,
    *,
    is_quiet: bool,
) -> tuple[dict[str, Any], int]:
    """The results in fio's JSON, and the exit status: that of fio, which does not judge."""
    require_possible(found.plan, found.targets, consent)
    if not is_quiet:
        announce_files(found.plan, found.targets)
    with interruptible() as stop:
        conduct = conduct_for(progress, stop, consent, stops_on_error=False)
        # fio makes no pass of its own behind a job
        watched = watch.watching(ending(conduct.instruments, found.plan, found.record()))
        conduct = replace(
            conduct,
            instruments=replace(watched, count_commands=None),
            facts={"job_file": found.record()},
            files={STORED_NAME: found.text},
        )
        directory, outcome = record_run(found.plan, found.experiment, found.targets, parent, conduct)
    stored = open_run(directory)
    _write_logs(stored, found)
    document, left_out = fio_document(stored)
    for reason in left_out:
        print_message(f"left out: {reason}")
    for failed, error in outcome.failures.items():
        print(f"{failed}: {error}", file=sys.stderr)
    doubts = [each.text for each in outcome.findings if each.severity == "invalid" or "device_bytes" in each.evidence]
    for text in dict.fromkeys(doubts):
        print(f"not to be trusted: {text}", file=sys.stderr)
    if not is_quiet:
        print_message(f"kept in {directory}; its report: drivelab report {directory.name}")
    finished = [name for name in stored.trial_names if name not in outcome.failures]
    document = watch.with_unfinished(document, finished)
    if outcome.is_interrupted:
        print_message(f"ended by signal {stop.signal_number}: the results are of what was done until then")
        return document, _EXIT_ENDED
    return document, EXIT_FAILED if outcome.failures else EXIT_OK


def _require_places(asked: CommandLine, found: JobFilePlan) -> None:
    """Return only if what results go to can be written: what is measured first would be lost."""
    output = asked.program.get("output")
    if output and (why := _why_not(output)):
        raise DrivelabError("U006", f"--output={output}: {why[0]}", do=why[1])
    for _, job in found.jobs:
        options = {**job.shared, **job.given}
        for name in (each for each in LOG_OPTIONS if options.get(each)):
            if why := _why_not(options[name]):
                what = f"[{job.name}] {name}={options[name]}: {why[0]}"
                raise DrivelabError("U035", what, where=f"{job.path}:{job.line}", do=why[1])


def _why_not(file: str) -> tuple[str, str] | None:
    """Why a file cannot be written, and what to do."""
    folder = Path(file).parent
    if Path(file).is_dir():
        return "it is a directory", "name a file in it"
    if not folder.is_dir():
        return f"there is no directory {folder}", f"mkdir -p {shlex.quote(str(folder))}"
    if not os.access(folder, os.W_OK):
        return f"{folder} cannot be written to", "name a file elsewhere"
    return None


def _write_logs(stored: StoredRun, found: JobFilePlan) -> None:
    """The logs that jobs ask for, where fio would write them."""
    first_job = 1
    for name, job in found.jobs:
        options = {**job.shared, **job.given}
        trials = [trial for trial in stored.trial_names if stored.trial(trial)["workload"] == name]
        if trials and set(options) & set(LOG_OPTIONS) and (ios := stored.ios(trials[0])) is not None:
            row = stored.trial(trials[0])
            begun = datetime.fromisoformat(row["started_utc"])
            ended_by_time = row["stopped_by"] == "runtime" and not job.pattern.ramp
            logs = asked_logs(
                job.name,
                options,
                ios,
                first_job,
                begun_ms=round(begun.timestamp() * 1000),
                runtime_ms=job.pattern.runtime // 1_000_000 if ended_by_time else 0,
            )
            for path, text in logs:
                try:
                    _write(text, path)
                except DrivelabError as error:
                    print_message(f"left out: {error.what}")
        first_job += job.pattern.job_count


def _text(document: dict[str, Any], form: str) -> str:
    writers: dict[str, Callable[[dict[str, Any]], str]] = {"normal": normal_text, "terse": terse_text}
    if form in writers:
        return writers[form](document)
    kept = document if form == "json+" else _without_bins(document)
    return json.dumps(kept, indent=2) + "\n"


def _without_bins(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_bins(each) for name, each in value.items() if name != "bins"}
    return [_without_bins(each) for each in value] if isinstance(value, list) else value


def _write(text: str, output: str) -> None:
    with written_aside(typed_file(Path(output))) as aside:
        aside.write_text(text, encoding="utf-8")
