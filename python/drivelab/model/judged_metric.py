"""Which number a workload is judged by: the metrics, and the rule whether somebody waits for each I/O."""

from __future__ import annotations

from collections.abc import Iterable

LATENCY = "total_latency_ns_p50"
P99, RESPONSE_P99 = "total_latency_ns_p99", "response_latency_ns_p99"
RESPONSE = "response_latency_ns_p50"
THROUGHPUT = "throughput_bytes_per_s"
# what stands for them where another program tells no more
MEAN_LATENCY = "total_latency_ns_mean"
RATE = "iops"
# of what has an end of its own: so many operations, or so many bytes
DURATION = "duration_ns"
# from this size on an I/O is issued for the bytes that it moves
LARGE_BLOCK_BYTES = 1 << 20
# below this size I/Os that nobody waits for are counted, not weighed
_COUNTED_BELOW_BYTES = 1 << 16


def is_counted(metric: str, block_size_bytes: float | None) -> bool:
    """Whether IOPS are what a reader looks for, where a workload is judged by its throughput."""
    return metric == THROUGHPUT and 0 < (block_size_bytes or 0) < _COUNTED_BELOW_BYTES


def told_metric(judged: str, block_sizes_bytes: Iterable[float | None]) -> str:
    """The metric that is told of workloads that are judged by one: of a throughput of small I/Os, their rate."""
    return RATE if all(is_counted(judged, size) for size in block_sizes_bytes) else judged


def are_waited_for(kinds: Iterable[tuple[int | None, bool, int]]) -> bool:
    """Whether a program waits for each I/O, so that a workload is judged by its latency.

    Parameters
    ----------
    kinds : iterable of (size in bytes or None, whether an I/O ends durable, I/Os outstanding)
        Everything that is judged together.

    Returns
    -------
    bool
        True for durable writes, or one I/O at a time, some of them smaller than `LARGE_BLOCK_BYTES`.
    """
    known = list(kinds)
    sizes = [size for size, _, _ in known if size is not None]
    is_small = bool(sizes) and min(sizes) < LARGE_BLOCK_BYTES
    return is_small and all(is_durable or outstanding == 1 for _, is_durable, outstanding in known)
