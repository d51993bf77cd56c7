"""What a descriptor of a followed program stood for, as /proc tells it."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from drivelab.inventory.block_devices import disk_of, name_of_number, number_of_node
from drivelab.inventory.filesystem import NETWORK_TYPES
from drivelab.inventory.mounts import Mount, parse_mountinfo
from drivelab.inventory.sysfs import read_text

_PROC = Path("/proc")
_UPPER = "upperdir="


@dataclass(slots=True)
class SeenFile:
    """What a descriptor stood for.

    Attributes
    ----------
    process, descriptor : int
        Whose, and which.
    path : str
        As the kernel names it; ``socket:[4711]`` for what is no file.
    device : str
        ``major:minor`` of the file system that it lies on, or of the device itself; empty for what is no file.
    is_durable : bool
        Whether each write is durable when it returns (O_DSYNC, O_SYNC).
    is_written : bool
        Whether it is open for writing.
    first_ns, last_ns : int
        When it was seen first and last, CLOCK_MONOTONIC.
    is_append, is_direct, is_closed_on_exec : bool
        Whether each write goes to its end (O_APPEND), and past the page cache (O_DIRECT); O_CLOEXEC.
    size_bytes, position_bytes : int
        How large it was, and where the descriptor stood in it, when it was seen first; 0 where nobody may ask.
    kind : str
        file, directory or other; empty where nobody may ask.
    inode : int
        Its number in its file system.
    sized_ns : int
        When `size_bytes` was so; else when it was seen first.
    address, mapped_bytes : int
        Where in the memory of its process it was mapped before that was followed, which is no descriptor; else 0.
    is_synced : bool
        Whether each write makes its times durable, too (O_SYNC).
    is_told : bool
        Whether the call that opened it told its path.
    """

    process: int
    descriptor: int
    path: str
    device: str
    is_durable: bool
    is_written: bool
    first_ns: int
    last_ns: int
    is_append: bool = False
    is_direct: bool = False
    is_closed_on_exec: bool = False
    size_bytes: int = 0
    position_bytes: int = 0
    kind: str = ""
    inode: int = 0
    sized_ns: int = -1
    is_told: bool = False
    is_synced: bool = False
    address: int = 0
    mapped_bytes: int = 0

    def __post_init__(self) -> None:
        if self.sized_ns < 0:
            self.sized_ns = self.first_ns


def seen_file(process: int, descriptor: int, path: str, now_ns: int) -> SeenFile | None:
    """What a descriptor stands for; None where it is gone by now."""
    facts: dict[str, str] = {}
    with suppress(OSError):
        lines = (_PROC / str(process) / "fdinfo" / str(descriptor)).read_text().splitlines()
        facts = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if "flags" not in facts:
        return None
    flags = int(facts["flags"], 8)
    device, is_remote = "", False
    if path.startswith("/"):
        mounts = parse_mountinfo(read_text(_PROC / str(process) / "mountinfo") or "")
        mount = next((one for one in mounts if str(one.mount_id) == facts.get("mnt_id", "")), None)
        device, is_remote = device_of(path, mount)
    is_written = flags & os.O_ACCMODE != os.O_RDONLY
    # O_SYNC has the bit of O_DSYNC
    found = SeenFile(process, descriptor, path, device, bool(flags & os.O_DSYNC), is_written, now_ns, now_ns)
    found.is_append, found.is_direct = bool(flags & os.O_APPEND), bool(flags & os.O_DIRECT)
    found.is_closed_on_exec, found.is_synced = bool(flags & os.O_CLOEXEC), flags & os.O_SYNC == os.O_SYNC
    found.position_bytes = int(facts.get("pos", 0))
    if device and not is_remote:
        look_at(found, _PROC / str(found.process) / "fd" / str(found.descriptor))
    return found


def look_at(file: SeenFile, place: Path | str) -> None:
    """Tell of a file what kind it is, how large, and its number; nothing of what is gone."""
    with suppress(OSError):
        status = os.stat(place)
        kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "directory"}
        file.kind = kinds.get(stat.S_IFMT(status.st_mode), "other")
        file.size_bytes, file.inode = status.st_size if file.kind == "file" else 0, status.st_ino


def device_of(path: str, mount: Mount | None) -> tuple[str, bool]:
    """``major:minor`` of what a path names, empty for what is no file, and whether it may be that of a server."""
    # nodes of devices only: to look at a file of a server that is gone would take for ever
    if path.startswith("/dev/"):
        if node := number_of_node(path):
            return node, False
        # /dev may be a directory of the file system that all else lies on
        if Path(path).is_char_device():
            return "", False
    return _device_of_mount(mount) if mount is not None else ("", True)


def _device_of_mount(found: Mount) -> tuple[str, bool]:
    # what a container writes into its own layer lies in a directory of its host
    upper = next((option.removeprefix(_UPPER) for option in found.options if option.startswith(_UPPER)), "")
    with suppress(OSError):
        if found.filesystem == "overlay" and upper:
            number = os.stat(upper).st_dev
            return f"{os.major(number)}:{os.minor(number)}", False
    return found.device_number, found.filesystem in NETWORK_TYPES or found.filesystem.startswith("fuse")


def disk_of_number(number: str) -> str:
    """Kernel name of the whole disk of ``major:minor``; empty where there is none."""
    name = name_of_number(number) if number and not number.startswith("0:") else None
    return disk_of(name) if name else ""
