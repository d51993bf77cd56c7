"""Comparisons made of a few rows."""

from __future__ import annotations

from dataclasses import replace

from drivelab.model.comparison import ComparedRun, Comparison, ComparisonVerdict, MetricComparison, SideValues
from drivelab.model.estimate import Estimate


def row(
    ratio: float = 1.5, verdict: ComparisonVerdict = "slower", metric: str = "total_latency_ns_p50", **changes: object
) -> MetricComparison:
    """One number."""
    given: dict[str, object] = {
        "workload": "log",
        "label": "4 KiB appended + fdatasync",
        "target_base": "sdb",
        "target_new": "sdb",
        "levels": {"filesystem": "ext4"},
        "metric": metric,
        "unit": "ns" if "latency" in metric else "B/s",
        "is_judged": True,
        "base": SideValues(3e5, 2.9e5, 3.1e5, 1, 5),
        "new": SideValues(3e5 * ratio, 2.9e5 * ratio, 3.1e5 * ratio, 1, 5),
        "ratio": Estimate(ratio, ratio / 1.05, ratio * 1.05, "1", 10, 10.0, "made"),
        "verdict": verdict,
        "detectable_ratio": 1.08,
    }
    return MetricComparison(**(given | changes))  # type: ignore[arg-type]


def with_ratio(ratio: Estimate, verdict: ComparisonVerdict = "slower", **changes: object) -> MetricComparison:
    """One number with an interval of its own."""
    return replace(row(ratio.value or 1.0, verdict, **changes), ratio=ratio)  # type: ignore[arg-type]


def comparison(*rows: MetricComparison, **changes: object) -> Comparison:
    """Two sides of one run each."""
    given: dict[str, object] = {
        "base": (ComparedRun("monday", "runs/monday"),),
        "new": (ComparedRun("tuesday", "runs/tuesday"),),
        "margin": 0.05,
        "rows": rows,
    }
    return Comparison(**(given | changes))  # type: ignore[arg-type]
