"""A sample of what ``make prove`` demands of findings on random runs with a known fault of the run as a whole."""

from __future__ import annotations

import pytest
from faulty_runs import RUN_FAULTS, told_of_import, told_of_run

_RUNS = 10


@pytest.mark.parametrize("fault", RUN_FAULTS)
def test_a_fault_of_a_run_is_told_rightly(fault: str) -> None:
    for seed in range(10_000, 10_000 + _RUNS):
        is_told, codes, tells_reach = told_of_run(fault, seed)
        assert is_told
        assert tells_reach
        # a drive that scatters may look like one that drifts
        assert codes <= {RUN_FAULTS[fault].code, "interval-reach", "reference-drift"}


def test_of_a_run_without_a_fault_only_the_reach_is_told() -> None:
    told = [told_of_run("", seed) for seed in range(10_000, 10_000 + 5 * _RUNS)]
    assert all(tells_reach for _, _, tells_reach in told)
    assert sum(codes != {"interval-reach"} for _, codes, _ in told) <= 2
    assert not any(told_of_import(seed) for seed in range(10_000, 10_000 + _RUNS))
