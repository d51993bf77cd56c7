"""Writes foreign results into a run directory, so that reports, comparisons and queries take them as any other.

What drivelab would have judged, and what the source does not tell, stays unknown there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from drivelab import __version__
from drivelab.interop.foreign import ForeignFile
from drivelab.interop.imported_plan import ImportedPlan, PlacedTrial
from drivelab.interop.source_file import SourceFile
from drivelab.model.errors import DrivelabError
from drivelab.model.finding import Finding
from drivelab.model.measurement import Measurement
from drivelab.model.trial_summary import TrialSummary
from drivelab.store import layout
from drivelab.store.columns import INTERVAL_COLUMNS, arrow_schema
from drivelab.store.place import TrialPlace
from drivelab.store.run_record import RunRecord
from drivelab.store.write import RunWriter, create_run

NOT_KNOWN = (
    "drivelab measured nothing of this itself: commands at the device, what the page cache answered, settings of the "
    "drive and its state are not known, and no number has an interval of its own"
)


@dataclass(frozen=True, slots=True)
class ImportedSource:
    """A foreign file, as it was read and as it was understood."""

    file: SourceFile
    foreign: ForeignFile


def refuse_doubles(files: Sequence[tuple[Path, SourceFile]]) -> None:
    """Refuse a file that is named twice, or a copy of it: its results would pass for repeats.

    Raises
    ------
    DrivelabError
        I509: there is one.
    """
    seen: dict[str, Path] = {}
    for path, file in files:
        if file.sha256 in seen:
            what = (
                "the file is named twice" if seen[file.sha256] == path else f"it is a copy of {seen[file.sha256].name}"
            )
            raise DrivelabError("I509", what, where=str(path))
        seen[file.sha256] = path


def write_imported(
    sources: Sequence[ImportedSource], plan: ImportedPlan, parent: Path, *, name: str = "", command_line: str = ""
) -> Path:
    """The directory of a run that holds foreign results.

    Parameters
    ----------
    name : str
        What the run is called; empty is ``imported-PROGRAM``.

    Raises
    ------
    DrivelabError
        S501 to S503: the run cannot be written.
    """
    programs = list(dict.fromkeys(one.foreign.program for one in sources))
    kinds = list(dict.fromkeys(one.foreign.kind for one in sources))
    experiment = name or f"imported-{'-'.join(kinds)}"
    now = datetime.now(UTC)
    label = next(iter(plan.targets)) if len(plan.targets) == 1 else f"{len(plan.targets)}-targets"
    with closing(create_run(parent, experiment, label, _begun(plan) or now)) as writer:
        stored = dict(zip(map(id, sources), _keep_sources(writer, sources), strict=True))
        told = ", ".join(one.foreign.source.name for one in sources[:5]) + (" and more" if len(sources) > 5 else "")
        source = f"imported from {', '.join(programs)}: {told}"
        begun = min((placed.trial.measured for placed in plan.trials if placed.trial.measured), default=None)
        record = RunRecord(
            status="running",
            started_utc=begun or "",
            command_line=command_line,
            imported={
                "utc": now.isoformat(timespec="seconds"),
                "drivelab_version": __version__,
                "programs": programs,
                "measured": next((one.foreign.measured for one in sources if one.foreign.measured), ""),
                "sources": [_source_facts(one, stored[id(one)]) for one in sources],
            },
            experiment=plan.experiment(experiment, f"What did {' and '.join(programs)} measure?", source),
            plan={"experiment": experiment, "quick": False, "seed": 0, "steps": plan.steps()},
            host=_host(plan),
            targets=[_target(label, machine, drive) for label, (machine, drive) in plan.targets.items()],
        )
        writer.write_run_json(record.to_json())
        files = {id(one.foreign): stored[id(one)] for one in sources}
        for number, placed in enumerate(plan.trials, start=1):
            _add(writer, placed, number, files[id(placed.file)])
        failures = {placed.name: placed.trial.failure for placed in plan.trials if placed.trial.failure}
        writer.finish(list(_findings(sources, programs)), failures=failures, finished_utc=begun)
        return writer.directory


def _begun(plan: ImportedPlan) -> datetime | None:
    """When the first of the results was measured, where that is told."""
    told = sorted(placed.trial.measured for placed in plan.trials if placed.trial.measured)
    try:
        found = datetime.fromisoformat(told[0]) if told else None
    except ValueError:
        return None
    return found if found is None or found.tzinfo else found.replace(tzinfo=UTC)


def _keep_sources(writer: RunWriter, sources: Sequence[ImportedSource]) -> Iterator[str]:
    """Keep each file as it is; the name below the run directory."""
    taken: set[str] = set()
    for number, one in enumerate(sources, start=1):
        name = re.sub(r"[^A-Za-z0-9_.+-]+", "-", one.file.source.name).lstrip(".-")[:120] or "unnamed"
        name = f"{number}-{name}" if name in taken else name
        taken.add(name)
        writer.add_file(f"{layout.IMPORTED}/{name}", one.file.content)
        yield f"{layout.IMPORTED}/{name}"


def _source_facts(one: ImportedSource, stored: str) -> dict[str, Any]:
    return {
        "program": one.foreign.program,
        "kind": one.foreign.kind,
        "version": one.foreign.version,
        "file": one.file.source.name,
        "stored": stored,
        "sha256": one.file.sha256,
        "size_bytes": len(one.file.content),
        "trial_count": len(one.foreign.trials),
        "measured": one.foreign.measured,
        "notes": list(one.foreign.notes),
    }


def _host(plan: ImportedPlan) -> dict[str, Any]:
    machines = {machine for machine, _ in plan.targets.values() if machine}
    return {"hostname": machines.pop()} if len(machines) == 1 else {}


def _target(label: str, machine: str, drive: str) -> dict[str, Any]:
    """What is known of a target: its names. Everything else is unknown, and says why."""
    facts: dict[str, Any] = {
        "text": label,
        "drives": [{"model": drive}] if drive else [],
        "size_bytes": None,
        "unknown": {"size_bytes": "the imported file does not tell"},
    }
    return {"label": label, "facts_before": facts | ({"machine": machine} if machine else {}), "facts_after": None}


def _findings(sources: Sequence[ImportedSource], programs: Sequence[str]) -> Iterator[Finding]:
    yield Finding("imported", "note", f"imported from {', '.join(programs)}: {NOT_KNOWN}")
    told = dict.fromkeys((one.foreign.program, note) for one in sources for note in one.foreign.notes)
    for program, note in told:
        yield Finding("imported", "note", f"{program}: {note}")


def _add(writer: RunWriter, placed: PlacedTrial, number: int, stored: str) -> None:
    trial = placed.trial
    place = TrialPlace(
        target=placed.target,
        workload=trial.workload,
        step=number,
        block=placed.repeat,
        repeat=placed.repeat,
        started_utc=trial.measured,
        asked=placed.levels,
        failure=trial.failure,
    )
    summary = TrialSummary(placed.name, placed.label, trial.operation, dict(trial.estimates))
    writer.add_trial(_measurement(placed, stored), summary, place=place)


def _measurement(placed: PlacedTrial, stored: str) -> Measurement:
    trial, file = placed.trial, placed.file
    engine: dict[str, Any] = {
        "operations": {name: dict(counts) for name, counts in trial.operations.items()},
        "measured_ns": trial.measured_ns,
    }
    if trial.backend:
        engine["backend"] = {"name": trial.backend, "reason": f"as {file.program} tells"}
    if trial.is_direct is not None:
        engine["achieved"] = {"direct": trial.is_direct}
    if trial.processor_ns:
        engine["cpu"] = {name: round(value) for name, value in trial.processor_ns.items()}
    imported = {
        "program": file.program,
        "file": stored,
        "line": trial.line,
        "parameters": dict(trial.parameters),
        **{name: value for name, value in trial.details.items() if value not in ("", [], {}, None)},
    }
    schema = arrow_schema(tuple(one for one in INTERVAL_COLUMNS if one.name not in ("trial", "p50_ns", "p99_ns")))
    return Measurement(
        name=placed.name,
        workload=trial.known,
        engine=engine,
        histograms=dict(trial.histograms),
        intervals=schema.empty_table(),
        context={"label": placed.label, "imported": imported},
    )
