"""What may stand in a ``run.json``, by type (``docs/run_keys.md`` tells what it means).

What readers of a run rely on is written here once, and held when a run is
opened. Everything else in the document is a fact that is shown as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Required, TypedDict

from drivelab.model.finding import Finding
from drivelab.model.host import HostFacts
from drivelab.model.plan import PlannedTarget
from drivelab.model.smart import SmartFacts
from drivelab.model.target import TargetFacts
from drivelab.model.verdict import Fitness, Verdict
from drivelab.store.json_types import PARTIAL, Rule, require_type

# a plan of a hundred thousand steps takes a third of it
RUN_JSON_BYTES_MAX = 64 * 2**20


def _is_moment(text: str) -> bool:
    try:
        return bool(datetime.fromisoformat(text))
    except ValueError:
        return False


Moment = Annotated[str, Rule(_is_moment, "moment as ISO 8601 writes it")]


class _StoredFacts(TypedDict, total=False):
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


class _RunDocument(TypedDict, total=False):
    schema: Required[int]
    status: Literal["running", "complete", "interrupted", "failed"]
    started_utc: Moment | None
    finished_utc: Moment | None
    command_line: str
    drivelab_version: str
    title: str
    question: str
    experiment: _Experiment | str
    plan: _Plan
    host: Annotated[HostFacts, PARTIAL]
    targets: list[_StoredFacts]
    target: Annotated[TargetFacts, PARTIAL]
    findings: list[Finding]
    verdict: Verdict | Fitness | None
    failures: dict[str, str] | None
    restored: list[str]
    resumed_utc: list[str]
    imported: _Imported | None
    job_file: dict[str, Any]
    prices: dict[str, str]
    seed: int


def require_run_document(document: Mapping[str, Any]) -> None:
    """Return only if every value that a reader relies on is of the type that it relies on.

    Raises
    ------
    JsonTypeError
        A value is of another type; the message names its place.
    """
    require_type(document, _RunDocument)
