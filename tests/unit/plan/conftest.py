"""Targets that plans are made for, made up, and a small experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from drivelab.model.drive import (
    BlockUse,
    DiscardFacts,
    DriveFacts,
    DriveIdentity,
    Touchability,
    WriteCacheFacts,
)
from drivelab.model.experiment import Experiment
from drivelab.model.setting import SETTING_NAMES, SettingFacts
from drivelab.model.target import BlockLayer, FilesystemFacts, TargetFacts

GIB = 2**30
WRITE = {"name": "w", "block_size": "4KiB", "count": 10, "durability": "fdatasync", "file_state": "append"}
MakeExperiment = Callable[..., Experiment]


@pytest.fixture
def experiment() -> MakeExperiment:
    """Makes a small experiment with some keys changed: ``experiment(factors=[...])``."""

    def make(**changed: object) -> Experiment:
        keys = {"format": 1, "name": "x", "question": "?", "workloads": [WRITE], "repeats": {"full": 4, "quick": 2}}
        return Experiment.model_validate(keys | changed)

    return make


@pytest.fixture
def no_settings() -> Mapping[str, SettingFacts]:
    """What is known of a target without any setting."""
    return {name: SettingFacts(name, reason="it has none") for name in SETTING_NAMES}


@pytest.fixture
def write() -> dict[str, Any]:
    """Keys of the only workload of `experiment`."""
    return dict(WRITE)


@pytest.fixture
def scratch() -> TargetFacts:
    """A scratch drive of 1 GiB, not made yet."""
    return TargetFacts("scratch:1GiB", "scratch", "", False, None, (), (), GIB, 512, False)


@pytest.fixture
def directory() -> TargetFacts:
    """A directory on a file system with 10 GiB free."""
    mounted = FilesystemFacts("ext4", "/dev/sda1", "/srv", ("rw",), "8:1", 20 * GIB, 10 * GIB, 10 * GIB, 4096, False)
    return TargetFacts("/srv/data", "directory", "/srv/data", True, mounted, (), (), 0, 512, False)


def layer(name: str, kind: str, *, logical_block_size_bytes: int = 512, is_rotational: bool = False) -> BlockLayer:
    """A block device of 256 GB."""
    return BlockLayer(
        name=name,
        path=f"/dev/{name}",
        device_number="8:16",
        kind=kind,
        size_bytes=256 * 10**9,
        start_bytes=0,
        logical_block_size_bytes=logical_block_size_bytes,
        physical_block_size_bytes=4096,
        write_cache="write back",
        uses_fua=False,
        is_rotational=is_rotational,
        is_read_only=False,
        scheduler="none",
    )


@pytest.fixture
def drive() -> DriveFacts:
    """A drive with an ext4 file system on its only partition."""
    partition = BlockUse("sdb1", "/dev/sdb1", "part", 256 * 10**9, 2**20, contents="ext4", label="data")
    return DriveFacts(
        name="sdb",
        path="/dev/sdb",
        vendor=None,
        model="Samsung 850 PRO",
        firmware="EXM02B6Q",
        serials=("S250NXAG123456",),
        wwn=None,
        size_bytes=256 * 10**9,
        is_rotational=False,
        transport="sata",
        virtual="",
        link=None,
        logical_block_size_bytes=512,
        physical_block_size_bytes=4096,
        optimal_io_size_bytes=0,
        write_cache=WriteCacheFacts(True, "hdparm", "write back", False),
        scheduler="none",
        queue_requests=64,
        discard=DiscardFacts(4096, 2**31),
        is_read_only=False,
        is_removable=False,
        use=BlockUse("sdb", "/dev/sdb", "disk", 256 * 10**9, contents="gpt", children=(partition,)),
        identity=DriveIdentity("sdb", "8:16", 256 * 10**9, ("S250NXAG123456",), None, 7),
        touch=Touchability("holds_data", ("sdb1 holds ext4",), "S250NXAG123456+contents"),
    )


@pytest.fixture
def disk(drive: DriveFacts) -> TargetFacts:
    """The whole drive."""
    layers = (layer("sdb", "disk"),)
    return TargetFacts("/dev/sdb", "block_device", "/dev/sdb", True, None, layers, (drive,), 256 * 10**9, 512, False)


@pytest.fixture
def partition(drive: DriveFacts) -> TargetFacts:
    """Its partition."""
    layers = (layer("sdb", "disk"), layer("sdb1", "part"))
    return TargetFacts("/dev/sdb1", "block_device", "/dev/sdb1", True, None, layers, (drive,), 256 * 10**9, 512, False)
