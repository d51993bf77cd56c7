"""Which trials leave a write cache behind, and what emptying it tells."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import pytest

from drivelab.model.workload import Durability, OperationShare, TargetRange, Workload
from drivelab.run.emptied_cache import emptied_cache, empty_cache

DIRECT = {"achieved": {"direct": True}}


def writes(path: Path, operation: str = "write", durability: Durability | None = None, **more: object) -> Workload:
    return Workload.model_validate(
        {
            "target": TargetRange(path=str(path), size_bytes=4096),
            "operations": (OperationShare(operation=operation),),
            "durability": durability or Durability(),
            "direct": True,
        }
        | more
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.write_bytes(bytes(4096))
    return path


def test_what_direct_writes_leave_is_emptied_and_timed(file: Path) -> None:
    told = emptied_cache(writes(file), DIRECT, None)
    assert told["write_cache_emptied_ns"] > 0
    assert told.keys() == {"write_cache_emptied_ns"}


@pytest.mark.parametrize("operation", ["read", "trim"])
def test_who_writes_nothing_leaves_nothing(file: Path, operation: str) -> None:
    assert emptied_cache(writes(file, operation), DIRECT, None) == {}


def test_writes_that_are_durable_or_lie_in_memory_are_not_waited_for(file: Path) -> None:
    assert emptied_cache(writes(file, durability=Durability(method="fdatasync")), DIRECT, None) == {}
    assert emptied_cache(writes(file), {"achieved": {"direct": False}}, None) == {}
    assert emptied_cache(writes(file, backend="null"), DIRECT, None) == {}


def test_nobody_who_asked_for_the_end_waits(file: Path) -> None:
    stop = Event()
    stop.set()
    assert emptied_cache(writes(file), DIRECT, stop) == {}


def test_what_is_gone_or_refuses_has_no_time(tmp_path: Path) -> None:
    assert emptied_cache(writes(tmp_path / "gone"), DIRECT, None) == {}
    # a character device without fsync
    assert empty_cache(["/dev/null"]) is None
