"""Runs that differ in a setting that each had throughout are compared all the same."""

from __future__ import annotations

from dataclasses import replace

from made_up_results import levels, observed, result_set

from drivelab.model.result_set import MeasuredDrive, ResultSet
from drivelab.report.content import ReportContent
from drivelab.report.joint_of import joint_of
from drivelab.report.sentences.own_settings import without_own_settings


def of(name: str, value: float, *caches: str) -> ResultSet:
    rows = (observed(name, value, 0.9 * value, 1.1 * value, levels=levels(**{"write-cache": one})) for one in caches)
    return replace(result_set(name, *(replace(one, run=name) for one in rows)), drives=(MeasuredDrive(name),))


def test_what_two_runs_were_made_with_is_told_behind_how_they_compare() -> None:
    sets = [of("sda", 50, "off"), of("sdb", 500, "as-found")]
    runs = [ReportContent(one.key, "Small writes", "What does a byte cost?", (), facts={}) for one in sets]
    first, second, *_ = joint_of(runs, sets).sentences
    assert first.startswith("sda looked 10 times as fast as sdb")
    assert second.replace("\u00a0", " ") == "Measured with write-cache off for sda and write-cache as found for sdb."


def test_what_one_run_has_varied_stays_a_factor() -> None:
    sets = [of("sda", 50, "off", "on"), of("sdb", 500, "as-found")]
    assert without_own_settings(sets) == (tuple(sets), "")
    assert without_own_settings([of("sda", 50, "off"), of("sdb", 500, "off")])[1] == ""


def test_a_directory_is_compared_with_a_drive_on_which_a_file_system_was_made() -> None:
    sets = [
        replace(
            result_set(name, replace(observed(name, value, levels=levels(filesystem=kind)), run=name)),
            drives=(MeasuredDrive(name),),
        )
        for name, value, kind in (("dir", 50, "ext4"), ("scratch", 500, "raw"))
    ]
    alike, told = without_own_settings(sets)
    assert told == "Measured with ext4 for dir and raw for scratch."
    assert all("filesystem" not in one.levels for each in alike for one in each.observations)
