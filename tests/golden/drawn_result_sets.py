"""Result sets that nobody measured, for the tests of what is drawn from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drivelab.model.estimate import Estimate
from drivelab.model.result_set import Observation, ResultSet


def one(*levels: tuple[str, str], value: float = 1e6, **more: Any) -> Observation:
    """An observation of a 4 KiB durable write, or what is given."""
    given: dict[str, Any] = {
        "drive": "fast",
        "machine": "pike",
        "workload": "log",
        "title": "log writes",
        "operation": "durable_write",
        "metric": "total_latency_ns_p50",
        "estimate": Estimate(value, 0.98 * value, 1.02 * value, "ns", 900, 900.0, "made up"),
        "levels": dict(levels),
        "block_size_bytes": 4096,
        "queue_depth": 1,
        "is_durable": True,
    }
    return Observation(**(given | more))


def made(*observations: Observation, key: str = "run", is_reference: bool = False) -> ResultSet:
    """A result set of these observations."""
    return ResultSet(key, "made", "", "nowhere", is_reference=is_reference, observations=observations)


def depth_set(*, scatter: float = 0.0, **more: Any) -> ResultSet:
    """Reads at five depths, of which a drive serves four at once; `scatter` is that of repeats, either way."""
    rates = {1: 10_000, 2: 20_000, 4: 40_000, 8: 41_000, 16: 42_000}
    common = {"operation": "read", "is_durable": False, "workload": "random", "title": "random reads"} | more
    found = []
    for depth, rate in rates.items():
        ends = (rate / (1 + scatter), rate * (1 + scatter)) if scatter else (None, None)
        estimate = Estimate(rate, *ends, "1/s", 5000, 5000.0, "")
        found.append(one(queue_depth=depth, metric="iops", estimate=estimate, **common))
        found.append(one(queue_depth=depth, value=1e9 * depth / rate, **common))
    return made(*found)


def bars(*values: tuple[str, str, float, float]) -> ResultSet:
    """Latency of a file system with the cache on or off: value, and how far its whisker reaches."""
    return made(
        *(
            one(
                ("filesystem", name),
                ("write-cache", cache),
                estimate=Estimate(value, value - half, value + half, "ns", 100, 100.0, ""),
            )
            for name, cache, value, half in values
        )
    )


def grid(sizes: Sequence[int] = (512, 4096, 65536), shifts: Sequence[int] = (0, 512, 1024), **more: Any) -> ResultSet:
    """Durable writes of several sizes from several places."""
    observations = [
        one(("shift", str(shift)), block_size_bytes=size, value=1e5 + 100 * size + shift, **more)
        for size in sizes
        for shift in shifts
    ]
    return made(*observations)
