"""Which number a workload is judged by."""

from __future__ import annotations

import pytest

from drivelab.analyse.judged_metric import LATENCY, RESPONSE, THROUGHPUT, TrialKind, judged_metric

KIB, MIB = 1 << 10, 1 << 20


@pytest.mark.parametrize(
    ("kind", "metric"),
    [
        (TrialKind(4 * KIB, 1, is_durable=True), LATENCY),
        (TrialKind(4 * KIB, 1, is_durable=False), LATENCY),
        (TrialKind(4 * KIB, 8, is_durable=True), LATENCY),
        (TrialKind(4 * KIB, 32, is_durable=False), THROUGHPUT),
        (TrialKind(MIB, 1, is_durable=True), THROUGHPUT),
        (TrialKind(8 * MIB, 1, is_durable=False), THROUGHPUT),
        (TrialKind(None, 1, is_durable=False), THROUGHPUT),
        # one sync call in the end: a single latency has no median
        (TrialKind(16 * KIB, 1, is_durable=True, has_latency=False), THROUGHPUT),
        (TrialKind(4 * KIB, 32, is_durable=False, has_response=True), RESPONSE),
    ],
)
def test_waiting_is_judged_by_latency_and_moving_by_throughput(kind: TrialKind, metric: str) -> None:
    assert judged_metric([kind, kind]) == metric


def test_a_workload_of_many_sizes_has_one_number() -> None:
    assert judged_metric([TrialKind(size, 1, is_durable=True) for size in (1, 4 * KIB, MIB)]) == LATENCY
