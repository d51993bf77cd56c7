"""What the options beside a fio result say was asked for, as a workload of which only known fields are set.

The very code that translates job files says what they mean, so that results and runs meet. fio's JSON leaves out
options that were written without a value (``norandommap``, ``zero_buffers``); what only they decide is not known then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import ValidationError

from drivelab.interop.fio import options_of_io
from drivelab.interop.fio.checks import contents
from drivelab.interop.fio.durability import durability
from drivelab.interop.fio.engines import ENGINES, Engine
from drivelab.interop.fio.job_file import Job, Setting
from drivelab.interop.fio.job_options import JobOptions
from drivelab.interop.fio.options import BY_NAME
from drivelab.interop.fio.pacing_and_limits import with_mix_of_rates
from drivelab.interop.fio.sizes import ValueMistake
from drivelab.interop.fio.syntax import Place
from drivelab.interop.fio.translation_of_io import issued
from drivelab.interop.fio.values import PerDirection, parse_value
from drivelab.interop.foreign import size_level
from drivelab.model.errors import DrivelabError
from drivelab.model.workload import BackendName, Durability, Limits, Pacing, TargetRange, Workload
from drivelab.model.workload_pattern import WorkloadPattern

_NOWHERE = Place("", 1)
_KB_BASES = ("1000", "1024")
_DECIDING = {option.name for options in options_of_io.TOPICS.values() for option in options}
# without them it is not known whether zero_buffers was set
_CONTENTS = ("zero_buffers", "buffer_pattern", "buffer_compress_percentage", "dedupe_percentage")
_PACED = ("rate", "rate_iops", "rate_min", "rate_iops_min", "thinktime", "rate_process", "flow")
_MIXED_SIZES = ("bsrange", "blocksize_range", "bssplit", "bs_unaligned", "blocksize_unaligned")
# what the line before a job's normal output decides
_TOLD_BY_A_LINE = {"target", "queue_depth", "job_count", "operations", "block_sizes", "access", "backend"}
_LEVELS_OF_A_LINE = {"rw", "block_size", "queue_depth", "job_count", "backend"}
_SIZE = re.compile(r"(\d{1,15})\s*([kmgtp]?)(i?)(b?)", re.IGNORECASE)
# the other names of options that decide what is issued
_ALIASES = {
    "readwrite": "rw",
    "blocksize": "bs",
    "io_limit": "io_size",
    "iodepth_batch_submit": "iodepth_batch",
}


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


def asked_of(given: Mapping[str, str], *, is_whole: bool = True) -> Asked:
    """What the options of a job and of its globals say, with fio's defaults where nothing was written.

    Parameters
    ----------
    given : mapping of str to str
        As the JSON has them; none at all where a version does not tell them.
    is_whole : bool
        Whether all options stand there that are not at their defaults; else what others would decide is not known.
    """
    options = {_ALIASES.get(name, name): value for name, value in given.items()}
    path = options.get("filename", options.get("directory", ""))
    if not given:
        return Asked(Workload(target=TargetRange(path="")), is_known=False)
    engine = options.get("ioengine", "psync")
    is_direct = _is_on(options.get("direct", "0")) or ("buffered" in options and not _is_on(options["buffered"]))
    fields: dict[str, Any] = {
        "target": TargetRange(path=path, size_bytes=_size_bytes(options)),
        # a synchronous engine has one I/O outstanding, whatever is asked for
        "queue_depth": 1 if is_one_call(engine) else _count(options.get("iodepth", "1"), 4096),
        "job_count": _count(options.get("numjobs", "1"), 1024),
        "direct": is_direct and engine != "mmap",
    }
    fields |= _meaning_of(options)
    fields |= _of_engine(options, engine, fields["queue_depth"], fields["job_count"])
    if not any(name in options for name in _PACED):
        fields["pacing"] = Pacing(kind="closed")
    if runtime_ns := _runtime_ns(options):
        fields["limits"] = Limits(runtime_ns=runtime_ns)
    told = {*fields} if is_whole else _TOLD_BY_A_LINE
    # what is None could not be understood, and is as unknown as what nobody wrote
    known = Workload(**{name: value for name, value in fields.items() if value is not None and name in told})
    return Asked(
        known=known,
        engine=engine,
        backend=_backend(engine),
        parameters={
            name: level
            for name, level in _parameters(options, engine, known).items()
            if is_whole or name in _LEVELS_OF_A_LINE
        },
        drive=path.removeprefix("/dev/") if re.fullmatch(r"/dev/[A-Za-z0-9_.!-]+", path) else "",
        sync_every=_sync_every(known.durability),
        clones=known.job_count,
    )


def is_one_call(engine: str) -> bool:
    """Whether an engine submits an I/O and waits for it in one call."""
    known = _known(engine)
    return known is not None and known.is_synchronous and not known.tree_operation


def _known(engine: str) -> Engine | None:
    return ENGINES.get(engine.partition(":")[0])


def _backend(engine: str) -> BackendName | Literal[""]:
    """Drivelab's name of what issued the I/O; empty where drivelab would issue it in another way."""
    known = _known(engine)
    return known.backend if known and (known.effect == "honoured" or known.is_synchronous) else ""


