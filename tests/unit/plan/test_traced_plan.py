"""A plan whose trials are traced says what that costs, and is carried out again as it was made."""

from __future__ import annotations

import json
from typing import Any

import pytest

from drivelab.model.plan import Plan
from drivelab.model.target import TargetFacts
from drivelab.plan.budget import TRACED_NS_MAX, TRACED_OPERATIONS, TRACING_NS
from drivelab.plan.make import make_plan
from drivelab.run import traced_pass

from .conftest import MakeExperiment

DURABLE = {"name": "w", "block_size": "4KiB", "file_state": "append", "durability": "fdatasync", "backend": "sync"}


def traced(experiment: MakeExperiment, target: TargetFacts, **keys: Any) -> Plan:
    return make_plan(experiment(workloads=[DURABLE | keys]), [target], seed=1, trace="auto")


def test_the_traced_pass_is_the_one_that_the_run_makes() -> None:
    assert (traced_pass.OPERATIONS, traced_pass.LONGEST_NS) == (TRACED_OPERATIONS, TRACED_NS_MAX)


@pytest.mark.parametrize(
    ("keys", "operations"),
    [({"count": 300}, 300), ({"count": 10**6}, TRACED_OPERATIONS), ({"bytes": "1MiB"}, 256)],
)
def test_every_trial_is_issued_once_more_and_none_is_counted_besides(
    experiment: MakeExperiment, directory: TargetFacts, keys: dict[str, Any], operations: int
) -> None:
    plan = traced(experiment, directory, **keys)
    assert dict(plan.preparation) == {"tracing": 4 * operations * 4096}
    assert {step.preparation_bytes for step in plan.steps} == {operations * 4096}


def test_reads_are_traced_and_write_nothing(experiment: MakeExperiment, scratch: TargetFacts) -> None:
    read = {"name": "r", "operation": "read", "access": "random", "count": 100, "file_size": "64MiB"}
    plan = make_plan(experiment(workloads=[read]), [scratch], seed=1, trace="auto")
    untraced = make_plan(experiment(workloads=[read]), [scratch], seed=1)
    assert plan.bytes_written == untraced.bytes_written
    assert plan.expected_ns >= untraced.expected_ns + 4 * TRACING_NS


def test_it_takes_longer_by_the_traced_passes_and_no_more_than_their_limit(
    experiment: MakeExperiment, directory: TargetFacts
) -> None:
    long = experiment(workloads=[DURABLE | {"runtime": "60s"}])
    plan, untraced = (make_plan(long, [directory], seed=1, trace=choice) for choice in ("auto", None))
    longer_ns = plan.expected_ns - untraced.expected_ns
    assert 0 < longer_ns <= 4 * (TRACED_NS_MAX + TRACING_NS)


@pytest.mark.parametrize("choice", ["auto", "relay", None])
def test_a_stored_plan_keeps_how_it_is_traced(experiment: MakeExperiment, directory: TargetFacts, choice: Any) -> None:
    plan = make_plan(experiment(workloads=[DURABLE | {"count": 10}]), [directory], seed=1, trace=choice)
    document = json.loads(json.dumps(plan.to_json()))
    assert Plan.from_json(document) == plan
    assert Plan.from_json(document).trace == choice


def test_a_plan_of_an_older_drivelab_is_not_traced(experiment: MakeExperiment, directory: TargetFacts) -> None:
    document = make_plan(experiment(), [directory], seed=1).to_json()
    del document["trace"]
    assert Plan.from_json(document).trace is None
