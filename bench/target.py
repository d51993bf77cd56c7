"""The targets that are measured on: the quietest and fastest that the machine has, so that the tools show."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

# the drive with latencies of its own is the one that tests use
sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from shaped_drive.loop import LoopDrive

READ_TARGET_BYTES = 1 << 30


@contextlib.contextmanager
def read_target() -> Iterator[tuple[str, str]]:
    """A target for random reads, written beforehand, and what it is.

    As root a loop device over a file in memory; otherwise a file in the working directory.
    """
    directory = "/dev/shm" if os.geteuid() == 0 else "."
    with written(Path(directory), READ_TARGET_BYTES) as image:
        if os.geteuid() != 0:
            yield str(image), "a file of 1 GiB on the working directory's file system"
            return
        with _loop_device(str(image)) as device:
            yield device, "a loop device over 1 GiB in memory"


@contextlib.contextmanager
def written(directory: Path, size_bytes: int) -> Iterator[Path]:
    """A file of random bytes in a directory, until the context ends."""
    block = os.urandom(1 << 20)
    with tempfile.NamedTemporaryFile(dir=directory, prefix="drivelab-bench-") as image:
        for _ in range(size_bytes >> 20):
            image.write(block)
        image.flush()
        os.fsync(image.fileno())
        yield Path(image.name)


@contextlib.contextmanager
def write_directory() -> Iterator[tuple[Path, str]]:
    """A directory for synchronous writes, and what it is.

    As root ext4 on a loop device over memory; otherwise a directory beside the project.
    """
    with contextlib.ExitStack() as stack:
        if os.geteuid() != 0:
            directory = stack.enter_context(tempfile.TemporaryDirectory(dir=".", prefix="drivelab-bench-"))
            yield Path(directory), "the working directory's file system"
            return
        image = stack.enter_context(tempfile.NamedTemporaryFile(dir="/dev/shm", prefix="drivelab-bench-"))
        image.truncate(READ_TARGET_BYTES // 2)
        device = stack.enter_context(_loop_device(image.name))
        yield _ext4_on(device, stack), "ext4 on a loop device over memory"


@contextlib.contextmanager
def slow_directory(flush_ms: float) -> Iterator[Path]:
    """A directory on ext4 on a drive whose flush takes so long; needs root and QEMU's storage daemon."""
    with contextlib.ExitStack() as stack:
        kept = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="drivelab-bench-")))
        drive = stack.enter_context(contextlib.closing(LoopDrive(kept, READ_TARGET_BYTES)))
        directory = _ext4_on(str(drive.path), stack)
        directory.chmod(0o755)
        drive.shape(flush_latency_ns=round(flush_ms * 1e6))
        yield directory


def _ext4_on(device: str, stack: contextlib.ExitStack) -> Path:
    """A new ext4 on a device, mounted until the stack is unwound."""
    _run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device)
    directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="drivelab-bench-"))
    _run("mount", device, directory)
    stack.callback(_unmount, directory)
    return Path(directory)


def _unmount(directory: str) -> None:
    """Unmount once the kernel lets go of it: it closes the rings of a process that has ended a little later."""
    for _ in range(50):
        if subprocess.run(["umount", directory], capture_output=True).returncode == 0:
            return
        time.sleep(0.1)
    _run("umount", directory)


@contextlib.contextmanager
def _loop_device(image: str) -> Iterator[str]:
    device = _run("losetup", "--find", "--show", image).strip()
    try:
        yield device
    finally:
        _run("losetup", "--detach", device)


def _run(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout
