"""Whatever lies below a quantile lies below every higher one."""

from __future__ import annotations

from pathlib import Path

from drivelab.model.estimate import Estimate
from drivelab.model.quantile_order import with_lows_in_order
from drivelab.store.read import open_run

RUNS = Path(__file__).resolve().parents[2] / "golden" / "runs"


def number(low: float | None, high: float | None = None) -> Estimate:
    return Estimate(600.0, low, high, "ns", 2000, 2000.0, "")


def test_a_bound_is_at_least_that_of_the_quantile_below_of_the_same_latency() -> None:
    stored = {
        "total_latency_ns_p999": number(553.0),
        "total_latency_ns_p99": number(554.0, 589.0),
        "total_latency_ns_p50": number(None),
        "total_latency_ns_mean": number(100.0, 200.0),
        "sync_total_latency_ns_p50": number(20.0, 30.0),
        "sync_total_latency_ns_p999": number(40.0),
    }
    told = with_lows_in_order(stored)
    assert told == stored | {"total_latency_ns_p999": number(554.0)}
    assert list(told) == list(stored)


def test_a_run_of_an_older_version_is_read_so() -> None:
    run = open_run(RUNS / "ssd-latency-scratch")
    raised = 0
    for trial in run.trial_names:
        found = run.estimates(trial)
        lows = [found[f"total_latency_ns_{name}"].low for name in ("p50", "p99", "p999")]
        known = [low for low in lows if low is not None]
        assert known == sorted(known)
        raised += len(known) == 3 and known[1] == known[2]
    assert raised
