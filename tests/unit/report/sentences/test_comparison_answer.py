"""The answer of a comparison of so few runs that nothing is judged."""

from __future__ import annotations

import pytest

from drivelab.model.comparison import ComparedRun, Comparison, MetricComparison
from drivelab.model.estimate import Estimate
from drivelab.report.sentences.comparison_answer import answers


def seen(ratio: float) -> MetricComparison:
    """A latency of one run on each side."""
    return MetricComparison(
        workload="log",
        label="appends",
        target_base="sdb",
        target_new="sdb",
        levels={},
        metric="total_latency_ns_p50",
        unit="ns",
        is_judged=True,
        base=None,
        new=None,
        ratio=Estimate(ratio, None, None, "1", 2, 2.0, ""),
        verdict="seen only",
        why=("one run each",),
    )


LOOKS = "Whether tuesday is better than monday can't be told from one run each: "


@pytest.mark.parametrize(
    ("ratios", "told"),
    [
        ((0.3, 1.45, 1.2), f"{LOOKS}of 3 numbers 1 looked better (3.3 times) and 2 worse (up to 1.4 times)."),
        ((0.8, 0.9, 1.03, 1.004), f"{LOOKS}of 4 numbers 2 looked better (up to 1.2 times), 1 worse (3 %) and 1 alike."),
        ((180.0, 1.2, 4.0), "tuesday looked worse than monday in all 3 numbers (1.2 to 180 times); one run each, so"),
        ((1.03, 1.7, 1.001), "tuesday looked worse than monday in 2 of 3 numbers (3 % to 1.7 times); one run each, so"),
    ],
)
def test_of_numbers_of_one_run_none_is_the_answer_and_they_are_counted_as_the_table_does(
    ratios: tuple[float, ...], told: str
) -> None:
    sides = (ComparedRun("monday", ""),), (ComparedRun("tuesday", ""),)
    answer = answers(Comparison(*sides, margin=0.05, rows=tuple(map(seen, ratios))))[0]
    assert answer.startswith(told)
    assert answer.endswith("how far another run would differ is unknown.") is ("looked worse" in told)
