"""Changes to the kernel's tracing that outlive a process: made with the journal, put back by it.

A private trace instance needs none of this. The kernel's `blk` tracer works in
the one buffer that everybody shares, and the block trace interface keeps a
device armed until somebody takes it down.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from drivelab.inventory.sysfs import chosen, read_text
from drivelab.model.errors import DrivelabError
from drivelab.state.journal import Change, Journal
from drivelab.state.kernel_filesystem import NotMountedError, kernel_filesystem

# include/uapi/linux/fs.h
BLKTRACESTART, BLKTRACESTOP, BLKTRACETEARDOWN = 0x1274, 0x1275, 0x1276
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_EXPANDED = re.compile(r"\(expanded: (\d+)\)")


def boot_id() -> str:
    """What this boot is called: after the next one, nothing of what was set is left."""
    return read_text(_BOOT_ID) or ""


def read_trace_file(root: Path, name: str) -> str:
    """The setting in a file below the kernel's trace directory.

    A size that only holds once somebody traces is that size: tracing is what
    makes the kernel allocate it, and it never goes back.

    Raises
    ------
    OSError
        It cannot be read.
    """
    text = (root / name).read_text().strip()
    expanded = _EXPANDED.search(text)
    return expanded[1] if expanded else (chosen(text) or "")


def set_trace_file(root: Path, name: str, value: str, journal: Journal) -> None:
    """Change a setting of the shared buffer, after it was written down.

    Raises
    ------
    OSError
        The kernel does not take it.
    DrivelabError
        R409: the journal cannot be written.
    """
    old = read_trace_file(root, name)
    if old == value:
        return
    journal.will_change("trace_file", name=name, old=old, new=value, boot=boot_id())
    (root / name).write_text(value)


def undo_trace_file(name: str, old: str, new: str, boot: str) -> str:
    """Put a setting of the shared buffer back, unless somebody else has changed it since.

    Raises
    ------
    DrivelabError
        R406: the kernel does not take it.
    """
    if boot != boot_id():
        return ""
    try:
        with kernel_filesystem("tracefs") as root:
            now = read_trace_file(root, name)
            # sizes are rounded up to whole pages
            is_ours = now == new or (name == "buffer_size_kb" and new.isdigit() and int(now) >= int(new))
            if now == old or not is_ours:
                return ""
            (root / name).write_text(old)
            if name == "current_tracer":
                # what we have recorded is of no use to anybody else
                (root / "trace").write_text("")
    except (NotMountedError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise DrivelabError("R406", f"{name} of the kernel's tracing cannot be put back: {why}", where=name) from error
    return f"set {name} of the kernel's tracing back to {old}"


def switch_path(device: str) -> Path:
    """The switch of a device's block trace; not there where the kernel was built without."""
    return Path("/sys/class/block") / device / "trace" / "enable"


def arm_by_switch(device: str, journal: Journal) -> Change:
    """Have the `blk` tracer record what a device does.

    Raises
    ------
    OSError
        The kernel does not let it be.
    """
    change = journal.will_change("block_trace", device=device, interface="switch", boot=boot_id())
    switch_path(device).write_text("1")
    return change


def undo_block_trace(device: str, interface: str, boot: str) -> str:
    """Take down the trace of a device; `interface` is switch or relay.

    Raises
    ------
    DrivelabError
        R406: the kernel does not let it go.
    """
    switch = switch_path(device)
    if boot != boot_id() or read_text(switch) != "1":
        return ""
    try:
        if interface == "switch":
            switch.write_text("0")
        else:
            _take_down(device)
    except OSError as error:
        raise DrivelabError("R406", f"its trace cannot be ended: {error.strerror}", where=f"/dev/{device}") from error
    return f"ended the trace of {device}"


def _take_down(device: str) -> None:
    """Stop and remove the trace of a device that was armed by the block trace interface."""
    descriptor = os.open(f"/dev/{device.replace('!', '/')}", os.O_RDONLY | os.O_NONBLOCK)
    try:
        # it may have been stopped already
        with suppress(OSError):
            fcntl.ioctl(descriptor, BLKTRACESTOP)
        fcntl.ioctl(descriptor, BLKTRACETEARDOWN)
    finally:
        os.close(descriptor)


UNDO: dict[str, Callable[..., str]] = {"trace_file": undo_trace_file, "block_trace": undo_block_trace}
