"""Makes and mounts every file system of a plan once, on a small loop device, before anything is changed.

Which options a kernel takes nobody can tell from a list: it depends on its
version and on how it was built. So each combination is tried.
"""

from __future__ import annotations

from collections.abc import Iterable

from drivelab.model.errors import DrivelabError
from drivelab.model.factor import FileSystemLevel
from drivelab.run.filesystem_on_target import FileSystemOnTarget
from drivelab.state.begun_journal import begun_journal
from drivelab.state.journal import Journal
from drivelab.state.scratch import make_sparse_scratch

# sparse: only what mkfs writes takes room; the smallest that every mkfs takes, xfs included
_SIZE_BYTES = 512 * 2**20
_ROOM_BYTES = 64 * 2**20


def try_file_systems(levels: Iterable[FileSystemLevel]) -> None:
    """Return only if every file system can be made and mounted with its options.

    Raises
    ------
    DrivelabError
        R403: mkfs or the kernel refuses an option; the error names the level.
        R405: there is no room to try it.
    """
    wanted = [level for level in levels if level.type != "raw"]
    if not wanted:
        return
    with begun_journal("trying file systems and their options") as journal:
        device = make_sparse_scratch(_SIZE_BYTES, _ROOM_BYTES, journal)
        for level in wanted:
            _try(device, level, journal)


def _try(device: str, level: FileSystemLevel, journal: Journal) -> None:
    filesystem = FileSystemOnTarget(journal)
    try:
        filesystem.bring(device, level)
    except DrivelabError as error:
        if error.code != "R403":
            raise
        do = f"correct the options of level {level.name} in the experiment; nothing was changed"
        if "unknown filesystem type" in error.what:
            do = f"this kernel has no {level.type}: take {level.name} out, or keep others: --only filesystem=LEVEL"
        raise DrivelabError("R403", f"{level.name}: {error.what}", where=error.where, do=do) from error
    filesystem.take_away()
