"""Many workloads in one table: rows are workloads, columns what was varied on each target."""

from __future__ import annotations

from dataclasses import replace

from drivelab.model.run_answer import CombinationResult, RepeatedMetric
from drivelab.report.tables.matrix import matrix_table
from drivelab.report.tables.table import Table


def table(target_count: int, filesystems: tuple[str, ...] = ("xfs", "ext4"), invalid: int = 0) -> Table | None:
    """Three workloads on each target and file system; so many trials of the last combination are no drive's."""
    groups = []
    for workload in ("create", "stat", "delete"):
        places = [(f"loop{number}", name) for number in range(target_count) for name in filesystems]
        found = {"iops": RepeatedMetric(100.0, 90.0, 110.0, "1/s", 2)}
        group = [
            CombinationResult(target, workload, workload, {"filesystem": name}, {}, found, "iops", ("a", "b"))
            for target, name in places
        ]
        groups.append([*group[:-1], replace(group[-1], invalid_trials=invalid)])
    return matrix_table(groups, of_tasks=False)


def test_columns_are_levels_on_each_target() -> None:
    alone, several = table(1), table(2)
    assert alone is not None
    assert several is not None
    assert [column.name for column in alone.columns] == ["workload", "xfs", "ext4"]
    assert [column.name for column in several.columns][1:] == ["loop0, xfs", "loop0, ext4", "loop1, xfs", "loop1, ext4"]
    assert [cell.text for cell in several.rows[0]] == ["create", *["100/s"] * 4]
    assert table(5) is None


def test_trials_that_are_no_drives_are_counted_beside_the_workload() -> None:
    marked = table(2, invalid=1)
    assert marked is not None
    assert marked.rows[1][0].text == "stat (1 of 8 trials invalid)"


def test_small_ios_that_nobody_waits_for_are_counted_as_in_the_tables_of_each_workload() -> None:
    metrics = {
        "throughput_bytes_per_s": RepeatedMetric(38.7e6, 38e6, 39e6, "B/s", 2),
        "iops": RepeatedMetric(4720.0, 4700.0, 4800.0, "1/s", 2),
    }
    groups = [
        [
            CombinationResult(
                "loop0", workload, workload, {}, {}, metrics, "throughput_bytes_per_s", ("a", "b"), 8192, is_phase=phase
            )
        ]
        for workload, phase in (("seeks", False), ("block-read", True), ("block-write", True))
    ]
    found = matrix_table(groups, of_tasks=False)
    assert found is not None
    assert [row[1].text for row in found.rows] == ["4 720/s", "38.7 MB/s", "38.7 MB/s"]
