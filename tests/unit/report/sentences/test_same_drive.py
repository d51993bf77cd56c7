"""Several runs of one drive are no contest of drives: what it gave is told run by run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_up_results import levels, observed, result_set

from drivelab.model.result_set import MeasuredDrive, Observation, ResultSet
from drivelab.report.sentences.drive_names import DriveOfRun, drives_of_runs
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
    assert told == (
        "A, the same drive, gave 110 µs (95 %: 108 to 112 µs) and then 100 µs (95 %: 95.0 to 105 µs) at "
        "512 B durable write; one run each, so another run may differ."
    )
    assert "beyond" not in told
    assert "fast" not in told
    assert command == "Whether the drive changed from one run to another: drivelab compare monday friday."


def test_runs_are_told_in_the_order_in_which_they_were_made() -> None:
    told, _ = sentences(
        result_set("20260204T120000Z-log-a", observed("A", 100, 95, 105), measured="2026-02-04"),
        result_set("20260131T120000Z-log-a", observed("A", 110, 108, 112)),
    )
    assert told.startswith("A, the same drive, gave 110 µs (95 %: 108 to 112 µs) and then 100 µs (")


def test_runs_that_overlap_are_told_alike() -> None:
    told, _ = sentences(
        result_set("a", observed("A", 100, 95, 105)),
        result_set("b", observed("A", 101, 95, 105), measured="2026-02-04"),
    )
    assert told.endswith(" at 512 B durable write; one run each, so another run may differ.")


def test_runs_that_gave_the_same_number_are_said_to() -> None:
    told, _ = sentences(
        result_set("a", observed("A", 100, 95, 105)),
        result_set("b", observed("A", 100, 95, 105), measured="2026-02-04"),
    )
    assert "A, the same drive, gave the same in both runs, 100 µs (95 %: 95.0 to 105 µs), at 512 B" in told


def test_of_many_combinations_it_is_told_how_many_differ() -> None:
    count, command = sentences(
        result_set("a", *of_filesystems("A", 50, 300, 200)), result_set("b", *of_filesystems("A", 100, 301, 201))
    )
    # within thirty words, so that what each run answers has room
    assert count == (
        "Two runs of A lie apart in 1 of 3 combinations of 512 B durable write, furthest with 50.0 µs and 100 µs."
    )
    assert command.endswith("drivelab compare a b.")


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ((51, 900), "lie apart in 1 of 2 workloads, furthest at 8 KiB write (300 µs and 900 µs); one run each, so"),
        ((51, 301), "agree within their ranges in both workloads; one run each, so another run may differ."),
    ],
)
def test_of_several_workloads_it_is_told_in_how_many_runs_lie_apart(second: tuple[float, float], told: str) -> None:
    def run(key: str, values: tuple[float, float]) -> ResultSet:
        other = replace(observed("A", values[1], values[1] - 5, values[1] + 5), title="8 KiB write", workload="w")
        return result_set(key, observed("A", values[0], values[0] - 5, values[0] + 5), replace(other, is_durable=False))

    count, first, command = sentences(run("a", (50, 300)), run("b", second))
    assert count.startswith(f"Two runs of A {told}")
    assert first.startswith("A, the same drive, gave 50.0 µs (95 %: 45.0 to 55.0 µs) and then 51.0 µs")
    assert command.endswith("drivelab compare a b.")


def test_a_run_that_is_far_off_is_told_though_two_others_agree() -> None:
    def run(key: str, latency: float, other: float) -> ResultSet:
        write = replace(observed("A", other, other - 5, other + 5), title="8 KiB write", workload="w")
        return result_set(key, observed("A", latency, latency - 5, latency + 5), write)

    count, *_ = sentences(run("a", 244, 100), run("b", 3190, 130), run("c", 247, 160))
    assert count.startswith(
        "Three runs of A lie apart in both workloads, furthest at 512 B durable write (244 µs, 3.19 ms"
    )


def test_where_no_combination_differs_it_is_said() -> None:
    told, _ = sentences(
        result_set("a", *of_filesystems("A", 50, 300, 200)), result_set("b", *of_filesystems("A", 51, 301, 201))
    )
    # no number of one run stands as the best beside another that has its best elsewhere
    assert told == (
        "Two runs of A agree within their ranges in all 3 combinations of 512 B durable write; "
        "one run each, so another run may differ."
    )


def test_another_serial_is_another_drive() -> None:
    sets = [result_set("a", observed("A", 100, 95, 105)), result_set("b", observed("A", 250, 240, 260))]
    sets[1] = replace(sets[1], drives=(replace(sets[1].drives[0], serial="A-2"),))
    told, command = sentences(*sets)
    assert told.startswith("A (a) looked 2.5 times as fast as A (b) at")
    assert told.endswith("; one run each, so another run may differ.")
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
    assert sentences(*sets)[0].startswith("/srv, the same drive, gave") is is_same


def test_beside_another_drive_its_runs_are_one_drive_too() -> None:
    sets = (
        result_set("a", observed("A", 100, 95, 105)),
        result_set("b", observed("A", 120, 115, 125), measured="2026-02-04"),
        result_set("c", observed("B", 240, 235, 245)),
    )
    told, command = sentences(*sets)
    # from the worse of its runs to the better one
    assert told.startswith(
        "A looked 2.0 to 2.4 times as fast as B at 512 B durable write, 100 µs and 120 µs against 240"
    )
    assert command.endswith("drivelab compare a b.")


@pytest.mark.parametrize(
    ("other", "words"), [(110, "100 µs and 120 µs against 110 µs"), (127, "100 µs and 120 µs against 127 µs")]
)
def test_a_drive_that_is_not_first_in_each_of_its_runs_is_not_the_fastest(other: float, words: str) -> None:
    sets = (
        result_set("a", observed("A", 100, 95, 105)),
        result_set("b", observed("A", 120, 115, 125), measured="2026-02-04"),
        result_set("c", observed("B", other, other - 4, other + 4)),
    )
    told, _ = sentences(*sets)
    assert told.startswith("A and B cannot be told apart by these runs at")
    assert words in told


def test_who_is_first_is_counted_by_drive() -> None:
    count, _ = sentences(
        result_set("a", *of_filesystems("A", 50, 100, 100)),
        result_set("b", *of_filesystems("A", 80, 70, 120)),
        result_set("c", *of_filesystems("B", 200, 200, 200)),
    )
    assert count == (
        "A looked 1.7 to 4.0 times as fast as B at 512 B durable write in all 3 combinations; "
        "one run each, so another run may differ."
    )


def test_the_command_names_the_first_and_the_last_of_many_runs_and_quotes_them() -> None:
    sets = [
        result_set(f"run {n}", observed("A", 100 + n, 95 + n, 105 + n), measured=f"2026-02-0{n}") for n in (1, 2, 3)
    ]
    told, command = sentences(*sets)
    assert "gave from 101 µs (95 %: 96.0 to 106 µs) to 103 µs (95 %: 98.0 to 108 µs) in 3 runs at" in told
    assert command.endswith("drivelab compare 'run 1' 'run 3'.")


@pytest.mark.parametrize("repeats", [2, 3])
def test_runs_of_few_repeats_whose_ranges_do_not_overlap_do_not_agree(repeats: int) -> None:
    several = [
        result_set(
            key,
            *(
                observed(
                    "A",
                    times * value,
                    times * 0.9 * value,
                    times * 1.1 * value,
                    trial_count=repeats,
                    levels=levels(filesystem=name),
                )
                for name, value in (("raw", 100), ("ext4", 200))
            ),
            measured=day,
        )
        for key, times, day in (("a", 1.0, "2026-01-31"), ("b", 1.5, "2026-02-04"))
    ]
    told, _ = sentences(*several)
    assert told.startswith("Two runs of A lie apart in both combinations of 512 B durable write, furthest with ")


def test_two_places_on_one_drive_in_one_run_are_no_two_runs() -> None:
    places = [
        replace(observed(place, value, value - spread, value + spread, title=title, workload=title), run="one")
        for title in ("small writes", "large writes")
        for place, value, spread in (("/a", 420, 300), ("/b", 510, 300))
    ]
    drives = {(one.drive, one.machine): DriveOfRun(("", "S1"), one.drive, "one", 0) for one in places}
    told = [text.replace("\u00a0", " ") for text in joint_sentences((result_set("one", *places),), drives)]
    assert told[0] == "/a and /b, on one drive, agree within their ranges in both workloads."
    assert told[1].startswith("/a and /b, the same drive, gave 420 µs (95 %: 120 to 720 µs) and 510 µs")
    assert "run" not in " ".join(told)
