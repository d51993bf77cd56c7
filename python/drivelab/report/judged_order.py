"""Which number several drives or runs are compared by: that which the workload is about, where they have it."""

from __future__ import annotations

from collections.abc import Sequence

from drivelab.model.judged_metric import LATENCY, RESPONSE, THROUGHPUT, are_waited_for
from drivelab.model.result_set import Observation

# what a workload is judged by, the first that several have
JUDGED = (
    RESPONSE,
    LATENCY,
    "total_latency_ns_mean",
    THROUGHPUT,
    "iops",
)
# several at a time, or large: issued for what they move
_JUDGED_BY_BYTES = (
    RESPONSE,
    THROUGHPUT,
    "iops",
    LATENCY,
    "total_latency_ns_mean",
)


def judged_order(members: Sequence[Observation]) -> tuple[str, ...]:
    """The metrics that a workload can be compared by, the most telling one first.

    Parameters
    ----------
    members : sequence of Observation
        All that are compared with each other.
    """
    kinds = ((one.block_size_bytes, one.is_durable, one.queue_depth or 1) for one in members)
    return JUDGED if are_waited_for(kinds) else _JUDGED_BY_BYTES
