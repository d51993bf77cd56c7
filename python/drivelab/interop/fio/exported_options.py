"""A workload as the options of a fio job: all of them, also those at their defaults, because readers look for them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from drivelab.model.workload import Access, Workload

_ENGINES = {
    "uring": "io_uring",
    "uring-cmd": "io_uring_cmd",
    "aio": "libaio",
    "posixaio": "posixaio",
    "mmap": "mmap",
    "splice": "splice",
    "falloc": "falloc",
    "null": "null",
}
# sequential, random
_ORDERS = {
    ("read",): ("read", "randread"),
    ("write",): ("write", "randwrite"),
    ("trim",): ("trim", "randtrim"),
    ("read", "write"): ("rw", "randrw"),
    ("trim", "write"): ("trimwrite", "randtrimwrite"),
}
# of operations on files those that fio has an engine for, and what that is called
_ON_FILES = {"create": "filecreate", "stat": "filestat", "delete": "filedelete"}
_SEQUENTIAL = ("sequential", "reverse", "strided", "same")
_SYNC_FLAGS = {"o_dsync": "dsync", "o_sync": "sync"}
_UNITS = ((1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k"))


def is_expressible(workload: Workload) -> bool:
    """Whether fio has a kind of job for the workload's operations: not for all on files, nor for every mix."""
    return _operations(workload) in _ORDERS


def job_options(workload: Workload, backend: str) -> dict[str, str]:
    """The options of the fio job that asks for the same I/O.

    Parameters
    ----------
    workload : Workload
        What was issued; see `is_expressible`.

    Returns
    -------
    dict of str to str
        By fio's names, every value as fio writes it; sizes with fio's suffixes (k is 1024).
        What fio cannot say stands under names that begin with ``drivelab_``.
    """
    options = {
        "rw": rw_of(workload),
        "bs": size_text(workload.block_sizes[0].bytes),
        "iodepth": str(workload.queue_depth),
        "numjobs": str(workload.job_count),
        "ioengine": _ON_FILES.get(workload.operations[0].operation) or _ENGINES.get(backend, "psync"),
        "direct": str(int(workload.direct)),
        "filename": workload.target.path.replace(":", "\\:"),
        "offset": str(workload.target.offset_bytes),
        "group_reporting": "1",
        "randseed": str(workload.seed),
    }
    return options | _limits(workload) | _mix(workload) | _durability(workload) | _order(workload) | _zones(workload)


def rw_of(workload: Workload) -> str:
    """What fio calls the operations and their order: randread, rw."""
    is_random = any(order.kind not in _SEQUENTIAL for order in _orders(workload).values())
    return _ORDERS[_operations(workload)][is_random]


def _orders(workload: Workload) -> dict[str, Access]:
    """Order of addresses of each operation."""
    return {share.operation: share.access or workload.access for share in workload.operations}


def size_text(size_bytes: int) -> str:
    """A size as fio writes it: 4096 is 4k."""
    for unit_bytes, suffix in _UNITS:
        if size_bytes and size_bytes % unit_bytes == 0:
            return f"{size_bytes // unit_bytes}{suffix}"
    return str(size_bytes)


def _operations(workload: Workload) -> tuple[str, ...]:
    names = tuple(sorted({share.operation for share in workload.operations}))
    # its engines that work on files say that they read
    return ("read",) if len(names) == 1 and names[0] in _ON_FILES else names


def _limits(workload: Workload) -> dict[str, str]:
    limits = workload.limits
    found = {"size": str(workload.target.size_bytes)} if workload.target.size_bytes else {}
    if limits.bytes:
        found["io_size"] = str(limits.bytes)
    if limits.count:
        found["number_ios"] = str(limits.count)
    if limits.runtime_ns:
        found |= {"runtime": f"{limits.runtime_ns / 1e9:g}", "time_based": "1"}
    if workload.ramp_ns:
        found["ramp_time"] = f"{workload.ramp_ns / 1e9:g}"
    if workload.pacing.kind != "closed":
        process = "poisson" if workload.pacing.kind == "poisson" else "linear"
        found |= {"rate_iops": f"{workload.pacing.rate_per_s:g}", "rate_process": process}
    return found


