"""Several runs of each of several drives: one result of each drive in tables, figures and on the card."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_up_results import MICROSECOND, observed, result_set

from drivelab.model.estimate import Estimate
from drivelab.model.result_set import Machine, ResultSet
from drivelab.reference.load import load_reference
from drivelab.report.card.content import card_of
from drivelab.report.content import ReportContent
from drivelab.report.joint import Joint
from drivelab.report.joint_of import joint_of

QUESTION = "What does one durable byte cost?"


def run(number: int, drive: str, value: float, **changes: object) -> ResultSet:
    """A run at its own minute, whose single latency is between 1 % less and 1 % more."""
    minute = f"2026-01-31 10:{number:02}"
    one = observed(drive, value, 0.99 * value, 1.01 * value, trial_count=3, is_judged=True)
    return result_set(f"20260131T10{number:02}00Z-small", one, **({"measured": minute} | changes))


def joint(*sets: ResultSet) -> Joint:
    """A report of these runs."""
    own = [one for one in sets if not one.is_reference]
    return joint_of([ReportContent(one.key, one.title, one.question, ()) for one in own], sets)


def three_of_two() -> list[ResultSet]:
    """Three runs of each of two drives, in turn."""
    pairs = [("A", 50.0), ("B", 100.0), ("A", 54.0), ("B", 104.0), ("A", 52.0), ("B", 110.0)]
    return [run(number, drive, value) for number, (drive, value) in enumerate(pairs)]


def test_drives_with_several_runs_each_are_one_result_each() -> None:
    found = joint(*three_of_two())
    (joined,) = found.drive_sets
    assert [drive.name for drive in joined.drives] == ["A (3 runs)", "B (3 runs)"]
    one, other = joined.observations
    assert (one.drive, one.trial_count, one.run) == ("A (3 runs)", 3, "")
    assert [end / MICROSECOND for end in (one.estimate.low, one.estimate.value, one.estimate.high)] == [50, 52, 54]
    assert other.estimate.value == 104 * MICROSECOND
    # a run is what a report is made of: nothing of it is lost
    assert len(found.result_sets) == 6
    beside = next(table for table in found.tables if table.key.startswith("drives-beside"))
    assert [column.name.partition(" [")[0] for column in beside.columns][-2:] == ["A (3 runs)", "B (3 runs)"]
    card = card_of(found)
    assert card.rows is not None
    assert [row.name for row in card.rows.rows] == ["A (3 runs)", "B (3 runs)"]
    assert card.where.startswith("A (3 runs), B (3 runs)")


def test_a_run_with_trials_that_do_not_describe_the_drive_makes_its_number_doubtful() -> None:
    sets = three_of_two()
    wrong = replace(sets[0].observations[0], invalid_trials=2)
    sets[0] = replace(sets[0], observations=(wrong,))
    of_a, of_b = joint(*sets).drive_sets[0].observations
    assert (of_a.invalid_trials, of_a.trial_count, of_b.invalid_trials) == (1, 3, 0)


def test_a_bound_of_one_run_is_one_of_its_drive() -> None:
    sets = three_of_two()
    bound = Estimate(None, 48 * MICROSECOND, None, "ns", 5, 5.0, "bound", observed=51 * MICROSECOND)
    sets[0] = replace(sets[0], observations=(replace(sets[0].observations[0], estimate=bound),))
    estimate = joint(*sets).drive_sets[0].observations[0].estimate
    assert (estimate.value, estimate.low, estimate.high) == (None, 48 * MICROSECOND, None)
    assert estimate.observed == 52 * MICROSECOND


def test_what_one_run_alone_measured_stays_as_it_is() -> None:
    sets = three_of_two()
    more = observed("B", 7.0, 6.0, 8.0, workload="large", title="large reads", block_size_bytes=1 << 20)
    sets[1] = replace(sets[1], observations=(*sets[1].observations, more))
    found = {one.workload: one for one in joint(*sets).drive_sets[0].observations if one.drive.startswith("B")}
    assert (found["large"].estimate, found["large"].trial_count) == (more.estimate, 1)


def test_a_published_page_stands_beside_the_joined_runs() -> None:
    page = load_reference("intel-530")
    assert [one.key for one in joint(*three_of_two(), page).drive_sets][1:] == [page.key]


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param([run(0, "A", 50.0), run(1, "A", 54.0)], id="runs of one drive"),
        pytest.param([run(0, "A", 50.0), run(1, "B", 54.0)], id="one run of each"),
        pytest.param(
            [*three_of_two(), run(9, "A", 60.0, machines=(Machine("pike", kernel="7.0", cpu="made up"),))],
            id="another kernel",
        ),
        pytest.param([*three_of_two(), run(9, "A", 60.0, question="How fast?")], id="another question"),
    ],
)
def test_what_is_not_the_same_again_is_not_joined(changed: list[ResultSet]) -> None:
    found = joint(*changed)
    assert found.drive_sets == found.result_sets


def test_another_firmware_is_another_result() -> None:
    sets = three_of_two()
    sets[0] = replace(sets[0], drives=(replace(sets[0].drives[0], firmware="2.0"),))
    found = joint(*sets)
    assert found.drive_sets == found.result_sets
