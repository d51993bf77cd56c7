"""Which combinations an experiment asks for, and which of them are one and the same."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from drivelab.plan.cells import Cell, cells_of, reference_cell

from .conftest import MakeExperiment

FILE_SYSTEMS = {"setting": "filesystem", "levels": ["raw", "ext4", "xfs"]}
FILES_FIRST = {"setting": "filesystem", "levels": ["ext4", "raw", "xfs"]}
MOUNTS = {"setting": "mount", "levels": ["nodiscard", "discard"]}
SCHEDULERS = {"setting": "scheduler", "levels": ["as-found", "none", "bfq"]}
SIZES = {"setting": "workload", "key": "block_size", "levels": ["4KiB", "8KiB", "1MiB"], "quick_levels": ["8KiB"]}


def levels_of(cells: tuple[Cell, ...]) -> list[tuple[str, ...]]:
    return [tuple(cell.levels.values()) for cell in cells]


def test_in_full_every_combination_is_asked_for_once(experiment: MakeExperiment) -> None:
    cells = cells_of(experiment(factors=[FILES_FIRST, SCHEDULERS, SIZES]), quick=False)
    everything = itertools.product(FILES_FIRST["levels"], SCHEDULERS["levels"], SIZES["levels"])
    assert levels_of(cells) == list(everything)


def test_one_at_a_time_asks_for_the_base_and_each_other_level_alone(experiment: MakeExperiment) -> None:
    asked = experiment(factors=[FILES_FIRST, SCHEDULERS, SIZES], design="one-at-a-time")
    base = ("ext4", "as-found", "4KiB")
    assert levels_of(cells_of(asked, quick=False)) == [
        base,
        ("raw", *base[1:]),
        ("xfs", *base[1:]),
        ("ext4", "none", "4KiB"),
        ("ext4", "bfq", "4KiB"),
        ("ext4", "as-found", "8KiB"),
        ("ext4", "as-found", "1MiB"),
    ]


def test_quick_takes_its_own_levels(experiment: MakeExperiment) -> None:
    asked = experiment(factors=[SCHEDULERS, SIZES], design="one-at-a-time")
    cells = cells_of(asked, quick=True)
    assert levels_of(cells) == [("as-found", "8KiB"), ("none", "8KiB"), ("bfq", "8KiB")]
    assert {cell.pattern.block_size for cell in cells} == {8192}


def test_mount_options_are_one_combination_on_the_bare_drive(experiment: MakeExperiment) -> None:
    cells = cells_of(experiment(factors=[FILE_SYSTEMS, MOUNTS]), quick=False)
    assert [dict(cell.levels) for cell in cells] == [
        {"filesystem": "raw"},
        {"filesystem": "ext4", "mount": "nodiscard"},
        {"filesystem": "ext4", "mount": "discard"},
        {"filesystem": "xfs", "mount": "nodiscard"},
        {"filesystem": "xfs", "mount": "discard"},
    ]
    mounted = [cell.filesystem.mount_options for cell in cells if cell.filesystem is not None]
    assert mounted == [(), ("nodiscard",), ("discard",), ("nodiscard",), ("discard",)]


def test_mount_options_come_after_those_of_the_file_system(experiment: MakeExperiment) -> None:
    level = {"type": "ext4", "mount_options": ["noatime"]}
    (cell,) = cells_of(
        experiment(factors=[{"setting": "filesystem", "levels": [level]}, {"setting": "mount", "levels": ["discard"]}]),
        quick=False,
    )
    assert cell.filesystem is not None
    assert cell.filesystem.mount_options == ("noatime", "discard")


def test_fstrim_is_dropped_where_no_file_system_is_made(experiment: MakeExperiment) -> None:
    trims = {"setting": "trim", "levels": ["none", "fstrim", "device"]}
    cells = cells_of(experiment(factors=[FILE_SYSTEMS, trims]), quick=False)
    assert ("raw", "fstrim") not in levels_of(cells)
    assert len(cells) == 3 * 3 - 1
    assert {cell.actions["trim"] for cell in cells} == {"none", "fstrim", "device"}


def test_a_factor_of_one_workload_leaves_the_others_alone(experiment: MakeExperiment, write: dict[str, Any]) -> None:
    workloads = [write, write | {"name": "other"}]
    cells = cells_of(experiment(factors=[SIZES | {"workloads": ["w"]}], workloads=workloads), quick=False)
    assert [(cell.workload, *cell.levels.values()) for cell in cells] == [
        ("w", "4KiB"),
        ("w", "8KiB"),
        ("w", "1MiB"),
        ("other",),
    ]


@pytest.mark.parametrize(
    ("factor", "level", "name"),
    [
        (SCHEDULERS, "bfq", "bfq"),
        ({"setting": "write-cache", "levels": [True, False]}, False, "off"),
        ({"setting": "read-ahead", "levels": ["128KiB", "1MiB"]}, "1MiB", "1048576"),
        ({"setting": "workload", "key": "direct", "levels": [False, True]}, True, "true"),
        ({"setting": "workload", "key": "queue_depth", "levels": [1, 32]}, 32, "32"),
        (FILE_SYSTEMS, "xfs", "xfs"),
    ],
)
def test_a_reference_finds_its_level_however_it_is_written(
    experiment: MakeExperiment, factor: dict[str, Any], level: object, name: str
) -> None:
    levels = {str(factor.get("key", factor["setting"])): level}
    asked = experiment(factors=[factor], reference={"workload": "w", "levels": levels})
    cell = reference_cell(asked, quick=False)
    assert cell is not None
    assert list(cell.levels.values()) == [name]


def test_a_reference_stands_at_the_first_level_of_what_it_does_not_name(experiment: MakeExperiment) -> None:
    asked = experiment(factors=[SCHEDULERS, SIZES], reference={"workload": "w", "levels": {"scheduler": "none"}})
    full, quick = (reference_cell(asked, quick=quick) for quick in (False, True))
    assert full is not None
    assert quick is not None
    assert [tuple(cell.levels.values()) for cell in (full, quick)] == [("none", "4KiB"), ("none", "8KiB")]


def test_an_experiment_without_a_reference_has_none(experiment: MakeExperiment) -> None:
    assert reference_cell(experiment(), quick=False) is None
