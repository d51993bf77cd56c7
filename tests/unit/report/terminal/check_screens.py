"""What the tests of a check's screen share: the lines that it prints, and what goes into it."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from drivelab.model.estimate import Estimate
from drivelab.report.content import ReportContent, TrialContent
from drivelab.report.terminal.check_screen import render_check_screen
from drivelab.report.terminal.text import text_console

# the console adds where the page lies
LINES_MAX = 25 - 2
MakeEstimate = Callable[..., Estimate]


def shown(content: ReportContent, *, plain: bool = False, width: int = 80) -> list[str]:
    """The lines that a console prints."""
    file = io.StringIO()
    text_console(file).print(render_check_screen(content, plain=plain, width=width))
    return [line.rstrip() for line in file.getvalue().splitlines()]


def trial(name: str, label: str, operation: str, estimates: dict[str, Estimate], **workload: Any) -> TrialContent:
    return TrialContent(name, label, operation, estimates=estimates, workload=workload)


def whole_check(make_estimate: MakeEstimate) -> ReportContent:
    """A check of a directory with every trial."""
    durable = {
        "iops": make_estimate(2630, 2600, 2660, "1/s"),
        "total_latency_ns_p50": make_estimate(333_000, 320_000, 345_000),
        "total_latency_ns_p99": make_estimate(950_000, 790_000, 1_250_000),
        "device_writes_per_operation": make_estimate(3, 3, 3, "1"),
        "device_flushes_per_operation": make_estimate(1, 1, 1, "1"),
    }
    rates = {
        "iops": make_estimate(12_345, 12_000, 12_700, "1/s"),
        "throughput_bytes_per_s": make_estimate(1.39e9, 1.37e9, 1.41e9, "B/s"),
    }
    sizes = (512, 2300, 4096, 16384)
    trials = [trial(f"sync-write-{n}", f"{n} B appended + fdatasync", "durable_write", durable) for n in sizes]
    for kind, size in (("sequential", 2**20), ("random", 4096)):
        for depth in (1, 8):
            for operation in ("read", "write"):
                asked = {"block_sizes": [{"bytes": size}], "queue_depth": depth, "access": {"kind": kind}}
                trials.append(trial(f"{kind}-{operation}-qd{depth}", "", operation, rates, **asked))
    return ReportContent("check-a", "Check of /srv/a", "Is it fit?", tuple(trials))


def need(name: str, outcome: str) -> dict[str, Any]:
    return {"need": name, "title": name, "outcome": outcome, "sentence": f"{name}: 5 a second"}


def check_of(trial: str, metric: str, value: tuple[float, float, float], limit: float) -> dict[str, Any]:
    """A limit as a verdict stores it, met or at least not missed."""
    unit, direction = ("ns", "at_most") if "latency" in metric else ("1/s", "at_least")
    is_met = value[2] <= limit if direction == "at_most" else value[1] >= limit
    threshold = {"trial": trial, "metric": metric, "direction": direction, "limit": limit, "unit": unit}
    threshold |= {"text": "within {value}", "force": "required", "source": ""}
    estimate = dict(zip(("value", "low", "high"), value, strict=True)) | {"unit": unit, "sample_count": 9}
    estimate |= {"effective_sample_count": 9.0, "method": ""}
    return {"threshold": threshold, "estimate": estimate, "outcome": "pass" if is_met else "undecided"}
