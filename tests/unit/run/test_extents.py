"""Which parts of a file were really written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from drivelab.run.extents import Extent, extent_shares, shares_of

MIB = 2**20
WRITTEN, UNWRITTEN, DELAYED, INLINE, SHARED, COMPRESSED = 0, 0x800, 0x6, 0x200, 0x2000, 0x8


def extent(start: int, length: int, flags: int = WRITTEN) -> Extent:
    return Extent(start, 2**40 + start, length, flags)


def test_a_range_without_extents_is_a_hole() -> None:
    shares = shares_of([], 0, MIB)
    assert (shares.hole_bytes, shares.written_bytes, shares.written_share) == (MIB, 0, 0.0)


def test_each_state_is_counted_by_itself() -> None:
    extents = [
        extent(0, 10),
        extent(10, 20, UNWRITTEN),
        extent(40, 5, DELAYED),
        extent(45, 5, INLINE),
        extent(50, 10, COMPRESSED),
        extent(60, 10, SHARED),
    ]
    shares = shares_of(extents, 0, 100)
    assert (shares.written_bytes, shares.unwritten_bytes, shares.hole_bytes) == (30, 20, 40)
    assert (shares.delayed_bytes, shares.inline_bytes) == (5, 5)
    assert (shares.encoded_bytes, shares.shared_bytes, shares.extent_count) == (10, 10, 6)
    assert shares.written_share == 0.3


def test_extents_are_cut_at_the_ends_of_the_range() -> None:
    shares = shares_of([extent(0, 100), extent(100, 100, UNWRITTEN)], 50, 150)
    assert (shares.written_bytes, shares.unwritten_bytes, shares.hole_bytes) == (50, 50, 0)


def test_states_add_up_to_the_range() -> None:
    extents = [
        extent(start, 7, flags) for start, flags in zip(range(0, 90, 10), [0, 0x800, 0x6, 0x200] * 3, strict=False)
    ]
    shares = shares_of(extents, 3, 77)
    parts = (shares.written_bytes, shares.unwritten_bytes, shares.hole_bytes, shares.delayed_bytes, shares.inline_bytes)
    assert sum(parts) == shares.range_bytes == 74


def test_a_written_a_reserved_and_an_empty_part_of_a_real_file_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "data"
    with path.open("wb") as file:
        file.write(os.urandom(MIB))
        os.fsync(file.fileno())
        os.posix_fallocate(file.fileno(), MIB, MIB)
        file.truncate(3 * MIB)
    shares = extent_shares(str(path), sync=True)
    if not shares.method:
        pytest.skip(f"needs a file system with a map of extents: {shares.reason}")
    assert (shares.written_bytes, shares.unwritten_bytes, shares.hole_bytes) == (MIB, MIB, MIB)
    assert extent_shares(str(path), start_bytes=MIB, length_bytes=MIB).written_share == 0


def test_a_file_with_many_extents_is_read_in_several_calls(tmp_path: Path) -> None:
    path = tmp_path / "comb"
    block, pieces = 4096, 1500
    with path.open("wb") as file:
        for index in range(pieces):
            file.seek(2 * index * block)
            file.write(b"x" * block)
    shares = extent_shares(str(path), sync=True)
    if not shares.method:
        pytest.skip(f"needs a file system with a map of extents: {shares.reason}")
    assert shares.written_bytes == pieces * block
    assert shares.extent_count >= 1000


def test_an_empty_file_has_no_range(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    shares = extent_shares(str(tmp_path / "empty"))
    assert (shares.range_bytes, shares.written_share) == (0, None)


@pytest.mark.parametrize(("path", "reason"), [("/dev/null", "only files"), ("/nowhere/at/all", "No such file")])
def test_where_there_is_no_map_the_reason_says_why(path: str, reason: str) -> None:
    shares = extent_shares(path)
    assert shares.method == ""
    assert reason in shares.reason
    assert shares.to_json()["written_share"] is None
