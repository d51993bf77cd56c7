"""Windows of a closed loop on a made-up drive whose rate is known: what an engine reports, made in time.

One unit serves one I/O after the other, so with `depth` outstanding each completes `depth` services after its issue.
The window is cut as the engine cuts it: I/Os that the ramp issued do not count, those that the window issued are waited
for, and what completes within an interval of the last issue is told with the interval before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import signal

from drivelab.model.measurement import Measurement
from drivelab.model.workload import Access, BlockSizeShare, Limits, OperationShare, TargetRange, Workload
from latency_histograms import histogram_of

Floats = NDArray[np.float64]
BLOCK_BYTES = 4096


@dataclass(frozen=True)
class Services:
    """How long a drive takes for one I/O after the other, in units of the true mean."""

    name: str
    draw: Callable[[np.random.Generator, int], Floats]


def lognormal(correlation: float, spread: float = 0.5) -> Services:
    """The logarithm is an AR(1) process."""

    def draw(random: np.random.Generator, count: int) -> Floats:
        pushes = random.standard_normal(count)
        pushes[0] /= np.sqrt(1 - correlation**2)
        state = signal.lfilter([np.sqrt(1 - correlation**2)], [1, -correlation], pushes)
        return np.asarray(np.exp(spread * state - spread**2 / 2))

    return Services(f"AR(1) {correlation:g}" if correlation else "independent", draw)


def collecting(period: int = 50, share: float = 0.1, factor: float = 6.0) -> Services:
    """Garbage collection makes the same share of each period slow; the window begins anywhere."""

    def draw(random: np.random.Generator, count: int) -> Floats:
        slow = (np.arange(count) + random.integers(period)) % period < share * period
        return np.where(slow, factor, 1.0) / (1 - share + share * factor) * random.uniform(0.8, 1.2, count)

    return Services("periodic collection", draw)


def pareto(exponent: float = 2.5) -> Services:
    """Heavy tails."""

    def draw(random: np.random.Generator, count: int) -> Floats:
        return random.random(count) ** (-1 / exponent) * (exponent - 1) / exponent

    return Services(f"Pareto {exponent:g}", draw)


def limited() -> Services:
    """An empty token bucket lets one I/O through after the other, all but evenly."""
    return Services("token bucket", lambda random, count: random.uniform(0.98, 1.02, count))


ALL = (lognormal(0.0), lognormal(0.5), lognormal(0.9), collecting(), pareto(), limited())


def window(
    services: Services,
    random: np.random.Generator,
    *,
    depth: int,
    count: int,
    ramp_s: float,
    runtime_s: float = 1.0,
    interval_s: float = 0.1,
) -> Measurement:
    """One window in which about `count` I/Os are issued."""
    mean_s = runtime_s / count
    number = int((ramp_s + runtime_s) / mean_s * 1.5) + 20 * depth + 200
    done = np.cumsum(services.draw(random, number)) * mean_s
    issued = np.concatenate([np.zeros(depth), done[:-depth]])
    mine = (issued >= ramp_s) & (issued < ramp_s + runtime_s)
    assert issued[-1] > ramp_s + runtime_s
    issued, done = issued[mine] - ramp_s, done[mine] - ramp_s
    completed_ns, latency_ns = np.round(done * 1e9), np.round((done - issued) * 1e9)
    length_ns, runtime_ns = round(interval_s * 1e9), round(runtime_s * 1e9)
    place = (completed_ns // length_ns).astype(np.int64)
    is_held = (completed_ns >= runtime_ns) & (completed_ns < runtime_ns + length_ns)
    place[is_held] = (runtime_ns - 1) // length_ns
    return _measured(place, latency_ns, max(float(runtime_ns), completed_ns[-1]), length_ns, runtime_ns, depth, ramp_s)


def _measured(
    place: NDArray[np.int64],
    latency_ns: Floats,
    measured_ns: float,
    length_ns: int,
    runtime_ns: int,
    depth: int,
    ramp_s: float,
) -> Measurement:
    rows = []
    for number in np.unique(place):
        histogram = histogram_of(latency_ns[place == number])
        rows.append(
            {
                "operation": "read",
                "latency": "total",
                "count": histogram.total_count,
                "min_ns": histogram.minimum_ns,
                "max_ns": histogram.maximum_ns,
                "sum_ns": histogram.sum_ns,
                "bucket": histogram.bucket.astype(np.uint32),
                "bucket_count": histogram.count.astype(np.uint64),
                "interval": int(number),
                "start_ns": int(number) * length_ns,
                "duration_ns": length_ns,
                "bytes": BLOCK_BYTES * histogram.total_count,
                "errors": 0,
            }
        )
    whole = histogram_of(latency_ns)
    asked = Workload(
        target=TargetRange(path="/data/file"),
        operations=(OperationShare(operation="read"),),
        block_sizes=(BlockSizeShare(bytes=BLOCK_BYTES),),
        access=Access(kind="random"),
        queue_depth=depth,
        interval_ns=length_ns,
        ramp_ns=round(ramp_s * 1e9),
        limits=Limits(runtime_ns=runtime_ns),
    )
    engine = {
        "ramp_ns": round(ramp_s * 1e9),
        "measured_ns": int(measured_ns),
        "drain_ns": 0,
        "achieved": {"queue_depth_mean": float(depth)},
        "operations": {
            "read": {"count": whole.total_count, "bytes": BLOCK_BYTES * whole.total_count, "errors": 0, "short": 0}
        },
        "stopped_by": "runtime",
    }
    return Measurement("window", asked, engine, {("read", "total"): whole}, pa.Table.from_pylist(rows))
