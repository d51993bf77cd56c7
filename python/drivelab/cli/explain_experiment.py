"""Makes an experiment of what was typed after ``drivelab explain``: one workload, measured a few times."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from drivelab.cli.explain_options import (
    COUNT,
    EXPLAINED_BACKENDS,
    FILE_SYSTEMS,
    QUICK_COUNT,
    QUICK_REPEATS,
    REPEATS,
    ExplainOptions,
)
from drivelab.cli.workload_arguments import ACCESSES, DURABILITIES, FILE_STATES, located, one_of
from drivelab.model.errors import DrivelabError
from drivelab.model.experiment import Experiment
from drivelab.model.stored_experiment import EXPLAIN, EXPLAINED
from drivelab.model.target import TargetFacts
from drivelab.model.units import format_bytes, parse_bytes, parse_duration_ns

QUESTION = "Where does the time of an operation go?"
_OPERATIONS = ("read", "write")
_FILE_BYTES = 64 * 2**20
# where the name of a key is not the name of its option
_OPTION_OF_KEY = {"job_count": "--jobs", "file_size": "--size"}


def _chosen_operation(options: ExplainOptions, target: TargetFacts) -> str:
    """Whether the target is read or written: it is written where nothing that belongs to anybody is lost."""
    if options.operation is not None:
        return one_of("--operation", options.operation, _OPERATIONS)
    is_kept = target.kind == "file" or (target.kind == "block_device" and not options.erase)
    return "read" if is_kept else "write"


def advice_on_writes(options: ExplainOptions, target: TargetFacts) -> str:
    """How writes can be explained, where only reads are going to be; empty otherwise."""
    if options.operation is not None or _chosen_operation(options, target) == "write":
        return ""
    if target.kind == "file":
        return f"only reads {target.path}, which stays as it is; for writes name its directory"
    return (
        f"only reads {target.path}, which stays as it is; for writes, which erase it: "
        f"drivelab explain {target.text} --erase SERIAL"
    )


def experiment_from(options: ExplainOptions, target: TargetFacts) -> Experiment:
    """The experiment that explains the target."""
    operation = _chosen_operation(options, target)
    workload = _pattern(options, target, operation)
    document: dict[str, Any] = {
        "format": 1,
        "name": EXPLAIN,
        "question": QUESTION,
        "repeats": {"full": options.repeats or REPEATS, "quick": options.repeats or QUICK_REPEATS},
        "factors": _factors(options),
        "workloads": [workload],
    }
    try:
        return Experiment.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        key = next((part for part in reversed(first["loc"]) if isinstance(part, str)), "workload")
        option = _OPTION_OF_KEY.get(key, f"--{key.replace('_', '-')}")
        what = f"{option}: {first['msg'].removeprefix('Input ')}"
        raise DrivelabError("U003", what, where=f"option {option}") from None


def _pattern(options: ExplainOptions, target: TargetFacts, operation: str) -> dict[str, Any]:
    is_read = operation == "read"
    block = _positive("--block-size", located("--block-size", parse_bytes, options.block_size))
    durability = "none" if is_read else one_of("--durability", options.durability or "fdatasync", DURABILITIES)
    file_state = one_of("--file-state", options.file_state, FILE_STATES)
    access = one_of("--access", options.access or ("random" if is_read else "sequential"), ACCESSES)
    if file_state == "append" and not is_read and options.jobs > 1:
        raise DrivelabError(
            "U004", "a file has one end, so one job appends", where="option --jobs", do="leave out --jobs"
        )
    if is_read and options.durability not in (None, "none"):
        do = "leave it out, or add --operation write"
        raise DrivelabError("U004", "reads have no durability", where="option --durability", do=do)
    pattern: dict[str, Any] = {
        "name": EXPLAINED,
        "title": _title(block, operation, access, durability, file_state),
        "operation": operation,
        "access": access,
        "block_size": block,
        "queue_depth": options.queue_depth,
        "job_count": options.jobs,
        "backend": one_of("--backend", options.backend or _backend_for(options), EXPLAINED_BACKENDS),
        "direct": is_read if options.direct is None else options.direct,
        "durability": durability,
        "file_state": "overwrite" if is_read else file_state,
        **_limits(options),
    }
    if target.kind != "file" and (is_read or file_state != "append"):
        pattern["file_size"] = _file_bytes(options, block, pattern["count"])
    if options.quick and not options.count:
        pattern["quick"] = {"count": QUICK_COUNT}
    return pattern


def _backend_for(options: ExplainOptions) -> str:
    return "sync" if options.queue_depth == 1 else "auto"


def _limits(options: ExplainOptions) -> dict[str, Any]:
    if options.runtime is None:
        return {"count": options.count or COUNT}
    runtime_ns = _positive("--runtime", located("--runtime", parse_duration_ns, options.runtime))
    return {"runtime": f"{runtime_ns}ns", "count": options.count}


def _file_bytes(options: ExplainOptions, block_bytes: int, count: int) -> int:
    """Room for every operation, so that none goes over what another wrote; whole blocks for each job."""
    if options.size:
        return _positive("--size", located("--size", parse_bytes, options.size))
    step = block_bytes * max(1, options.jobs)
    wanted = max(_FILE_BYTES, block_bytes * count)
    return -(-wanted // step) * step


def _positive(option: str, value: int) -> int:
    if value <= 0:
        raise DrivelabError("U003", f"{option} has to be more than 0", where=f"option {option}")
    return value


def _factors(options: ExplainOptions) -> list[dict[str, Any]]:
    if options.filesystem is None:
        return []
    name = one_of("--filesystem", options.filesystem, tuple(FILE_SYSTEMS))
    return [{"setting": "filesystem", "levels": [{"type": name, **FILE_SYSTEMS[name]}]}]


def _title(block_bytes: int, operation: str, access: str, durability: str, file_state: str) -> str:
    size = format_bytes(block_bytes)
    if operation == "read":
        return f"{size} {access} read"
    what = {"append": "append", "preallocated": "write to reserved space", "sparse": "write to a hole"}
    words = f"{size} {what.get(file_state, 'overwrite')}"
    return words if durability == "none" else f"{words} + {durability}"
