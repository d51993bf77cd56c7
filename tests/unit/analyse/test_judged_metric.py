"""Which number a workload is judged by."""

from __future__ import annotations

import pytest

from drivelab.analyse.judged_metric import TrialKind, judged_metric
from drivelab.model.judged_metric import LATENCY, MEAN_LATENCY, RATE, RESPONSE, THROUGHPUT

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
        # one sync call at the end: a single latency has no median
        (TrialKind(16 * KIB, 1, is_durable=True, has_latency=False), THROUGHPUT),
        (TrialKind(4 * KIB, 32, is_durable=False, has_response=True), RESPONSE),
        # a file that is gone through as a whole
        (TrialKind(8 * KIB, 1, is_durable=False, is_phase=True), THROUGHPUT),
        (TrialKind(8 * KIB, 1, is_durable=False, is_phase=True, has_throughput=False), LATENCY),
    ],
)
def test_waiting_is_judged_by_latency_and_moving_by_throughput(kind: TrialKind, metric: str) -> None:
    assert judged_metric([kind, kind]) == metric


def test_a_workload_of_many_sizes_has_one_number() -> None:
    assert judged_metric([TrialKind(size, 1, is_durable=True) for size in (1, 4 * KIB, MIB)]) == LATENCY


def test_a_mean_stands_for_the_median_only_where_nothing_else_was_told() -> None:
    own = TrialKind(4 * KIB, 1, is_durable=True)
    alone = TrialKind(4 * KIB, 1, is_durable=True, has_latency=False, is_mean_alone=True)
    assert judged_metric([alone, alone]) == MEAN_LATENCY
    assert judged_metric([own, alone]) == MEAN_LATENCY
    assert judged_metric([own, own]) == LATENCY
    # a trial of drivelab's own without a median has a throughput with an interval
    assert judged_metric([own, TrialKind(4 * KIB, 1, is_durable=True, has_latency=False)]) == THROUGHPUT


def test_operations_on_files_are_judged_by_their_rate_unless_they_arrive_by_a_schedule() -> None:
    kinds = [TrialKind(None, 1, is_durable=is_durable, is_on_files=True) for is_durable in (True, False)]
    assert judged_metric(kinds) == RATE
    assert judged_metric([TrialKind(None, 1, is_durable=True, has_response=True, is_on_files=True)]) == RESPONSE


def test_operations_without_bytes_are_judged_by_their_rate() -> None:
    kind = TrialKind(None, 1, is_durable=False, has_latency=False, has_throughput=False)
    assert judged_metric([kind]) == RATE
