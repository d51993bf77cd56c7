"""The options of a job with all defaults, as an export of results names them."""

from __future__ import annotations

from drivelab.interop.fio.engines import Engine
from drivelab.interop.fio.job_options import JobOptions
from drivelab.interop.fio.options import OPTIONS
from drivelab.interop.fio.placing import Placing
from drivelab.interop.fio.translation_of_io import Issued, SizeWeight

# set together, or only when asked for
_ONLY_IF_WRITTEN = ("buffered", "rwmixread", "rwmixwrite", "filename_format", "fallocate")


def resolved_options(options: JobOptions, engine: Engine, placed: Placing, io: Issued | None) -> dict[str, str]:
    """Every option that decides what is issued: fio's defaults, what was written, and what it comes to.

    Sizes are in bytes; times are as they were written.
    """
    found = {
        option.name: option.default
        for option in OPTIONS
        if option.default and not option.engines and option.name not in _ONLY_IF_WRITTEN
    }
    found |= {setting.option: setting.text for setting in options.job.settings.values()}
    found |= {"name": options.job.name, "ioengine": engine.name, "numjobs": str(options.number("numjobs"))}
    found["filename"] = ":".join(target.replace(":", "\\:") for target in placed.targets)
    found["direct"] = str(int(_is_direct(options)))
    if io is None:
        return found
    found["rw"] = options.choice("rw").word.replace("readwrite", "rw")
    found["iodepth"] = str(options.number("iodepth"))
    found["bs"] = _block_sizes(io)
    if {"read", "write"} <= set(io.weights):
        found["rwmixread"] = str(round(io.weights["read"] * 100))
        found["rwmixwrite"] = str(100 - round(io.weights["read"] * 100))
    if placed.range_bytes:
        found["size"] = str(placed.job_bytes * (len(placed.targets) if placed.is_split else 1))
    return found


def _is_direct(options: JobOptions) -> bool:
    setting = options.last_of("direct", "buffered")
    return setting is not None and options.truth(setting.option) == (setting.option == "direct")


def _block_sizes(io: Issued) -> str:
    """One size, or those of reads, writes and trims, each with its range."""
    texts = [_extent(io.sizes[direction]) if direction in io.sizes else "" for direction in ("read", "write", "trim")]
    used = [text for text in texts if text]
    return used[0] if len(set(used)) == 1 else ",".join(texts).rstrip(",")


def _extent(sizes: tuple[SizeWeight, ...]) -> str:
    least, most = min(each.size for each in sizes), max(each.size for each in sizes)
    return str(least) if least == most else f"{least}-{most}"
