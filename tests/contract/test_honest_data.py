"""What is written is what was asked for, and what is counted is the workload's own doing."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from drivelab.inventory.target import resolve_target
from drivelab.model.workload import Workload
from drivelab.run.measure import measure


def workload(path: Path, **options: object) -> Workload:
    """A write of the whole of a new file, once, with the options given."""
    return Workload.model_validate(
        {
            "target": {"path": str(path), "size_bytes": 8 << 20, "create": True},
            "operations": [{"operation": "write"}],
            "access": {"kind": "sequential"},
            **options,
        }
    )


@pytest.mark.parametrize("block_size", [512, 4096, 65536, 1 << 20])
def test_neighbouring_writes_do_not_compress(tmp_path: Path, block_size: int) -> None:
    path = tmp_path / "written"
    measure("once", workload(path, block_sizes=[{"bytes": block_size}]), resolve_target(str(path)))
    data = path.read_bytes()
    assert len(zlib.compress(data, 6)) > 0.95 * len(data)


def test_a_file_is_laid_out_before_anything_is_looked_at_or_counted(tmp_path: Path) -> None:
    path = tmp_path / "new"
    measured = measure("buffered", workload(path, limits={"count": 512}), resolve_target(str(path)))
    found = measured.context["extents"]
    if not found["range_bytes"]:
        pytest.skip(f"the file system of {tmp_path} has no map of extents: {found['reason']}")
    assert (found["range_bytes"], found["written_share"]) == (8 << 20, pytest.approx(1.0))


def test_sync_file_range_writes_all_earlier_writes_out(tmp_path: Path) -> None:
    path = tmp_path / "ranged"
    asked = workload(path, durability={"method": "sync_file_range", "every_writes": 8}, limits={"count": 1024})
    measured = measure("ranged", asked, resolve_target(str(path)))
    if not measured.devices:
        pytest.skip(f"no block device below {tmp_path}: {measured.context['device_counters_reason']}")
    assert measured.devices[0].bytes_written >= 1024 * 4096
