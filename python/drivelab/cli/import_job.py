"""A fio job file within ``drivelab import``: what it becomes, and what it would destroy; nothing is run."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from drivelab.cli.job_file import option_lines
from drivelab.interop.fio.as_experiment import as_experiment, to_toml
from drivelab.interop.fio.host import environment_of_host, size_of
from drivelab.interop.fio.translate import translate_file
from drivelab.interop.fio.translated import TranslatedJob, Translation
from drivelab.model.errors import DrivelabError
from drivelab.model.names import counted
from drivelab.model.units import format_bytes, format_duration_ns, format_rate_per_s
from drivelab.model.workload import Access
from drivelab.model.workload_pattern import WorkloadPattern

SCHEMA = 1
_TARGETS_SHOWN_MAX = 4


def show(path: Path, *, strict: bool = False, as_json: bool = False, output: Path | None = None) -> int:
    """Show what a job file becomes: its jobs in groups, its options, its targets, and the experiment as TOML.

    Parameters
    ----------
    strict : bool
        Whether options that are approximated, not honoured or unknown are errors.
    output : Path, optional
        File that the experiment is written to, which must not exist; without one it is shown.
    """
    translation = translate_file(path, environment_of_host(), strict=strict)
    toml = to_toml(as_experiment(translation))
    if output is not None:
        _write(output, toml)
    if as_json:
        print(json.dumps(document(translation, toml), indent=2))
        return 0
    # imported here: JSON needs none of it
    from drivelab.report.terminal.clean_text import terminal_text

    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    for line in lines(translation):
        print(terminal_text(line, plain))
    if output is not None:
        print(f"experiment: {output}; plan it with: drivelab plan {shlex.quote(str(output))} TARGET")
    else:
        print("as an experiment (write it to a file: --output FILE):\n")
        print(toml, end="")
    print(f"\nrun the job file itself: drivelab run {shlex.quote(str(path))}")
    return 0


def _write(output: Path, toml: str) -> None:
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(toml)
    except FileExistsError:
        what = f"{output} exists already"
        raise DrivelabError("U038", what, where="--output", do="name a file that does not exist") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise DrivelabError("U038", f"{output} cannot be written: {reason}", where="--output") from error


def document(translation: Translation, toml: str) -> dict[str, Any]:
    """A job file's translation as plain data for JSON."""
    return {
        "schema": SCHEMA,
        "path": translation.path,
        "jobs": [_job_document(job) for job in translation.jobs],
        "notes": [asdict(note) for note in translation.notes],
        "warnings": [asdict(warning) for warning in translation.warnings],
        "destroys": list(destroyed(translation)),
        "experiment_toml": toml,
    }


def _job_document(job: TranslatedJob) -> dict[str, Any]:
    verifies = job.verify_pattern
    return {
        "name": job.name,
        "number": job.number,
        "line": job.line,
        "group": job.group,
        "reporting_group": job.reporting_group,
        "copy_number": job.copy_number,
        "pattern": job.pattern.to_json(),
        "verify_pattern": None if verifies is None else verifies.to_json(),
        "reads_back": job.reads_back,
        "targets": list(job.targets),
        "layout": asdict(job.layout),
        "seed": job.seed,
        "given": dict(job.given),
        "shared": dict(job.shared),
        "resolved": dict(job.resolved),
    }


def lines(translation: Translation) -> Iterator[str]:
    """What a job file becomes, in words."""
    groups = translation.groups
    counted = f"{len(translation.jobs)} job" + ("s" if len(translation.jobs) > 1 else "")
    yield f"{translation.path}: {counted} of fio, in {len(groups)} group{'s' if len(groups) > 1 else ''}"
    for number, group in enumerate(groups, start=1):
        yield f"group {number}" + (" (at the same time)" if len(group) > 1 else "")
        for job in group:
            copy = f", copy {job.copy_number}" if job.copy_number else ""
            yield f"  {job.name}{copy}: {described(job.pattern)}"
            yield f"    on {_several(job.targets)}"
            if job.verify_pattern is not None:
                reads = "what was written is read back" if job.reads_back else described(job.verify_pattern)
                yield f"    then: {reads}, each block checked"
    for sentence in destroyed(translation) or ("nothing",):
        yield f"destroys: {sentence}"
    for warning in translation.warnings:
        yield f"warning: {warning.path}:{warning.line}: {warning.what}"
    yield from option_lines(translation)


