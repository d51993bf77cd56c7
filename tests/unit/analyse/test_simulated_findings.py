"""A sample of what ``make prove`` demands of findings on random simulated drives."""

from __future__ import annotations

import pytest

from faulty_drives import FAULTS, told_of

_DRIVES = 6


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_and_no_other(fault: str) -> None:
    for seed in range(1000, 1000 + _DRIVES):
        assert told_of(fault, seed) & set(FAULTS.values()) == {FAULTS[fault]}


def test_nothing_is_found_where_nothing_is() -> None:
    for seed in range(1000, 1000 + 2 * _DRIVES):
        assert not told_of("", seed) & set(FAULTS.values())
