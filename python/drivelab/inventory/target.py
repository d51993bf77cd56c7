"""Turns what the user typed into a target: what it is, and everything between it and the drive."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from drivelab.inventory.block_devices import name_of_node, read_layer
from drivelab.inventory.block_stack import stack_under
from drivelab.inventory.drives import read_drives
from drivelab.inventory.filesystem import devices_of_path, filesystem_of
from drivelab.inventory.identity import read_identity
from drivelab.inventory.raid import is_raid_text, resolve_raid
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.inventory.tools import why_refused
from drivelab.model.drive import DriveFacts
from drivelab.model.errors import DrivelabError
from drivelab.model.target import BlockLayer, FilesystemFacts, TargetFacts, TargetKind
from drivelab.model.units import format_bytes, parse_bytes

SCRATCH_PREFIX = "scratch:"
SCRATCH_BYTES_MIN = 16 * 2**20  # the smallest file system that mkfs.ext4 and a short test fit on
_SIMULATED_PREFIX = "sim:"
# file systems that hold no files of anybody
_NO_STORAGE = frozenset(
    ("proc", "sysfs", "cgroup", "cgroup2", "devpts", "debugfs", "tracefs", "securityfs", "configfs", "bpf", "pstore")
)
_LIST_DRIVES = "list the drives: drivelab drives"


def resolve_target(text: str, paths: SystemPaths = SYSTEM) -> TargetFacts:
    """Facts about a target and about everything beneath it; nothing is written.

    Parameters
    ----------
    text : str
        A directory, a file, a new file in an existing directory, a block device
        (also by a link such as ``/dev/disk/by-id/...``), ``scratch:SIZE``,
        ``sim:NAME``, or a RAID set of block devices and scratch drives, ``raid5:A,B,C``.

    Returns
    -------
    TargetFacts
        ``devices`` go from the drive up to the layer that the target sits on;
        empty, with ``no_device_reason``, where files are not on a block device.

    Raises
    ------
    DrivelabError
        U001: the size of a scratch target is none. T101: nothing is there.
        T102: no permission. T104: a drive without a medium. T105: neither
        directory, file nor block device. T106: a simulated drive that does not
        exist. T107: a device node without a device. T108: a scratch size too small.
        U040 to U044: not a RAID set that could be made.
    """
    if text.startswith(SCRATCH_PREFIX):
        return _scratch(text)
    if is_raid_text(text):
        return resolve_raid(text, lambda member: resolve_target(member, paths))
    if text.startswith(_SIMULATED_PREFIX):
        return _simulated(text)
    path, status = _looked_up(text)
    _require_text(path)
    if status is None:
        return _missing_file(text, path, paths)
    if stat.S_ISBLK(status.st_mode):
        return _block_device(text, path, paths)
    if stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode):
        return _on_filesystem(text, path, status, paths)
    raise _not_a_target(text, path, status)


def missing_file(text: str) -> Path | None:
    """Where a target that is a new file would be made; None of every other target. No drive is looked at.

    Raises
    ------
    DrivelabError
        T101, T102, T105: as `resolve_target`.
    """
    if text.startswith((SCRATCH_PREFIX, _SIMULATED_PREFIX)) or is_raid_text(text):
        return None
    path, status = _looked_up(text)
    _require_text(path)
    return path if status is None else None


def require_writable(target: TargetFacts) -> None:
    """Make sure that files can be made in a directory target, or the target itself can be written.

    Raises
    ------
    DrivelabError
        T103: file system or device are read-only. T102: no permission to write.
    """
    if target.kind in ("scratch", "simulated"):
        return
    if target.kind == "raid" and target.raid is not None:
        for member in target.raid.members:
            require_writable(member)
        return
    if target.filesystem is not None and target.filesystem.is_read_only:
        mount_point = target.filesystem.mount_point
        raise DrivelabError(
            "T103",
            f"{target.path} is on a file system mounted read-only",
            where=f"{target.filesystem.type} on {mount_point}",
            do=f"choose another target, or: mount -o remount,rw {mount_point}",
        )
    if target.filesystem is None and target.devices and target.devices[-1].is_read_only:
        do = f"choose another target, or: blockdev --setrw {target.path}"
        raise DrivelabError("T103", f"the kernel holds {target.path} read-only", where=target.text, do=do)
    if target.is_read_only:
        where = Path(target.path).parent if target.kind == "missing_file" else target.path
        do = "choose a target of your own, or run as root"
        raise DrivelabError("T102", f"no permission to write {where}", where=target.text, do=do)


def _simulated(text: str) -> TargetFacts:
    # imported here: most targets are real
    from drivelab.simulated.load import load_model

    model = load_model(text)
    layer = BlockLayer(
        name=text,
        path=text,
        device_number="",
        kind="disk",
        size_bytes=model.size,
        start_bytes=0,
        logical_block_size_bytes=512,
        physical_block_size_bytes=model.flash.page if model.flash else 4096,
        write_cache="write back" if model.cache.size and model.cache.volatile else "write through",
        uses_fua=True,
        is_rotational=model.disk is not None,
        is_read_only=False,
        scheduler=None,
        detail="simulated",
    )
    return TargetFacts(text, "simulated", text, True, None, (layer,), (), model.size, 512, False, simulated=model)


def _looked_up(text: str) -> tuple[Path, os.stat_result | None]:
    """The path with links followed, and its status; None when it does not exist but its directory does.

    Raises
    ------
    DrivelabError
        T101, T102.
    """
    if not text.strip() or "\0" in text:
        raise DrivelabError("T101", "the target is empty" if not text.strip() else "a path holds no NUL character")
    path = _block_device_of(Path(text))
    try:
        return path.resolve(strict=True), path.stat()
    except FileNotFoundError:
        return _missing(text, path), None
    except PermissionError as error:
        raise _no_permission(text, str(error.filename or path)) from error
    except (OSError, RuntimeError) as error:
        # RuntimeError: a loop of symbolic links, before Python 3.13
        reason = error.strerror if isinstance(error, OSError) else "a loop of symbolic links"
        raise DrivelabError("T101", f"cannot look up {path}: {reason}", where=text) from error


def _block_device_of(path: Path) -> Path:
    """The block device of an NVMe namespace that is named by its character device, else the path itself."""
    found = re.fullmatch(r"ng(\d+n\d+)", path.name)
    block_device = path.with_name(f"nvme{found[1]}") if found else path
    return block_device if found and path.is_char_device() and block_device.is_block_device() else path


def _require_text(path: Path) -> None:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        # names go to the engine and into the run as JSON
        shown = ascii(str(path))
        raise DrivelabError("T105", f"the path {shown} is no UTF-8 text", where=shown, do="rename it") from None


def _missing(text: str, path: Path) -> Path:
    """Where a missing file would be made; its directory must exist."""
    parent = path.parent.resolve()
    if path.is_symlink():
        what = f"{path} is a link to {os.readlink(path)}, which does not exist"
        raise DrivelabError("T101", what, where=text, do="make what it points to, or name another target")
    if text.endswith("/") or not parent.is_dir():
        what = f"{path} does not exist" if parent.is_dir() else f"the directory {path.parent} does not exist"
        raise DrivelabError("T101", what, where=text, do=_advice_for_missing(path))
    if parent == Path("/dev"):
        raise DrivelabError("T101", f"there is no device {path}", where=text, do=_LIST_DRIVES)
    device = Path("/dev") / text
    if "/" not in text and device.is_block_device():
        # who names a drive as the kernel does means the drive, and not a new file of its name
        do = f"did you mean {device}? for a new file or directory: ./{text}"
        raise DrivelabError("T101", f"{text} does not exist here", where=text, do=do)
    return parent / path.name


def _advice_for_missing(path: Path) -> str:
    existing = next(parent for parent in path.absolute().parents if parent.is_dir())
    return _LIST_DRIVES if str(path).startswith("/dev/") else f"check the spelling; {existing} exists"


def _scratch(text: str) -> TargetFacts:
    size_bytes = parse_bytes(text.removeprefix(SCRATCH_PREFIX))
    if size_bytes < SCRATCH_BYTES_MIN:
        least = format_bytes(SCRATCH_BYTES_MIN)
        what = f"a scratch drive of {format_bytes(size_bytes)} is too small, the least is {least}"
        raise DrivelabError("T108", what, where=text)
    size_bytes -= size_bytes % 4096
    return TargetFacts(text, "scratch", "", False, None, (), (), size_bytes, 512, False)


def _missing_file(text: str, path: Path, paths: SystemPaths) -> TargetFacts:
    if not os.access(path.parent, os.X_OK):
        raise _no_permission(text, str(path.parent))
    may_write = os.access(path.parent, os.W_OK)
    return _file_target(text, "missing_file", path, 0, may_write, paths)


def _on_filesystem(text: str, path: Path, status: os.stat_result, paths: SystemPaths) -> TargetFacts:
    is_directory = stat.S_ISDIR(status.st_mode)
    if not os.access(path, os.R_OK | os.X_OK if is_directory else os.R_OK):
        raise _no_permission(text, str(path))
    size_bytes = 0 if is_directory else status.st_size
    kind: TargetKind = "directory" if is_directory else "file"
    facts = _file_target(text, kind, path, size_bytes, os.access(path, os.W_OK), paths)
    return replace(facts, inode=status.st_ino)


def _file_target(
    text: str, kind: TargetKind, path: Path, size_bytes: int, may_write: bool, paths: SystemPaths
) -> TargetFacts:
    existing = path.parent if kind == "missing_file" else path
    try:
        filesystem = filesystem_of(existing, paths)
        beneath = devices_of_path(existing, paths).names
    except OSError as error:
        raise DrivelabError("T107", f"{existing} vanished: {error.strerror}", where=text) from error
    if filesystem is not None and filesystem.type in _NO_STORAGE:
        what = f"{existing} is not storage: {filesystem.type} shows what the kernel knows"
        raise DrivelabError("T105", what, where=text)
    layers, drives = _layers_and_drives(beneath, paths)
    return TargetFacts(
        text=text,
        kind=kind,
        path=str(path),
        exists=kind != "missing_file",
        filesystem=filesystem,
        devices=layers,
        drives=drives,
        size_bytes=size_bytes,
        logical_block_size_bytes=_logical_block_size(layers),
        is_read_only=not may_write or _is_read_only(filesystem),
    )


def _block_device(text: str, path: Path, paths: SystemPaths) -> TargetFacts:
    name = name_of_node(path, paths)
    if name is None:
        raise DrivelabError("T107", f"{path} is a device node without a device", where=text, do=_LIST_DRIVES)
    _require_openable(text, path)
    layers, drives = _layers_and_drives((name,), paths)
    layer = layers[-1]
    if layer.size_bytes == 0:
        raise DrivelabError("T104", f"{path} has no medium: its size is 0", where=text)
    return TargetFacts(
        text=text,
        kind="block_device",
        path=str(path),
        exists=True,
        filesystem=None,
        devices=layers,
        drives=drives,
        size_bytes=layer.size_bytes,
        logical_block_size_bytes=layer.logical_block_size_bytes,
        is_read_only=layer.is_read_only or not os.access(path, os.W_OK),
        identity=read_identity(name, paths),
    )


def _require_openable(text: str, path: Path) -> None:
    """Open the device for reading once, because only that tells whether it can be.

    Raises
    ------
    DrivelabError
        T102, T104, T107.
    """
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK))
    except PermissionError as error:
        do = "give a directory on it instead" + (", or run as root" if os.geteuid() else "")
        what = f"no permission to read {path}: {why_refused(path)}"
        raise DrivelabError("T102", what, where=text, do=do) from error
    except OSError as error:
        code = "T104" if error.errno == errno.ENOMEDIUM else "T107"
        raise DrivelabError(code, f"cannot open {path}: {error.strerror}", where=text, do=_LIST_DRIVES) from error


def _layers_and_drives(
    beneath: Sequence[str], paths: SystemPaths
) -> tuple[tuple[BlockLayer, ...], tuple[DriveFacts, ...]]:
    stack = stack_under(beneath, paths)
    layers = tuple(read_layer(name, paths) for name in stack.names)
    # the tools know only the system that they run on
    return layers, tuple(read_drives(list(stack.drives), paths, ask_tools=paths == SYSTEM))


def _logical_block_size(layers: Sequence[BlockLayer]) -> int:
    return max((layer.logical_block_size_bytes for layer in layers), default=512)


def _is_read_only(filesystem: FilesystemFacts | None) -> bool:
    return filesystem is not None and filesystem.is_read_only


def _no_permission(text: str, path: str) -> DrivelabError:
    do = f"run as root, or make it readable: ls -ld {path}"
    return DrivelabError("T102", f"no permission to use {path}", where=text, do=do)


def _not_a_target(text: str, path: Path, status: os.stat_result) -> DrivelabError:
    if not stat.S_ISCHR(status.st_mode):
        kind = "socket" if stat.S_ISSOCK(status.st_mode) else "pipe"
        return DrivelabError("T105", f"{path} is a {kind}", where=text)
    namespace = f"{path}n1"
    is_controller = path.name.startswith("nvme") and Path(namespace).exists()
    do = f"give its namespace: {namespace}" if is_controller else ""
    return DrivelabError("T105", f"{path} is a character device, not a drive", where=text, do=do)
