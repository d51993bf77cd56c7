"""How much of a file lies in the page cache."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from drivelab.inventory.target import resolve_target
from drivelab.model.workload import Access, Limits, TargetRange, Workload
from drivelab.run import page_cache
from drivelab.run.measure import measure
from drivelab.run.page_cache import drop_from_page_cache, read_into_page_cache, residency, residency_by_mincore

MIB = 2**20


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A file of 1 MiB, just written."""
    path = tmp_path / "data"
    path.write_bytes(os.urandom(MIB))
    return path


def test_a_file_just_written_is_resident(written: Path) -> None:
    found = residency(str(written))
    assert found.method in ("cachestat", "mincore")
    assert found.resident_bytes == MIB


def test_both_ways_of_asking_agree(written: Path) -> None:
    descriptor = os.open(written, os.O_RDONLY)
    try:
        assert residency_by_mincore(descriptor).resident_bytes == MIB
        assert residency_by_mincore(descriptor, MIB // 2 + 1, MIB // 4).resident_bytes == MIB // 4 + 4096
        assert residency_by_mincore(descriptor, 2 * MIB).resident_bytes == 0
    finally:
        os.close(descriptor)


def test_only_the_asked_range_is_counted(written: Path) -> None:
    assert residency(str(written), start_bytes=MIB // 4, length_bytes=MIB // 2).resident_bytes == MIB // 2


def test_a_dropped_file_is_not_resident_any_more(written: Path) -> None:
    left = drop_from_page_cache(str(written))
    if left.resident_bytes == MIB:
        pytest.skip("needs a file system that is not in memory")
    assert left.resident_bytes == 0
    assert residency(str(written)).resident_bytes == 0


def test_a_kernel_without_cachestat_is_asked_by_mincore(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache, "_SYS_CACHESTAT", 100_000)
    found = residency(str(written))
    assert (found.method, found.resident_bytes) == ("mincore", MIB)


def test_a_user_who_may_not_know_gets_no_answer(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 65533)
    monkeypatch.setattr(os, "access", lambda *_: False)
    descriptor = os.open(written, os.O_RDONLY)
    try:
        found = residency_by_mincore(descriptor)
    finally:
        os.close(descriptor)
    assert (found.method, found.resident_bytes) == ("", None)
    assert "owner" in found.reason


def test_what_cannot_be_opened_has_a_reason() -> None:
    assert "No such file" in residency("/nowhere/at/all").reason
    assert "No such file" in drop_from_page_cache("/nowhere/at/all").reason


@pytest.mark.parametrize("drops", [True, False])
def test_a_trial_may_begin_with_an_empty_page_cache(tmp_path: Path, drops: bool) -> None:
    file = tmp_path / "data"
    file.write_bytes(os.urandom(2**20))
    os.sync()
    workload = Workload(
        target=TargetRange(path=str(file)), backend="sync", access=Access(kind="sequential"), limits=Limits(count=16)
    )
    measured = measure("read", workload, resolve_target(str(file)), drops_page_cache=drops, idle_watch_s=0)
    assert measured.context["page_cache"]["resident_bytes_before"] == (0 if drops else 2**20)
    assert ("dropped_page_cache" in measured.context) == drops


def test_a_file_that_is_read_in_is_resident_and_a_part_of_it_alone_too(written: Path) -> None:
    for start, length in ((0, 0), (MIB // 2, MIB // 4)):
        assert drop_from_page_cache(str(written)).resident_bytes == 0
        assert read_into_page_cache(str(written), start, length).resident_bytes == (length or MIB)
    assert read_into_page_cache(str(written / "missing")).reason.startswith("cannot open it")


def test_a_file_that_was_read_in_is_still_there_when_it_is_measured(written: Path) -> None:
    drop_from_page_cache(str(written))
    read_into_page_cache(str(written))
    place = TargetRange(path=str(written), size_bytes=MIB)
    asked = Workload(target=place, backend="sync", access=Access(kind="sequential"), limits=Limits(bytes=MIB))
    measured = measure("warm", asked, resolve_target(str(written)))
    assert measured.context["page_cache"]["resident_bytes_before"] == MIB
