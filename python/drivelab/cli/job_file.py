"""A job file of fio where an experiment was expected: what it becomes, and where its I/O goes."""

from __future__ import annotations

import itertools
import re
import secrets
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from drivelab.experiments.load import built_in_names
from drivelab.interop.fio.host import environment_of_host, size_of
from drivelab.interop.fio.translate import translate_file
from drivelab.interop.fio.translated import (
    REFUSED_EFFECTS,
    Environment,
    TranslatedJob,
    Translation,
)
from drivelab.inventory.loop_target import resolve_measured
from drivelab.inventory.target import missing_file
from drivelab.model.errors import DrivelabError
from drivelab.model.experiment import Experiment
from drivelab.model.names import free_name
from drivelab.model.plan import Plan, TraceChoice
from drivelab.model.target import DEVICE_KINDS, TargetFacts
from drivelab.plan.listed import JobList, ListedJob, listed_experiment, listed_plan
from drivelab.store.regular_file import opened_regular

SUFFIX = ".fio"
STORED_NAME = "job.fio"
_NAME_LENGTH_MAX = 36
_FIRST_SECTION = re.compile(rb"\A(\s*([#;][^\n]*)?\n)*\s*\[[^\[\n]*\]")
_LOOKED_AT_BYTES = 65536


@dataclass(frozen=True, slots=True)
class JobFilePlan:
    """A job file, ready to be run.

    Attributes
    ----------
    translation : Translation
        What became of its jobs and options.
    experiment : Experiment
        The jobs as an experiment, for whoever reads the run.
    jobs : tuple of (str, TranslatedJob)
        Name of each workload and the job that it is; of a job with several targets several.
    verifies : mapping of str to str
        Of each workload that reads what another one wrote, that one.
    """

    translation: Translation
    plan: Plan
    targets: dict[str, TargetFacts]
    experiment: Experiment
    text: bytes
    jobs: tuple[tuple[str, TranslatedJob], ...]
    verifies: Mapping[str, str] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """What is kept of it in ``run.json`` (``docs/run_keys.md``)."""
        jobs = [
            {
                "workload": name,
                "job": job.name,
                "number": job.number,
                "line": job.line,
                "group": job.group,
                "reporting_group": job.reporting_group,
                "verifies": self.verifies.get(name, ""),
                "given": dict(job.given_to_each),
                "shared": dict(job.shared),
                "resolved": dict(job.resolved),
            }
            for name, job in self.jobs
        ]
        return {
            "path": self.translation.path,
            "stored_as": STORED_NAME,
            "shared": dict(self.translation.shared),
            "jobs": jobs,
            "notes": [asdict(note) for note in self.translation.notes],
            "warnings": [asdict(warning) for warning in self.translation.warnings],
        }


def is_job_file(text: str) -> bool:
    """Whether a job file is meant, and no experiment: it ends in ``.fio``, or is a file that begins with ``[...]``."""
    if text.endswith(SUFFIX):
        return True
    if text.endswith(".toml") or text in built_in_names():
        return False
    try:
        with opened_regular(text) as file:
            return _FIRST_SECTION.match(file.read(_LOOKED_AT_BYTES)) is not None
    except OSError:
        return False


def plan_job_file(
    path: str,
    targets: Sequence[str],
    *,
    strict: bool = False,
    seed: int | None = None,
    repeats: int | None = None,
    labels: Sequence[str] = (),
    trace: TraceChoice | None = None,
) -> JobFilePlan:
    """What a job file becomes on its own targets, or on those that were named instead.

    Parameters
    ----------
    targets : sequence of str
        Take the place of all targets of the job file; all its jobs run on the
        first, then on the next. In a directory each file keeps its name.
    strict : bool
        Whether options that are not done as fio does them are errors.
    seed, repeats, labels, trace
        As for `drivelab.plan.listed.listed_plan`.
    """
    placing = _Placing()
    translations = []
    for number, text in enumerate(targets or (None,)):
        instead = resolve_measured(text) if text is not None else None
        translation = translate_file(Path(path), _environment(instead), strict=strict)
        translations.append(translation)
        placing.add(translation, instead, number)
    translation = translations[0]
    file = Path(path)
    listed = JobList(
        name=_slug(file.stem) or "job-file",
        question=f"What do the jobs of {file.name} do?",
        jobs=placing.jobs(),
        description=f"The job file {file.name} of fio, as drivelab runs it.",
    )
    count = repeats or 1
    plan = listed_plan(
        listed,
        placing.targets,
        seed=secrets.randbelow(2**32) if seed is None else seed,
        repeats=count,
        labels=labels,
        trace=trace,
    )
    by_label = {target.label: facts for target, facts in zip(plan.targets, placing.targets, strict=True)}
    experiment = listed_experiment(listed, repeats=count)
    verbatim = file.read_bytes()
    return JobFilePlan(translation, plan, by_label, experiment, verbatim, tuple(placing.named), placing.verifies)


