"""Files for recorded system calls, laid out in a directory as the program had them, and held open meanwhile."""

from __future__ import annotations

import os
import resource
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from drivelab.model.errors import DrivelabError
from drivelab.model.held_target import HeldTarget
from drivelab.model.recording import SYNC, RecordedFile, Recording
from drivelab.model.workload import TargetRange, Workload
from drivelab.run.page_cache import drop_from_page_cache
from drivelab.run.process_owner import owner_tag
from drivelab.run.work_area import direct_io_refusal, work_area
from drivelab.state.working_files import files_in_journal

_READ_BYTES = 1 << 20
# what the process has open beside its files
_OTHER_DESCRIPTORS = 128


@contextmanager
def laid_out_files(
    directory: str,
    workload: Workload,
    recording: Recording,
    *,
    buffered: bool,
    lay_out: Callable[[TargetRange], object],
) -> Iterator[Workload]:
    """The workload on files of its own in a directory, which are gone when the context ends.

    Parameters
    ----------
    buffered : bool
        Whether no file is opened with O_DIRECT.
    """
    _require_descriptors(len(recording.files) * (len(recording.threads) + 1))
    command = shlex.join(["drivelab", *sys.argv[1:]])
    with files_in_journal(directory, owner_tag(), command), work_area(Path(directory)) as area:
        held: list[HeldTarget] = []
        paths: dict[str, Path] = {}
        for number, file in enumerate(recording.files):
            if file.name not in paths:
                path = paths[file.name] = area.new_file()
                _lay_out(file, TargetRange(path=str(path), held=area.file(path).target), lay_out)
            path = paths[file.name]
            flags = _flags(file, buffered=buffered or not _is_aligned(recording, number, path))
            held.append(area.file(path).target.model_copy(update={"flags": flags}))
        first = TargetRange(path=str(Path(directory) / "files"), held=held[0], others=tuple(held[1:]))
        yield workload.model_copy(update={"target": first})


def _lay_out(file: RecordedFile, target: TargetRange, lay_out: Callable[[TargetRange], object]) -> None:
    if file.size_bytes:
        lay_out(target.model_copy(update={"size_bytes": file.size_bytes}))
        _bring_to_memory(target.opened_by) if file.is_cached else drop_from_page_cache(target.opened_by)
    if file.readable_bytes > file.size_bytes:
        os.truncate(target.opened_by, file.readable_bytes)


def direct_files(workload: Workload) -> list[int]:
    """Which of the files of a workload are opened with O_DIRECT, by their numbers."""
    held = (workload.target.held, *workload.target.others)
    return [number for number, one in enumerate(held) if one is not None and one.flags & os.O_DIRECT]


def _flags(file: RecordedFile, *, buffered: bool) -> int:
    direct = os.O_DIRECT if file.is_direct and not buffered else 0
    return direct | (os.O_SYNC if file.is_synced else os.O_DSYNC if file.is_durable else 0)


def _is_aligned(recording: Recording, number: int, path: Path) -> bool:
    """Whether the calls on a file may bypass the page cache here, where they did as they were recorded."""
    if not recording.files[number].is_direct:
        return True
    block, moved = os.statvfs(path).f_bsize, 0
    for thread in recording.threads:
        assert thread.file is not None
        mine = (thread.file == number) & (thread.operation != SYNC)
        moved |= int(np.bitwise_or.reduce((thread.offset_bytes | thread.size_bytes)[mine], initial=0))
    return moved % min(block, 4096) == 0 and not direct_io_refusal(path)


def _bring_to_memory(path: str) -> None:
    with open(path, "rb", buffering=0) as file:
        while file.read(_READ_BYTES):
            pass


def _require_descriptors(count: int) -> None:
    needed = count + _OTHER_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or needed <= soft:
        return
    if hard != resource.RLIM_INFINITY and needed > hard:
        what = f"its threads need {needed} open files, and a process may have {hard}"
        raise DrivelabError("B920", what, where="drivelab replay", do="play its commands: --commands")
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
