"""Targets that overlap, or that cannot answer the question, are refused before anything is done."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drivelab.experiments.load import load_experiment
from drivelab.model.drive import DriveIdentity
from drivelab.model.errors import DrivelabError
from drivelab.model.target import TargetFacts
from drivelab.plan.make import make_plan

from .conftest import MakeExperiment, layer

READ = {"name": "r", "operation": "read", "access": "random", "count": 10, "file_size": "1MiB"}


@pytest.fixture
def on_disk(directory: TargetFacts, partition: TargetFacts) -> TargetFacts:
    """A directory on the drive's partition."""
    return replace(directory, devices=partition.devices, drives=partition.drives)


def refused(asked: object, targets: list[TargetFacts]) -> DrivelabError:
    with pytest.raises(DrivelabError) as refusal:
        make_plan(asked, targets, seed=1)  # type: ignore[arg-type]
    assert refusal.value.exit_code == 3
    return refusal.value


@pytest.mark.provokes("P710")
def test_one_device_by_a_link_and_by_its_node_is_refused(experiment: MakeExperiment, disk: TargetFacts) -> None:
    link = replace(disk, text="/dev/disk/by-id/ata-Samsung")
    error = refused(experiment(), [disk, link])
    assert error.code == "P710"
    assert "same device, /dev/sdb" in error.what
    assert error.where == "/dev/sdb and /dev/disk/by-id/ata-Samsung"
    assert refused(experiment(workloads=[READ]), [disk, link]).code == "P710"


@pytest.mark.provokes("P710")
def test_a_partition_and_its_drive_are_refused_in_either_order(
    experiment: MakeExperiment, disk: TargetFacts, partition: TargetFacts
) -> None:
    for targets in ([disk, partition], [partition, disk]):
        error = refused(experiment(), targets)
        assert (error.code, error.what) == ("P710", "/dev/sdb1 is a part of /dev/sdb, or lies on it")


def test_two_partitions_of_one_drive_are_two_targets(
    experiment: MakeExperiment, disk: TargetFacts, partition: TargetFacts
) -> None:
    other = replace(
        partition, text="/dev/sdb2", path="/dev/sdb2", devices=(layer("sdb", "disk"), layer("sdb2", "part"))
    )
    assert len(make_plan(experiment(), [partition, other], seed=1).targets) == 2


@pytest.mark.provokes("P710")
def test_a_drive_that_is_reached_by_two_ways_is_known_by_its_wwn(experiment: MakeExperiment, disk: TargetFacts) -> None:
    identity = DriveIdentity("sdb", "8:16", disk.size_bytes, ("1",), "0x5000c500a1b2c3d4", 7)
    one = replace(disk, identity=identity)
    other = replace(disk, text="/dev/sdc", devices=(layer("sdc", "disk"),), identity=replace(identity, name="sdc"))
    assert refused(experiment(), [one, other]).code == "P710"
    # some adapters give every drive behind them the same serial
    alike = replace(other, identity=replace(identity, name="sdc", wwn=None))
    assert len(make_plan(experiment(), [one, alike], seed=1).targets) == 2


@pytest.mark.provokes("P710")
def test_a_directory_on_a_drive_is_refused_where_the_drive_is_erased(
    experiment: MakeExperiment, disk: TargetFacts, on_disk: TargetFacts
) -> None:
    error = refused(experiment(), [on_disk, disk])
    assert (error.code, error.what) == ("P710", "/srv/data lies on /dev/sdb, which the run would erase")
    assert len(make_plan(experiment(workloads=[READ]), [on_disk, disk], seed=1).targets) == 2


def test_directories_beside_each_other_and_scratch_drives_do_not_overlap(
    experiment: MakeExperiment, on_disk: TargetFacts, scratch: TargetFacts
) -> None:
    targets = [on_disk, replace(on_disk, text="/srv/other", path="/srv/other"), scratch, scratch]
    assert len(make_plan(experiment(), targets, seed=1).targets) == 4


@pytest.mark.provokes("P711")
@pytest.mark.parametrize("kind", ["directory", "file"])
@pytest.mark.parametrize("skip_unavailable", [False, True])
def test_what_a_drive_is_asked_is_not_asked_of_a_file(
    directory: TargetFacts, kind: str, skip_unavailable: bool
) -> None:
    with pytest.raises(DrivelabError) as refusal:
        make_plan(
            load_experiment("fill-level"),
            [replace(directory, kind=kind)],  # type: ignore[arg-type]
            seed=1,
            quick=True,
            skip_unavailable=skip_unavailable,
        )
    assert (refusal.value.code, refusal.value.exit_code) == ("P711", 2)
    assert "/srv/data" in refusal.value.what


def test_a_drive_and_a_scratch_drive_can_answer_it(
    experiment: MakeExperiment, disk: TargetFacts, scratch: TargetFacts
) -> None:
    assert make_plan(experiment(requires="device"), [disk, scratch], seed=1).steps
