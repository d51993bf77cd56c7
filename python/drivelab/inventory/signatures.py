"""Recognises partition tables, file systems and members of arrays by what is written on a device.

It is asked when no tool has an answer and always before a device is written
to. It errs on the side of caution: whatever it recognises keeps a device from
being overwritten without the owner's explicit word.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

ReadAt = Callable[[int, int], bytes]
_KIB = 1024


@dataclass(frozen=True, slots=True)
class Magic:
    """Bytes that give a format away; a negative offset counts from the end of the device."""

    name: str
    offset_bytes: int
    magic: bytes


# offsets and magics: libblkid/src/superblocks/*.c and libblkid/src/partitions/*.c of util-linux
MAGICS = (
    Magic("xfs", 0, b"XFSB"),
    Magic("btrfs", 64 * _KIB + 0x40, b"_BHRfS_M"),
    Magic("f2fs", 1024, b"\x10\x20\xf5\xf2"),
    Magic("bcache", 4096 + 24, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
    Magic("bcachefs", 4096 + 24, b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef"),
    Magic("ntfs", 3, b"NTFS    "),
    Magic("exfat", 3, b"EXFAT   "),
    Magic("vfat", 82, b"FAT32   "),
    Magic("vfat", 54, b"FAT16   "),
    Magic("vfat", 54, b"FAT12   "),
    Magic("iso9660", 32 * _KIB + 1, b"CD001"),
    Magic("squashfs", 0, b"hsqs"),
    Magic("erofs", 1024, b"\xe2\xe1\xf5\xe0"),
    Magic("reiserfs", 64 * _KIB + 52, b"ReIsEr"),
    Magic("jfs", 32 * _KIB, b"JFS1"),
    Magic("gfs2 or gfs", 64 * _KIB, b"\x01\x16\x19\x70"),
    Magic("ocfs2", 8 * _KIB, b"OCFSV2"),
    Magic("swap", 4096 - 10, b"SWAPSPACE2"),
    Magic("swap", 16 * _KIB - 10, b"SWAPSPACE2"),
    Magic("swap", 64 * _KIB - 10, b"SWAPSPACE2"),
    Magic("crypto_LUKS", 0, b"LUKS\xba\xbe"),
    Magic("LVM2_member", 0, b"LABELONE"),
    Magic("LVM2_member", 512, b"LABELONE"),
    Magic("LVM2_member", 1024, b"LABELONE"),
    Magic("LVM2_member", 1536, b"LABELONE"),
    Magic("BitLocker", 3, b"-FVE-FS-"),
    Magic("apfs", 32, b"NXSB"),
    Magic("linux_raid_member", 0, b"\xfc\x4e\x2b\xa9"),
    Magic("linux_raid_member", 4096, b"\xfc\x4e\x2b\xa9"),
    Magic("ceph_bluestore", 0, b"bluestore block device"),
    Magic("VMFS_volume_member", 1024 * _KIB, b"\x0d\xd0\x01\xc0"),
    Magic("oracleasm", 32, b"ORCLDISK"),
    Magic("gpt", 512, b"EFI PART"),
    Magic("gpt", 4096, b"EFI PART"),
    Magic("gpt (backup)", -512, b"EFI PART"),
    Magic("gpt (backup)", -4096, b"EFI PART"),
)
_EXT_SUPERBLOCK = 1024
_EXT_HAS_JOURNAL = 0x4  # of the compatible features
_EXT4_FEATURES = 0x40 | 0x80 | 0x200  # of the incompatible ones: extents, 64bit, flex_bg
_ZFS_UBERBLOCKS = (b"\x0c\xb1\xba\x00\x00\x00\x00\x00", b"\x00\x00\x00\x00\x00\xba\xb1\x0c")
_ZFS_LABEL_BYTES = 256 * _KIB
_MBR_ENTRIES_OFFSET = 446
_MBR_ENTRY_BYTES = 16


def find_signatures(read_at: ReadAt, size_bytes: int) -> tuple[str, ...]:
    """Names of the formats recognised on a device, each once; empty when there is none.

    Parameters
    ----------
    read_at : callable (offset_bytes, length) -> bytes
        Reads from the device; may return less at its end.
    size_bytes : int
        Size of the device.
    """
    found = [magic.name for magic in MAGICS if _matches(magic, read_at, size_bytes)]
    if read_at(_EXT_SUPERBLOCK + 0x38, 2) == b"\x53\xef":
        found.insert(0, _ext_version(read_at(_EXT_SUPERBLOCK + 0x5C, 8)))
    first_sector = read_at(0, 512)
    if is_mbr(first_sector) and not {"vfat", "ntfs", "exfat"} & set(found):
        found.append("dos" if "gpt" not in found else "protective mbr")
    if _holds_zfs(read_at, size_bytes):
        found.append("zfs_member")
    if _holds_old_md(read_at, size_bytes):
        found.append("linux_raid_member")
    return tuple(dict.fromkeys(found))


def is_mbr(sector: bytes) -> bool:
    """Whether a first sector holds an MBR partition table with at least one sound entry.

    The two bytes 55 AA alone turn up in one of 65 536 random sectors, so the
    four entries must make sense too.
    """
    if sector[510:512] != b"\x55\xaa":
        return False
    starts = range(_MBR_ENTRIES_OFFSET, 510, _MBR_ENTRY_BYTES)
    entries = [sector[start : start + _MBR_ENTRY_BYTES] for start in starts]
    if any(entry[0] not in (0x00, 0x80) for entry in entries):
        return False
    return any(entry[4] != 0 and int.from_bytes(entry[12:16], "little") > 0 for entry in entries)


def _matches(magic: Magic, read_at: ReadAt, size_bytes: int) -> bool:
    offset = magic.offset_bytes if magic.offset_bytes >= 0 else size_bytes + magic.offset_bytes
    if offset < 0 or offset + len(magic.magic) > size_bytes:
        return False
    return read_at(offset, len(magic.magic)) == magic.magic


def _ext_version(features: bytes) -> str:
    """ext2, ext3 or ext4, from the compatible and the incompatible features of its superblock."""
    if int.from_bytes(features[4:8], "little") & _EXT4_FEATURES:
        return "ext4"
    return "ext3" if int.from_bytes(features[:4], "little") & _EXT_HAS_JOURNAL else "ext2"


def _holds_zfs(read_at: ReadAt, size_bytes: int) -> bool:
    """Whether the uberblock ring of the first or of the third ZFS label holds an uberblock."""
    for label in (0, size_bytes - 2 * _ZFS_LABEL_BYTES):
        if label < 0:
            continue
        ring = read_at(label + 128 * _KIB, 128 * _KIB)
        if any(ring[start : start + 8] in _ZFS_UBERBLOCKS for start in range(0, len(ring), _KIB)):
            return True
    return False


def _holds_old_md(read_at: ReadAt, size_bytes: int) -> bool:
    """Whether an md superblock of version 0.90 or 1.0 lies near the end."""
    version_0 = (size_bytes & ~(64 * _KIB - 1)) - 64 * _KIB
    version_1 = ((size_bytes // 512 - 16) & ~7) * 512
    return any(offset >= 0 and read_at(offset, 4) == b"\xfc\x4e\x2b\xa9" for offset in (version_0, version_1))
