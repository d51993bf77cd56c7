"""What one workload came to, in the sentence that stands before its numbers."""

from __future__ import annotations

from collections.abc import Mapping

from drivelab.model.estimate import Estimate
from drivelab.model.judged_metric import (
    LATENCY,
    P99,
    RATE,
    RESPONSE,
    RESPONSE_P99,
    THROUGHPUT,
    are_waited_for,
    told_metric,
)
from drivelab.model.metric import metric_of
from drivelab.model.operations_apart import plural
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.units import format_bytes
from drivelab.model.workload import Workload
from drivelab.report.numerals import span_between, value_writer
from drivelab.report.parts_of_text import capitalised

_WORDS = {"p50": "at the median", "p99": "at p99"}


def io_answer(workload: Workload, summary: TrialSummary | None) -> str:
    """The number that the workload is judged by, with its interval; empty without any."""
    if summary is None or workload.backend == "null":
        return ""
    sizes = {share.bytes for share in workload.block_sizes}
    size = sizes.pop() if len(sizes) == 1 and workload.tree is None else None
    is_durable = summary.operation == "durable_write"
    outstanding = workload.queue_depth * workload.job_count
    depth = f", {outstanding} at a time" if outstanding > 1 else ""
    what = f"{f'{format_bytes(size)} ' if size else ''}{plural(summary.operation)}{depth}"
    is_scheduled = RESPONSE in summary.estimates
    told: list[str] = []
    if is_scheduled or are_waited_for([(size, is_durable, outstanding)]):
        names = (RESPONSE, RESPONSE_P99) if is_scheduled else (LATENCY, P99)
        told = [f"{number} {_WORDS[name[-3:]]}" for name in names if (number := _number(summary.estimates, name))]
        lead = f"{what} {'were answered within' if is_scheduled else 'took'}"
    if not told:
        name = told_metric(THROUGHPUT if size else RATE, [size])
        told = [number for one in (name, RATE) if (number := _number(summary.estimates, one))][:1]
        lead = f"{what}:"
    return f"{capitalised(lead)} {', '.join(told)}.".replace("µs", "us") if told else ""


def _number(estimates: Mapping[str, Estimate], name: str) -> str:
    """A number with its interval, or the bound that is known of it: ``169 us (95 % interval 165 to 172 us)``."""
    one, write = estimates.get(name), value_writer(name)
    if one is None or (one.value is None and one.low is None):
        return ""
    if one.value is None:
        return f"at least {write(one.low or 0.0)}"
    if one.low is None or one.high is None:
        end = "too few to tell how sure" if one.low is None else f"at least {write(one.low)}"
        return f"{write(one.value)} ({end})"
    interval = "" if metric_of(name).quantity == "latency" and name.endswith("p99") else "95 % interval "
    return f"{write(one.value)} ({interval}{span_between(write(one.low), write(one.high))})"
