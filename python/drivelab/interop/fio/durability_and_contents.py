"""How a job's writes become durable, what they hold, and how they are checked."""

from __future__ import annotations

from typing import Any

from drivelab.interop.fio.job_options import JobOptions
from drivelab.interop.fio.translation_of_io import Issued

_STAMP_BYTES = 16
_STAMP_DISTANCE_BYTES = 4096
_QUEUES_SYNC_CALLS = ("io_uring", "posixaio")
_CALLS_OF_OTHERS = ("fdatasync", "sync_file_range")
# kinds of sums that are computed again; meta has none
_WITH_SUMS = ("crc32c", "crc32c-intel", "crc32", "md5", "sha256", "xxhash", "meta")
_SYNC_METHODS = {"sync": "o_sync", "1": "o_sync", "dsync": "o_dsync"}


def durability(options: JobOptions, io: Issued, range_bytes: int = 0) -> dict[str, Any]:
    """The keys of a workload pattern that say how writes become durable."""
    if "write" not in io.weights:
        return {}
    at_end = [name for name in ("end_fsync", "fsync_on_close", "end_syncfs") if options.truth(name)]
    engine = options.text("ioengine").partition(":")[0]
    ways = _asked(options)
    if not ways:
        return {"durability": "fsync", "sync_every_writes": "end"} if at_end else {}
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


def contents(options: JobOptions) -> dict[str, Any]:
    """The key ``contents`` of a workload pattern, if it is not random data."""
    if options.truth("zero_buffers") or options.text("buffer_pattern"):
        return {"contents": {"kind": "zeros"}}
    compressible = options.number("buffer_compress_percentage") / 100
    duplicate = options.number("dedupe_percentage") / 100
    if compressible == 1:
        return {"contents": {"kind": "zeros"}}
    shares = {"compressible_fraction": compressible, "duplicate_fraction": duplicate}
    kept = {name: share for name, share in shares.items() if share}
    return {"contents": {"kind": "random"} | kept} if kept else {}


def verifies(options: JobOptions) -> bool:
    """Whether fio checks what it reads."""
    word = options.choice("verify").word
    by_pattern = not options.has("verify") and bool(options.text("verify_pattern"))
    return options.truth("verify_only") or by_pattern or word not in ("0", "", "null")


def tell_of_checks(options: JobOptions, io: Issued) -> bool:
    """Say what is looked at where a job only reads, which may be what fio wrote; whether anything is."""
    word = options.choice("verify").word
    name = "verify" if options.has("verify") or options.truth("verify_only") else "verify_pattern"
    if io.writes:
        return True
    if word == "pattern" or name == "verify_pattern":
        options.tell(name, "not-honoured", "what is read is not compared with a pattern: nothing is checked")
        return False
    if options.number("verify_offset"):
        options.tell("verify_offset", "not-honoured", "headers are looked for where parts begin: nothing is checked")
        return False
    if word in _WITH_SUMS:
        options.tell(name, "honoured", "headers and sums of fio, or drivelab's own stamps")
    elif word not in ("0", ""):
        what = "of blocks that fio wrote only the headers are checked, not the data; or drivelab's own stamps"
        options.tell(name, "approximated", what)
    return True


def can_verify(options: JobOptions, io: Issued) -> bool:
    """Whether drivelab's stamps can be checked with these contents and block sizes; says why not."""
    sizes = io.all_sizes
    fits = min(sizes) >= _STAMP_BYTES if len(sizes) == 1 else not any(size % _STAMP_DISTANCE_BYTES for size in sizes)
    held = contents(options).get("contents", {})
    plain = held.get("kind", "random") == "random" and not held.get("duplicate_fraction")
    if fits and plain:
        return True
    why = "contents that are not random" if not plain else "these block sizes"
    name = "verify" if options.has("verify") or options.truth("verify_only") else "verify_pattern"
    options.tell(name, "not-honoured", f"{why} carry no stamps")
    return False
