"""Needs, and estimates of trials that they are held against."""

from __future__ import annotations

from drivelab.model.estimate import Estimate, Unit
from drivelab.model.trial_summary import TrialSummary
from drivelab.needs.load import load_need

ETCD, POSTGRES, CEPH, CONSUL, KAFKA = map(load_need, ("etcd", "postgres", "ceph", "consul", "kafka"))
MS = 1_000_000.0


def estimate(value: float | None, low: float | None, high: float | None, unit: Unit = "ns") -> Estimate:
    return Estimate(value, low, high, unit, 5000, 4000.0, "")


def near(value: float, unit: Unit = "ns") -> Estimate:
    return estimate(value, 0.9 * value, 1.1 * value, unit)


def etcd_trials(p99: Estimate, iops: float = 1200.0) -> list[TrialSummary]:
    return [
        TrialSummary("sync-write-2300", "", "durable_write", {"total_latency_ns_p99": p99}),
        TrialSummary("sync-write-16384", "", "durable_write", {"iops": near(iops, "1/s")}),
    ]
