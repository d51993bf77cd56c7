"""What was typed after ``drivelab explain`` becomes an experiment that destroys nothing of anybody's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drivelab.cli.explain_experiment import advice_on_writes, experiment_from
from drivelab.cli.explain_options import COUNT, QUICK_COUNT, ExplainOptions
from drivelab.inventory.target import resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.model.experiment import ExperimentWorkload
from drivelab.model.target import TargetFacts

DEVICE = TargetFacts("/dev/sdx", "block_device", "/dev/sdx", True, None, (), (), 10**9, 512, False)
SCRATCH = replace(DEVICE, text="scratch:1GiB", kind="scratch", path="")


@pytest.fixture
def directory(tmp_path: Path) -> TargetFacts:
    return resolve_target(str(tmp_path))


@pytest.fixture
def file(tmp_path: Path) -> TargetFacts:
    (tmp_path / "data").write_bytes(bytes(2**20))
    return resolve_target(str(tmp_path / "data"))


def typed(**options: Any) -> ExplainOptions:
    return ExplainOptions(**{"what": ["x"]} | options)


def workload_of(target: TargetFacts, **options: Any) -> ExperimentWorkload:
    (workload,) = experiment_from(typed(**options), target).workloads
    return workload


def test_by_default_it_is_a_durable_overwrite_of_4_kib_through_the_page_cache(directory: TargetFacts) -> None:
    found = workload_of(directory)
    assert (found.operation, found.block_size, found.durability, found.file_state) == (
        *("write", 4096, "fdatasync", "overwrite"),
    )
    assert (found.queue_depth, found.backend, found.direct, found.count) == (1, "sync", False, COUNT)
    assert found.title == "4 KiB overwrite + fdatasync"
    assert found.file_size >= COUNT * 4096, "no operation goes over what another one wrote"


def test_what_belongs_to_somebody_is_only_read_and_how_to_write_is_told(file: TargetFacts) -> None:
    for target, told in ((DEVICE, "--erase SERIAL"), (file, "name its directory")):
        found = workload_of(target)
        assert (found.operation, found.writes, found.access.kind, found.direct) == ("read", False, "random", True)
        assert told in advice_on_writes(typed(), target)


@pytest.mark.parametrize("options", [{"erase": ["SERIAL"]}, {"operation": "write"}])
def test_a_device_is_written_when_somebody_says_so(options: dict[str, Any]) -> None:
    # whether that is consent enough is asked before anything is changed
    assert workload_of(DEVICE, **options).writes
    assert advice_on_writes(typed(**options), DEVICE) == ""


def test_scratch_drives_are_written(directory: TargetFacts) -> None:
    assert workload_of(SCRATCH).writes
    assert advice_on_writes(typed(), directory) == ""


def test_a_deeper_queue_is_not_issued_one_by_one(directory: TargetFacts) -> None:
    assert workload_of(directory, queue_depth=8, operation="read").backend == "auto"


def test_quick_is_smaller_unless_a_count_is_asked_for(directory: TargetFacts) -> None:
    quick = experiment_from(typed(quick=True), directory)
    assert quick.workloads[0].pattern(quick=True).count == QUICK_COUNT
    assert quick.repeats.quick < quick.repeats.full
    assert workload_of(directory, quick=True, count=77).pattern(quick=True).count == 77


def test_a_runtime_takes_the_place_of_the_count(directory: TargetFacts) -> None:
    found = workload_of(directory, runtime="3s")
    assert (found.runtime, found.count) == (3_000_000_000, 0)


def test_repeats_hold_for_both_sizes(directory: TargetFacts) -> None:
    repeats = experiment_from(typed(repeats=7), directory).repeats
    assert (repeats.full, repeats.quick) == (7, 7)


def test_a_file_system_is_the_only_level_of_a_factor() -> None:
    factor = experiment_from(typed(filesystem="ext4"), SCRATCH).filesystem_factor
    assert factor is not None
    assert [level.type for level in factor.levels] == ["ext4"]


@pytest.mark.parametrize(
    ("options", "code", "option"),
    [
        ({"block_size": "4 parsecs"}, "U001", "--block-size"),
        ({"runtime": "long"}, "U002", "--runtime"),
        ({"queue_depth": 0}, "U003", "--queue-depth"),
        ({"jobs": -1}, "U003", "--jobs"),
        ({"operation": "read", "durability": "fdatasync"}, "U004", "--durability"),
        ({"file_state": "append", "jobs": 2}, "U004", "--jobs"),
        ({"operation": "trim"}, "U005", "--operation"),
        ({"durability": "hope"}, "U005", "--durability"),
        ({"filesystem": "ntfs"}, "U005", "--filesystem"),
        ({"file_state": "new"}, "U005", "--file-state"),
        ({"backend": "posix"}, "U005", "--backend"),
        ({"access": "backwards"}, "U005", "--access"),
    ],
)
def test_mistakes_name_their_option(directory: TargetFacts, options: dict[str, Any], code: str, option: str) -> None:
    with pytest.raises(DrivelabError) as caught:
        experiment_from(typed(**options), directory)
    assert caught.value.code == code
    assert option in f"{caught.value.what} {caught.value.where}"


@pytest.mark.provokes("U003")
@pytest.mark.parametrize(
    ("option", "value"),
    [("block_size", "0"), ("size", "0"), ("runtime", "0s"), ("jobs", 0), ("jobs", -3)],
)
def test_nothing_at_all_is_refused_by_the_name_of_the_option(
    directory: TargetFacts, option: str, value: object
) -> None:
    with pytest.raises(DrivelabError) as raised:
        experiment_from(typed(**{option: value}), directory)
    assert raised.value.code == "U003"
    assert f"--{option.replace('_', '-')}" in raised.value.what
