"""One name means one thing in a report about several runs."""

from __future__ import annotations

from dataclasses import replace

from made_up_results import observed, result_set

from drivelab.model.result_set import Machine, PublishedCell, ResultSet
from drivelab.report.tables.drive_rows import drive_rows
from drivelab.report.told_apart import told_apart, with_targets


def names(sets: tuple[ResultSet, ...]) -> list[list[str]]:
    """Names of the drives, set by set; every observation and row goes by one of them."""
    for one in sets:
        known = {drive.name for drive in one.drives}
        assert {each.drive for each in one.observations} <= known
        assert {each.machine for each in one.observations} <= {machine.name for machine in one.machines} | {""}
        assert {drive.machine for drive in one.drives} <= {machine.name for machine in one.machines} | {""}
    return [[drive.name for drive in one.drives] for one in sets]


def test_a_drive_measured_on_two_days_is_told_by_the_day() -> None:
    sets = (
        result_set("monday", observed("A", 50), observed("B", 60)),
        result_set("friday", observed("A", 55), measured="2026-02-04"),
    )
    assert names(told_apart(sets)) == [["A (2026-01-31)", "B"], ["A (2026-02-04)"]]
    assert len(drive_rows(told_apart(sets))) == 3


def test_on_one_day_the_name_of_the_run_tells_them_apart() -> None:
    sets = (result_set("before", observed("A", 50)), result_set("after", observed("A", 55)))
    assert names(told_apart(sets)) == [["A (before)"], ["A (after)"]]


def test_of_one_day_the_time_tells_runs_apart_to_the_second() -> None:
    at = [f"20260131T1126{second}Z-queue-depth-a" for second in ("25", "34")]
    sets = [result_set(key, observed("A", 50), measured="2026-01-31 11:26") for key in at]
    assert names(told_apart(tuple(sets))) == [["A (11:26:25)"], ["A (11:26:34)"]]
    later = replace(sets[1], measured="2026-01-31 12:00")
    assert names(told_apart((sets[0], later))) == [["A (11:26)"], ["A (12:00)"]]


def test_two_runs_of_one_name_stay_apart_too() -> None:
    sets = (result_set("run", observed("A", 50)), result_set("run", observed("A", 55)))
    assert names(told_apart(sets)) == [["A (2026-01-31 run, run 1)"], ["A (2026-01-31 run, run 2)"]]


def test_one_day_two_questions_and_one_system_are_one_drive() -> None:
    other = observed("A", 70, workload="large", block_size_bytes=2**20)
    sets = (result_set("first", observed("A", 50)), result_set("second", other))
    assert names(told_apart(sets)) == [["A"], ["A"]]
    newer = replace(sets[1], machines=(Machine("pike", kernel="6.18.0", cpu="made up"),))
    assert names(told_apart((sets[0], newer))) == [["A (first)"], ["A (second)"]]
    firmware = replace(sets[1], drives=(replace(sets[1].drives[0], firmware="2.0"),))
    assert names(told_apart((sets[0], firmware))) == [["A (first)"], ["A (second)"]]


def test_published_names_stay_and_the_run_gives_way() -> None:
    page = result_set("reference:page", observed("A", 80), is_reference=True, measured="2014-03")
    run = result_set("mine", observed("A", 50))
    assert names(told_apart((run, page))) == [["A (2026-01-31)"], ["A"]]


def test_two_pages_with_one_drive_are_told_apart_with_their_printed_rows() -> None:
    cell = PublishedCell("effect", "A / Enabled", "latency", "8")
    first = result_set("reference:one", observed("A", 80), is_reference=True, measured="2014-03", cells=(cell,))
    second = result_set("reference:two", observed("A", 90), is_reference=True, measured="2016")
    apart = told_apart((first, second))
    assert names(apart) == [["A (published 2014-03)"], ["A (published 2016)"]]
    assert apart[0].cells[0].row == "A (published 2014-03) / Enabled"


def test_a_host_with_another_kernel_is_told_by_it_and_links_make_no_other_host() -> None:
    old = result_set("old", observed("A", 50))
    new = result_set("new", observed("B", 50), machines=(Machine("pike", kernel="6.18.0", cpu="made up"),))
    linked = result_set("old", observed("B", 50), machines=(replace(old.machines[0], links={"SATA": "6 Gbit/s"}),))
    assert [one.machines[0].name for one in told_apart((old, new))] == ["pike (Linux 6.12.41)", "pike (Linux 6.18.0)"]
    assert [one.machines[0].name for one in told_apart((old, linked))] == ["pike", "pike"]
    names(told_apart((old, new)))


def test_several_drives_of_a_run_have_the_targets_that_its_answer_speaks_of() -> None:
    one = result_set("run", observed("A 480 GB", 1.0), observed("B 120 GB", 2.0))
    labelled = replace(
        one, drives=tuple(replace(each, label=label) for each, label in zip(one.drives, ("sdb", "sdc"), strict=True))
    )
    named = with_targets(labelled)
    assert [drive.name for drive in named.drives] == ["sdb (A 480 GB)", "sdc (B 120 GB)"]
    assert [each.drive for each in named.observations] == ["sdb (A 480 GB)", "sdc (B 120 GB)"]
    # a target that is the name, and a page, stay as they are
    own = replace(labelled, drives=tuple(replace(each, label=each.name) for each in one.drives))
    assert with_targets(own) == own
    assert with_targets(replace(labelled, is_reference=True)) == replace(labelled, is_reference=True)
