"""Which number several drives or runs are compared by: that which the workload is about, where they have it."""

from __future__ import annotations

from collections.abc import Sequence

from drivelab.model.result_set import Observation

# what a workload is judged by, the first that several have
JUDGED = (
    "response_latency_ns_p50",
    "total_latency_ns_p50",
    "total_latency_ns_mean",
    "throughput_bytes_per_s",
    "iops",
)
# several at a time, or large: issued for what they move
_JUDGED_BY_BYTES = (
    "response_latency_ns_p50",
    "throughput_bytes_per_s",
    "iops",
    "total_latency_ns_p50",
    "total_latency_ns_mean",
)
_LARGE_BLOCK_BYTES = 1 << 20


def judged_order(members: Sequence[Observation]) -> tuple[str, ...]:
    """The metrics that a workload can be compared by, the most telling one first.

    Parameters
    ----------
    members : sequence of Observation
        All that are compared with each other.
    """
    return JUDGED if _are_waited_for(members) else _JUDGED_BY_BYTES


def _are_waited_for(members: Sequence[Observation]) -> bool:
    """Whether a program waits for each I/O: the rule by which a run and a comparison choose their number, too."""
    sizes = [one.block_size_bytes for one in members if one.block_size_bytes is not None]
    is_small = bool(sizes) and min(sizes) < _LARGE_BLOCK_BYTES
    return is_small and all(one.is_durable or (one.queue_depth or 1) == 1 for one in members)
