"""Combinations with numbers of their own, and the sentences that they come to."""

from __future__ import annotations

from drivelab.model.run_answer import CombinationResult, RepeatedMetric, RunAnswer
from drivelab.report.sentences.run import plain_text, run_sentences

LATENCY, THROUGHPUT = "total_latency_ns_p50", "throughput_bytes_per_s"


def combination(median: float, metric: str = LATENCY, *, reached: float = 1.0, **changes: object) -> CombinationResult:
    unit = "ns" if metric == LATENCY else "B/s"
    given: dict[str, object] = {
        "target": "sdb",
        "workload": "small",
        "label": "small writes",
        "levels": {},
        "achieved": {},
        "metrics": {
            metric: RepeatedMetric(median, median, median, unit, 3),  # type: ignore[arg-type]
            "reached_device_share": RepeatedMetric(reached, reached, reached, "1", 3),
        },
        "judged_metric": metric,
        "trials": ("a", "b", "c"),
        "block_size_bytes": 4096,
        "is_durable": True,
    }
    return CombinationResult(**(given | changes))  # type: ignore[arg-type]


def told(answer: RunAnswer) -> tuple[str, ...]:
    return tuple(plain_text(sentence) for sentence in run_sentences(answer))
