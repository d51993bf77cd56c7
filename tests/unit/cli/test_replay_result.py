"""What a replay says: what voids its numbers before them, warnings behind them."""

from __future__ import annotations

from typing import Any

from drivelab.cli.replay_result import replay_lines


def document(*findings: dict[str, Any]) -> dict[str, Any]:
    quantiles = {"p50_ns": 1e5, "p99_ns": 2e5, "max_ns": 3e5}
    operation = {
        "count": 10,
        "recorded_count": 10,
        "waited_ns": 10**6,
        "recorded": None,
        "replayed": quantiles,
        "response": quantiles,
    }
    target = {
        "target": "/srv",
        "asked": {"count": 10, "length_ns": None, "queue_depth_max": 1},
        "achieved": {
            "count": 10,
            "late": 0,
            "length_ns": None,
            "start_late_ns_p50": None,
            "start_late_ns_p99": None,
            "backend": "uring",
            "direct": True,
            "queue_depth_max": 1,
        },
        "measured_ns": 10**6,
        "waited_ns": 10**6,
        "rank_ns": 10**6,
        "errors": [],
        "operations": {"write": operation},
        "findings": list(findings),
    }
    return {"targets": [target], "speed": 0.0, "recording": {"queue_depth": 1}}


def finding(severity: str, text: str) -> dict[str, Any]:
    return {"severity": severity, "text": text}


def test_what_voids_the_numbers_is_said_before_them_and_once() -> None:
    lines = list(replay_lines(document(finding("invalid", "memory answered"), finding("warning", "it was short"))))
    assert lines[0] == "Not to be trusted on /srv: memory answered."
    assert lines[1].startswith("On /srv this load's writes took ")
    assert [line for line in lines if "memory answered" in line] == lines[:1]
    assert lines[-1] == "  warning: it was short"


def test_a_replay_that_holds_begins_with_its_answer() -> None:
    lines = list(replay_lines(document()))
    assert lines[0].startswith("On /srv this load's writes took ")
    assert not any("trusted" in line for line in lines)
