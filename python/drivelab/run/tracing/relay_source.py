"""The second source: the classic block trace interface, as blktrace uses it."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from drivelab._engine import TraceCollector
from drivelab.inventory.sysfs import read_int, read_text
from drivelab.run.tracing.disk import TracedDisk
from drivelab.run.tracing.source import INTERVAL_NS, Limits, Source, SourceUnavailableError, Stopped, buffer_bytes
from drivelab.state.begun_journal import begun_journal
from drivelab.state.kernel_filesystem import NotMountedError, kernel_filesystem, lockdown_state
from drivelab.state.kernel_tracing import BLKTRACESTART, BLKTRACESTOP, BLKTRACETEARDOWN, boot_id, switch_path
from drivelab.state.signals import signals_held

# struct blk_user_trace_setup: name, categories, buffers, first and last sector, process
_SETUP = struct.Struct("@32sHIIQQI0Q")
_BLKTRACESETUP = 3 << 30 | _SETUP.size << 16 | 0x12 << 8 | 115
_SUB_BUFFER_BYTES = 512 * 1024


def require(disk: TracedDisk) -> None:
    """Find out whether a disk can be traced by relay.

    Raises
    ------
    SourceUnavailableError
        It cannot.
    """
    if os.geteuid() != 0:
        raise SourceUnavailableError("the block trace interface needs root", "R430")
    require_untraced(disk)
    lockdown = lockdown_state()
    if lockdown not in ("", "none"):
        raise SourceUnavailableError(f"kernel lockdown ({lockdown}) keeps the files of the block trace interface shut")
    try:
        with kernel_filesystem("debugfs"):
            pass
        os.close(os.open(_node(disk), os.O_RDONLY | os.O_NONBLOCK))
    except NotMountedError as error:
        raise SourceUnavailableError(str(error)) from error
    except OSError as error:
        raise SourceUnavailableError(f"{_node(disk)} cannot be opened: {error.strerror}") from error


def require_untraced(disk: TracedDisk) -> None:
    """Make sure that the kernel can trace the disk for us, and does so for nobody else.

    Raises
    ------
    SourceUnavailableError
        It cannot, or it does.
    """
    if disk.layers:
        raise SourceUnavailableError(f"it traces one device, and {disk.layers[0].name} lies on others")
    if not switch_path(disk.name).exists():
        raise SourceUnavailableError("this kernel was built without CONFIG_BLK_DEV_IO_TRACE")
    if read_text(switch_path(disk.name)) != "0":
        raise SourceUnavailableError(f"somebody else traces {disk.name}", "R432")


class _Relay:
    clock = "mono"

    def __init__(self, disk: TracedDisk, descriptor: int, directory: Path, collector: TraceCollector) -> None:
        self._disk = disk
        self._descriptor = descriptor
        self._directory = directory
        self._collector = collector

    def stop(self) -> Stopped:
        """End it, and read what is left."""
        fcntl.ioctl(self._descriptor, BLKTRACESTOP)
        collected = self._collector.stop()
        lost = read_int(self._directory / "dropped")
        description = {
            "source": "relay",
            "device": self._disk.number,
            "began_ns": (0, 0),
            "lost": {0: lost} if lost else {},
        }
        return Stopped(collected, description, lost)


@contextmanager
def armed(disk: TracedDisk, limits: Limits) -> Iterator[_Relay]:
    """Trace a disk by relay.

    Raises
    ------
    SourceUnavailableError
        The kernel refuses; R432: somebody else has begun meanwhile.
    """
    try:
        with begun_journal(f"the trace of {disk.name}") as journal, kernel_filesystem("debugfs") as debugfs:
            descriptor = os.open(_node(disk), os.O_RDONLY | os.O_NONBLOCK)
            try:
                change = journal.will_change("block_trace", device=disk.name, interface="relay", boot=boot_id())
                try:
                    name = _set_up(descriptor)
                except OSError as error:
                    # nothing was armed by us: what is armed now is somebody else's
                    journal.was_undone(change)
                    raise _refused(error, disk) from error
                try:
                    yield _begun(disk, descriptor, debugfs / "block" / name, limits)
                finally:
                    with signals_held():
                        _end(descriptor)
                        journal.was_undone(change)
            finally:
                os.close(descriptor)
    except NotMountedError as error:
        raise SourceUnavailableError(str(error)) from error


def _begun(disk: TracedDisk, descriptor: int, directory: Path, limits: Limits) -> _Relay:
    try:
        cpus = sorted(int(path.name.removeprefix("trace")) for path in directory.glob("trace[0-9]*"))
        collector = TraceCollector(
            [(cpu, directory / f"trace{cpu}") for cpu in cpus],
            header_page=None,
            buffer_bytes=_buffer_bytes(),
            interval_ns=INTERVAL_NS,
            memory_limit_bytes=limits.memory_bytes,
            spill_directory=limits.spill_directory,
        )
        fcntl.ioctl(descriptor, BLKTRACESTART)
    except OSError as error:
        raise _refused(error, disk) from error
    return _Relay(disk, descriptor, directory, collector)


def _set_up(descriptor: int) -> str:
    """Name under which the files of the trace stand."""
    asked = _SETUP.pack(b"", 0, _SUB_BUFFER_BYTES, _buffer_bytes() // _SUB_BUFFER_BYTES, 0, 0, 0)
    answer = fcntl.ioctl(descriptor, _BLKTRACESETUP, asked)
    name: bytes = _SETUP.unpack(answer)[0]
    return name.partition(b"\0")[0].decode()


def _buffer_bytes() -> int:
    return buffer_bytes(os.cpu_count() or 1)


def _end(descriptor: int) -> None:
    try:
        fcntl.ioctl(descriptor, BLKTRACESTOP)
    except OSError:
        # it was stopped before
        pass
    fcntl.ioctl(descriptor, BLKTRACETEARDOWN)


def _refused(error: OSError, disk: TracedDisk) -> SourceUnavailableError:
    if error.errno == errno.EBUSY:
        return SourceUnavailableError(f"somebody else traces {disk.name}", "R432")
    lockdown = lockdown_state()
    why = f"; kernel lockdown is {lockdown}" if error.errno == errno.EPERM and lockdown else ""
    return SourceUnavailableError(f"the block trace interface refuses: {error.strerror or error}{why}")


def _node(disk: TracedDisk) -> str:
    return f"/dev/{disk.name.replace('!', '/')}"


SOURCE = Source("relay", "the block trace interface", require, armed)
