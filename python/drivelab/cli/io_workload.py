"""Makes a workload of what was typed after ``drivelab io``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from drivelab.cli.io_options import DEFAULTS, IoOptions, flags
from drivelab.cli.io_target import NULL_TARGET
from drivelab.cli.io_tree import refuse_mixed_up_tree
from drivelab.cli.workload_arguments import (
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
from drivelab.model.told import ToldField
from drivelab.model.units import format_bytes, parse_bytes, parse_duration_ns
from drivelab.model.workload import ORDERED_ACCESSES, SYNC_CALLS, TargetRange, Workload
from drivelab.model.workload_pattern import WorkloadPattern

_DEFAULT_RUNTIME = "5s"
# of what ends as soon as it is known well enough
_LONGEST_RUNTIME = "1min"
# mixes, numbers behind a name, schedules, lists of processors
_FORMS_OF_THEIR_OWN = ("operation", "access", "block_size", "rate", "arrivals", "pin")
# where a field of the workload itself is no key, or not that of its option
_OPTION_OF_FIELD = {
    "operations": "--operation",
    "block_sizes": "--block-size",
    "pareto_h": "--access",
    "normal_deviation": "--access",
    "file_bytes_max": "--file-size",
    "file_bytes_min": "--file-size-min",
}


def is_null(options: IoOptions) -> bool:
    """Whether no I/O is to be issued at all."""
    return bool(options.target == NULL_TARGET or options.backend == "null")


def workload_from(options: IoOptions) -> Workload:
    """The workload that was asked for."""
    if options.target == NULL_TARGET and options.backend not in ("auto", "null"):
        do = "leave --backend out, or name a target"
        raise DrivelabError("U004", f"null: has no use for backend {options.backend}", where="option --backend", do=do)
    if options.count_commands and options.durability == "none" and not options.sync_directory:
        do = "add --durability fdatasync, for instance"
        raise DrivelabError("U004", "only synchronous writes can be counted", where="option --count-commands", do=do)
    refuse_mixed_up_tree(options)
    try:
        pattern = WorkloadPattern.model_validate(_keys(options))
        target = TargetRange(path=options.target, size_bytes=pattern.range_size)
        return pattern.on(target, seed=options.seed)
    except ValidationError as error:
        raise _as_typed(error) from None


def _as_typed(error: ValidationError) -> DrivelabError:
    """The first mistake, with the option that is best changed."""
    first = error.errors()[0]
    rule = first.get("ctx", {}) if first["type"] == "rule" else {}
    by_option = {_option(one): one for one in flags().values()}
    known = {one.path[-1]: option for option, one in by_option.items()} | _OPTION_OF_FIELD
    places = [part for part in reversed(rule.get("below") or first["loc"]) if isinstance(part, str)]
    option = next((known[part] for part in places if part in known), f"--{places[0] if places else 'workload'}")
    if first["type"] == "string_pattern_mismatch" and option in by_option:
        # what matches is a rule of ours, and its words are those of the flag
        do = f"it takes: {by_option[option].told.help}"
        return DrivelabError("U003", f"{option} takes no {first['input']}", where=f"option {option}", do=do)
    what = rule.get("what") or f"{first['msg'].removeprefix('Input ')}, not {first['input']}"
    return DrivelabError("U003", f"{option}: {what}", where=f"option {option}")


def _keys(options: IoOptions) -> dict[str, Any]:
    keys: dict[str, Any] = {}
    tables: dict[str, dict[str, Any]] = {"access": {}, "contents": {}, "pacing": {}, "zoned_drive": {}}
    for one in flags().values():
        into = tables[one.path[0]] if len(one.path) > 1 else keys
        if one.flag not in _FORMS_OF_THEIR_OWN:
            into[one.path[-1]] = _parsed(one, getattr(options, one.flag))
    default_access = "sequential" if options.file_state == "append" or options.files else "random"
    keys["access"] = tables["access"] | parse_access(options.access or default_access)
    keys |= {name: tables[name] for name in ("contents", "zoned_drive")}
    operations, sizes = parse_operations(options.operation), parse_block_sizes(options.block_size)
    keys |= _one_or_mix("operation", [share.model_dump(include={"operation", "weight"}) for share in operations])
    keys |= _one_or_mix("block_size", [share.model_dump() for share in sizes], "bytes")
    keys["pacing"] = parse_pacing(options.rate, options.arrivals, tables["pacing"]["think_ns"], options.think_every)
    keys |= {"pin_cpus": _existing_cpus(options.pin), "record_ios": options.record is not None}
    return keys | ({"backend": "null"} if is_null(options) else {}) | _ends(options, keys)


def _one_or_mix(key: str, shares: list[dict[str, Any]], name: str = "") -> dict[str, Any]:
    """A key of its own for one, and a list of shares for several."""
    return {key: shares[0][name or key]} if len(shares) == 1 else {f"{key}s": shares}


def _option(one: ToldField) -> str:
    return f"--{one.flag.replace('_', '-')}"


def _parsed(one: ToldField, typed: Any) -> Any:
    """What was typed after a flag, as the key takes it."""
    option = _option(one)
    if typed is None:
        return None
    if one.told.unit == "size":
        return located(option, parse_bytes, typed)
    if one.told.unit == "time":
        time_ns = located(option, parse_duration_ns, typed)
        return time_ns if one.path[-1].endswith("_ns") else f"{time_ns}ns"
    if one.told.unit == "share":
        return parse_share(option, typed)
    return one_of(option, typed, one.names) if one.names else typed


def _ends(options: IoOptions, keys: Mapping[str, Any]) -> dict[str, Any]:
    """When it ends: without any limit after five seconds, or as soon as the range was gone over."""
    if options.once and (options.runtime or options.count or options.bytes != "0"):
        do = "leave out --once, or the limit"
        raise DrivelabError("U004", "--once has no limit but the range", where="option --once", do=do)
    last = "end" if options.sync_at_end else options.sync_every
    # a tree ends with its last file
    limited = (options.once or options.count or keys["bytes"] or options.files) and not options.precision
    runtime = keys["runtime"] or ("0s" if limited else _LONGEST_RUNTIME if options.precision else _DEFAULT_RUNTIME)
    # a pattern has to end: this limit is the range
    return {"runtime": runtime, "sync_every_writes": last, "capacities": 1.0 if options.once else 0.0}


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
        if value != DEFAULTS[name] and access != kind:
            yield f"{option} has no effect with --access {access}: it is for {kind}"
    yield from _of_order_without_effect(workload)
    if options.tag and options.out is None:
        yield "--tag has no effect without --out: the run is not stored"
    for name in ("zone_size", "max_open_zones"):
        if getattr(options, name) != DEFAULTS[name] and not options.zoned_drive:
            yield f"--{name.replace('_', '-')} has no effect without --zoned-drive"
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
        if getattr(options, name) != DEFAULTS[name]:
            yield f"--{name.replace('_', '-')} has no effect on reads"


def _of_order_without_effect(workload: Workload) -> Iterator[str]:
    access = workload.access
    if access.covers_once and access.kind in ORDERED_ACCESSES:
        yield f"--covers-once has no effect with --access {access.kind}, which has each block once anyway"


def _existing_cpus(text: str) -> tuple[int, ...]:
    """The processors of a list, all of which this process may use."""
    cpus = parse_cpus(text)
    usable = os.sched_getaffinity(0)
    missing = next((cpu for cpu in cpus if cpu not in usable), None)
    if missing is not None:
        do = f"choose from {', '.join(map(str, sorted(usable)))}"
        raise DrivelabError("U003", f"processor {missing} cannot be used", where="option --pin", do=do)
    return cpus


def on_target(workload: Workload, target: TargetFacts) -> Workload:
    """The workload on the target as it was found: a missing file is made, a device opened for us alone."""
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
