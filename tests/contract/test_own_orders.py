"""Operations that have an order of addresses of their own go on from their own last place, on every backend."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from drivelab.model.errors import DrivelabError
from drivelab.model.workload import Workload
from drivelab.run.engine import run_workload

SIZE_BYTES = 1 << 20
READ, WRITE = 0, 1


def mix(path: Path, orders: dict[str, dict[str, Any] | None], **changes: object) -> Workload:
    shares = [{"operation": name, "access": order} for name, order in orders.items()]
    asked = {
        "target": {"path": str(path), "create": True, "size_bytes": SIZE_BYTES},
        "operations": shares,
        "access": {"kind": "sequential"},
        "limits": {"count": 400},
        "record_ios": True,
    }
    return Workload.model_validate(asked | changes)


def offsets(workload: Workload, operation: int) -> list[int]:
    records = run_workload(workload).records
    assert records is not None
    return [row["offset_bytes"] for row in records.to_pylist() if row["operation"] == operation]


@pytest.mark.parametrize("backend", ["sync", "uring", "aio", "posixaio", "mmap", "null"])
def test_each_operation_goes_on_from_its_own_place(tmp_path: Path, backend: str) -> None:
    orders = {"read": {"kind": "sequential"}, "write": {"kind": "reverse"}}
    workload = mix(tmp_path / "data", orders, backend=backend)
    blocks = SIZE_BYTES // 4096
    reads, writes = offsets(workload, READ), offsets(workload, WRITE)
    assert reads == [number % blocks * 4096 for number in range(len(reads))]
    assert backend == "null" or writes == [(blocks - 1 - number % blocks) * 4096 for number in range(len(writes))]


def test_an_operation_without_an_order_has_that_of_the_workload(tmp_path: Path) -> None:
    workload = mix(tmp_path / "data", {"read": None, "write": {"kind": "random", "random_fraction": 0.5}})
    reads, writes = offsets(workload, READ), offsets(workload, WRITE)
    assert reads == sorted(reads)
    follows = sum(later == earlier + 4096 for earlier, later in itertools.pairwise(writes))
    assert len(writes) / 4 < follows < len(writes) * 3 / 4


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"limits": {}}, "operations with an access of their own need a limit"),
        ({"file_state": "append", "operations": [{"operation": "write", "access": {"kind": "reverse"}}]}, "appended"),
    ],
)
def test_an_order_that_makes_no_sense_is_refused(tmp_path: Path, changes: dict[str, Any], rule: str) -> None:
    orders = {"read": {"kind": "sequential"}, "write": {"kind": "sequential"}}
    with pytest.raises(DrivelabError) as caught:
        run_workload(mix(tmp_path / "data", orders, **changes))
    assert rule in caught.value.what
