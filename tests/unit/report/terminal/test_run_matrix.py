"""The table of many workloads on a screen."""

from __future__ import annotations

import io

from rich.console import Console

from drivelab.model.run_answer import CombinationResult, RepeatedMetric
from drivelab.report.terminal.run_matrix import matrix_of


def lines_of(names: tuple[str, ...], lines_max: int = 20) -> tuple[list[str], int]:
    """The lines for workloads of these names, of four combinations each, and how many are left out."""
    groups = []
    for name in names:
        found = {"iops": RepeatedMetric(100.0, 90.0, 110.0, "1/s", 2)}
        levels = [{"filesystem": one, "job_count": jobs} for one in ("ext4", "xfs") for jobs in ("1", "4")]
        groups.append([CombinationResult("a", name, name, one, {}, found, "iops", ("a", "b")) for one in levels])
    made = matrix_of(groups, lines_max, str, of_tasks=False)
    assert made is not None
    console = Console(width=80, color_system=None, file=io.StringIO())
    with console.capture() as capture:
        console.print(made[0])
    return [line.rstrip() for line in capture.get().splitlines()], made[1]


def test_levels_stand_below_each_other_and_explanations_of_workloads_are_left_out() -> None:
    lines, more = lines_of(("durable create: fsync of file and directory", "stat files", "boot: reads"))
    assert more == 0
    assert lines[1].split() == ["ext4", "ext4", "xfs", "xfs"]
    assert lines[2].split() == ["job", "count", "1", "job", "count", "4"] * 2
    assert [line.partition("  100")[0].strip() for line in lines[3:]] == ["durable create", "stat files", "boot: reads"]


def test_what_only_the_explanation_tells_apart_keeps_it() -> None:
    lines, _ = lines_of(("read: cold, after the caches were emptied", "read: warm, again and again", "stat files"))
    assert lines[3].startswith("  read: cold")


def test_rows_that_have_no_room_are_counted() -> None:
    lines, more = lines_of(("a", "b", "c", "d"), lines_max=6)
    assert (len(lines), more) == (5, 2)
