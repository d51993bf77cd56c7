"""Random simulated drives, each with a known fault or none, and what findings say of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from drivelab.analyse.findings import (
    arrivals_missed,
    operations_failed,
    throughput_cliff,
    throughput_swings,
    writes_left_in_cache,
)
from drivelab.analyse.trial import judge_trial
from drivelab.inventory.target import resolve_target
from drivelab.model.simulated import ByteLimit, Cache, Errors, SimulatedModel, Throttling
from drivelab.model.workload import Access, BlockSizeShare, Limits, OperationShare, Pacing, TargetRange, Workload
from drivelab.run.simulated import SimulatedDrive

Random = np.random.Generator
# the kinds of finding that a drive by itself can bring about
FAULTS = {
    "errors": operations_failed.CODE,
    "fast cache fills": throughput_cliff.CODE,
    "burst ends": throughput_cliff.CODE,
    "becomes hot": throughput_swings.CODE,
    "too slow for its load": arrivals_missed.CODE,
    "a cache is not full yet": writes_left_in_cache.CODE,
}
_BLOCK = 2**17
_PAGE = 2**16
_QUEUE_DEPTH = 64
_SECOND_NS = 10**9


@dataclass(frozen=True)
class Case:
    """A drive with what is issued to it: sequential writes, closed or at a rate."""

    model: SimulatedModel
    runtime_s: float
    rate_per_s: float = 0.0


def healthy(random: Random) -> Case:
    """A drive without a fault: 100 MB/s to 1 GB/s, with random delays."""
    units = int(random.choice([4, 8, 16]))
    bytes_per_s = 10 ** random.uniform(8, 9)
    flash = {
        "raw": 2**30 + int(random.uniform(0.1, 0.5) * 2**30),
        "page": _PAGE,
        "block": 2**20 * int(random.choice([1, 2, 4])),
        "units": units,
        "read": "50us",
        "program": f"{_PAGE * units / bytes_per_s * 1e9:.0f}ns",
        "erase": "10us",
    }
    model = SimulatedModel.model_validate(
        {
            "title": "random",
            "size": 2**30,
            "command": "1us",
            "read_latency": "20us",
            "write_latency": "10us",
            # a tenth, at most, of what the queue holds
            "jitter": f"{random.uniform(0, 0.1) * _QUEUE_DEPTH * _BLOCK / bytes_per_s * 1e9:.0f}ns",
            "flash": flash,
        }
    )
    return Case(model, float(random.uniform(10, 40)))


def _pace(case: Case) -> float:
    """Bytes a second that the flash takes."""
    flash = case.model.flash
    assert flash is not None
    return flash.units * flash.page / flash.program * 1e9


def _with_errors(random: Random, case: Case) -> Case:
    writes = _pace(case) / _BLOCK * case.runtime_s
    errors = Errors(writes_per_error=max(1, int(writes * random.uniform(0.001, 0.1))))
    return Case(case.model.model_copy(update={"errors": errors}), case.runtime_s)


def _with_fast_cache(random: Random, case: Case) -> Case:
    flash = case.model.flash
    assert flash is not None
    times = random.uniform(2.5, 8)
    filled_s = case.runtime_s * random.uniform(0.2, 0.6)
    fast = {"slc_program": int(flash.program / times), "slc": int(filled_s * times * _pace(case))}
    return Case(case.model.model_copy(update={"flash": flash.model_copy(update=fast)}), case.runtime_s)


def _with_burst(random: Random, case: Case) -> Case:
    rate = _pace(case) / random.uniform(2.5, 8)
    ends_s = case.runtime_s * random.uniform(0.2, 0.6)
    limit = ByteLimit(rate=int(rate), burst=int((_pace(case) - rate) * ends_s))
    return Case(case.model.model_copy(update={"byte_limit": limit}), case.runtime_s)


def _with_heat(random: Random, case: Case) -> Case:
    every_s = case.runtime_s / random.uniform(6, 15)
    lasts_s = every_s * random.uniform(0.2, 0.5)
    heat = Throttling.model_validate({"every": f"{every_s}s", "lasts": f"{lasts_s}s", "factor": random.uniform(2.5, 8)})
    return Case(case.model.model_copy(update={"throttling": heat}), case.runtime_s)


def _with_load(random: Random, case: Case) -> Case:
    return Case(case.model, case.runtime_s, rate_per_s=_pace(case) / _BLOCK * random.uniform(1.1, 3))


def _with_cache(random: Random, case: Case) -> Case:
    pace = _pace(case)
    fast = pace * random.uniform(1.2, 8)
    cache = Cache(size=int((fast - pace) * case.runtime_s * random.uniform(1.1, 2)))
    limit = ByteLimit(rate=int(fast))
    return Case(case.model.model_copy(update={"cache": cache, "byte_limit": limit}), case.runtime_s)


_MAKERS: dict[str, Callable[[Random, Case], Case]] = {
    "errors": _with_errors,
    "fast cache fills": _with_fast_cache,
    "burst ends": _with_burst,
    "becomes hot": _with_heat,
    "too slow for its load": _with_load,
    "a cache is not full yet": _with_cache,
}


def told_of(fault: str, seed: int) -> set[str]:
    """Codes of the findings on a random drive with a fault; an empty one is none."""
    random = np.random.default_rng([seed, 1 + list(FAULTS).index(fault) if fault else 0])
    case = healthy(random)
    if fault:
        case = _MAKERS[fault](random, case)
    facts = resolve_target("sim:consumer-ssd")
    drive = SimulatedDrive(case.model, seed)
    workload = Workload(
        target=TargetRange(path=facts.path, size_bytes=2**30),
        operations=(OperationShare(operation="write"),),
        block_sizes=(BlockSizeShare(bytes=_BLOCK),),
        access=Access(kind="sequential"),
        queue_depth=_QUEUE_DEPTH,
        pacing=Pacing(kind="fixed", rate_per_s=case.rate_per_s) if case.rate_per_s else Pacing(),
        limits=Limits(runtime_ns=int(case.runtime_s * _SECOND_NS)),
        interval_ns=_SECOND_NS // 10,
        seed=seed,
    )
    measured = drive.measure("trial", workload, facts)
    return {finding.code for finding in judge_trial(measured, facts)[1]}