def tell_options(translation: Translation, *, is_brief: bool = False) -> None:
    """Say on stderr what became of the options of a job file, the least honoured last, and how many those are.

    What is brief is told only of those that are not done as fio does them.
    """
    for warning in translation.warnings:
        print(f"{warning.path}:{warning.line}: {warning.what}", file=sys.stderr)
    for line in option_lines(replace(translation, notes=translation.refused) if is_brief else translation):
        print(line, file=sys.stderr)
    if translation.refused:
        counts = Counter(note.effect.replace("-", " ") for note in translation.refused)
        told = ", ".join(f"{count} {effect}" for effect, count in sorted(counts.items()))
        print(f"not done as fio does it: {told}; --strict refuses that", file=sys.stderr)


def option_lines(translation: Translation) -> Iterator[str]:
    """A line with all options that are honoured, and one for each that is not quite."""
    written = [note for note in translation.notes if note.line]
    honoured = list(dict.fromkeys(note.option for note in written if note.effect == "honoured"))
    if honoured:
        yield f"options honoured: {', '.join(honoured)}"
    for effect in ("noted", *REFUSED_EFFECTS):
        for note in (note for note in translation.notes if note.effect == effect and (note.line or note.what)):
            place = f"{note.path or translation.path}:{note.line}: " if note.line else ""
            value = f"={note.value}" if note.value else ""
            yield f"{place}{note.option}{value}: {effect.replace('-', ' ')}" + (f": {note.what}" if note.what else "")


def _environment(instead: TargetFacts | None) -> Environment:
    """This computer, on which the sizes of targets are those of the target that takes their place."""
    host = environment_of_host()
    if instead is None:
        return host
    size = instead.size_bytes if instead.kind in (*DEVICE_KINDS, "file") else None
    return replace(host, size_of=lambda _path: size)


