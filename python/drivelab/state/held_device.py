"""Holds a block device open during a run, so that its kernel name cannot come to mean another one."""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from drivelab.model.errors import DrivelabError
from drivelab.model.target import TargetFacts

# linux/fs.h: _IOR(0x12, 128, __u64), since Linux 5.15
_BLKGETDISKSEQ = 0x80081280


class HeldDevice:
    """An open descriptor of a block device target; the kernel gives its name to no other while it is open.

    It claims nothing: mkfs, mount and the engine can still have the device for
    themselves.

    Parameters
    ----------
    target : TargetFacts
        A block device, as resolved.

    Raises
    ------
    DrivelabError
        C207: it is not the device that was resolved. C209: it cannot be opened.
    """

    def __init__(self, target: TargetFacts) -> None:
        try:
            self._descriptor = os.open(target.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            what = f"{target.path} cannot be held open: {error.strerror}"
            raise DrivelabError("C209", what, where=target.text) from error
        try:
            self._require_same(target)
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Let go of the device."""
        os.close(self._descriptor)

    def _require_same(self, target: TargetFacts) -> None:
        identity = target.identity
        status = os.fstat(self._descriptor)
        number = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
        now = _disk_sequence(self._descriptor)
        if identity is None:
            return
        is_other_disk = now is not None and identity.diskseq is not None and now != identity.diskseq
        if number != identity.device_number or is_other_disk:
            raise DrivelabError("C207", f"{target.path} is not the device that it was", where=target.text)


@contextmanager
def held_if_device(target: TargetFacts) -> Iterator[None]:
    """Hold a target while the block runs, where it is a block device.

    Raises
    ------
    DrivelabError
        C207: it is not the device that was resolved. C209: it cannot be opened.
    """
    held = HeldDevice(target) if target.kind == "block_device" else None
    try:
        yield
    finally:
        if held is not None:
            held.release()


def _disk_sequence(descriptor: int) -> int | None:
    try:
        return int(struct.unpack("Q", fcntl.ioctl(descriptor, _BLKGETDISKSEQ, struct.pack("Q", 0)))[0])
    except OSError:
        # an older kernel
        return None