def _mix(workload: Workload) -> dict[str, str]:
    weights = {share.operation: share.weight for share in workload.operations}
    found = {}
    if len(weights) > 1 and "read" in weights:
        found["rwmixread"] = f"{100 * weights['read'] / sum(weights.values()):g}"
    if len(workload.block_sizes) > 1:
        total = sum(share.weight for share in workload.block_sizes)
        shares = [f"{size_text(share.bytes)}/{100 * share.weight / total:g}" for share in workload.block_sizes]
        found["bssplit"] = ":".join(shares)
    return found | _contents(workload)


def _contents(workload: Workload) -> dict[str, str]:
    contents = workload.contents
    found = {"zero_buffers": "1"} if contents.kind == "zeros" else {}
    pattern = re.sub("((?:[0-9a-f]{2})+)", r"0x\1", contents.pattern)
    if contents.check == "stamps":
        if pattern and workload.verify:
            return {"verify": "pattern", "verify_pattern": pattern}
        return {"buffer_pattern": pattern} if pattern else found
    found["verify"] = {"header": "meta", "pattern_header": "pattern_hdr"}.get(contents.check, contents.check)
    more = {"verify_pattern": pattern, "verify_interval": contents.check_bytes, "verify_offset": contents.check_offset}
    return found | {name: str(value) for name, value in more.items() if value}


def _durability(workload: Workload) -> dict[str, str]:
    durability = workload.durability
    if durability.method in _SYNC_FLAGS:
        return {"sync": _SYNC_FLAGS[durability.method]}
    if durability.method in ("fsync", "fdatasync"):
        calls = {} if durability.at_end else {durability.method: str(durability.every_writes)}
        return calls | ({"end_fsync": "1"} if durability.at_end or durability.last == "always" else {})
    return {} if durability.method == "none" else {"drivelab_durability": durability.method}


def _zones(workload: Workload) -> dict[str, str]:
    asked = workload.zoned_drive
    if not asked.is_used:
        return {}
    numbers = {
        "zonesize": asked.zone_size_bytes,
        "zonecapacity": asked.zone_capacity_bytes,
        "max_open_zones": asked.max_open_zones,
        "job_max_open_zones": asked.job_max_open_zones,
        "ignore_zone_limits": int(asked.ignores_drive_limit),
        "read_beyond_wp": int(asked.reads_beyond_write_pointer),
        "zone_reset_threshold": asked.reset_threshold,
        "zone_reset_frequency": asked.reset_frequency,
    }
    return {"zonemode": "zbd"} | {
        name: f"{number:g}" if isinstance(number, float) else str(number) for name, number in numbers.items() if number
    }


def _order(workload: Workload) -> dict[str, str]:
    orders = _orders(workload)
    shares = {name: 0 if one.kind in _SEQUENTIAL else 100 * one.random_fraction for name, one in orders.items()}
    if any(shares.values()) and min(shares.values()) < 100:
        texts = [f"{shares.get(name, 100):g}" for name in ("read", "write", "trim")]
        return {"percentage_random": ",".join(texts)}
    access = workload.access
    distributions: Mapping[str, str] = {
        "zipf": f"zipf:{access.zipf_theta:g}",
        "pareto": f"pareto:{access.pareto_h:g}",
        "normal": f"normal:{100 * access.normal_deviation:g}",
        "zoned": "zoned:"
        + ":".join(f"{100 * zone.access_fraction:g}/{100 * zone.range_fraction:g}" for zone in access.zones),
    }
    if access.kind in distributions:
        return {"random_distribution": distributions[access.kind]}
    return {} if access.kind in ("sequential", "random") else {"drivelab_access": access.kind}
