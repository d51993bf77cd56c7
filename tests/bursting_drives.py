"""Random simulated drives with a token bucket of I/Os or bytes, and noisy ones without any."""

from __future__ import annotations

import numpy as np

from drivelab.analyse.token_bucket import bucket_of_workload, done_in
from drivelab.inventory.target import resolve_target
from drivelab.model.measurement import Measurement
from drivelab.model.simulated import ByteLimit, IoLimit, SimulatedModel
from drivelab.model.target import TargetFacts
from drivelab.model.token_bucket import TokenBucket
from drivelab.model.workload import Access, BlockSizeShare, Limits, TargetRange, Workload
from drivelab.run.simulated import SimulatedDrive

_MIB = 2**20
_SECOND_NS = 10**9
_RUNTIME_S = 240
Model = dict[str, object]


def _drive(random: np.random.Generator) -> Model:
    """A drive of flash that reads 4,000 to 30,000 small blocks a second, with random delays."""
    per_s = 10 ** random.uniform(3.6, 4.5)
    return {
        "title": "random",
        "size": 2**28,
        "command": f"{1e9 / per_s:.0f}ns",
        "read_latency": "80us",
        "write_latency": "30us",
        "jitter": f"{random.uniform(0, 300):.0f}us",
        "link": int(random.uniform(500, 3000) * 1e6),
        "flash": {
            "raw": 2**28 + 2**26,
            "page": 4096,
            "block": _MIB,
            "units": 64,
            "read": "60us",
            "program": "300us",
            "erase": "10us",
            "reads_first": True,
        },
    }


def limited(token: str, seed: int) -> SimulatedModel:
    """A drive with a bucket that is empty after 2 to 120 s."""
    random = np.random.default_rng([seed, 1 if token == "bytes" else 2])
    model = _drive(random)
    burst_s, ratio = 10 ** random.uniform(0.3, 2.1), random.uniform(1.6, 25)
    if token == "bytes":
        burst = float(model["link"])  # type: ignore[arg-type]
        rate = burst / ratio
        limit = ByteLimit(rate=int(rate), burst=int((burst - rate) * burst_s))
        return SimulatedModel.model_validate(model | {"byte_limit": limit.model_dump()})
    burst = random.uniform(800, 4000)
    rate = burst / ratio
    capped = {"command": f"{1e9 / burst:.0f}ns"}
    limit_of_ios = IoLimit(rate=int(rate), burst=int((burst - rate) * burst_s))
    return SimulatedModel.model_validate(model | capped | {"io_limit": limit_of_ios.model_dump()})


def unlimited(seed: int) -> SimulatedModel:
    """A drive without a bucket: with fast flash that fills, one that becomes hot again and again, or delays alone."""
    random = np.random.default_rng([seed, 3])
    model = _drive(random)
    every_s = 10 ** random.uniform(0.3, 2)
    heat = {
        "every": f"{every_s:.3f}s",
        "lasts": f"{every_s * random.uniform(0.1, 0.9):.3f}s",
        "factor": float(random.uniform(2, 40)),
    }
    flash = dict(model["flash"])  # type: ignore[call-overload]
    fast = {"slc": 2**26, "slc_program": "60us", "idle_after": "1s"}
    # so slow that heat tells: few units
    slow = {"units": int(random.choice([1, 2, 4]))}
    kinds: list[Model] = [{}, {"flash": flash | fast}, {"flash": flash | slow, "throttling": heat}]
    kind = kinds[seed % 3]
    return SimulatedModel.model_validate(model | {"jitter": f"{random.uniform(0, 3000):.0f}us"} | kind)


def outlasting(seed: int) -> SimulatedModel:
    """A volume that is at its burst rate for longer than anybody measures: 3,000 or 3,500 I/Os a second."""
    random = np.random.default_rng([seed, 4])
    per_s = float(random.choice([3000, 3500]))
    limit = IoLimit(rate=int(random.uniform(100, 1000)), burst=10**7)
    return SimulatedModel.model_validate(
        _drive(random) | {"command": f"{1e9 / per_s:.0f}ns", "io_limit": limit.model_dump()}
    )


def read_for(model: SimulatedModel, seed: int, runtime_s: float) -> tuple[Measurement, TargetFacts]:
    """Small reads, 32 at a time, of a drive that was written before unless it has a limit."""
    facts = resolve_target("sim:consumer-ssd")
    simulated, whole = SimulatedDrive(model, seed), TargetRange(path=facts.path, size_bytes=model.size)
    if model.io_limit is None:
        simulated.measure("fill", _fill(whole), facts)
    asked = Workload(
        target=whole,
        block_sizes=(BlockSizeShare(bytes=4096),),
        access=Access(kind="random"),
        queue_depth=32,
        limits=Limits(runtime_ns=round(runtime_s * _SECOND_NS)),
        interval_ns=round(runtime_s * _SECOND_NS / 50),
        seed=seed,
        direct=True,
    )
    return simulated.measure("trial", asked, facts), facts


def _fill(target: TargetRange) -> Workload:
    return Workload(
        target=target,
        operations=({"operation": "write"},),  # type: ignore[arg-type]
        block_sizes=(BlockSizeShare(bytes=_MIB),),
        access=Access(kind="sequential"),
        queue_depth=8,
    )


def seen_of(model: SimulatedModel, token: str, seed: int) -> tuple[IoLimit | ByteLimit | None, TokenBucket | None]:
    """The limit that a drive has, and what a trial that watches for the end of a burst sees of it."""
    facts = resolve_target("sim:consumer-ssd")
    block = _MIB if token == "bytes" else 4096
    drive = SimulatedDrive(model, seed)
    target = TargetRange(path=facts.path, size_bytes=model.size)
    if model.io_limit is None and model.byte_limit is None:
        # reads of what was never written cost nothing
        drive.measure("fill", _fill(target), facts)
    workload = Workload(
        target=target,
        block_sizes=(BlockSizeShare(bytes=block),),
        access=Access(kind="sequential" if token == "bytes" else "random"),
        queue_depth=8 if token == "bytes" else 32,
        limits=Limits(runtime_ns=_RUNTIME_S * _SECOND_NS),
        interval_ns=_SECOND_NS // 5,
        watches_burst=True,
        seed=seed,
    )
    measured = drive.measure("trial", workload, facts)
    assert measured.intervals is not None
    return model.io_limit or model.byte_limit, bucket_of_workload(done_in(measured.intervals), block)