@dataclass(slots=True)
class _Placing:
    """Gathers targets and jobs."""

    targets: list[TargetFacts] = field(default_factory=list)
    named: list[tuple[str, TranslatedJob]] = field(default_factory=list)
    verifies: dict[str, str] = field(default_factory=dict)
    _found: list[tuple[tuple[int, int, bool], ListedJob]] = field(default_factory=list)
    _files: dict[tuple[int, str], str] = field(default_factory=dict)
    # looking at a target means looking at all its drives
    _known: dict[str, TargetFacts] = field(default_factory=dict)

    def add(self, translation: Translation, instead: TargetFacts | None, number: int) -> None:
        """Take the jobs of a job file, on its own targets or on the one that takes their place."""
        names = _Names()
        changed = _changed_files(translation.jobs) if instead is None else {}
        for job in translation.jobs:
            for path in job.targets:
                place, file_name = self._target(job, path, instead, is_changed=path in changed)
                keeps = bool(file_name) and instead is None and not job.layout.remove_after
                name, title = names.of(job, path)
                self.named += [(name, job)] if not number else []
                listed = ListedJob(
                    name=name,
                    title=title,
                    pattern=job.pattern,
                    target=place,
                    group=job.group,
                    file_name=file_name,
                    # the null backend has no file, and a size all the same
                    file_bytes=job.layout.file_bytes or job.pattern.range_size,
                    keeps_file=keeps,
                    present_bytes=changed.get(path, 0) if keeps else 0,
                    page_cache=job.layout.page_cache,
                    seed=job.seed,
                )
                self._found.append(((number, job.group, False), listed))
                if job.verify_pattern is not None:
                    name, title = names.of(job, path, ending="verify")
                    self.named += [(name, job)] if not number else []
                    self.verifies[name] = listed.name
                    written = listed.name if job.reads_back else ""
                    verifying = replace(listed, name=name, title=title, pattern=job.verify_pattern, reads_back=written)
                    self._found.append(((number, job.group, True), verifying))

    def jobs(self) -> tuple[ListedJob, ...]:
        """The jobs in order, with groups that are numbered over all targets; what verifies comes after its group."""
        ordered = sorted(self._found, key=lambda item: item[0])
        groups = itertools.groupby(ordered, key=lambda item: item[0])
        return tuple(
            replace(job, group=number) for number, (_, items) in enumerate(groups, start=1) for _, job in items
        )

    def _target(
        self, job: TranslatedJob, path: str, instead: TargetFacts | None, *, is_changed: bool
    ) -> tuple[int, str]:
        """Place of a job's target, and the name of its file in a directory."""
        if job.layout.kind == "null":
            return self._place_of(self._resolved(tempfile.gettempdir())), ""
        made = self._made_file(path, instead, is_changed=is_changed)
        if made is not None:
            if job.layout.must_exist and not made.exists():
                do = "make it, or leave out allow_file_create=0"
                raise DrivelabError("T101", f"{path} does not exist", where=f"{job.path}:{job.line}", do=do)
            place = self._place_of(self._resolved(str(made.parent)))
            return place, self._file_name(place, path if instead else str(made), job)
        facts = instead or self._resolved(path)
        place = self._place_of(facts)
        if facts.kind != "directory" or job.layout.kind == "tree":
            return place, ""
        if instead is None:
            do = "name a file in it: filename="
            raise DrivelabError("T105", f"{path} is a directory", where=f"{job.path}:{job.line}", do=do)
        return place, self._file_name(place, path, job)

    def _made_file(self, path: str, instead: TargetFacts | None, *, is_changed: bool) -> Path | None:
        """Where the run makes a job's file in a directory; None if it uses the target itself."""
        if instead is None and (new := missing_file(path)) is not None:
            return new
        facts = instead or self._resolved(path)
        is_made = facts.kind == "missing_file" or (facts.kind == "file" and is_changed)
        return Path(facts.path) if is_made else None

    def _resolved(self, path: str) -> TargetFacts:
        if path not in self._known:
            self._known[path] = resolve_measured(path)
        return self._known[path]

    def _place_of(self, facts: TargetFacts) -> int:
        for place, known in enumerate(self.targets):
            if (known.path or known.text, known.kind) == (facts.path or facts.text, facts.kind):
                return place
        self.targets.append(facts)
        return len(self.targets) - 1

    def _file_name(self, place: int, path: str, job: TranslatedJob) -> str:
        """The file's own name, or the format of all names; one that two files would have gets a number."""
        path = job.name_format or path
        taken = [name for (where, _), name in self._files.items() if where == place]
        key = (place, path)
        if key not in self._files:
            name = Path(path).name
            self._files[key] = free_name(name, taken)
        return self._files[key]


def _changed_files(jobs: Sequence[TranslatedJob]) -> dict[str, int]:
    """Files that jobs write to, need larger, or have several of, and their size if they are there."""
    found = {}
    for job in (each for each in jobs if each.layout.kind == "file"):
        for path in job.targets:
            size = size_of(path) or 0
            if job.pattern.writes or job.pattern.own_file_count > 1 or size < job.layout.file_bytes:
                found[path] = size
    return found


class _Names:
    """Gives every job a name of its own that can name a workload."""

    def __init__(self) -> None:
        self._taken: list[str] = []
        self._titles: list[str] = []

    def of(self, job: TranslatedJob, path: str, *, ending: str = "") -> tuple[str, str]:
        """Name and title of a job on one of its targets."""
        words = [job.name or "job"]
        words += [f"copy {job.copy_number}"] if job.copy_number else []
        words += [f"on {Path(path).name}"] if len(job.targets) > 1 else []
        words += [ending] if ending else []
        slug = _slug("-".join([job.name, ending] if ending else [job.name])) or "job"
        name = free_name(slug, self._taken)
        self._taken.append(name)
        title = " ".join(words)
        title = title if title not in self._titles else f"{title} ({name.rpartition('-')[2]})"
        self._titles.append(title)
        return name, title


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:_NAME_LENGTH_MAX].strip("-.")
