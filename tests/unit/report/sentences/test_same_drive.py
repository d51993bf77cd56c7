"""Several runs of one drive are no contest of drives: what it gave is told run by run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_up_results import levels, observed, result_set

from drivelab.model.result_set import MeasuredDrive, Observation, ResultSet
from drivelab.report.sentences.same_drive import drives_of_runs
from drivelab.report.sentences.several_drives import joint_sentences
from drivelab.report.told_apart import told_apart


def sentences(*sets: ResultSet) -> tuple[str, ...]:
    """As a report has them."""
    sets = tuple(
        replace(each, observations=tuple(replace(one, run=each.key) for one in each.observations)) for each in sets
    )
    shown = told_apart(sets)
    return tuple(text.replace("\u00a0", " ") for text in joint_sentences(shown, drives_of_runs(sets, shown)))


def of_filesystems(drive: str, *values: float) -> list[Observation]:
    """One combination for each value."""
    names = ("raw", "ext4", "xfs")
    return [
        observed(drive, value, value - 5, value + 5, levels=levels(filesystem=name))
        for value, name in zip(values, names, strict=True)
    ]


def test_two_runs_of_one_drive_are_told_run_by_run_with_the_command_that_judges() -> None:
    monday = result_set("monday", observed("A", 110, 108, 112))
    friday = result_set("friday", observed("A", 100, 95, 105), measured="2026-02-04")
    told, command = sentences(monday, friday)
    assert told.startswith(
        "512 B durable write, median latency: the same drive, A, gave 110 µs (95 %: 108 to 112 µs) in monday and "
        "100 µs (95 %: 95.0 to 105 µs) in friday; one run each, so how far another run would differ is unknown."
    )
    assert "beyond" not in told
    assert "fast" not in told
    assert command == "Whether the drive changed from one run to another: drivelab compare monday friday."


def test_runs_that_overlap_are_told_alike() -> None:
    told, _ = sentences(
        result_set("a", observed("A", 100, 95, 105)),
        result_set("b", observed("A", 101, 95, 105), measured="2026-02-04"),
    )
    assert told.endswith("in b; one run each, so how far another run would differ is unknown.")


def test_runs_that_gave_the_same_number_are_said_to() -> None:
    told, _ = sentences(
        result_set("a", observed("A", 100, 95, 105)),
        result_set("b", observed("A", 100, 95, 105), measured="2026-02-04"),
    )
    assert ": the same drive, A, gave the same in both runs: 100 µs (95 %: 95.0 to 105 µs); one run each" in told


def test_of_many_combinations_it_is_told_how_many_differ() -> None:
    best, count, command = sentences(
        result_set("a", *of_filesystems("A", 50, 300, 200)), result_set("b", *of_filesystems("A", 100, 301, 201))
    )
    assert "at filesystem raw, median latency: the same drive, A, gave 50.0 µs" in best
    assert count == (
        "512 B durable write: the ranges of its runs overlap in 2 of 3 combinations of settings; one run each, "
        "so how far another run would differ is unknown."
    )
    assert command.endswith("drivelab compare a b.")


def test_where_no_combination_differs_it_is_said() -> None:
    told, _ = sentences(
        result_set("a", *of_filesystems("A", 50, 300, 200)), result_set("b", *of_filesystems("A", 51, 301, 201))
    )
    # no number of one run stands as the best beside another that has its best elsewhere
    assert told == (
        "512 B durable write: the same drive, A; the ranges of its runs overlap in all 3 combinations of settings; "
        "one run each, so how far another run would differ is unknown."
    )


def test_another_serial_is_another_drive() -> None:
    sets = [result_set("a", observed("A", 100, 95, 105)), result_set("b", observed("A", 250, 240, 260))]
    sets[1] = replace(sets[1], drives=(replace(sets[1].drives[0], serial="A-2"),))
    told, command = sentences(*sets)
    assert "A (a) looks fastest with 100 µs" in told
    assert told.endswith("; one run each, so how far another run would differ is unknown.")
    assert "same drive" not in told
    assert command == ("Which is faster takes 3 runs of each at least: drivelab compare a b --base RUN --new RUN.")


@pytest.mark.parametrize(("machine", "is_same"), [("pike", True), ("perch", False)])
def test_without_a_serial_the_target_on_its_machine_tells(machine: str, is_same: bool) -> None:
    sets = [result_set("a", observed("/srv", 100, 95, 105))]
    sets.append(result_set("b", observed("/srv", 250, 240, 260, machine=machine), measured="2026-02-04"))
    for place, name in enumerate(("pike", machine)):
        host = replace(sets[0].machines[0], name=name)
        drive = MeasuredDrive("/srv", machine=name, kind="directory on ext4")
        sets[place] = replace(sets[place], machines=(host,), drives=(drive,))
    assert ("the same drive, /srv, gave" in sentences(*sets)[0]) is is_same


def test_beside_another_drive_its_runs_are_one_drive_too() -> None:
    sets = (
        result_set("a", observed("A", 100, 95, 105)),
        result_set("b", observed("A", 120, 115, 125), measured="2026-02-04"),
        result_set("c", observed("B", 240, 235, 245)),
    )
    told, command = sentences(*sets)
    assert "A (2026-01-31) looks fastest with 100 µs (95 %: 95.0 to 105 µs), 2.4 times as fast as B" in told
    assert "; the same drive, A, gave 100 µs (95 %: 95.0 to 105 µs) in a and 120 µs" in told
    assert command.endswith("drivelab compare a b.")


@pytest.mark.parametrize(
    ("other", "words"), [(110, "cannot be told apart by all runs: 100 µs"), (127, "cannot be told apart by all runs")]
)
def test_a_drive_that_is_not_first_in_each_of_its_runs_is_not_the_fastest(other: float, words: str) -> None:
    sets = (
        result_set("a", observed("A", 100, 95, 105)),
        result_set("b", observed("A", 120, 115, 125), measured="2026-02-04"),
        result_set("c", observed("B", other, other - 4, other + 4)),
    )
    told, _ = sentences(*sets)
    assert words in told
    assert "fastest" not in told


def test_who_is_first_is_counted_by_drive() -> None:
    _, count, _ = sentences(
        result_set("a", *of_filesystems("A", 50, 100, 100)),
        result_set("b", *of_filesystems("A", 80, 70, 120)),
        result_set("c", *of_filesystems("B", 200, 200, 200)),
    )
    assert count == (
        "512 B durable write, 3 combinations of settings on 2 drives: "
        "A is first in 3; one run each, so how far another run would differ is unknown."
    )


def test_the_command_names_the_first_and_the_last_of_many_runs_and_quotes_them() -> None:
    sets = [
        result_set(f"run {n}", observed("A", 100 + n, 95 + n, 105 + n), measured=f"2026-02-0{n}") for n in (1, 2, 3)
    ]
    told, command = sentences(*sets)
    assert "gave from 101 µs (95 %: 96.0 to 106 µs) in run 1 to 103 µs" in told
    assert ", over 3 runs; one run each" in told
    assert command.endswith("drivelab compare 'run 1' 'run 3'.")
