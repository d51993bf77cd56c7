"""What this program itself had drives read: by its own threads, and by the kernel's workers."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.run import own_reads
from drivelab.run.own_reads import OwnReads, own_reads_between, read_own_reads


def process(place: Path, flags: int, start: int, read: int | None) -> None:
    place.mkdir(exist_ok=True)
    (place / "stat").write_text(f"9 (a) b) I 2 0 0 0 -1 {flags} {' '.join('0' * 12)} {start} 0\n")
    if read is not None:
        (place / "io").write_text(f"rchar: 1\nread_bytes: {read}\nwrite_bytes: 2\n")


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A computer with this program, another one, and two threads of the kernel."""
    monkeypatch.setattr(own_reads, "PROC", tmp_path)
    process(tmp_path / "self", 0, 5, 100)
    process(tmp_path / "70", 0, 5, 7_000_000)
    for number in (8, 9):
        process(tmp_path / str(number), 0x00200040, number, 10 * number)
    return tmp_path


def test_other_programs_have_no_part_in_it(proc: Path) -> None:
    before = read_own_reads(with_workers=True)
    assert before == OwnReads(100, {(8, 8): 80, (9, 9): 90})
    process(proc / "self", 0, 5, 150)
    process(proc / "70", 0, 5, 9_000_000)
    process(proc / "9", 0x00200040, 9, 97)
    process(proc / "10", 0x00200040, 10, 3)
    after = read_own_reads(with_workers=True)
    assert own_reads_between(before, after) == {"process_bytes": 50, "worker_bytes": 10}


def test_a_worker_that_has_ended_took_its_total_with_it() -> None:
    found = own_reads_between(OwnReads(1, {(8, 8): 80}), OwnReads(2, {(8, 11): 95}))
    assert found == {"process_bytes": 1, "worker_bytes": None}


def test_what_may_not_be_seen_or_is_others_work_is_not_known(proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (proc / "9" / "io").unlink()
    assert read_own_reads(with_workers=True) == OwnReads(100, None)
    assert read_own_reads(with_workers=False).worker_bytes is None
    # io_uring had threads of the kernel work for it
    monkeypatch.setattr(own_reads, "_release", lambda: (5, 10))
    assert read_own_reads(with_workers=False).process_bytes is None
