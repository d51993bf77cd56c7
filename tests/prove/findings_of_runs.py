"""Findings on random runs with a known fault of the run as a whole: the third table of docs/findings.md."""

from __future__ import annotations

import pytest
from faulty_runs import run_rates

_RUNS = 200
_HEALTHY = 1000


@pytest.mark.timeout(3600)
def test_what_happened_to_a_run_is_told_and_nothing_else() -> None:
    for fault, (code, recall, of_others, of_none) in run_rates(_RUNS, _HEALTHY).items():
        print(f"\n| {fault} | `{code}` | {recall:.3f} | {of_others:.4f} | {of_none:.3f} |", end="")
        assert recall >= 0.98, fault
        assert max(of_others, of_none) <= 0.02, fault
