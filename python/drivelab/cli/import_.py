"""The command ``drivelab import``: results of other programs become a run; a fio job file is shown."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from drivelab.interop.foreign import PROGRAMS, ForeignTrial, Kind
from drivelab.model.errors import DrivelabError
from drivelab.model.estimate import Estimate
from drivelab.model.judged_metric import LATENCY, MEAN_LATENCY, RATE, THROUGHPUT
from drivelab.model.metric import metric_of
from drivelab.model.names import counted
from drivelab.model.operations_apart import operations_apart, plural

if TYPE_CHECKING:
    from drivelab.interop.imported_plan import ImportedPlan
    from drivelab.interop.imported_run import ImportedSource

AUTO = "auto"
KINDS: tuple[Kind, ...] = get_args(Kind)
# what people type for it
_ALSO = {"bonnie++": "bonnie", "fio-json": "fio", "pg-test-fsync": "pg_test_fsync"}
_FILES_NAMED = 3
_SHOWN_TRIALS = 40


def command(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[KIND] FILE...",
            help=f"Files of results, and which program they are of: {', '.join(KINDS)}; left out, or auto: see inside.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "--output",
            metavar="DIR",
            help="Directory to make the run in; else where runs are kept. Of a job file: the experiment's file.",
        ),
    ] = None,
    drive: Annotated[str, typer.Option(metavar="NAME", help="What the drive is called, whatever the files say.")] = "",
    name: Annotated[str, typer.Option(metavar="NAME", help="What the run is called; else after its program.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be imported; write nothing.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Of a job file: fail unless it is run just as fio runs it.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Import results of other programs as a run: into the same tables, figures, comparisons and queries.

    Several files make one run: each result is a trial, what differs between
    them becomes a factor, and what is alike a repeat. Machines and drives that
    the files name become targets.

    Numbers are taken over as they are, without an interval, and what a program
    does not tell stays unknown. The files are kept in the run, byte for byte.
    What is taken over of each format, and what is not: docs/how-to/import.md

    A fio job file is no result: what it would become is shown, and drivelab
    run JOBFILE runs it.
    """
    kind, paths = _split_words(words)
    from drivelab.interop.recognise import is_job_file, read_foreign
    from drivelab.interop.source_file import read_source

    files = [(path, read_source(path)) for path in paths]
    if kind in (None, "fio") and any(is_job_file(file.source.text) for _, file in files):
        if len(files) > 1:
            raise DrivelabError("U004", "a job file stands alone, and there are other files", where="drivelab import")
        return _show_job_file(paths[0], strict=strict, as_json=as_json, output=None if dry_run else out)
    from drivelab.interop.imported_plan import plan_import
    from drivelab.interop.imported_run import ImportedSource, refuse_doubles, write_imported
    from drivelab.store.layout import default_parent

    refuse_doubles(files)
    sources = [ImportedSource(file, read_foreign(file.source, kind)) for _, file in files]
    plan = plan_import([one.foreign for one in sources], drive)
    directory = None
    if not dry_run:
        typed = shlex.join(["drivelab", *sys.argv[1:]])
        directory = write_imported(sources, plan, out or default_parent(), name=name, command_line=typed)
    if as_json:
        print(json.dumps(_document(sources, plan, directory), indent=2))
    else:
        _print(sources, plan, directory)
    return 0


def _split_words(words: Sequence[str]) -> tuple[Kind | None, list[Path]]:
    """The program that was named, if any, and the files."""
    if words[0] == "samples" and not Path(words[0]).exists():
        what = "samples of many drives become no run: which drive is slow is asked of them"
        do = shlex.join(["drivelab", "fleet", "odd", *(words[1:] or ["DIR"])])
        raise DrivelabError("U006", what, where="drivelab import", do=do)
    first = _ALSO.get(words[0], words[0])
    is_kind = first in (AUTO, *KINDS)
    names = words[1:] if is_kind else words
    if not names:
        what = f"{words[0]} is a program, and no file is named"
        raise DrivelabError("U006", what, where="drivelab import", do=f"drivelab import {words[0]} FILE")
    return next((kind for kind in KINDS if kind == first), None) if is_kind else None, [Path(name) for name in names]


