"""What is said of writes that end in the page cache, in a run of a job file."""

from __future__ import annotations

from typing import Any

import pytest

from drivelab.report.content import TrialContent
from drivelab.report.sentences.memory import taken_by_memory


def trial(label: str, operation: str = "write", **changes: Any) -> TrialContent:
    asked = {
        "operations": [{"operation": operation}],
        "direct": False,
        "backend": "sync",
        "durability": {"method": "none", "at_end": False},
    }
    return TrialContent(label, label, operation, workload=asked | changes)


def test_a_job_whose_writes_end_in_memory_is_named() -> None:
    assert list(taken_by_memory([trial("ars"), trial("reader", "read")])) == [
        "ars: a write is over when it lies in the page cache: what a durable one takes no number says."
    ]
    several = [trial("one"), trial("two", durability={"method": "fsync", "at_end": True})]
    assert next(taken_by_memory(several)).startswith("A write is over")


@pytest.mark.parametrize(
    "other",
    [
        trial("b", direct=True),
        trial("b", durability={"method": "fdatasync", "at_end": False}),
        trial("b", backend="null"),
    ],
)
def test_beside_what_tells_more_it_is_not_said(other: TrialContent) -> None:
    assert list(taken_by_memory([trial("a"), other])) == []
    assert list(taken_by_memory([trial("a", "read")])) == []
