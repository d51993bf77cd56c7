"""What the options beside a fio result say was asked for, as a workload of which only known fields are set."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from drivelab.interop.foreign import size_level
from drivelab.model.workload import (
    Access,
    BlockSizeShare,
    Contents,
    Durability,
    Limits,
    OperationShare,
    Pacing,
    TargetRange,
    Workload,
)

# engines that submit and wait in one call, then those that have a name here
SYNC_ENGINES = ("sync", "psync", "vsync", "pvsync", "pvsync2")
_BACKENDS = {**dict.fromkeys(SYNC_ENGINES, "sync"), "libaio": "aio", "io_uring": "uring", "mmap": "mmap"}
_DIRECTIONS = {
    "read": ("read",),
    "write": ("write",),
    "trim": ("trim",),
    "randread": ("read",),
    "randwrite": ("write",),
    "randtrim": ("trim",),
    "rw": ("read", "write"),
    "readwrite": ("read", "write"),
    "randrw": ("read", "write"),
    "trimwrite": ("trim", "write"),
    "randtrimwrite": ("trim", "write"),
}
_PACED = ("rate", "rate_iops", "rate_min", "rate_iops_min", "thinktime", "rate_process", "flow")
_MIXED_SIZES = ("bsrange", "blocksize_range", "bssplit", "bs_unaligned", "blocksize_unaligned")
_SIZE = re.compile(r"(\d{1,15})\s*([kmgtp]?)(i?)(b?)", re.IGNORECASE)
# the other names of options that decide what is issued
_ALIASES = {"readwrite": "rw", "blocksize": "bs", "io_limit": "io_size"}
_LARGEST_BLOCK = 2**30


@dataclass(frozen=True, slots=True)
class Asked:
    """What the options of a job say.

    Attributes
    ----------
    known : Workload
        Only the fields that they decide are set.
    engine : str
        fio's name of the engine; empty where it is not told.
    backend : str
        drivelab's name of it; empty where there is none.
    parameters : mapping of str to str
        What may tell the job from others, by drivelab's names.
    drive : str
        The device that it went to, as far as it is one of ``/dev``.
    is_known : bool
        Whether there were options at all: old versions and some services leave them out.
    sync_every : int
        Writes after which a sync call comes; 0 is none.
    clones : int
        Jobs that the options ask for.
    """

    known: Workload
    engine: str = ""
    backend: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    drive: str = ""
    is_known: bool = True
    sync_every: int = 0
    clones: int = 1


def asked_of(given: Mapping[str, str]) -> Asked:
    """What the options of a job and of its globals say, with fio's defaults where nothing was written.

    Parameters
    ----------
    given : mapping of str to str
        As the JSON has them; none at all where a version does not tell them.
    """
    options = {_ALIASES.get(name, name): value for name, value in given.items()}
    path = options.get("filename", options.get("directory", ""))
    if not given:
        return Asked(Workload(target=TargetRange(path="")), is_known=False)
    engine = options.get("ioengine", "psync")
    durability = _durability(options)
    fields: dict[str, Any] = {
        "target": TargetRange(path=path, size_bytes=_size_bytes(options)),
        "operations": _operations(options),
        "durability": durability,
        "queue_depth": _count(options.get("iodepth", "1"), 4096),
        "job_count": _count(options.get("numjobs", "1"), 1024),
        "direct": _is_on(options.get("direct", "0")) or ("buffered" in options and not _is_on(options["buffered"])),
    }
    backend = _BACKENDS.get(engine, "")
    fields |= {"backend": backend} if backend else {}
    fields |= _block_sizes(options) | _access(options) | _contents(options)
    if not any(name in options for name in _PACED):
        fields["pacing"] = Pacing(kind="closed")
    if runtime_ns := _runtime_ns(options):
        fields["limits"] = Limits(runtime_ns=runtime_ns)
    # what is None could not be understood, and is as unknown as what nobody wrote
    known = Workload(**{name: value for name, value in fields.items() if value is not None})
    return Asked(
        known=known,
        engine=engine,
        backend=backend,
        parameters=_parameters(options, engine, known),
        drive=path.removeprefix("/dev/") if re.fullmatch(r"/dev/[A-Za-z0-9_.!-]+", path) else "",
        sync_every=durability.every_writes
        if durability.method in ("fsync", "fdatasync") and not durability.at_end
        else 0,
        clones=known.job_count,
    )


def size_bytes(text: str, base: str = "1024") -> int | None:
    """Bytes that fio takes a size for; None for what is none.

    Parameters
    ----------
    text : str
        ``4k``, ``4KiB``, ``1m``, ``4096``.
    base : str
        fio's ``kb_base``: with 1024, the default, ``k`` is 1024 and ``Ki`` is 1000, the wrong way round.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    power = " kmgtp".index(match[2].lower() or " ")
    is_binary = bool(match[3]) == (base.strip() == "1000")
    unit: int = (1024 if is_binary else 1000) ** power
    return int(match[1]) * unit