def _show_job_file(path: Path, *, strict: bool, as_json: bool, output: Path | None) -> int:
    # imported here: results of other programs need none of it
    from drivelab.cli.import_job import show

    return show(path, strict=strict, as_json=as_json, output=output)


def _document(sources: Sequence[ImportedSource], plan: ImportedPlan, directory: Path | None) -> dict[str, Any]:
    return {
        "schema": 1,
        "run": str(directory) if directory else None,
        "sources": [
            {
                "file": one.file.source.name,
                "program": PROGRAMS[one.foreign.kind],
                "version": one.foreign.version,
                "sha256": one.file.sha256,
                "trial_count": len(one.foreign.trials),
                "notes": list(one.foreign.notes),
            }
            for one in sources
        ],
        "targets": list(plan.targets),
        "factors": {name: list(levels) for name, levels in plan.factors.items()},
        "trials": [
            {
                "trial": placed.name,
                "target": placed.target,
                "workload": placed.trial.workload,
                "levels": dict(placed.levels),
                "repeat": placed.repeat,
                "failure": placed.trial.failure,
                "estimates": {name: found.to_json() for name, found in placed.trial.estimates.items()},
            }
            for placed in plan.trials
        ],
    }


def _print(sources: Sequence[ImportedSource], plan: ImportedPlan, directory: Path | None) -> None:
    from drivelab.report.terminal.wrapped import WIDTH, wrapped

    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    for line in _lines(sources, plan):
        indent = f"{' ' * (len(line) - len(line.lstrip(' ')))}  "
        print("\n".join(wrapped(line, WIDTH, plain, indent)))
    # a path stays in one piece, to be copied
    if directory is None:
        print("nothing was written (--dry-run)")
    else:
        print(f"imported into {directory}\nreport: drivelab report {shlex.quote(str(directory))}")


def _lines(sources: Sequence[ImportedSource], plan: ImportedPlan) -> list[str]:
    """The numbers first, then what limits them, each once."""
    files: dict[str, list[str]] = {}
    notes: dict[str, list[str]] = {}
    for one in sources:
        files.setdefault(one.foreign.program, []).append(one.file.source.name)
        for note in one.foreign.notes:
            notes.setdefault(note, []).append(one.file.source.name)
    lines = [f"{counted(len(plan.trials), 'result')} on {', '.join(plan.targets)}"]
    lines += [f"by {program}: {_names(names)}" for program, names in files.items()]
    for placed in plan.trials[:_SHOWN_TRIALS]:
        lines.append(f"  {placed.label}: {placed.trial.failure or _numbers(placed.trial)}")
    if len(plan.trials) > _SHOWN_TRIALS:
        lines.append(f"  and {len(plan.trials) - _SHOWN_TRIALS} more")
    for note, of in notes.items():
        lines.append(f"- {note}{f' ({_names(of)})' if len(of) < len(sources) else ''}")
    return lines


def _names(files: Sequence[str]) -> str:
    """The files, of many the first."""
    shown = ", ".join(files[:_FILES_NAMED])
    return f"{shown} and {len(files) - _FILES_NAMED} more" if len(files) > _FILES_NAMED else shown


def _numbers(trial: ForeignTrial) -> str:
    """The few numbers that say most; of a mix those of each operation."""
    told = trial.estimates
    apart = operations_apart(told, trial.operation).items()
    parts = [f"{plural(name)} {_few({new: told[key] for new, key in names.items()})}" for name, names in apart]
    return "; ".join(parts) or _few(told) or "no number"


def _few(estimates: Mapping[str, Estimate]) -> str:
    names = [LATENCY, MEAN_LATENCY, RATE, THROUGHPUT, "total_latency_ns_max"]
    # a log may have a part of the latency alone
    parts = (f"{part}_latency_ns_{which}" for part in ("completion", "submission") for which in ("p50", "mean", "max"))
    names += [] if any(name in estimates for name in names) else parts
    heads = {name: "" if name == THROUGHPUT else f"{metric_of(name).head} " for name in names}
    told = [f"{head}{estimates[name]}" for name, head in heads.items() if name in estimates]
    return ", ".join(told[:3])
