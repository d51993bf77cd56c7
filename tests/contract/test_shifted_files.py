"""Where a workload with a shift begins in a file, for every state that the file may be in."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.model.workload import Workload
from drivelab.run.engine import prepare_target, run_workload

COUNT = 5


def workload(path: Path, backend: str, state: str, **changes: object) -> Workload:
    """Some sequential writes into a new file, each followed by fdatasync, and every one of them recorded."""
    return Workload.model_validate(
        {
            "target": {"path": str(path), "create": True, "size_bytes": 0 if state == "append" else 1 << 20},
            "backend": backend,
            "operations": [{"operation": "write"}],
            "access": {"kind": "sequential"},
            "durability": {"method": "fdatasync"},
            "file_state": state,
            "limits": {"count": COUNT},
            "record_ios": True,
            **changes,
        }
    )


@pytest.mark.parametrize("backend", ["sync", "uring", "aio", "posixaio", "stdio"])
@pytest.mark.parametrize("state", ["append", "preallocated", "sparse", "overwrite"])
@pytest.mark.parametrize(("shift", "size"), [(0, 4096), (512, 4096), (15_872, 4096), (1536, 1), (512, 1000)])
def test_the_first_write_goes_to_the_shift_and_the_others_follow(
    tmp_path: Path, backend: str, state: str, shift: int, size: int
) -> None:
    path = tmp_path / "data"
    asked = workload(path, backend, state, shift_bytes=shift, block_sizes=[{"bytes": size}])
    prepare_target(asked)
    before = path.read_bytes()
    records = run_workload(asked).records
    assert records is not None
    rows = [row for row in records.to_pylist() if row["operation"] == 1]
    assert [row["offset_bytes"] for row in rows] == [shift + size * n for n in range(COUNT)]
    data = path.read_bytes()
    assert data[:shift] == (before or bytes(shift))[:shift]
    if state == "append":
        assert len(data) == shift + size * COUNT
        assert not any(data[:shift])
    else:
        assert len(data) == 1 << 20
        assert data[shift + size * COUNT :] == before[shift + size * COUNT :]


@pytest.mark.parametrize("shift", [0, 512])
def test_what_is_appended_later_follows_at_the_end(tmp_path: Path, shift: int) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"x" * 1000)
    asked = workload(path, "sync", "append", shift_bytes=shift)
    run_workload(asked)
    data = path.read_bytes()
    assert data[:1000] == b"x" * 1000
    assert not any(data[1000 : 1000 + shift])
    assert len(data) == 1000 + shift + COUNT * 4096
