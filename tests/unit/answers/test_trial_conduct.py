"""What decides what a workload's numbers mean, in words."""

from __future__ import annotations

from typing import Any

import pytest

from drivelab.answers.trial_conduct import asked_words
from drivelab.model.workload import Workload


def words_of(**changes: Any) -> dict[str, str]:
    workload = Workload.model_validate({"target": {"path": "data"}} | changes)
    return asked_words(workload.model_dump())


@pytest.mark.parametrize(
    ("changes", "name", "expected"),
    [
        ({}, "access", "random"),
        ({"access": {"kind": "sequential"}}, "access", "sequential"),
        ({"access": {"kind": "zipf", "zipf_theta": 1.2}}, "access", "zipf 1.2"),
        ({"access": {"kind": "pareto"}}, "access", "pareto 0.2"),
        ({"access": {"kind": "random", "run_blocks": 8}}, "access", "random, runs of 8 blocks"),
        (
            {"access": {"kind": "random", "random_fraction": 0.5, "covers_once": True}},
            "access",
            "random, 50 % of it",
        ),
        ({"durability": {"method": "fsync", "every_writes": 4}}, "durability", "fsync every 4 writes"),
        ({"durability": {"method": "fsync", "at_end": True}}, "durability", "fsync at the end"),
        ({"rewrite_fraction": 0.1}, "written back", "10 % of the reads"),
        ({"pacing": {"think_ns": 2_000_000}}, "pacing", "closed, 2 ms pause"),
    ],
)
def test_what_was_asked_is_told_where_it_matters(changes: dict[str, Any], name: str, expected: str) -> None:
    assert words_of(**changes)[name] == expected


def test_a_plain_workload_tells_of_no_write_back() -> None:
    assert "written back" not in words_of()