def _several(targets: tuple[str, ...]) -> str:
    shown = ", ".join(targets[:_TARGETS_SHOWN_MAX])
    return shown + (f" and {len(targets) - _TARGETS_SHOWN_MAX} more" if len(targets) > _TARGETS_SHOWN_MAX else "")


def described(pattern: WorkloadPattern) -> str:
    """What a pattern issues, in one line."""
    parts = [_operations(pattern)]
    if not pattern.uses_tree:
        sizes = pattern.sizes
        least, most = min(each.bytes for each in sizes), max(each.bytes for each in sizes)
        parts += [format_bytes(least) if least == most else f"{format_bytes(least)} to {format_bytes(most)}"]
        parts += [f"depth {pattern.queue_depth}", "direct" if pattern.direct else "buffered"]
    parts += [f"{pattern.job_count} jobs"] if pattern.job_count > 1 else []
    parts += [f"backend {pattern.backend}"] if pattern.backend != "auto" else []
    if pattern.durability != "none":
        every = pattern.sync_every_writes
        rhythm = " at the end" if every == "end" else f" every {every} writes" if every > 1 else ""
        parts.append(pattern.durability + rhythm + (" and at the end" if pattern.last_sync == "always" else ""))
    if pattern.pacing.rate_per_s:
        parts.append(f"{format_rate_per_s(pattern.pacing.rate_per_s)} a second, {pattern.pacing.kind}")
    if pattern.pacing.think_ns:
        parts.append(f"thinks for {format_duration_ns(pattern.pacing.think_ns)}")
    return ", ".join([*parts, *_ends(pattern)])


def _operations(pattern: WorkloadPattern) -> str:
    names = pattern.operation_names
    kind = "" if pattern.uses_tree else f"{pattern.access.kind.replace('_', ' ')} "
    if len(names) == 1:
        return f"{kind}{names[0].replace('_', ' ')}"
    if any(mix.access for mix in pattern.operations):
        kind = ""
    if pattern.read_fraction is not None:
        return f"{kind}{100 * pattern.read_fraction:.0f} % read, {100 - 100 * pattern.read_fraction:.0f} % write"
    weights = {mix.operation: mix.weight for mix in pattern.operations}
    own = {mix.operation: _order(mix.access) if mix.access else "" for mix in pattern.operations}
    shares = [f"{100 * weight / sum(weights.values()):.0f} % {name}{own[name]}" for name, weight in weights.items()]
    return kind + ", ".join(shares)


def _order(access: Access) -> str:
    """An order of addresses behind the operation that has it: ``(9 % random)``."""
    share = f"{100 * access.random_fraction:.0f} % " if access.random_fraction < 1 else ""
    return f" ({share}{access.kind.replace('_', ' ')})"


def _ends(pattern: WorkloadPattern) -> list[str]:
    found = [f"for {format_duration_ns(pattern.runtime)}"] if pattern.runtime else []
    found += [f"at most {format_bytes(pattern.bytes)}"] if pattern.bytes else []
    found += [f"at most {pattern.count} I/Os"] if pattern.count else []
    found += [f"{pattern.capacities:g} times the target"] if pattern.capacities else []
    found += [counted(pattern.file_count, "file")] if pattern.uses_tree else []
    found += ["which ends the others"] if pattern.ends_others else []
    return found + ([f"begins {format_duration_ns(pattern.start_delay)} later"] if pattern.start_delay else [])


def destroyed(translation: Translation) -> tuple[str, ...]:
    """What running it would destroy, in words; files that do not exist yet are told as new."""
    whole: dict[str, str] = {}
    writers: dict[str, list[str]] = {}
    for job in translation.jobs:
        for target in job.destroys:
            if job.layout.kind == "device":
                whole[target] = f"what is on {target}"
            elif job.layout.kind == "file" and size_of(target) is not None:
                whole[target] = f"what is in {target}"
            writers.setdefault(target, []).append(job.name)
    return tuple(f"{what} ({', '.join(dict.fromkeys(writers[target]))})" for target, what in whole.items())
