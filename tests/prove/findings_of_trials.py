"""Findings on random trials with a known fault around the drive: the second table of docs/findings.md."""

from __future__ import annotations

import pytest
from faulty_trials import rates

_TRIALS = 200
_HEALTHY = 1000


@pytest.mark.timeout(7200)
def test_every_kind_is_found_and_said_of_nothing_else() -> None:
    for fault, (code, recall, of_others, of_none) in rates(_TRIALS, _HEALTHY).items():
        print(f"\n| {fault} | `{code}` | {recall:.3f} | {of_others:.4f} | {of_none:.3f} |", end="")
        assert recall >= 0.98, fault
        assert max(of_others, of_none) <= 0.02, fault
