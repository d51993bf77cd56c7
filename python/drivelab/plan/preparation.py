"""What a run writes beside its workloads, step by step: the same course as `drivelab.run.stage`, without doing it."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from drivelab.model.factor import FileSystemLevel
from drivelab.model.plan import PlannedTarget
from drivelab.model.workload_pattern import WorkloadPattern
from drivelab.plan.aged_writes import MOST_CAPACITIES
from drivelab.plan.budget import CHANGE_SETTING_NS, MAKE_FILESYSTEM_NS, counting_pass, traced_pass, tree_made, write_ns
from drivelab.plan.cells import Cell, made_as
from drivelab.plan.fit import is_on_device
from drivelab.plan.order import Turn

_KIB, _MIB, _GIB = 2**10, 2**20, 2**30
# mke2fs 1.47: inodes of 256 B for every 16 KiB, and for every 4 KiB of a file system below 512 MiB
_INODE_TABLE_SHARE, _INODE_TABLE_SHARE_SMALL = 256 / (16 * _KIB), 256 / (4 * _KIB)
_EXT_SMALL_BYTES = 512 * _MIB
# the journal that it makes for a file system below each size; 1 GiB above
_EXT_JOURNALS = (
    (128 * _MIB, 4 * _MIB),
    (_GIB, 16 * _MIB),
    (2 * _GIB, 32 * _MIB),
    (16 * _GIB, 64 * _MIB),
    (32 * _GIB, 128 * _MIB),
    (64 * _GIB, 256 * _MIB),
    (128 * _GIB, 512 * _MIB),
)
_EXT_JOURNAL_MAX = _GIB
# the log that mkfs.xfs 6.1 writes zeros to, what mkfs.btrfs 6.2 writes, and mkfs.f2fs 1.15
_XFS_LOG_MIN, _XFS_LOG_MAX, _XFS_LOG_SHARE = 64 * _MIB, 2 * _GIB, 1 / 2048
_BTRFS_BYTES = 4 * _MIB
_F2FS_MIN, _F2FS_MAX, _F2FS_SHARE = 4 * _MIB, 120 * _MIB, 1 / 512
# here glibc reserves space by writing to every block
_WITHOUT_FALLOCATE = ("ext2", "ext3")


@dataclass(slots=True)
class _State:
    """What a target is like before a step."""

    block: int = 0
    # type and options of mkfs; None while there is no file system of the run
    made: Hashable = None
    mounted: FileSystemLevel | None = None
    file: Hashable = None
    # as which precondition left it
    filled: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Preparation:
    """Bytes by what they are for (`drivelab.model.plan.PREPARATIONS`), and the guessed time of it all."""

    bytes_for: dict[str, int] = field(default_factory=dict)
    duration_ns: int = 0

    @property
    def bytes_written(self) -> int:
        """All bytes together."""
        return sum(self.bytes_for.values())

    def add(self, what: str, size_bytes: int, duration_ns: int) -> None:
        """Take some more into account."""
        if size_bytes:
            self.bytes_for[what] = self.bytes_for.get(what, 0) + size_bytes
        self.duration_ns += duration_ns


class Preparations:
    """Follows the turns of a plan and tells what is written for each.

    Parameters
    ----------
    targets : sequence of PlannedTarget
        The targets of the plan.
    filesystem_types : mapping of str to str
        Type of the file system that a directory lies on, by the target's label.
    is_traced : bool
        Whether a traced pass follows every trial.
    """

    def __init__(
        self, targets: Sequence[PlannedTarget], filesystem_types: Mapping[str, str], *, is_traced: bool = False
    ) -> None:
        self._is_traced = is_traced
        self._targets = {target.label: target for target in targets}
        self._filesystem_types = filesystem_types
        self._states = {target.label: _State(filled="sequential" if target.is_filled else "") for target in targets}
        self._counted: set[Hashable] = set()
        self._group = 0

    def of(self, turn: Turn) -> Preparation:
        """What is written for the next turn, and how long that takes."""
        done = Preparation()
        target, state, cell = self._targets[turn.target], self._states[turn.target], turn.cell
        self._clear(state, turn)
        changed = sum(level != state.settings.get(name) for name, level in cell.settings.items())
        done.duration_ns += CHANGE_SETTING_NS * changed
        state.settings = cell.settings
        self._fill_device(done, state, cell, target)
        self._make_filesystem(done, state, cell, target)
        if not is_on_device(cell, target) and target.kind != "file":
            if turn.together and turn.together == self._group:
                # each of those that run at the same time has a file of its own
                self._lay_out(done, _State(), cell, target)
            else:
                self._lay_out(done, state, cell, target)
        self._group = turn.together
        if turn.together:
            # neither commands nor traces could be told apart
            return done
        if self._is_traced and not cell.pattern.uses_tree:
            # which also tells the commands
            done.add("tracing", *traced_pass(cell.pattern, cell.filesystem, pace=target.pace))
        else:
            self._count_commands(done, turn, target)
        return done

    @staticmethod
    def _clear(state: _State, turn: Turn) -> None:
        """Take away what cannot stay for this turn."""
        cell = turn.cell
        is_cleared = cell.actions.get("purge", "none") != "none" or cell.actions.get("trim") == "device"
        if turn.block != state.block or made_as(cell.filesystem) != state.made or is_cleared:
            state.made = state.mounted = state.file = None
        state.block = turn.block
        state.filled = "" if is_cleared else state.filled

    @staticmethod
    def _fill_device(done: Preparation, state: _State, cell: Cell, target: PlannedTarget) -> None:
        kind = cell.actions.get("precondition", "none")
        if kind in ("none", state.filled) or not is_on_device(cell, target):
            return
        # it ends when all flash was written, and how much that is only the drive knows
        most = target.size_bytes if kind == "sequential" else round(MOST_CAPACITIES * target.size_bytes)
        done.add("precondition", most, write_ns(most, pace=target.pace))
        state.filled = kind

    @staticmethod
    def _make_filesystem(done: Preparation, state: _State, cell: Cell, target: PlannedTarget) -> None:
        level = cell.filesystem
        if level is None or level.type == "raw":
            return
        if state.made is None:
            written = filesystem_bytes(level, target.size_bytes)
            done.add("filesystem", written, MAKE_FILESYSTEM_NS + write_ns(written, pace=target.pace))
            state.made, state.filled = made_as(level), ""
        if state.mounted != level:
            state.mounted, state.file = level, None

    def _lay_out(self, done: Preparation, state: _State, cell: Cell, target: PlannedTarget) -> None:
        pattern = cell.pattern
        if pattern.uses_tree:
            # one that is there already costs less; which trial finds one is not worth following
            done.add("file", *tree_made(pattern, pace=target.pace))
            state.file = None
            return
        used = pattern.used_bytes(pattern.file_size, target.logical_block_size_bytes)
        holds = None if pattern.writes else (used, pattern.contents, pattern.own_file_count)
        if holds is None or holds != state.file:
            lies_on = cell.filesystem.type if cell.filesystem else self._filesystem_types.get(target.label, "")
            written = _layout_bytes(pattern, used, lies_on) * pattern.own_file_count
            done.add("file", written, write_ns(written, pace=target.pace))
        state.file = holds

    def _count_commands(self, done: Preparation, turn: Turn, target: PlannedTarget) -> None:
        """Once for a combination, after its first trial."""
        cell = turn.cell
        key = (turn.target, cell.workload, tuple(cell.levels.items()))
        if key in self._counted:
            return
        self._counted.add(key)
        done.add("counting", *counting_pass(cell.pattern, cell.filesystem, pace=target.pace))


def filesystem_bytes(level: FileSystemLevel, size_bytes: int) -> int:
    """Bytes that making a file system of so many bytes writes, roughly.

    Notes
    -----
    ext4 with lazy tables leaves them to the kernel, which writes them while it
    is mounted: they are counted all the same.
    """
    if level.type in ("ext2", "ext3", "ext4"):
        return _ext_bytes(level, size_bytes)
    if level.type == "xfs":
        return round(min(_XFS_LOG_MAX, max(_XFS_LOG_MIN, size_bytes * _XFS_LOG_SHARE)))
    if level.type == "f2fs":
        return _F2FS_MIN + round(min(_F2FS_MAX, size_bytes * _F2FS_SHARE))
    return _BTRFS_BYTES if level.type == "btrfs" else 0


def _ext_bytes(level: FileSystemLevel, size_bytes: int) -> int:
    options = " ".join(level.mkfs_options)
    share = _INODE_TABLE_SHARE_SMALL if size_bytes < _EXT_SMALL_BYTES else _INODE_TABLE_SHARE
    ratio = re.search(r"-i\s*(\d+)", options)
    inode = re.search(r"-I\s*(\d+)", options)
    if ratio or inode:
        bytes_per_inode = int(ratio[1]) if ratio else 256 / share
        share = (int(inode[1]) if inode else 256) / max(1, bytes_per_inode)
    has_journal = level.type != "ext2" and "^has_journal" not in options
    journal = next((journal for below, journal in _EXT_JOURNALS if size_bytes < below), _EXT_JOURNAL_MAX)
    told = re.search(r"-J\s*\S*size=(\d+)", options)
    if told:
        journal = int(told[1]) * _MIB
    return round(size_bytes * min(1, share)) + (journal if has_journal else 0)


def _layout_bytes(pattern: WorkloadPattern, used_bytes: int, filesystem_type: str) -> int:
    """Bytes that bringing a file into the state that a workload begins with writes."""
    is_written = not pattern.writes or pattern.file_state == "overwrite"
    if pattern.file_state == "preallocated" and filesystem_type in _WITHOUT_FALLOCATE:
        is_written = True
    return pattern.offset + used_bytes if is_written else 0
