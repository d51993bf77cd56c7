"""Partitions of loop devices. A loop device keeps them when it is detached, so `deletions` have to come before."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

FIRST_SECTOR = 2048
PARTITION_SECTORS = 32768


def add_partition(disk: Path, number: int, first_sector: int, sectors: int) -> Path:
    """Tell the kernel of a partition, whatever the table on the disk says."""
    subprocess.run(["addpart", str(disk), str(number), str(first_sector), str(sectors)], check=True)
    return Path(f"{disk}p{number}")


def two_partitions(disk: Path) -> tuple[Path, Path]:
    """Two partitions of 16 MiB that the table on the disk has too."""
    begins = [FIRST_SECTOR + PARTITION_SECTORS * number for number in (0, 1)]
    rows = [struct.pack("<B3sB3sII", 0, bytes(3), 0x83, bytes(3), begin, PARTITION_SECTORS) for begin in begins]
    with disk.open("r+b") as file:
        file.write(bytes(446) + b"".join(rows) + bytes(32) + b"\x55\xaa")
    for number, begin in enumerate(begins, 1):
        # a kernel that reads the table itself has them already
        added = ["addpart", str(disk), str(number), str(begin), str(PARTITION_SECTORS)]
        subprocess.run(added, capture_output=True)
    return Path(f"{disk}p1"), Path(f"{disk}p2")


def deletions(disk: Path) -> list[list[str]]:
    """Commands that make the kernel forget the partitions; it refuses while anybody has one open."""
    numbers = Path("/sys/class/block", disk.name).glob(f"{disk.name}p*/partition")
    return [["delpart", str(disk), number.read_text().strip()] for number in numbers]
