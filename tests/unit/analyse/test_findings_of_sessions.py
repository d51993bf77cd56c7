"""A run that went on later: told as a note, and as a warning where it did not meet the same computer again."""

from __future__ import annotations

import pytest

from drivelab.analyse.findings import run_resumed
from drivelab.analyse.run_evidence import RunEvidence, SessionTrial

DAY = "2026-03-01T"
SECOND_NS = 1_000_000_000


def trial(session: int, started: str, *, measured_s: int = 60, **changes: object) -> SessionTrial:
    given: dict[str, object] = {"target": "sda", "found": {"write-cache": "on"}, "system": {"kernel_release": "6.18.1"}}
    return SessionTrial(session, f"{DAY}{started}+00:00", measured_s * SECOND_NS, **(given | changes))  # type: ignore[arg-type]


def evidence_of(*trials: SessionTrial) -> RunEvidence:
    evidence = RunEvidence()
    for number, one in enumerate(trials):
        evidence.add(f"{number:04}-small", session=one)
    return evidence


def test_one_session_is_no_finding() -> None:
    assert run_resumed.find_in_run(evidence_of(trial(1, "10:00:00"), trial(1, "18:00:00"))) == []
    assert run_resumed.find_in_run(RunEvidence()) == []


def test_a_run_that_went_on_is_noted_with_the_time_between() -> None:
    trials = (trial(1, "09:00:00"), trial(1, "10:00:00", measured_s=600), trial(2, "13:20:00"), trial(2, "14:00:00"))
    (found,) = run_resumed.find_in_run(evidence_of(*trials))
    assert (found.severity, found.trial) == ("note", "")
    assert found.text == "measured in 2 sessions with 3 h 10 min between"
    assert found.evidence == {"sessions": 2, "gaps_s": [11400.0], "differing": []}


def test_every_pause_is_told() -> None:
    trials = (trial(1, "10:00:00"), trial(2, "10:01:50"), trial(3, "12:02:50"))
    (found,) = run_resumed.find_in_run(evidence_of(*trials))
    assert found.text == "measured in 3 sessions with 50 s, 2 h between"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"found": {"write-cache": "off"}}, "write-cache of sda as found (on -> off)"),
        ({"system": {"kernel_release": "6.18.2"}}, "the kernel (6.18.1 -> 6.18.2)"),
    ],
)
def test_what_differs_between_sessions_is_a_warning(changes: dict[str, object], text: str) -> None:
    (found,) = run_resumed.find_in_run(evidence_of(trial(1, "10:00:00"), trial(2, "12:00:00", **changes)))
    assert found.severity == "warning"
    assert found.text.endswith(f"; they differ: {text}")
    assert found.evidence["differing"] == [text]
    assert found.advice


def test_another_boot_is_a_warning_and_an_unknown_one_is_not() -> None:
    boots = [{"boot_id": "a"}, {"boot_id": "b"}]
    trials = [trial(number, f"1{number}:00:00", system=boot) for number, boot in enumerate(boots, start=1)]
    (found,) = run_resumed.find_in_run(evidence_of(*trials))
    assert found.evidence["differing"] == ["the boot"]
    (unknown,) = run_resumed.find_in_run(evidence_of(trials[0], trial(2, "12:00:00", system={}, found={})))
    assert unknown.severity == "note"
