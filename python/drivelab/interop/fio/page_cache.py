"""What a job that goes through the page cache tells the kernel of its pages."""

from __future__ import annotations

from typing import Any

from drivelab.interop.fio.job_options import JobOptions
from drivelab.interop.fio.translation_of_io import Issued
from drivelab.model.workload import CacheState

_ADVICE = {"0": "none", "random": "random", "sequential": "sequential"}


def page_cache(options: JobOptions, io: Issued) -> dict[str, Any]:
    """The keys of a workload pattern that say how far ahead is read, and whether every pass begins cold."""
    found: dict[str, Any] = {}
    advice = _advice(options, io)
    if advice != "none":
        found["cache_advice"] = advice
    # with gaps fio reaches no end of a file, and gives up what is cached of it only before the first pass
    if cache_before(options) == "drop" and _goes_round(options) and not io.access.get("stride_bytes"):
        found |= _at_each_pass(options, io)
    return found


def cache_before(options: JobOptions) -> CacheState:
    """What is done before a job with what is cached of its files: fio gives up nothing that it has read before."""
    return "warm" if options.truth("pre_read") else "drop" if options.truth("invalidate") else "keep"


def _advice(options: JobOptions, io: Issued) -> str:
    word = options.choice("fadvise_hint").word
    if word == "1":
        return "random" if io.is_random else "sequential"
    if word == "noreuse":
        options.tell("fadvise_hint", "not-honoured", "the kernel is told nothing")
    return _ADVICE.get(word, "none")


def _goes_round(options: JobOptions) -> bool:
    return options.truth("time_based") or options.number("loops") > 1 or options.has("io_size")


def _at_each_pass(options: JobOptions, io: Issued) -> dict[str, Any]:
    """Fio knows a pass of a random order by its map of all blocks: without one there is none."""
    is_endless = io.is_random and not all(order.get("covers_once") for order in io.orders.values())
    has_map = options.choice("random_distribution").word == "random" and not options.truth("norandommap")
    if is_endless and not has_map:
        return {}
    if is_endless:
        options.tell("invalidate", "approximated", "given up after as many bytes as the range has")
    return {"drop_cache_each_pass": True}
