"""Loop devices that drivelab makes: attach one to a file, find it again, detach it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from drivelab.inventory.block_devices import backing_file_of
from drivelab.inventory.owned_loop import is_owned_loop
from drivelab.inventory.sysfs import entries, read_int, read_text
from drivelab.model.errors import DrivelabError
from drivelab.state.data_directory import exchanged
from drivelab.state.journal import Journal
from drivelab.state.programs import run_program

_SYS_BLOCK = Path("/sys/block")
# a detach waits for the last user: udev may still be looking at a device that has just changed
_DETACH_PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True)
class LoopDevice:
    """An attached loop device, as read back from the kernel.

    Attributes
    ----------
    logical_block_size_bytes : int
        Smallest unit that direct I/O to it takes.
    bypasses_page_cache : bool
        Whether its I/O goes to the file below with O_DIRECT.
    """

    name: str
    path: str
    logical_block_size_bytes: int
    bypasses_page_cache: bool


def attach_loop(backing_file: Path, journal: Journal) -> LoopDevice:
    """A loop device over a scratch file of this process, past the page cache, with 512-byte blocks if that is possible.

    Raises
    ------
    DrivelabError
        R402, R403: losetup is not there, or failed. R459: another file bears the name of ours.
    """
    change = journal.will_change("loop_device", backing_file=str(backing_file))
    command = ["losetup", "--find", "--show"]
    try:
        path = run_program([*command, "--direct-io=on", "--sector-size=512", str(backing_file)], journal)
    except DrivelabError:
        # the drive below has larger blocks, or the file system knows no direct I/O
        path = run_program([*command, "--sector-size=512", str(backing_file)], journal)
    name = Path(path.strip()).name
    if not is_owned_loop(name):
        # losetup opens the file by its name, which somebody may have given to another one; nothing was written yet
        run_program(["losetup", "--detach", path.strip()])
        raise exchanged(backing_file)
    # the file may be renamed, and its name given to another one with a loop device of its own
    journal.note(change, loop=name, diskseq=_disk_sequence(name))
    return LoopDevice(
        name=name,
        path=path.strip(),
        logical_block_size_bytes=read_int(_SYS_BLOCK / name / "queue" / "logical_block_size"),
        bypasses_page_cache=read_text(_SYS_BLOCK / name / "loop" / "dio") == "1",
    )


def loops_over(backing_file: str) -> list[str]:
    """Kernel names of the loop devices attached to a file, by its path."""
    loops = [name for name in entries(_SYS_BLOCK) if name.startswith("loop")]
    return [name for name in loops if backing_file_of(name) == backing_file]


def undo_loop_device(backing_file: str, loop: str = "", diskseq: int = 0) -> str:
    """Detach the loop device that was made; what was done, in words, or nothing.

    Parameters
    ----------
    backing_file : str
        What its file was called.
    loop, diskseq : str, int
        Which it is: its kernel name, and the kernel's count of disks. Where that is not known, as when
        drivelab was killed right after attaching it, those over a file of that name are detached.

    Raises
    ------
    DrivelabError
        R406: something still uses it.
    """

    def attached() -> list[str]:
        if not diskseq:
            return loops_over(backing_file)
        return [loop] if _is_attached(loop) and _disk_sequence(loop) == diskseq else []

    names = attached()
    for name in names:
        run_program(["losetup", "--detach", f"/dev/{name}"])
    deadline = time.monotonic() + _DETACH_PATIENCE_S
    while left := attached():
        if time.monotonic() > deadline:
            what = f"/dev/{left[0]} is still in use"
            raise DrivelabError("R406", what, where=backing_file)
        time.sleep(0.02)
    return f"detached {', '.join(f'/dev/{name}' for name in names)}" if names else ""


def _is_attached(name: str) -> bool:
    """Whether a loop device has a file."""
    return (_SYS_BLOCK / name / "loop").is_dir()


def _disk_sequence(name: str) -> int:
    """The kernel's count of disks, which no two attachments share; 0 before Linux 5.15."""
    return int(read_text(_SYS_BLOCK / name / "diskseq") or 0)
