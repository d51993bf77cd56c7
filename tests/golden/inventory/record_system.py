"""Records what the kernel tells about the drives of a running Linux system, as one JSON document.

The inventory's tests replay such recordings. Run it as root on the system to record:

    python3 record_system.py > system.json

The document maps paths to ``{"text": ...}``, ``{"hex": ...}`` or ``{"link": ...}``.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

ATTRIBUTES = re.compile(
    r"(size|start|dev|ro|removable|hidden|partition|diskseq|wwid|serial|cache_type|model|vendor|rev|firmware_rev|"
    r"transport|vpd_pg8[09]|backing_file|level|uuid|name|version|speed|bcdDevice|"
    r"(current|max)_link_(speed|width)|(negotiated|maximum)_linkrate|(hw_)?sata_spd(_limit)?|"
    r"write_cache|fua|rotational|(logical|physical)_block_size|optimal_io_size|scheduler|nr_requests|"
    r"discard_granularity|discard_max_bytes|sys_vendor|product_name|bios_vendor)$"
)
FILES = ("/proc/self/mountinfo", "/proc/1/mountinfo", "/proc/swaps", "/proc/cpuinfo", "/proc/meminfo")
SKIPPED = {"power", "mq", "trace", "hwmon0", "bsg", "scsi_generic", "integrity", "iosched", "subsystem"}


def record(path: Path, found: dict[str, dict[str, str]]) -> None:
    """Add a file, a link or a directory with what is in it."""
    if path.is_symlink():
        found[str(path)] = {"link": os.readlink(path)}
    elif path.is_dir():
        for entry in sorted(path.iterdir()):
            if entry.name not in SKIPPED and (entry.is_dir() or entry.is_symlink() or ATTRIBUTES.match(entry.name)):
                record(entry, found)
    else:
        try:
            content = path.read_bytes()
        except OSError:
            return
        is_text = all(byte in b"\n\t" or 32 <= byte < 127 for byte in content)
        found[str(path)] = {"text": content.decode()} if is_text else {"hex": content.hex()}


def record_block_device(name: str, found: dict[str, dict[str, str]]) -> None:
    """Add a block device and what hangs between it and the computer's bus."""
    block = Path("/sys/class/block", name).resolve()
    record(block, found)
    for parent in block.parents:
        if parent == Path("/sys/devices"):
            break
        for entry in sorted(parent.iterdir()):
            is_neighbour = re.match(r"nvme\d+$|ata_link$|phy-|sas_phy$|driver$|.*:\d+\.\d+$", entry.name)
            is_attribute = entry.is_file() and ATTRIBUTES.match(entry.name)
            is_link = entry.is_symlink() and (is_neighbour or entry.name == "device")
            if is_attribute or is_link:
                record(entry, found)
            elif is_neighbour and entry.is_dir() and (entry / "driver").is_symlink():
                record(entry / "driver", found)


def main() -> None:
    """Print the recording of this system."""
    found: dict[str, dict[str, str]] = {}
    for name in sorted(os.listdir("/sys/class/block")):
        record(Path("/sys/class/block", name), found)
        record_block_device(name, found)
    for folder in ("block", "dev/block", "class/ata_link", "fs/btrfs", "fs/ext4", "fs/xfs", "class/dmi/id"):
        for entry in sorted(Path("/sys", folder).glob("*")):
            record(entry, found)
            if folder == "class/ata_link":
                record(entry.resolve(), found)
    for disk in Path("/sys/class/block").glob("*/device/scsi_disk/*"):
        record(disk.resolve(), found)
    for file in FILES:
        record(Path(file), found)
    json.dump(found, sys.stdout, indent=0, sort_keys=True)


if __name__ == "__main__":
    main()
