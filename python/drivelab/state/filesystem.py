"""The file system on a block device: make it, mount it in a private place, unmount it, wipe it."""

from __future__ import annotations

import secrets
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from drivelab.inventory.mounts import Mount, read_mounts
from drivelab.model.errors import DrivelabError
from drivelab.model.factor import FileSystemLevel
from drivelab.model.option_rule import require_listed_options
from drivelab.state.held_device import look_before_writing
from drivelab.state.journal import Change, Journal
from drivelab.state.programs import missing_program, require_program, run_program

MOUNT_PARENT = Path("/run/drivelab")
_UNMOUNT_PATIENCE_S = 10.0
# asks for no questions, and overwrites what is there: consent was given before
_MKFS = {
    "ext2": ("mkfs.ext2", "-q", "-F"),
    "ext3": ("mkfs.ext3", "-q", "-F"),
    "ext4": ("mkfs.ext4", "-q", "-F"),
    "xfs": ("mkfs.xfs", "-q", "-f"),
    "btrfs": ("mkfs.btrfs", "-q", "-f"),
    "f2fs": ("mkfs.f2fs", "-q", "-f"),
}


@dataclass(frozen=True, slots=True)
class MountedFileSystem:
    """A file system that drivelab mounted, as read back from the kernel.

    Attributes
    ----------
    change : Change
        Its entry in the journal.
    """

    mount_point: Path
    type: str
    options: tuple[str, ...]
    change: Change

    @property
    def text(self) -> str:
        """Type and options in one line, as achieved: ``ext4 rw,relatime``."""
        return f"{self.type} {','.join(self.options)}"


def require_filesystem_programs(types: Iterable[str]) -> None:
    """Make sure that file systems of these types can be made, mounted and wiped.

    Raises
    ------
    DrivelabError
        R402: a program is not installed.
    """
    for program in [*(_MKFS[name][0] for name in sorted(types)), "mount", "umount", "blkid", "wipefs"]:
        require_program(program)


def missing_filesystems() -> dict[str, str]:
    """The types of file systems that cannot be made here, each with what is not installed and what installs it."""
    missing = {name: missing_program(program) for name, (program, *_) in _MKFS.items()}
    return {name: f"{error.what}: {error.do}" for name, error in missing.items() if error is not None}


def make_filesystem(device: str, level: FileSystemLevel, journal: Journal) -> Change:
    """Make a file system on a block device; its entry in the journal.

    Parameters
    ----------
    device : str
        Device node; everything on it is lost.
    level : FileSystemLevel
        Type and options; not ``raw``.

    Raises
    ------
    DrivelabError
        P713: an option may reach beyond the device. C201 to C209: the device may not be written to
        any more. R402: the mkfs program is not installed. R403: it failed. R404: it made something else.
    """
    require_listed_options(level.type, mkfs=level.mkfs_options)
    identifier = str(uuid.uuid4())
    look_before_writing(device)
    made = journal.will_change("filesystem", device=device, filesystem=level.type, uuid=identifier)
    # what an older one left at the end, or in between, would hide the new one from whoever looks for it
    run_program(["wipefs", "--all", "--quiet", device], journal)
    run_program([*_MKFS[level.type], *_uuid_options(level.type, identifier), *level.mkfs_options, device], journal)
    found = _uuid_on(device)
    if found != identifier:
        # it would not be known again, and so not be wiped; or what is mounted next is an older one
        what = f"{_MKFS[level.type][0]} was to make the file system {identifier}, and there is {found or 'none'}"
        raise DrivelabError("R404", what, where=device)
    return made


def mount_filesystem(device: str, level: FileSystemLevel, journal: Journal) -> MountedFileSystem:
    """Mount the file system on a block device in a private place.

    Raises
    ------
    DrivelabError
        P713: an option may reach beyond the device. R403: mount failed.
        R404: the kernel mounted something else, which is unmounted again.
    """
    require_listed_options(level.type, mount=level.mount_options)
    mount_point = MOUNT_PARENT / f"{Path(device).name}-{level.type}-{secrets.token_hex(4)}"
    mounted = journal.will_change("mount", mount_point=str(mount_point), device=device)
    mount_point.mkdir(parents=True)
    options = ["-o", ",".join(level.mount_options)] if level.mount_options else []
    run_program(["mount", "-t", level.type, *options, device, str(mount_point)], journal)
    found = _mount_at(str(mount_point))
    if found is None or found.source != device or found.filesystem != level.type:
        undo_mount(**mounted.facts)
        journal.was_undone(mounted)
        listed = f"{found.filesystem} of {found.source}" if found else "nothing"
        what = f"{level.type} of {device} was to be mounted, and the kernel lists {listed}"
        raise DrivelabError("R404", what, where=str(mount_point))
    return MountedFileSystem(mount_point, found.filesystem, found.options, mounted)


def undo_mount(mount_point: str, device: str) -> str:
    """Unmount whatever lies on a mount point of ours, and remove it; what was done, in words, or nothing.

    The kernel may know the device by another name than we do, so the place
    decides: it was made for this mount alone, in a directory of root's.

    Raises
    ------
    DrivelabError
        R406: something still uses it, or it is no place that drivelab makes.
    """
    if Path(mount_point).parent != MOUNT_PARENT or Path(mount_point).name == "..":
        what = f"drivelab mounts {device} below {MOUNT_PARENT}, and leaves alone what is mounted elsewhere"
        raise DrivelabError("R406", what, where=mount_point, do="see what it is: findmnt; then delete the journal")
    done = ""
    deadline = time.monotonic() + _UNMOUNT_PATIENCE_S
    while _mount_at(mount_point) is not None:
        try:
            run_program(["umount", mount_point])
            done = f"unmounted {mount_point}"
        except DrivelabError as error:
            if time.monotonic() > deadline:
                raise DrivelabError("R406", error.what, where=mount_point) from error
            time.sleep(0.1)
    try:
        Path(mount_point).rmdir()
    except OSError:
        # never made, or not empty and then not ours
        pass
    return done


def undo_filesystem(device: str, filesystem: str, uuid: str) -> str:
    """Wipe the signatures of a file system that drivelab made; what was done, in words, or nothing.

    A file system with another UUID was made by someone else since then, and stays.
    """
    if not Path(device).exists() or _uuid_on(device) != uuid:
        return ""
    run_program(["wipefs", "--all", "--quiet", device])
    return f"wiped the {filesystem} file system that was made on {device}"


def _uuid_options(filesystem: str, identifier: str) -> list[str]:
    return ["-m", f"uuid={identifier}"] if filesystem == "xfs" else ["-U", identifier]


def _uuid_on(device: str) -> str:
    try:
        # -p looks at the device itself, and not at what was cached
        return run_program(["blkid", "-p", "-s", "UUID", "-o", "value", device]).strip()
    except DrivelabError:
        # that is how blkid says that it finds nothing
        return ""


def _mount_at(mount_point: str) -> Mount | None:
    found = [mount for mount in read_mounts() if mount.mount_point == mount_point]
    return found[-1] if found else None
