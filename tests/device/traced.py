"""What tests of traces share: a workload whose commands are known, and how the kernel's tracing is set."""

from __future__ import annotations

import os
from pathlib import Path

from drivelab.run.tracing.tracefs import tracefs
from mounted import device_on

WRITES = 200
_SETTINGS = ("current_tracer", "trace_clock", "options/overwrite", "tracing_on")


def settings() -> dict[str, str]:
    """How the kernel's shared trace buffer is set."""
    with tracefs() as root:
        return {name: (root / name).read_text().strip() for name in _SETTINGS}


def buffer_kib() -> str:
    """Size of the shared buffer, once it is allocated."""
    with tracefs() as root:
        text = (root / "buffer_size_kb").read_text().strip()
    return text.partition("expanded: ")[2].rstrip(")") or text


def instances() -> list[str]:
    """Trace instances of this process."""
    with tracefs() as root:
        return [path.name for path in (root / "instances").glob(f"drivelab-{os.getpid()}-*")]


def write_durably(path: Path, times: int = WRITES, *, append: bool = False) -> None:
    """One byte and fdatasync, so many times: at a page of its own, or behind what is there."""
    flags = os.O_WRONLY | (os.O_CREAT | os.O_APPEND if append else 0)
    descriptor = os.open(path, flags)
    try:
        for number in range(times):
            if append:
                os.write(descriptor, b"x")
            else:
                os.pwrite(descriptor, b"x", 4096 * number)
            os.fdatasync(descriptor)
    finally:
        os.close(descriptor)


def is_armed(device: Path) -> bool:
    """Whether the kernel traces a device for anybody."""
    return Path(f"/sys/block/{device.name}/trace/enable").read_text().strip() == "1"


def device_below(directory: Path) -> str:
    """Kernel name of what is mounted on a directory."""
    return device_on(directory).name
