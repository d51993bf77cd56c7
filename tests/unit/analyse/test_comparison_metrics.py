"""Which numbers of a workload two sides are compared by."""

from __future__ import annotations

import pytest

from drivelab.analyse.comparison import ComparedTrial, shown_metrics
from drivelab.analyse.judged_metric import TrialKind
from drivelab.analyse.run_answer import RunTrial


@pytest.mark.parametrize(
    ("block_size", "outstanding", "metric"),
    [
        (4096, 32, "iops"),
        (4096, 1, "total_latency_ns_p50"),
        (1 << 20, 8, "throughput_bytes_per_s"),
    ],
)
def test_small_ios_that_nobody_waits_for_are_compared_by_their_number(
    block_size: int, outstanding: int, metric: str
) -> None:
    kind = TrialKind(block_size, outstanding, is_durable=False)
    trial = RunTrial("a", "sdb", "reads", 1, {}, {}, kind, {})
    assert shown_metrics([ComparedTrial(0, "0", trial)])[0] == metric
