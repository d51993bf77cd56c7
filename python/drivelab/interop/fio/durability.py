"""How a job's writes become durable."""

from __future__ import annotations

from typing import Any

from drivelab.interop.fio.job_options import JobOptions
from drivelab.interop.fio.translation_of_io import Issued

_QUEUES_SYNC_CALLS = ("io_uring", "posixaio")
_CALLS_OF_OTHERS = ("fdatasync", "sync_file_range")
_SYNC_METHODS = {"sync": "o_sync", "1": "o_sync", "dsync": "o_dsync"}


def durability(options: JobOptions, io: Issued, range_bytes: int = 0) -> dict[str, Any]:
    """The keys of a workload pattern that say how writes become durable."""
    if "write" not in io.weights:
        return {}
    at_end = [name for name in ("end_fsync", "fsync_on_close", "end_syncfs") if options.truth(name)]
    engine = options.text("ioengine").partition(":")[0]
    ways = _asked(options)
    if not ways:
        return _at_ends(options, io, at_end[0], range_bytes) if at_end else {}
    (name, keys), *others = ways
    for other, _keys in others:
        options.tell(other, "not-honoured", f"there is one way to make writes durable: {name}")
    if name == "sync":
        for other in at_end:
            options.tell(other, "not-honoured", "each write is durable already: no call is made")
        return keys
    more = _more_calls(options, io, engine)
    if more:
        what = f"as in fio until 3.37, also {' and '.join(more)}; later ones make one call after so many writes"
        options.tell(name, "noted", what)
    if engine == "posixaio" and keys["durability"] in _CALLS_OF_OTHERS:
        keys["durability"] = "fsync"
        if not more:
            options.tell(name, "noted", "fsync, the only sync call of fio's posixaio")
    if options.number("loops") > 1:
        options.tell("loops", "noted", "where a pass ends with a sync call, fio makes it twice")
    if at_end and keys["durability"] != "fsync":
        options.tell(at_end[0], "approximated", f"the last call is the same as the others: {keys['durability']}")
    keys["sync_order"] = "before_next"
    if at_end or _syncs_within_a_block(options, io, range_bytes, keys["sync_every_writes"]):
        keys["last_sync"] = "always"
    return keys


def _at_ends(options: JobOptions, io: Issued, name: str, range_bytes: int) -> dict[str, Any]:
    """A call at the end, as fio makes one whenever it closes a file: at the end of each pass."""
    if options.number("loops") > 1 and not options.truth("time_based"):
        size = max(io.all_sizes)
        is_plain = set(io.weights) == {"write"} and len(io.all_sizes) == 1 and not options.has("io_size")
        if is_plain and options.number("numjobs") == options.number("nrfiles") == 1 and range_bytes >= size:
            return {"durability": "fsync", "sync_every_writes": range_bytes // size}
        options.tell(name, "approximated", "one call at the end of all passes; fio makes one at the end of each")
    return {"durability": "fsync", "sync_every_writes": "end"}


def _syncs_within_a_block(options: JobOptions, io: Issued, range_bytes: int, every: int) -> bool:
    """Whether fio, which ends with the last byte, looks for an I/O behind the last whole block, and finds a call."""
    ends_earlier = options.number("number_ios") or options.has("io_size") or len(io.all_sizes) > 1
    size = max(io.all_sizes)
    return not ends_earlier and range_bytes % size > 0 and range_bytes // size % every == 0


def _more_calls(options: JobOptions, io: Issued, engine: str) -> list[str]:
    """When fio until 3.37 makes further calls after so many writes."""
    more = ["after each read until the next write"] if "read" in io.weights else []
    if engine in _QUEUES_SYNC_CALLS and options.number("iodepth") > 1:
        more.append("in every free slot until one has ended")
    return more


def _asked(options: JobOptions) -> list[tuple[str, dict[str, Any]]]:
    """Ways that hold from the first write on, the most frequent first."""
    found: list[tuple[str, dict[str, Any]]] = []
    word = options.choice("sync").word
    if word in _SYNC_METHODS:
        found.append(("sync", {"durability": _SYNC_METHODS[word]}))
    for method in ("fdatasync", "fsync"):
        if options.number(method):
            found.append((method, {"durability": method, "sync_every_writes": options.number(method)}))
    if options.text("sync_file_range"):
        digits = options.text("sync_file_range").rpartition(":")[2]
        every = max(1, int(digits[:9])) if digits.isdecimal() and digits.isascii() else 1
        found.append(("sync_file_range", {"durability": "sync_file_range", "sync_every_writes": every}))
    return found
