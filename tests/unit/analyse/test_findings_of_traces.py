"""Findings about traced passes: told when a trial has no explanation, and only then."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simulated_trials import evidence, measured

from drivelab.analyse.findings import trace_incomplete
from drivelab.analyse.findings.evidence import TrialEvidence


def trial_with(**context: Any) -> TrialEvidence:
    trial = measured()
    return evidence(replace(trial, context=trial.context | context))


def test_why_a_trial_was_not_traced_is_told() -> None:
    (found,) = trace_incomplete.find(trial_with(trace=None, trace_reason="the tracer is in use"))
    assert found.severity == "note"
    assert "the tracer is in use" in found.text


def test_lost_events_are_told_with_their_number() -> None:
    (found,) = trace_incomplete.find(trial_with(trace={"lost_events": 7}, trace_reason=""))
    assert "could not keep 7 events" in found.text
    assert found.evidence["lost_events"] == 7


def test_a_whole_trace_and_a_run_without_one_are_not() -> None:
    assert trace_incomplete.find(trial_with(trace={"lost_events": 0}, trace_reason="")) == []
    assert trace_incomplete.find(trial_with()) == []
