"""Which number several drives or runs are compared by: that which the workload is about, where they have it."""

from __future__ import annotations

from collections.abc import Sequence

from drivelab.model.judged_metric import (
    DURATION,
    LATENCY,
    MEAN_LATENCY,
    RATE,
    RESPONSE,
    THROUGHPUT,
    are_waited_for,
    told_metric,
)
from drivelab.model.result_set import Observation

# what a workload is judged by, the first that several have
JUDGED = (DURATION, RESPONSE, LATENCY, MEAN_LATENCY, THROUGHPUT, RATE)
# several at a time, or large: issued for what they move
_JUDGED_BY_BYTES = (DURATION, RESPONSE, THROUGHPUT, RATE, LATENCY, MEAN_LATENCY)


def judged_order(members: Sequence[Observation]) -> tuple[str, ...]:
    """The metrics that a workload can be compared by, that which its runs judge it by first, then the most telling.

    Parameters
    ----------
    members : sequence of Observation
        All that are compared with each other.
    """
    kinds = ((one.block_size_bytes, one.is_durable, one.queue_depth or 1) for one in members)
    order: tuple[str, ...] = JUDGED if are_waited_for(kinds) else _JUDGED_BY_BYTES
    sizes = [one.block_size_bytes for one in members]
    if told_metric(THROUGHPUT, sizes) == RATE:
        # small I/Os are counted
        counted = {THROUGHPUT: RATE, RATE: THROUGHPUT}
        order = tuple(counted.get(metric, metric) for metric in order)
    judged = {told_metric(one.metric, sizes) for one in members if one.is_judged}
    return tuple(sorted(order, key=lambda metric: judged != {metric}))