def _of_engine(options: Mapping[str, str], name: str, depth: int, jobs: int) -> dict[str, Any]:
    """How an engine that drivelab has issued the I/O, and whether each of several jobs had a file of its own."""
    engine, backend = _known(name), _backend(name)
    if engine is None or not backend:
        return {}

    def count(name: str, default: str = "0") -> int:
        return _count(options.get(name, default), 4096, least=0)

    batches = engine.batches(
        depth,
        sent=count("iodepth_batch", "1"),
        least=count("iodepth_batch_complete_min"),
        most=count("iodepth_batch_complete_max"),
        low=count("iodepth_low"),
    )
    found = {"backend": backend, **batches}
    if jobs > 1 and engine.name != "null" and not engine.tree_operation and "filename_format" not in options:
        found["own_files"] = "filename" not in options
    return found


def _sync_every(durability: Durability) -> int:
    is_called = durability.method in ("fsync", "fdatasync") and not durability.at_end
    return durability.every_writes if is_called else 0


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


def _size_bytes(options: Mapping[str, str]) -> int:
    return size_bytes(options.get("size", ""), options.get("kb_base", "1024")) or 0


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


def _meaning_of(given: Mapping[str, str]) -> dict[str, Any]:
    """Operations, block sizes, access, durability and contents that options ask for, as fields of a workload."""
    options = _options_of(given)
    if options is None:
        return {}
    try:
        io = with_mix_of_rates(options, issued(options, only_reads=options.truth("verify_only")))
        keys = io.keys() | durability(options, io) | contents(options)
        # what ends it is not looked at, but a pattern has to end
        pattern = WorkloadPattern.model_validate(keys | {"count": 1})
    except (DrivelabError, ValidationError):
        return {}
    whole = pattern.on(TargetRange(path=""), seed=0)
    found: dict[str, Any] = {name: getattr(whole, name) for name in ("operations", "block_sizes", "durability")}
    if options.choice("zonemode").word in ("", "none"):
        found["access"] = _access(options, whole.access.model_dump(exclude_unset=True))
    if any(options.has(name) for name in _CONTENTS):
        found["contents"] = whole.contents
    return found


def _access(options: JobOptions, told: dict[str, Any]) -> dict[str, Any]:
    """The order of addresses; whether each block has its turn before any comes again is seldom told."""
    if not options.has("norandommap"):
        told.pop("covers_once", None)
    elif told["kind"] == "random":
        told.setdefault("covers_once", False)
    return told


def _options_of(given: Mapping[str, str]) -> JobOptions | None:
    """Options that drivelab knows; None where one that decides what is issued has a value that cannot be."""
    base = given.get("kb_base", "1024").strip()
    settings: dict[str, Setting] = {}
    for name, text in given.items():
        option = BY_NAME.get(name)
        if option is None:
            continue
        try:
            value, _ = parse_value(option, text or None, kb_base=int(base) if base in _KB_BASES else 1024)
        except ValueMistake:
            if option.name in _DECIDING:
                return None
            continue
        earlier = settings.get(option.name)
        if isinstance(value, PerDirection) and earlier is not None and isinstance(earlier.value, PerDirection):
            value = value.over(earlier.value)
        settings[option.name] = Setting(option.name, text, _NOWHERE, value, is_shared=False)
    return JobOptions(Job("result", "result", _NOWHERE, settings, tuple(settings.values())))
