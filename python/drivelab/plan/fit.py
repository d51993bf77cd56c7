"""Fits the cells of an experiment to a target: what it cannot have is refused, what is adapted is noted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from drivelab.model.errors import DrivelabError
from drivelab.model.job_files import JobFiles
from drivelab.model.plan import PlannedTarget
from drivelab.model.target import DEVICE_KINDS
from drivelab.model.units import format_bytes
from drivelab.plan.cells import Cell
from drivelab.plan.tree import refuse_tree, tree_bytes

# the smallest file systems that the mkfs programs make (xfsprogs 6.1, btrfs-progs 6.2, e2fsprogs 1.47)
_SMALLEST_BYTES = {"xfs": 300 * 2**20, "btrfs": 109 * 2**20, "f2fs": 52 * 2**20}
_SMALLEST_OTHER_BYTES = 8 * 2**20
# share of a file system that files may fill: the rest is its journal, its tables and its reserve
FILE_SHARE = 0.85
# said once for all of them: of two sizes that are varied nearly half the combinations may be such
LARGER_THAN_FILE = "combinations of a block_size that is larger than the file_size are left out: they do not exist"


def fit(cell: Cell, target: PlannedTarget, *, goes_round: bool = False) -> tuple[Cell | None, tuple[str, ...]]:
    """The cell as this target can have it, and notes on what was adapted.

    None stands for a combination that does not exist: a block size among
    several that is no multiple of what direct I/O takes. With `goes_round` what
    is written in a row may begin again where it began.

    Raises
    ------
    DrivelabError
        T101: the target does not exist. P704: a file system is asked for on
        what is not a block device.
        P705: the target is too small. P706: the workload cannot be issued there.
    """
    _refuse_file(cell, target)
    _refuse_filesystem(cell, target)
    _refuse_small_filesystem(cell, target)
    if cell.pattern.uses_tree:
        refuse_tree(cell, target, int(target.size_bytes * FILE_SHARE))
        return cell, ()
    on_device = is_on_device(cell, target)
    cell = _with_parts(cell, has_one_place=on_device or target.kind == "file")
    if not on_device:
        cell = _with_file_size(cell, target)
    goes_round = goes_round or cell.pattern.capacities > 0
    cell = _of_target_size(cell, target)
    unaligned = _unaligned_level(cell, target)
    if unaligned:
        return None, (unaligned,)
    if not on_device and _is_larger_than_its_file(cell):
        return None, (LARGER_THAN_FILE,)
    cell, notes = _whole_logical_blocks(cell, target)
    if on_device and cell.pattern.file_state != "overwrite":
        cell = replace(cell, pattern=cell.pattern.changed(file_state="overwrite"))
        notes += (f"{cell.workload} on the device itself overwrites from its start: there is nothing to append to",)
    _refuse_small_target(cell, target, goes_round=goes_round)
    return cell, notes


def _with_parts(cell: Cell, *, has_one_place: bool) -> Cell:
    """The cell with parts of a device, or of a file that is there, where no files can be made for its jobs."""
    pattern = cell.pattern
    if not (pattern.own_file_count > 1 and has_one_place):
        return cell
    size = pattern.range_size * pattern.own_file_count
    return replace(cell, pattern=pattern.changed(own_files=False, job_files=JobFiles(), range_size=size))


def refuse_unless_together(unit: Sequence[Cell], target: PlannedTarget) -> None:
    """Return only if the target has room for the files of all cells that run at the same time.

    Raises
    ------
    DrivelabError
        P705: it has not.
    """
    if len(unit) == 1 or target.kind == "file" or is_on_device(unit[0], target):
        return
    needed, room = sum(_file_bytes(cell) for cell in unit), int(target.size_bytes * FILE_SHARE)
    if needed > room:
        what = (
            f"{', '.join(cell.workload for cell in unit)} run at the same time and need {format_bytes(needed)} "
            f"in all, the target has room for {format_bytes(room)}"
        )
        raise DrivelabError("P705", what, where=target.text)


def _file_bytes(cell: Cell) -> int:
    """Size of the file, or of all files, of a cell at the end."""
    pattern = cell.pattern
    if pattern.uses_tree:
        return tree_bytes(pattern)
    appended = pattern.most_bytes + pattern.shift if pattern.file_state == "append" else 0
    return max(appended, pattern.file_size) * pattern.own_file_count


def _with_file_size(cell: Cell, target: PlannedTarget) -> Cell:
    """The cell with the size of its file: as told, or as large as what is written to space that is only reserved.

    Raises
    ------
    DrivelabError
        P706: nobody knows how large the file is.
    """
    pattern = cell.pattern
    if target.kind == "file":
        # it is only read, and all of it
        return replace(cell, pattern=pattern.changed(file_size=target.size_bytes))
    if pattern.file_size:
        return cell
    is_share = bool(pattern.capacities) or pattern.fill_level < 1
    if pattern.file_state == "append" and not is_share:
        return cell
    moved = pattern.most_bytes
    in_one_pass = pattern.access.kind == "sequential" and not pattern.ramp and moved > 0
    if pattern.file_state in ("preallocated", "sparse") and in_one_pass and not is_share:
        return replace(cell, pattern=pattern.changed(file_size=pattern.offset + moved + pattern.shift))
    what = f"{cell.workload} needs a file, and does not say how large"
    raise DrivelabError("P706", what, where=target.text, do=f"add file_size to workload {cell.workload}")


def _of_target_size(cell: Cell, target: PlannedTarget) -> Cell:
    """The cell with the limits that are multiples of the target's size in bytes."""
    pattern = cell.pattern
    if not pattern.capacities:
        return cell
    whole = target.size_bytes if is_on_device(cell, target) else pattern.file_size
    block = pattern.largest_block_bytes
    moved = max(block, int(whole * pattern.capacities) // block * block)
    return replace(cell, pattern=pattern.changed(capacities=0.0, bytes=min(moved, pattern.bytes or moved)))


def _is_larger_than_its_file(cell: Cell) -> bool:
    """Whether both sizes are varied and met so that not one block has room in the file."""
    pattern = cell.pattern
    return {"block_size", "file_size"} <= cell.levels.keys() and pattern.largest_block_bytes > pattern.file_size > 0


def _unaligned_level(cell: Cell, target: PlannedTarget) -> str:
    """Why direct I/O cannot have a combination that the experiment varies; empty when it can."""
    pattern, logical = cell.pattern, target.logical_block_size_bytes
    if not pattern.direct:
        return ""
    sizes = [("block_size", each.bytes) for each in pattern.sizes]
    for key, length in (*sizes, ("shift", pattern.shift), ("offset", pattern.offset)):
        if key in cell.levels and length % logical:
            return (
                f"{cell.workload} on {target.label}: levels of {key} that are not whole blocks of "
                f"{format_bytes(logical)} are not measured with direct I/O, which takes no others"
            )
    return ""


def is_on_device(cell: Cell, target: PlannedTarget) -> bool:
    """Whether the I/O goes to the block device itself, not to a file."""
    is_raw = cell.filesystem is None or cell.filesystem.type == "raw"
    return target.kind in DEVICE_KINDS and is_raw


def _refuse_filesystem(cell: Cell, target: PlannedTarget) -> None:
    if cell.filesystem is not None and target.kind not in DEVICE_KINDS:
        what = f"the experiment varies the file system, and {target.text} lies on one already"
        do = "use a block device or scratch:SIZE, or measure the file system that is there: --skip-unavailable"
        raise DrivelabError("P704", what, where=target.text, do=do)


def _refuse_file(cell: Cell, target: PlannedTarget) -> None:
    if target.kind == "missing_file":
        do = f"check the spelling; for a new directory: mkdir {target.text}"
        raise DrivelabError("T101", f"{target.text} does not exist", where=target.text, do=do)
    if target.kind == "file" and cell.pattern.writes:
        what = f"{cell.workload} would write over a file that exists"
        raise DrivelabError("P706", what, where=target.text, do="name its directory")


def _whole_logical_blocks(cell: Cell, target: PlannedTarget) -> tuple[Cell, tuple[str, ...]]:
    pattern, logical = cell.pattern, target.logical_block_size_bytes
    odd = [each.bytes for each in pattern.sizes if each.bytes % logical]
    if not pattern.direct or not odd:
        return cell, ()
    # of a mix no size grows: it would become another that is there already
    if len(pattern.sizes) > 1 or odd[0] > logical:
        size = format_bytes(odd[0])
        what = f"{cell.workload}: {size} is not a multiple of the logical block size, {format_bytes(logical)}"
        raise DrivelabError("P706", what, where=target.text)
    note = (
        f"{cell.workload} on {target.label}: {format_bytes(logical)} instead of {format_bytes(pattern.block_size)}, "
        "because direct I/O takes whole logical blocks"
    )
    return replace(cell, pattern=pattern.changed(block_size=logical)), (note,)


def _refuse_small_filesystem(cell: Cell, target: PlannedTarget) -> None:
    filesystem = cell.filesystem
    if filesystem is None or filesystem.type == "raw":
        return
    smallest = _SMALLEST_BYTES.get(filesystem.type, _SMALLEST_OTHER_BYTES)
    if target.size_bytes < smallest:
        what = f"{filesystem.type} needs {format_bytes(smallest)}, the target has {format_bytes(target.size_bytes)}"
        do = "use a larger target, or leave it out: --only filesystem=NAME takes only the file systems that are named"
        raise DrivelabError("P705", what, where=target.text, do=do)


def _refuse_small_target(cell: Cell, target: PlannedTarget, *, goes_round: bool) -> None:
    pattern = cell.pattern
    if is_on_device(cell, target):
        _refuse_small_range(cell, target, target.size_bytes, moves_on=not goes_round)
        return
    room = target.size_bytes if target.kind == "file" else int(target.size_bytes * FILE_SHARE)
    _refuse_unless_room(cell, target, _file_bytes(cell), room)
    if pattern.offset:
        _refuse_small_range(cell, target, pattern.file_size, moves_on=False)


def _refuse_small_range(cell: Cell, target: PlannedTarget, whole_bytes: int, *, moves_on: bool) -> None:
    """Refuse a part of a device or file that cannot hold a block, or not all that is written in a row."""
    pattern = cell.pattern
    needed = pattern.largest_block_bytes + pattern.shift
    if pattern.access.kind == "sequential" and moves_on:
        needed = max(needed, pattern.most_bytes)
    room = max(0, min(int(whole_bytes * pattern.fill_level), whole_bytes - pattern.offset))
    _refuse_unless_room(cell, target, needed, room)


def _refuse_unless_room(cell: Cell, target: PlannedTarget, needed: int, room: int) -> None:
    if needed > room:
        what = f"{cell.workload} needs {format_bytes(needed)}, the target has room for {format_bytes(room)}"
        raise DrivelabError("P705", what, where=target.text)
