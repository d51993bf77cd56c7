"""The handful of facts that a reader wants beside the answer: on what, where, when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from drivelab.model.finding import trials_of
from drivelab.model.units import format_bytes
from drivelab.report.content import ReportContent

_FILES_NAMED = 5
# a program that was killed could not say so
_STOPPED = {
    "running": "it is still running, or was killed",
    "interrupted": "it was interrupted",
    "failed": "it failed",
}


def headline_facts(content: ReportContent) -> list[tuple[str, str]]:
    """Names and values for the head of the page; what is not known is left out."""
    facts = content.facts
    targets = _targets(content)
    drives = drives_of(content)
    found = [
        ("target", "; ".join(_each(_target_text(target) for target in targets))),
        ("drive", "; ".join(_each(_drive_text(drive) for drive in drives))),
        ("file system", "; ".join(_each(_filesystem_text(target.get("filesystem")) for target in targets))),
        ("host", _host_text(facts.get("host"))),
        ("imported from", _imported_text(facts.get("imported"))),
        ("measured", _when(content)),
        ("not complete", what_is_missing(facts, content.trial_count)),
    ]
    return [(name, value) for name, value in found if value]


def what_is_missing(facts: Mapping[str, Any], trial_count: int) -> str:
    """How far a run came that is not complete, and why; empty for one that is.

    Parameters
    ----------
    facts : mapping
        The run's run.json.
    trial_count : int
        How many trials were completed, without references.
    """
    why = _STOPPED.get(facts.get("status", "complete"))
    if why is None:
        return ""
    plan = facts.get("plan")
    steps = _mappings(plan.get("steps", ())) if isinstance(plan, Mapping) else []
    planned = sum(not step.get("is_reference") for step in steps)
    return f"{trials_of(trial_count, planned)}; {why}" if planned else f"{trial_count} trials so far; {why}"


def drives_of(content: ReportContent) -> list[Mapping[str, Any]]:
    """The drives of a run as they were before it."""
    found = content.facts.get("drives")
    return _mappings(found or [drive for target in _targets(content) for drive in target.get("drives") or ()])


def _targets(content: ReportContent) -> list[Mapping[str, Any]]:
    facts = content.facts
    return [_as_found(target) for target in _mappings(facts.get("targets") or facts.get("target"))]


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        # targets by their label
        inner = [item for item in value.values() if isinstance(item, Mapping)]
        return inner if inner and len(inner) == len(value) else [value]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [item for item in value if isinstance(item, Mapping)]
    return [{"text": value}] if isinstance(value, str) else []


def _as_found(target: Mapping[str, Any]) -> Mapping[str, Any]:
    """The target as it was before the run, where both states are stored."""
    before = target.get("facts_before")
    return {"label": target.get("label")} | dict(before) if isinstance(before, Mapping) else target


def _each(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(text for text in texts if text))


def _target_text(target: Mapping[str, Any]) -> str:
    return str(target.get("text") or target.get("label") or target.get("path") or "")


def _drive_text(drive: Mapping[str, Any]) -> str:
    name = " ".join(str(part) for part in (drive.get("vendor"), drive.get("model")) if part)
    parts = [name or str(drive.get("virtual") or drive.get("name") or "")]
    if drive.get("serial"):
        parts.append(f"serial {drive['serial']}")
    if drive.get("firmware"):
        parts.append(f"firmware {drive['firmware']}")
    if drive.get("size_bytes"):
        parts.append(format_bytes(drive["size_bytes"]))
    return ", ".join(part for part in parts if part)


def _filesystem_text(filesystem: Any) -> str:
    if not isinstance(filesystem, Mapping):
        return ""
    place = filesystem.get("mount_point")
    return f"{filesystem.get('type', '')} at {place}" if place else str(filesystem.get("type", ""))


def _host_text(host: Any) -> str:
    if not isinstance(host, Mapping):
        return ""
    parts = (host.get("hostname"), host.get("machine_model"), host.get("distribution"), _kernel(host))
    return ", ".join(str(part) for part in parts if part)


def _imported_text(imported: Any) -> str:
    """The programs that measured, where it was not drivelab, and the files: ``fio 3.33 (old.json)``."""
    sources = _mappings(imported.get("sources")) if isinstance(imported, Mapping) else []
    files: dict[str, list[str]] = {}
    for source in sources:
        files.setdefault(str(source.get("program", "")), []).append(str(source.get("file", "")))
    return "; ".join(f"{program} ({', '.join(names[:_FILES_NAMED])})" for program, names in files.items())


def _kernel(host: Mapping[str, Any]) -> str:
    return f"Linux {host['kernel_release']}" if host.get("kernel_release") else ""


def _when(content: ReportContent) -> str:
    started = content.facts.get("started_utc") or min(
        (str(trial.row["started_utc"]) for trial in content.trials if trial.row.get("started_utc")), default=""
    )
    if started:
        return str(started).replace("T", " ")[:16] + " UTC"
    imported = content.facts.get("imported")
    return str(imported.get("measured") or "") if isinstance(imported, Mapping) else ""
