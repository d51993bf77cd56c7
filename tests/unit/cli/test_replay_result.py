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
    return {"targets": [target], "speed": 0.0, "recording": {"queue_depth": 1, "made_room": False}}


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


def test_one_pass_each_ranks_nothing_for_sure() -> None:
    told = document()
    first, second = (told["targets"][0] | {"target": name} for name in ("/a", "/b"))
    told["targets"] = [first, second | {"rank_ns": 3 * 10**6}]
    assert next(iter(replay_lines(told))) == (
        "/a looked best for this load: it took 1 ms there in all, 3.00x as long on /b; with one pass each that "
        "may be chance."
    )
    told["targets"] = [first, second | {"rank_ns": 1_050_000}]
    assert next(iter(replay_lines(told))) == (
        "/a and /b cannot be told apart for this load: it took 1 ms and 1.05 ms in all."
    )


def test_the_gravest_warning_of_each_target_has_its_line() -> None:
    three = [finding("warning", f"warning {number}") for number in range(3)]
    first = document(*three)["targets"][0] | {"target": "/a"}
    second = document(finding("warning", "all of it was late"))["targets"][0] | {"target": "/b"}
    lines = list(replay_lines(document() | {"targets": [first, second]}))
    assert lines[-3:] == ["  warning: /a: warning 0", "  warning: /b: all of it was late", "  warning: /a: warning 1"]


def test_appends_that_become_overwrites_are_not_compared() -> None:
    told = document()
    told["recording"]["made_room"] = True
    told["targets"][0]["operations"]["write"]["recorded"] = {"p50_ns": 3e5, "p99_ns": 4e5}
    first = next(iter(replay_lines(told)))
    assert "not comparable with the recorded 300 us" in first
    assert "as long as recorded" not in first
