"""A ``run.json``: one form, written and read by the same class (``docs/run_keys.md`` tells what it means).

What readers of a run rely on is held when a run is opened. Everything else in
the document is a fact that is shown as it is.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from datetime import datetime
from typing import Annotated, Any, Literal, Required, Self, TypedDict

from drivelab.model.finding import Finding
from drivelab.model.host import HostFacts
from drivelab.model.phase import Phase
from drivelab.model.plan import PlannedTarget
from drivelab.model.smart import SmartFacts
from drivelab.model.target import TargetFacts
from drivelab.model.verdict import Fitness, Verdict
from drivelab.store import layout
from drivelab.store.json_types import PARTIAL, Held, Rule, require_type

# a plan of a hundred thousand steps takes a third of it
RUN_JSON_BYTES_MAX = 64 * 2**20
Facts = Mapping[str, Any]


def _is_moment(text: str) -> bool:
    try:
        return bool(datetime.fromisoformat(text))
    except ValueError:
        return False


Moment = Annotated[str, Rule(_is_moment, "moment as ISO 8601 writes it")]


class _Target(TypedDict, total=False):
    """A target: its label, and what was known of it before and after."""

    label: str
    facts_before: Annotated[TargetFacts | None, PARTIAL]
    facts_after: Annotated[TargetFacts | None, PARTIAL]
    smart_before: Annotated[list[SmartFacts], PARTIAL]
    smart_after: Annotated[list[SmartFacts], PARTIAL]


class _Factor(TypedDict, total=False):
    setting: Required[str]
    key: str
    levels: list[Any]
    quick_levels: list[Any] | None
    workloads: list[str]


class _Workload(TypedDict, total=False):
    name: Required[str]
    title: str
    together: str | None


class _View(TypedDict, total=False):
    key: Required[str]
    title: Required[str]
    caption: str
    metrics: Required[list[str]]
    workloads: list[str]
    keep: dict[str, list[bool | int | float | str]]
    rows: list[str]
    columns: list[str]
    split: list[str]
    mean_over: list[str]


class _Experiment(TypedDict, total=False):
    """An experiment, of which an older or a newer drivelab may have written another form."""

    name: str
    question: str
    description: str
    design: str
    factors: list[_Factor]
    workloads: list[_Workload]
    tables: list[str]
    figures: list[str]
    views: list[_View]


class _Step(TypedDict, total=False):
    """A step of a plan, as `PlannedStep.to_json` writes it; pattern and file system are places in lists."""

    number: int
    trial: Required[str]
    target: str
    workload: str
    label: str
    levels: Required[dict[str, str]]
    block: int
    repeat: int
    seed: int
    expected_ns: int
    bytes_written: int
    settings: dict[str, str]
    actions: dict[str, str]
    is_reference: bool
    preparation_bytes: int
    together: int
    file_name: str
    phase: str
    round: int
    point: dict[str, str] | None
    pattern: int
    filesystem: int | None


class _Plan(TypedDict, total=False):
    """The plan of an experiment; that of a check has other keys."""

    experiment: str
    question: str
    quick: bool
    seed: int
    targets: Annotated[list[PlannedTarget], PARTIAL]
    patterns: list[dict[str, Any]]
    filesystems: list[dict[str, Any]]
    steps: list[_Step]
    notes: list[str]
    left_out: list[str]
    preparation: dict[str, int]
    preparation_ns: int
    preparation_bytes: int
    expected_ns: int
    bytes_written: int
    trace: Literal["auto", "tracefs", "relay", "blk_tracer"] | None
    is_listed: bool
    phases: Annotated[list[Phase], PARTIAL]


class _Source(TypedDict, total=False):
    program: str
    kind: str
    version: str
    file: str
    stored: str
    sha256: str
    size_bytes: int
    trial_count: int
    measured: str | None
    notes: list[str]


class _Imported(TypedDict, total=False):
    programs: list[str]
    measured: str | None
    sources: list[_Source]
    drivelab_version: str


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Everything about a run that is not a table; what is not known of it is empty, and is not written.

    Attributes
    ----------
    more : mapping of str to Any
        Keys that it does not know: a newer drivelab may write them. They are kept.
    """

    schema: int = layout.SCHEMA
    status: Literal["", "running", "complete", "interrupted", "failed"] = ""
    started_utc: Moment = ""
    finished_utc: Moment = ""
    command_line: str = ""
    drivelab_version: str = ""
    answer: str = ""
    title: str = ""
    question: str = ""
    experiment: Annotated[Facts, Held(_Experiment)] = field(default_factory=dict)
    plan: Annotated[Facts, Held(_Plan)] = field(default_factory=dict)
    host: Annotated[Facts, Held(Annotated[HostFacts, PARTIAL])] = field(default_factory=dict)
    engine: Facts = field(default_factory=dict)
    targets: Annotated[Sequence[Facts], Held(list[_Target])] = ()
    findings: Annotated[Sequence[Facts] | None, Held(list[Finding])] = None
    verdict: Annotated[Facts, Held(Verdict | Fitness)] = field(default_factory=dict)
    error: str = ""
    failures: Mapping[str, str] = field(default_factory=dict)
    restored: Sequence[str] = ()
    removed_leftovers: Sequence[str] = ()
    resumed_utc: Sequence[str] = ()
    resumed_with: str = ""
    imported: Annotated[Facts, Held(_Imported)] = field(default_factory=dict)
    job_file: Facts = field(default_factory=dict)
    prices: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    seed: int | None = None
    more: Facts = field(default_factory=dict)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The record in a document of any age; `require_run_record` tells whether its values are of their types."""
        found = _as_written_now(document)
        known = {one.name: found.pop(one.name) for one in fields(cls) if one.name in found and one.name != "more"}
        return cls(**known, more=found)

    @property
    def is_quick(self) -> bool:
        """Whether it was made with ``--quick``."""
        # older checks kept no plan
        return bool(self.plan.get("quick")) or "--quick" in self.command_line.split()

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON: what is known."""
        known = {key: value for key, empty in _EMPTY.items() if (value := getattr(self, key)) != empty}
        return {"schema": self.schema} | known | dict(self.more)

    def changed(self, facts: Facts) -> RunRecord:
        """The record with other values."""
        return RunRecord.from_json(self.to_json() | dict(facts))


# what is not written
_EMPTY = {
    one.name: one.default if one.default_factory is MISSING else one.default_factory()
    for one in fields(RunRecord)
    if one.name not in ("schema", "more")
}


def require_run_record(document: Mapping[str, Any]) -> None:
    """Return only if every value that a reader relies on is of the type that it relies on.

    Raises
    ------
    JsonTypeError
        A value is of another type; the message names its place.
    """
    require_type(_as_written_now(document), RunRecord)


def _as_written_now(document: Facts) -> dict[str, Any]:
    """A document of any age with the keys of today; null is for what is not known."""
    found = {key: value for key, value in document.items() if value is not None}
    if isinstance(target := found.get("target"), dict):
        del found["target"]
        found.setdefault("targets", [{"label": target.get("text", ""), "facts_before": target}])
    if isinstance(words := found.get("command"), list):
        del found["command"]
        found.setdefault("command_line", shlex.join(["drivelab", *map(str, words[1:])]))
    if isinstance(experiment := found.get("experiment"), str):
        found["experiment"] = {"name": experiment}
    if isinstance(host := found.get("host"), dict) and "drivelab_version" in host:
        found.setdefault("drivelab_version", host["drivelab_version"])
    return found
