"""A sample of what ``make prove`` demands of findings on random trials with a fault around the drive."""

from __future__ import annotations

import pytest
from faulty_trials import CONSEQUENCES, FAULTS, told_of
from random_sorts import SORTS, TRUE_OF_SORT

_TRIALS = 4


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str) -> None:
    for seed in range(10_000, 10_000 + _TRIALS):
        codes = told_of(fault, seed)
        assert FAULTS[fault] in codes
        # few sorts of chance are left in one trial: a drift, or a level that moves
        assert codes <= {FAULTS[fault], "drift", "level-moves"} | CONSEQUENCES.get(fault, set())


@pytest.mark.parametrize("sort", SORTS)
def test_nothing_is_found_where_nothing_is(sort: str) -> None:
    for seed in range(10_000, 10_000 + 2 * _TRIALS):
        assert told_of("", seed, sort) <= TRUE_OF_SORT.get(sort, set())
