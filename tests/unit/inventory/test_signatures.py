"""What is written on a device is recognised, and random data is not."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from drivelab.inventory.signatures import MAGICS, Magic, find_signatures, is_mbr

SIZE_BYTES = 16 * 2**20


def signatures_of(image: bytes | bytearray) -> tuple[str, ...]:
    return find_signatures(lambda offset, length: bytes(image[offset : offset + length]), len(image))


def mbr(*entries: tuple[int, int, int]) -> bytes:
    """A first sector with partitions of (type, start, sectors)."""
    rows = [struct.pack("<B3sB3sII", 0, bytes(3), kind, bytes(3), start, count) for kind, start, count in entries]
    return bytes(446) + b"".join(rows).ljust(64, b"\0") + b"\x55\xaa"


def test_an_empty_device_holds_nothing() -> None:
    assert signatures_of(bytes(SIZE_BYTES)) == ()


def test_random_data_holds_nothing() -> None:
    image = np.random.default_rng(5).bytes(SIZE_BYTES)
    assert signatures_of(image) == ()


@pytest.mark.parametrize("magic", MAGICS, ids=lambda magic: f"{magic.name} at {magic.offset_bytes}")
def test_each_magic_is_found_where_it_lies(magic: Magic) -> None:
    image = bytearray(SIZE_BYTES)
    start = magic.offset_bytes % SIZE_BYTES
    image[start : start + len(magic.magic)] = magic.magic
    assert signatures_of(image) == (magic.name,)


@pytest.mark.parametrize("size_bytes", [0, 512, 4096, 65536])
def test_a_tiny_device_is_read_without_error(size_bytes: int) -> None:
    assert signatures_of(bytes(size_bytes)) == ()


def test_a_partition_table_needs_a_sound_entry_beside_its_two_bytes() -> None:
    assert is_mbr(mbr((0x83, 2048, 1000)))
    assert not is_mbr(mbr())
    assert not is_mbr(bytes([7]) * 510 + b"\x55\xaa")
    assert not is_mbr(mbr((0x83, 2048, 1000))[:-2] + b"\0\0")


def test_a_protective_mbr_is_told_from_a_partition_table() -> None:
    image = bytearray(SIZE_BYTES)
    image[:512] = mbr((0xEE, 1, 32767))
    assert signatures_of(image) == ("dos",)
    image[512:520] = b"EFI PART"
    assert signatures_of(image) == ("gpt", "protective mbr")


@pytest.mark.parametrize("uberblock", [b"\x0c\xb1\xba\x00\x00\x00\x00\x00", b"\x00\x00\x00\x00\x00\xba\xb1\x0c"])
@pytest.mark.parametrize("label_start", [0, SIZE_BYTES - 512 * 1024])
def test_a_zfs_label_is_found_at_either_end_and_in_either_byte_order(uberblock: bytes, label_start: int) -> None:
    image = bytearray(SIZE_BYTES)
    start = label_start + (128 + 37) * 1024
    image[start : start + 8] = uberblock
    assert signatures_of(image) == ("zfs_member",)


@pytest.mark.parametrize("offset", [SIZE_BYTES - 64 * 1024, SIZE_BYTES - 8192])
def test_array_members_of_the_old_formats_are_found_at_the_end(offset: int) -> None:
    image = bytearray(SIZE_BYTES)
    image[offset : offset + 4] = b"\xfc\x4e\x2b\xa9"
    assert signatures_of(image) == ("linux_raid_member",)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        pytest.param(["mkfs.ext4", "-t", "ext2", "-qF"], "ext2", marks=pytest.mark.needs_tool("mkfs.ext4")),
        pytest.param(["mkfs.ext4", "-t", "ext3", "-qF"], "ext3", marks=pytest.mark.needs_tool("mkfs.ext4")),
        pytest.param(["mkfs.ext4", "-qF"], "ext4", marks=pytest.mark.needs_tool("mkfs.ext4")),
        pytest.param(["mkfs.xfs", "-qf"], "xfs", marks=pytest.mark.needs_tool("mkfs.xfs")),
        pytest.param(["mkswap", "-q"], "swap", marks=pytest.mark.needs_tool("lsblk")),
    ],
)
def test_what_the_real_tools_make_is_recognised(command: list[str], expected: str, tmp_path: Path) -> None:
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(320 * 2**20)
    subprocess.run([*command, str(image)], check=True, capture_output=True)
    with image.open("rb") as file:

        def read_at(offset: int, length: int) -> bytes:
            file.seek(offset)
            return file.read(length)

        assert find_signatures(read_at, image.stat().st_size) == (expected,)
