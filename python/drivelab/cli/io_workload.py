"""Makes a workload of what was typed after ``drivelab io``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import fields

from pydantic import ValidationError

from drivelab.cli.io_options import IoOptions
from drivelab.cli.io_target import NULL_TARGET
from drivelab.cli.io_tree import refuse_mixed_up_tree, tree_fields
from drivelab.cli.workload_arguments import (
    BACKENDS,
    CONTENTS,
    DURABILITIES,
    FILE_STATES,
    SUBMISSION_LATENCIES,
    located,
    one_of,
    parse_access,
    parse_block_sizes,
    parse_cpus,
    parse_operations,
    parse_pacing,
    parse_share,
)
from drivelab.model.errors import DrivelabError
from drivelab.model.target import TargetFacts
from drivelab.model.units import format_bytes, parse_bytes, parse_duration_ns
from drivelab.model.workload import ORDERED_ACCESSES, SYNC_CALLS, Workload

_DEFAULT_RUNTIME = "5s"
# where the name of a field is not the name of its option
_OPTION_OF_FIELD = {
    "job_count": "--jobs",
    "every_writes": "--sync-every",
    "method": "--durability",
    "hot_range_fraction": "--hot-range",
    "hot_access_fraction": "--hot-access",
    "compressible_fraction": "--compressible",
    "duplicate_fraction": "--duplicate",
    "interval_ns": "--interval",
    "runtime_ns": "--runtime",
    "ramp_ns": "--ramp",
    "size_bytes": "--size",
    "offset_bytes": "--offset",
    "shift_bytes": "--shift",
    "stride_bytes": "--stride",
    "think_ns": "--think",
    "pareto_h": "--access",
    "normal_deviation": "--access",
    "rewrite_fraction": "--rewrite",
}
_DEFAULTS = {option.name: option.default for option in fields(IoOptions)}


def is_null(options: IoOptions) -> bool:
    """Whether no I/O is to be issued at all."""
    return options.target == NULL_TARGET or options.backend == "null"


def workload_from(options: IoOptions) -> Workload:
    """The workload that was asked for.

    Raises
    ------
    DrivelabError
        U001, U002: not a size, not a duration. U003: a value that makes no
        sense. U004: options that exclude each other. U005: an unknown name.
    """
    if options.target == NULL_TARGET and options.backend not in ("auto", "null"):
        do = "leave --backend out, or name a target"
        raise DrivelabError("U004", f"null: has no use for backend {options.backend}", where="option --backend", do=do)
    if options.count_commands and options.durability == "none" and not options.sync_directory:
        do = "add --durability fdatasync, for instance"
        raise DrivelabError("U004", "only synchronous writes can be counted", where="option --count-commands", do=do)
    refuse_mixed_up_tree(options)
    try:
        return Workload.model_validate(_fields(options))
    except ValidationError as error:
        first = error.errors()[0]
        name = str(next((part for part in reversed(first["loc"]) if isinstance(part, str)), "workload"))
        option = _OPTION_OF_FIELD.get(name, f"--{name.replace('_', '-')}")
        what = first["msg"].removeprefix("Input ")
        raise DrivelabError("U003", f"{option}: {what}, not {first['input']}", where=f"option {option}") from None


def _fields(options: IoOptions) -> dict[str, object]:
    default_access = "sequential" if options.file_state == "append" or options.files else "random"
    return {
        "target": _target_fields(options),
        "backend": "null" if is_null(options) else one_of("--backend", options.backend, BACKENDS),
        "operations": parse_operations(options.operation),
        "block_sizes": parse_block_sizes(options.block_size),
        "access": {
            **parse_access(options.access or default_access),
            "stride_bytes": located("--stride", parse_bytes, options.stride),
            "zipf_theta": options.zipf_theta,
            "hot_range_fraction": options.hot_range,
            "hot_access_fraction": options.hot_access,
            "run_blocks": options.run_blocks,
            "random_fraction": parse_share("--random-fraction", options.random_fraction),
            "covers_once": options.covers_once,
        },
        "shift_bytes": located("--shift", parse_bytes, options.shift),
        "queue_depth": options.queue_depth,
        "job_count": options.jobs,
        "share_range": options.share_range,
        "direct": options.direct,
        "durability": {
            "method": one_of("--durability", options.durability, DURABILITIES),
            "every_writes": options.sync_every,
            "at_end": options.sync_at_end,
            "directory": options.sync_directory,
        },
        "file_state": one_of("--file-state", options.file_state, FILE_STATES),
        "contents": {
            "kind": one_of("--contents", options.contents, CONTENTS),
            "compressible_fraction": options.compressible,
            "duplicate_fraction": options.duplicate,
        },
        "pacing": parse_pacing(
            options.rate,
            options.arrivals,
            located("--think", parse_duration_ns, options.think),
            options.think_every,
        ),
        "limits": _limits(options),
        "ramp_ns": located("--ramp", parse_duration_ns, options.ramp),
        "interval_ns": located("--interval", parse_duration_ns, options.interval),
        "seed": options.seed,
        "record_ios": options.record is not None,
        "pin_cpus": _existing_cpus(options.pin),
        "polled_completion": options.polled_completion,
        "polled_submission": options.polled_submission,
        "submission_latency": one_of("--submission-latency", options.submission_latency, SUBMISSION_LATENCIES),
        "rewrite_fraction": parse_share("--rewrite", options.rewrite),
        "verify": options.verify,
        "tree": tree_fields(options),
    }


def _target_fields(options: IoOptions) -> dict[str, object]:
    return {
        "path": options.target,
        "offset_bytes": located("--offset", parse_bytes, options.offset),
        "size_bytes": located("--size", parse_bytes, options.size),
    }


def _limits(options: IoOptions) -> dict[str, int]:
    if options.once and (options.runtime or options.count or options.bytes != "0"):
        do = "leave out --once, or the limit"
        raise DrivelabError("U004", "--once has no limit but the range", where="option --once", do=do)
    moved = located("--bytes", parse_bytes, options.bytes)
    # a tree ends with its last file
    limited = options.once or options.count or moved or options.files
    runtime = options.runtime or ("0s" if limited else _DEFAULT_RUNTIME)
    return {
        "runtime_ns": located("--runtime", parse_duration_ns, runtime),
        "count": options.count,
        "bytes": moved,
    }


def options_without_effect(options: IoOptions, workload: Workload) -> Iterator[str]:
    """What was asked for and changes nothing, in words."""
    access, method = workload.access.kind, workload.durability.method
    if options.durability != "none" and not workload.writes:
        yield f"--durability {method} has no effect on reads"
    elif options.durability != "none" and not workload.writes_contents:
        yield f"--durability {method} has no effect: no file is written"
    if options.sync_directory and not (workload.tree and workload.writes):
        yield "--sync-directory has no effect: no directory changes"
    if options.sync_every != 1 and method not in SYNC_CALLS:
        yield f"--sync-every has no effect with --durability {method}: there is no sync call"
    given = {
        "--zipf-theta": (options.zipf_theta, "zipf_theta", "zipf"),
        "--hot-range": (options.hot_range, "hot_range", "hot_cold"),
        "--hot-access": (options.hot_access, "hot_access", "hot_cold"),
        "--stride": (options.stride, "stride", "strided"),
    }
    for option, (value, name, kind) in given.items():
        if value != _DEFAULTS[name] and access != kind:
            yield f"{option} has no effect with --access {access}: it is for {kind}"
    yield from _of_order_without_effect(workload)
    if options.verify and not any(share.operation == "read" for share in workload.operations):
        yield "--verify has no effect: nothing is read"
    if options.sync_at_end and not (workload.writes_contents and method in SYNC_CALLS):
        yield f"--sync-at-end has no effect with --durability {method}: there is no sync call"
    elif options.sync_at_end and options.sync_every != 1:
        yield "--sync-every has no effect with --sync-at-end"
    if options.think_every != 1 and not workload.pacing.think_ns:
        yield "--think-every has no effect without --think"
    if options.compressible and workload.contents.kind == "zeros":
        yield "--compressible has no effect with --contents zeros: they compress anyway"
    written = ("contents", "compressible", "duplicate", "file_state")
    for name in written if not workload.writes else ():
        if getattr(options, name) != _DEFAULTS[name]:
            yield f"--{name.replace('_', '-')} has no effect on reads"


def _of_order_without_effect(workload: Workload) -> Iterator[str]:
    access = workload.access
    if access.covers_once and access.kind in ORDERED_ACCESSES:
        yield f"--covers-once has no effect with --access {access.kind}, which has each block once anyway"


def _existing_cpus(text: str) -> tuple[int, ...]:
    """The processors of a list, all of which this process may use.

    Raises
    ------
    DrivelabError
        U003: one is not there.
    """
    cpus = parse_cpus(text)
    usable = os.sched_getaffinity(0)
    missing = next((cpu for cpu in cpus if cpu not in usable), None)
    if missing is not None:
        do = f"choose from {', '.join(map(str, sorted(usable)))}"
        raise DrivelabError("U003", f"processor {missing} cannot be used", where="option --pin", do=do)
    return cpus


def on_target(workload: Workload, target: TargetFacts) -> Workload:
    """The workload on the target as it was found: a missing file is made, a device opened for us alone.

    Raises
    ------
    DrivelabError
        U003: a new file needs a size. E309: the range begins past the end.
    """
    if workload.backend == "null":
        return workload
    if target.exists and workload.target.offset_bytes >= target.size_bytes > 0:
        offset, size = format_bytes(workload.target.offset_bytes), format_bytes(target.size_bytes)
        what = f"--offset {offset} lies past the end of {target.path}, which has {size}"
        raise DrivelabError("E309", what, where="option --offset", do="choose a smaller --offset")
    place = workload.target.model_copy(update={"path": target.path})
    if workload.tree is not None:
        return workload.model_copy(update={"target": place})
    if workload.writes and target.kind == "block_device":
        place = place.model_copy(update={"exclusive": True})
    if workload.writes and target.kind == "missing_file":
        place = place.model_copy(update={"create": True, "size_bytes": place.size_bytes or _size_for(workload)})
        if not place.size_bytes and workload.file_state != "append":
            do = "add --size 1GiB, or --file-state append"
            raise DrivelabError("U003", f"{target.path} is new and needs a size", where="option --size", do=do)
    return workload.model_copy(update={"target": place})


def _size_for(workload: Workload) -> int:
    """Room that a limit on bytes or I/Os asks for; 0 when there is none, or when a file grows by itself."""
    if workload.file_state == "append":
        return 0
    largest = max(share.bytes for share in workload.block_sizes) + workload.shift_bytes
    wanted = workload.limits.bytes or workload.limits.count * largest
    step = largest * workload.job_count
    return -(-wanted // step) * step
