"""Which numbers of a workload two sides of runs, or the runs of a history, are compared by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from drivelab.analyse.judged_metric import judged_metric
from drivelab.model.judged_metric import (
    LATENCY,
    MEAN_LATENCY,
    P99,
    RATE,
    RESPONSE,
    RESPONSE_P99,
    THROUGHPUT,
    told_metric,
)

if TYPE_CHECKING:
    from drivelab.analyse.comparison import ComparedTrial


def shown_metrics(trials: Sequence[ComparedTrial], workload: Sequence[ComparedTrial] = ()) -> list[str]:
    """The metric that trials of one combination are judged by, then what else is told of them.

    Small I/Os that nobody waits for are counted, larger ones weighed: operations per second and throughput say the
    same, and one of them is told. Of what lasts only rates are known.

    Parameters
    ----------
    trials : sequence of ComparedTrial
        Of one combination; at least one.
    workload : sequence of ComparedTrial
        Those of every combination of its workload, which are all judged by one metric.
    """
    is_lasting = any(one.is_lasting for one in trials)
    kinds = [one.trial.kind for one in workload or trials]
    if is_lasting:
        kinds = [replace(kind, has_latency=False, is_mean_alone=False) for kind in kinds]
    judged = told_metric(judged_metric(kinds), (kind.block_size_bytes for kind in kinds))
    more = {LATENCY: [P99, "iops"], RESPONSE: [RESPONSE_P99, "iops"]}
    # a latency beside what lasts would be that of the cache
    return [judged] if is_lasting else [judged, *more.get(judged, [P99])]


def told_metrics(
    base: Sequence[ComparedTrial], new: Sequence[ComparedTrial], workload: Sequence[ComparedTrial] = ()
) -> list[str]:
    """The metrics of `shown_metrics`; the judged one makes place for what both sides tell, where one is without it."""
    trials = [*base, *new]
    judged, *more = shown_metrics(trials, workload)
    for metric in (judged, THROUGHPUT, RATE, MEAN_LATENCY):
        if all(one.trial.values.get(metric) for one in trials):
            return [metric, *(one for one in more if one != metric)]
    return [judged, *more]
