"""Calls here beside the same calls there: how many times as long, and whether the interval holds the truth."""

from __future__ import annotations

import numpy as np
import pytest

from drivelab.analyse.replayed_calls import changed_calls
from drivelab.model.recording import CallPairs


def pairs(recorded: np.ndarray, replayed: np.ndarray, name: np.ndarray | None = None) -> CallPairs:
    zeros = np.zeros(len(recorded), dtype=np.int64)
    return CallPairs(zeros if name is None else name, zeros, recorded, replayed, None)


def test_the_interval_holds_the_true_ratio_of_medians_as_often_as_it_says() -> None:
    chance, held = np.random.default_rng(5), 0
    for _ in range(200):
        there, here = chance.lognormal(10, 1, 300), chance.lognormal(10, 1, 300) * 1.7
        (found,) = changed_calls(pairs(there, here), ["fsync"])
        held += found["times"]["low"] <= 1.7 <= found["times"]["high"]
    # 190 are expected, with a standard deviation of 3.1; Zou's intervals are rather too wide
    assert held >= 180


def test_a_change_is_told_from_chance() -> None:
    chance = np.random.default_rng(6)
    there = chance.lognormal(10, 0.3, 1000)
    (found,) = changed_calls(pairs(there, there * 1.5), ["fsync"])
    assert found["times"]["low"] > 1.2
    assert found["times"]["value"] == pytest.approx(1.5)
    assert found["added_ns"] == pytest.approx(there.sum() / 2, rel=1e-6)


def test_of_few_calls_there_is_a_ratio_and_no_interval() -> None:
    (found,) = changed_calls(pairs(np.array([2e6]), np.array([3e6])), ["fsync"])
    assert found["times"] == {"value": 1.5, "low": None, "high": None}
    (found,) = changed_calls(pairs(np.array([0.0]), np.array([3e6])), ["fsync"])
    assert found["times"] is None


def test_kinds_are_apart_and_files_are_named_by_what_was_added_on_them() -> None:
    name, file = np.array([0, 1, 1, 1]), np.array([0, 0, 1, 1])
    found = changed_calls(
        CallPairs(name, file, np.full(4, 100.0), np.array([100.0, 150.0, 300.0, 400.0]), np.full(4, 500.0)),
        ["read", "fsync"],
        ["/a", "/b"],
    )
    assert [(one["call"], one["count"], one["added_ns"]) for one in found] == [("fsync", 3, 550), ("read", 1, 0)]
    assert found[0]["files"] == [
        {"name": "/b", "count": 2, "added_ns": 500},
        {"name": "/a", "count": 1, "added_ns": 50},
    ]
    assert found[0]["response"]["p50_ns"] == 500