def _operations(options: Mapping[str, str]) -> tuple[OperationShare, ...] | None:
    directions = _DIRECTIONS.get(options.get("rw", "read").split(":")[0].strip().lower())
    if directions is None:
        return None
    if directions != ("read", "write"):
        return tuple(OperationShare(operation=name) for name in directions)  # type: ignore[arg-type]
    reads = _per_cent(options.get("rwmixread"), 50.0)
    if "rwmixread" not in options and "rwmixwrite" in options:
        reads = 100 - _per_cent(options["rwmixwrite"], 50.0)
    shares = (("read", reads), ("write", 100 - reads))
    return tuple(OperationShare(operation=name, weight=share / 100) for name, share in shares if share > 0)  # type: ignore[arg-type]


def _access(options: Mapping[str, str]) -> dict[str, Any]:
    pattern = options.get("rw", "read").split(":")
    if pattern[0] not in _DIRECTIONS or len(pattern) > 1 or "percentage_random" in options or "zonemode" in options:
        return {}
    if not pattern[0].startswith("rand"):
        return {"access": Access(kind="sequential")}
    kind, _, value = options.get("random_distribution", "random").partition(":")
    theta = _fraction(value.split(",")[0].split(":")[0])
    if kind == "random":
        return {"access": Access(kind="random")}
    if kind == "zipf" and theta is not None and 0 < theta < 5:
        return {"access": Access(kind="zipf", zipf_theta=theta)}
    if kind == "pareto" and theta is not None and 0 < theta < 1:
        return {"access": Access(kind="pareto", pareto_h=theta)}
    return {}


def _block_sizes(options: Mapping[str, str]) -> dict[str, Any]:
    if any(name in options for name in _MIXED_SIZES):
        return {}
    sizes = {size_bytes(text, options.get("kb_base", "1024")) for text in options.get("bs", "4k").split(",") if text}
    size = sizes.pop() if len(sizes) == 1 else None
    return {"block_sizes": (BlockSizeShare(bytes=size),)} if size and size <= _LARGEST_BLOCK else {}


def _size_bytes(options: Mapping[str, str]) -> int:
    return size_bytes(options.get("size", ""), options.get("kb_base", "1024")) or 0


def _durability(options: Mapping[str, str]) -> Durability:
    flag = options.get("sync", "0").strip().lower()
    if flag in ("1", "sync", ""):
        return Durability(method="o_sync")
    if flag == "dsync":
        return Durability(method="o_dsync")
    for name in ("fdatasync", "fsync"):
        every = _count(options.get(name, "0"), 2**31, least=0)
        if every:
            return Durability(method=name, every_writes=every)
    if "end_fsync" in options and _is_on(options["end_fsync"]):
        return Durability(method="fsync", at_end=True)
    return Durability(method="none")


def _contents(options: Mapping[str, str]) -> dict[str, Any]:
    if any(name.startswith(("buffer_", "dedupe_")) for name in options):
        return {}
    is_zero = "zero_buffers" in options and _is_on(options["zero_buffers"])
    return {"contents": Contents(kind="zeros" if is_zero else "random")}


def _parameters(options: Mapping[str, str], engine: str, known: Workload) -> dict[str, str]:
    """By drivelab's names; what is not told to be otherwise is fio's default."""
    sizes = {share.bytes for share in known.block_sizes} if "block_sizes" in known.model_fields_set else set()
    written = options.get("bs") or next((options[name] for name in _MIXED_SIZES if name in options), "4k")
    found = {
        "rw": options.get("rw", "read"),
        "block_size": size_level(sizes.pop()) if len(sizes) == 1 else written,
        "queue_depth": options.get("iodepth", "1"),
        "job_count": options.get("numjobs", "1"),
        "backend": engine,
        "direct": "true" if known.direct else "false",
        "durability": known.durability.method,
    }
    sync = known.durability.every_writes
    found |= {"sync_every_writes": str(sync)} if sync > 1 else {}
    others = ("rwmixread", "size", "random_distribution", "rate", "rate_iops", "thinktime", "filename", "directory")
    return found | {name: options[name] for name in others if name in options}


def _is_on(text: str) -> bool:
    """A flag without a value is on."""
    return text.strip().lower() not in ("0", "false", "none")


def _count(text: str, most: int, *, least: int = 1) -> int:
    found = size_bytes(text)
    return least if found is None else min(max(found, least), most)


def _per_cent(text: str | None, default: float) -> float:
    found = _fraction(text or "")
    return default if found is None or not 0 <= found <= 100 else found


def _fraction(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d{1,9}(\.\d{0,9})?", text.strip()) else None


def _runtime_ns(options: Mapping[str, str]) -> int:
    """A bare number is seconds, as fio has it."""
    match = re.fullmatch(r"(\d{1,9})\s*(us|ms|s|m|h|d)?", options.get("runtime", "").strip())
    units = {"us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}
    return int(match[1]) * units[match[2] or "s"] if match else 0
