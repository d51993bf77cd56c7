"""How the throughput of stored trials went, as read back: old runs are judged by the code of today."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.answers import courses
from drivelab.answers.courses import asks_over_time, courses_of_run
from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run
from drivelab.store.read import StoredRun, open_run

RUNS = Path(__file__).resolve().parents[2] / "golden" / "runs"


@pytest.fixture
def filled() -> StoredRun:
    """Large writes to 20, 60 and 100 % of a drive, twice each."""
    return open_run(RUNS / "fill-level-drive")


def test_levels_are_those_that_the_run_was_made_with(filled: StoredRun) -> None:
    answer = answer_of_run(filled, SHOWN_METRICS)
    assert set(answer.courses) == set(filled.trial_names)
    low, middle, high = (answer.courses[one.trials[0]] for one in answer.combinations)
    assert low.changes == ()
    for course, slower in ((middle, 1.9), (high, 4.6)):
        assert course.cliff is not None
        assert course.cliff.ratio.value == pytest.approx(1 / slower, rel=0.1)
        # the trial ended long before 2 % of 480 GB were written at the lower level
        assert course.cliff_lasts_to_end
        assert course.moved_bytes == course.levels[-1].end_bytes
    assert high.steady is not None
    assert high.steady.verdict == "undecided"
    assert answer.to_json()["courses"][filled.trial_names[0]]["text"] == ""


def test_a_run_that_does_not_ask_for_it_is_not_looked_through() -> None:
    scan = open_run(RUNS / "settings-scan-drive")
    assert not asks_over_time(scan)
    assert answer_of_run(scan).courses == {}


def test_many_trials_are_read_some_at_a_time(filled: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = courses_of_run(filled, filled.trial_names)
    monkeypatch.setattr(courses, "_AT_A_TIME", 2)
    assert courses_of_run(filled, filled.trial_names) == whole
    monkeypatch.setattr(courses, "TRIALS_MAX", 3)
    assert list(courses_of_run(filled, filled.trial_names)) == filled.trial_names[:3]


def test_the_capacity_comes_from_the_target(filled: StoredRun) -> None:
    small = {"label": "sdb", "facts_before": {"kind": "block_device", "size_bytes": 10**9, "drives": []}}
    run = StoredRun(filled.directory, filled.run_json | {"targets": [small]})
    course = courses_of_run(run, filled.trial_names)["0003-random-write"]
    assert course.steady is not None
    assert course.steady.round_bytes == 5 * 10**7
    assert course.steady.round_count >= 20
    nobody = StoredRun(filled.directory, filled.run_json | {"targets": None})
    other = courses_of_run(nobody, filled.trial_names)["0003-random-write"]
    assert other.steady is not None
    # the range that the trial used
    assert other.steady.round_bytes == round(268435456 / 20)


def test_trials_that_are_not_there_have_none(filled: StoredRun) -> None:
    assert courses_of_run(filled, ["nothing"]) == {}
