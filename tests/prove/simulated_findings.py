"""Findings on random simulated drives with known faults: the table of docs/findings.md."""

from __future__ import annotations

import pytest

from faulty_drives import FAULTS, told_of

_DRIVES = 200
_HEALTHY = 1000


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str) -> None:
    told = [told_of(fault, seed) for seed in range(_DRIVES)]
    found = sum(FAULTS[fault] in codes for codes in told) / _DRIVES
    others = {kind: sum(kind in codes for codes in told) / _DRIVES for kind in FAULTS.values() if kind != FAULTS[fault]}
    print(f"\n  {fault}: {found:.3f} found, others {others}", end="")
    assert found >= 0.98
    assert max(others.values()) <= 0.02


def test_nothing_is_found_where_nothing_is() -> None:
    told = [told_of("", seed) for seed in range(_HEALTHY)]
    alarms = {kind: sum(kind in codes for codes in told) / _HEALTHY for kind in FAULTS.values()}
    print(f"\n  healthy: {alarms}", end="")
    assert max(alarms.values()) <= 0.02
