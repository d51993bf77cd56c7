"""The handful of facts that a reader wants beside the answer: on what, where, when."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from drivelab.model.finding import OTHERS_ON_DRIVE, trials_of
from drivelab.model.names import counted, in_brackets
from drivelab.model.others_processors import busy_with_others, users_of_processors
from drivelab.model.units import format_bytes
from drivelab.report.content import ReportContent, TrialContent
from drivelab.store.run_record import RunRecord

_FILES_NAMED, _PROGRAMS_NAMED = 5, 2
# before what an error says
_CODE = re.compile(r"^error\[[A-Z]\d+\] ")
# a program that was killed could not say so
_STOPPED = {
    "running": "it is still running, or was killed",
    "interrupted": "it was interrupted",
    "failed": "it failed",
}


def headline_facts(content: ReportContent) -> list[tuple[str, str]]:
    """Names and values for the head of the page; what is not known is left out."""
    record = content.record
    targets = _targets(content)
    found = [
        ("target", "; ".join(_each(_target_text(target) for target in targets))),
        ("drive", "; ".join(_each(_drive_texts(targets)))),
        ("file system", "; ".join(_each(_filesystem_text(target.get("filesystem")) for target in targets))),
        ("host", _host_text(record.host)),
        ("imported from", imported_words(record.imported)),
        ("measured", _when(content)),
        ("not complete", what_is_missing(record, content.trial_count)),
    ]
    return [(name, value) for name, value in found if value]


def what_is_missing(record: RunRecord, trial_count: int) -> str:
    """How far a run came that is not complete, and why, or how many of its trials failed; empty where none is missing.

    Parameters
    ----------
    trial_count : int
        How many trials were completed, those of the reference among them.
    """
    return what_was_cut_off(record, trial_count) or _failed(record, trial_count)


def what_was_cut_off(record: RunRecord, trial_count: int) -> str:
    """How far a run came that did not come to its end, and why; empty for any other."""
    why = _STOPPED.get(record.status)
    if why is None:
        return ""
    why = f"{why}: {record.error}" if record.error else why
    planned = len(record.plan.get("steps", ()))
    return f"{trials_of(trial_count, planned)}; {why}" if planned else f"{counted(trial_count, 'trial')} so far; {why}"


def counted_trials(count: int, reference_count: int) -> str:
    """How many trials a run has: ``56 trials, 8 of them to watch for drift``."""
    trials = counted(count, "trial")
    return f"{trials}, {reference_count} of them to watch for drift" if reference_count else trials


def failed_words(record: RunRecord, trial_count: int) -> str:
    """How many trials of a run failed, and why the first did; empty where none did."""
    first = next(iter(record.failures.values()), "")
    return f"{_failed(record, trial_count)}, the first because {without_code(first.splitlines()[0])}" if first else ""


def _failed(record: RunRecord, trial_count: int) -> str:
    failed = len(record.failures)
    return f"{trials_of(failed, trial_count + failed)} failed" if failed else ""


def without_code(error: str) -> str:
    """What an error says, without its code."""
    return _CODE.sub("", error)


def busy_words(trials: Sequence[TrialContent]) -> str:
    """How many processors other programs used beside most trials of a run; empty where the machine was quiet."""
    seen = [one.context for one in trials if one.context.get("processors")]
    busy = [(others, one) for one in seen if (others := busy_with_others(one["processors"]))]
    if 2 * len(busy) <= len(seen):
        return ""
    times = Counter(name for others, one in busy for name in users_of_processors(one, others))
    who = in_brackets(name for name, count in times.most_common(_PROGRAMS_NAMED) if 2 * count >= len(busy))
    middle = sorted(others for others, _ in busy)[len(busy) // 2]
    count = seen[0]["processors"]["count"]
    on_drive = sum(any(OTHERS_ON_DRIVE & one.evidence.keys() for one in trial.findings) for trial in trials)
    used = f", and the drive in {trials_of(on_drive, len(trials))}" if on_drive else ""
    return f"the machine was busy: other programs used {middle:.1f} of its {count} processors{who}{used}"


def simulated_texts(content: ReportContent) -> tuple[str, ...]:
    """How the simulated targets of a run begin where findings name them: ``sim:disk-7200 is simulated``."""
    models = [one for one in _targets(content) if one.get("simulated")]
    # earlier versions named them as they were typed, and not by their labels
    names = dict.fromkeys(str(one.get(key) or "") for one in models for key in ("label", "text"))
    return tuple(f"{name} is simulated" for name in names)


def measured_words(content: ReportContent) -> str:
    """What was measured beside published drives: a model by its name, since it is not here."""
    models = [str(one["label"]) for one in _targets(content) if one.get("simulated") and one.get("label")]
    return ", ".join(models) or "Measured here"


def simulated_count(content: ReportContent) -> int:
    """How many targets of a run are simulated."""
    return sum(bool(one.get("simulated")) for one in _targets(content))


def drives_of(content: ReportContent) -> list[Mapping[str, Any]]:
    """The drives of a run as they were before it."""
    return [drive for target in _targets(content) for drive in target.get("drives") or ()]


def _targets(content: ReportContent) -> list[Mapping[str, Any]]:
    """The targets as they were before the run."""
    return [{"label": one.get("label")} | dict(one.get("facts_before") or {}) for one in content.record.targets]


def _each(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(text for text in texts if text))


def _target_text(target: Mapping[str, Any]) -> str:
    # a page is read elsewhere, where `.` is another directory
    names = ("text", "label", "path") if target.get("kind") == "block_device" else ("path", "text", "label")
    return next((str(target[name]) for name in names if target.get(name)), "")


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


def _drive_texts(targets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The drives, each behind the name of its target where there are several."""
    for target in targets:
        label = f"{target['label']}: " if len(targets) > 1 and target.get("label") else ""
        if model := target.get("simulated"):
            yield f"{label}simulated, nothing real was measured: {model.get('title', '')}"
        for drive in target.get("drives") or ():
            text = _drive_text(drive)
            yield f"{label}{text}" if text != target.get("label") else text


def _filesystem_text(filesystem: Mapping[str, Any] | None) -> str:
    if not filesystem:
        return ""
    place = filesystem.get("mount_point")
    return f"{filesystem.get('type', '')} at {place}" if place else str(filesystem.get("type", ""))


def _host_text(host: Mapping[str, Any]) -> str:
    parts = (host.get("hostname"), host.get("machine_model"), host.get("distribution"), _kernel(host))
    return ", ".join(str(part) for part in parts if part)


def imported_words(imported: Mapping[str, Any]) -> str:
    """The programs that measured, where it was not drivelab, and the files: ``fio 3.33 (old.json)``."""
    files: dict[str, list[str]] = {}
    for source in imported.get("sources", ()):
        files.setdefault(str(source.get("program", "")), []).append(str(source.get("file", "")))
    return "; ".join(f"{program} ({', '.join(names[:_FILES_NAMED])})" for program, names in files.items())


def _kernel(host: Mapping[str, Any]) -> str:
    return f"Linux {host['kernel_release']}" if host.get("kernel_release") else ""


def _when(content: ReportContent) -> str:
    started = content.record.started_utc or min(
        (str(trial.row["started_utc"]) for trial in content.trials if trial.row.get("started_utc")), default=""
    )
    if started:
        return str(started).replace("T", " ")[:16] + " UTC"
    return str(content.record.imported.get("measured") or "")
