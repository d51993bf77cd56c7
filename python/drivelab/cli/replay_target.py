"""Where a recorded load is issued: what is there, or a file that is made for it, held open meanwhile."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from drivelab.cli.io_place import held_place
from drivelab.cli.io_target import find_target, require_consent
from drivelab.cli.replay_files import laid_out_files
from drivelab.inventory.target import require_writable
from drivelab.model.errors import DrivelabError
from drivelab.model.recording import Recording
from drivelab.model.target import TargetFacts
from drivelab.model.units import format_bytes
from drivelab.model.workload import BlockSizeShare, Limits, OperationShare, TargetRange, Workload
from drivelab.recordings.issue import fitted, is_aligned, workload_of
from drivelab.run.engine import StopRequest, prepare_target
from drivelab.run.page_cache import drop_from_page_cache
from drivelab.run.process_owner import owner_tag
from drivelab.run.work_area import direct_io_refusal, work_area
from drivelab.state.held_device import held_if_device
from drivelab.state.working_files import files_in_journal

_SECTOR = 512
_LAYOUT_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """One target of a replay.

    Attributes
    ----------
    size_bytes : int
        Bytes that can be used: of the device or file, or of the file that is made.
    direct : bool
        Whether the page cache is bypassed.
    direct_reason : str
        Why it is not, where nobody asked for that.
    buffered : bool
        Whether somebody asked that it is not.
    """

    target: TargetFacts
    size_bytes: int
    direct: bool
    direct_reason: str = ""
    buffered: bool = False

    @property
    def makes_file(self) -> bool:
        """Whether a file is made for it."""
        return self.target.kind == "directory"

    @staticmethod
    def of(text: str, recording: Recording, *, file_bytes: int, buffered: bool) -> Place:
        """The place that was named."""
        target = find_target(text, is_null=False, makes_file=True)
        if target.kind == "missing_file":
            do = f"name its directory, in which a file is made: {shlex.quote(str(Path(target.path).parent))}"
            raise DrivelabError("T101", f"{target.path} does not exist", where="drivelab replay", do=do)
        makes = target.kind == "directory"
        if file_bytes and not makes:
            raise DrivelabError("U004", f"{text} has a size already", where="option --size", do="leave out --size")
        size = (file_bytes or recording.needed_bytes) if makes else target.size_bytes
        # each file of system calls has its own way
        reason = "" if buffered or recording.files else _why_buffered(target, recording)
        direct = not (buffered or reason or recording.files)
        return Place(target, size, direct=direct, direct_reason=reason, buffered=buffered)

    def require_room(self, recording: Recording, *, scales: bool) -> None:
        """Return only if the load fits, or may be made to fit."""
        path, filesystem, end = self.target.path, self.target.filesystem, recording.needed_bytes
        largest = max(int(thread.size_bytes.max()) for thread in recording.threads)
        # what is larger than a file of several is cut to its size
        is_too_large = not recording.files and self.size_bytes < largest
        if self.size_bytes < end and (not scales or is_too_large):
            what = "the files of the recording have" if recording.files else "the recording goes up to"
            what = f"{what} {format_bytes(end)}, and {path} has {format_bytes(self.size_bytes)}"
            raise DrivelabError(
                "E309", what, where=path, do=f"use a larger target{'' if scales else ', or add --scale-to-target'}"
            )
        if self.makes_file and filesystem is not None and self.size_bytes > filesystem.available_bytes:
            free = format_bytes(filesystem.available_bytes)
            needs = "its files need" if recording.files else "its file needs"
            what = f"{needs} {format_bytes(self.size_bytes)}, and {free} are free"
            raise DrivelabError("E306", what, where=path, do="free space there, or: --size SIZE --scale-to-target")


def _why_buffered(target: TargetFacts, recording: Recording) -> str:
    if recording.direct is False:
        return "the recorded I/Os went through it, too"
    block = max(target.logical_block_size_bytes, _SECTOR)
    if not is_aligned(recording, block):
        return f"places and sizes of the recording are no multiples of {block} B"
    return ""


def told_before(recording: Recording, places: Sequence[Place]) -> Iterator[str]:
    """What is not as it was recorded, before anything is issued."""
    yield from recording.notes
    if recording.made_room:
        yield "the recorded writes gave their file its room; here it is there already, and sync calls have less to do"
    if any(file.is_cached for file in recording.files):
        yield "files whose reads came from memory are in memory here, too; all others begin without"
    if recording.direct is None and any(place.direct for place in places):
        yield "the recording does not tell whether it bypassed the page cache: here it does (--buffered)"
    for place in places:
        yield from fitted(recording, place.size_bytes).notes[len(recording.notes) :]
        if place.direct_reason:
            yield f"{place.target.place}: through the page cache, because {place.direct_reason}"


def require_allowed(place: Place, recording: Recording, *, erase: Sequence[str], may_overwrite_file: bool) -> None:
    """Return only if the load may be issued there."""
    if place.makes_file:
        require_writable(place.target)
        return
    workload = workload_of(recording, speed=1, direct=place.direct, record_ios=False)
    require_consent(place.target, workload, erase=erase, may_overwrite_file=may_overwrite_file)


@contextmanager
def held(
    place: Place,
    workload: Workload,
    recording: Recording,
    *,
    erase: Sequence[str],
    may_overwrite_file: bool,
    stop: StopRequest,
) -> Iterator[Workload]:
    """The workload on its target, which is held open as long as the context lasts; a file that is made is laid out."""
    target = place.target
    if target.kind == "block_device":
        range_ = TargetRange(path=target.path, exclusive=workload.writes)
        with held_if_device(target, erase=erase if workload.writes else None):
            yield workload.model_copy(update={"target": range_})
    elif recording.files:

        def lay_out(range_: TargetRange) -> None:
            prepare_target(_layout(range_), stop=stop)

        with laid_out_files(target.path, workload, recording, buffered=place.buffered, lay_out=lay_out) as ready:
            yield ready
    elif target.kind == "directory":
        command = shlex.join(["drivelab", *sys.argv[1:]])
        with files_in_journal(target.path, owner_tag(), command), work_area(Path(target.path)) as area:
            path = area.new_file()
            yield _laid_out(workload, TargetRange(path=str(path), held=area.file(path).target), place, stop)
    elif place.makes_file:
        layout = _layout(TargetRange(path=target.path, create=True, size_bytes=place.size_bytes))
        with held_place(target, layout, may_overwrite_file=may_overwrite_file) as made:
            yield _laid_out(workload, made.target, place, stop)
    else:
        on_file = workload.model_copy(update={"target": TargetRange(path=target.path)})
        with held_place(target, on_file, may_overwrite_file=may_overwrite_file) as ready:
            yield ready.model_copy(update={"direct": _can_be_direct(ready, place)})


def _layout(target: TargetRange) -> Workload:
    """Writes all of a file, before anything is measured."""
    block = min(_LAYOUT_BLOCK, target.size_bytes)
    return Workload(
        target=target,
        operations=(OperationShare(operation="write"),),
        block_sizes=(BlockSizeShare(bytes=block),),
        limits=Limits(count=1),
    )


def _laid_out(workload: Workload, target: TargetRange, place: Place, stop: StopRequest) -> Workload:
    target = target.model_copy(update={"size_bytes": place.size_bytes})
    prepare_target(_layout(target), stop=stop)
    drop_from_page_cache(target.opened_by)
    ready = workload.model_copy(update={"target": target})
    return ready.model_copy(update={"direct": _can_be_direct(ready, place)})


def _can_be_direct(workload: Workload, place: Place) -> bool:
    """A file system in memory, for instance, refuses direct I/O; what was achieved stands in the result."""
    return place.direct and not direct_io_refusal(Path(workload.target.opened_by))
