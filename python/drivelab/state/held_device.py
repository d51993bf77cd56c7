"""Holds block devices open while they are used, and looks at each right before every write to it.

Held open, its kernel name cannot come to mean another device. That nobody else
has mounted it, claimed it or made something on it is seen by looking again:
`look_before_writing`, which everything calls that is about to write.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from drivelab.inventory.block_devices import name_of_node, number_of_node
from drivelab.inventory.consent import place_of, require_erase_consent, require_still_ours, seen_on
from drivelab.inventory.owned_loop import is_owned_loop
from drivelab.inventory.seen import Seen
from drivelab.model.errors import DrivelabError
from drivelab.model.target import TargetFacts

# linux/fs.h: _IOR(0x12, 128, __u64), since Linux 5.15
_BLKGETDISKSEQ = 0x80081280


# by device number: what this process may write to
_given_up: dict[str, HeldDevice] = {}


class HeldDevice:
    """An open descriptor of a block device target; the kernel gives its name to no other while it is open.

    It claims nothing: mkfs, mount and the engine can still have the device for
    themselves. That also goes for others, so every write is preceded by a look:
    `look_before_writing`.

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
        self._target = target
        self._seen: Seen | None = None
        self._looks = 0
        try:
            self._descriptor = os.open(target.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            what = f"{target.path} cannot be held open: {error.strerror}"
            raise DrivelabError("C209", what, where=target.text) from error
        try:
            self._number = self._require_same(target)
        except BaseException:
            os.close(self._descriptor)
            raise

    @property
    def is_given_up(self) -> bool:
        """Whether it may be written to, as far as its owner is concerned."""
        return self._seen is not None

    def give_up(self, erase: Sequence[str]) -> None:
        """Make sure that its owner gave the device up, as `require_erase_consent` does; from then on it may be written.

        Raises
        ------
        DrivelabError
            C201 to C209: the device may not be written to.
        """
        require_erase_consent(self._target, erase)
        self.take_as_made()

    def take_as_made(self) -> None:
        """Let the device be written to because this process made it: a RAID set, whose members were given up."""
        self._seen = seen_on(self._target)
        _given_up[self._number] = self

    def look_again(self) -> None:
        """Return only if the device is still nobody else's; whoever calls this is about to write to it.

        Raises
        ------
        DrivelabError
            C202 to C207, C209: somebody has made something of it meanwhile.
        """
        assert self._seen is not None, "a device that nobody gave up is not written to"
        try:
            # what has been overwritten since is not expected any more
            self._seen = require_still_ours(self._target, self._seen)
        except DrivelabError as error:
            where = f"{place_of(self._target)}; {self._history()}"
            raise DrivelabError(error.code, error.what, where=where, do=error.do) from error
        self._looks += 1

    def release(self) -> None:
        """Let go of the device."""
        if _given_up.get(self._number) is self:
            del _given_up[self._number]
        os.close(self._descriptor)

    def _history(self) -> str:
        """What was written to the device before somebody else came, in words."""
        if not self._looks:
            return "nothing was written"
        often = "once" if self._looks == 1 else f"{self._looks} times"
        return f"drivelab had begun to write to it {often}, and wrote nothing since"

    def _require_same(self, target: TargetFacts) -> str:
        """The device number, which must be that of the device that was resolved."""
        identity = target.identity
        status = os.fstat(self._descriptor)
        number = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
        now = _disk_sequence(self._descriptor)
        if identity is None:
            return number
        is_other_disk = now is not None and identity.diskseq is not None and now != identity.diskseq
        if number != identity.device_number or is_other_disk:
            raise DrivelabError("C207", f"{target.path} is not the device that it was", where=target.text)
        return number


def look_before_writing(path: str) -> None:
    """Return only if what lies at a path is still nobody else's; anything but a device that was given up is.

    Everything in drivelab that is about to write to a block device calls this
    right before: the engine's workloads, mkfs, trims, purges, mdadm.

    Raises
    ------
    DrivelabError
        C202 to C207, C209: somebody has made something of it meanwhile.
    """
    held = _given_up.get(number_of_node(path) or "")
    if held is not None:
        held.look_again()


def require_given_up(path: str) -> None:
    """Return only if a path is no block device, or one that this process made or was given.

    Raises
    ------
    DrivelabError
        C201: its owner has not given it up.
    """
    number, name = number_of_node(path), name_of_node(path)
    if number is None or number in _given_up or (name is not None and is_owned_loop(name)):
        return
    what = f"{path} would be written to, and its owner has not given it up"
    raise DrivelabError("C201", what, where=f"{path}; nothing was written")


@contextmanager
def held_if_device(target: TargetFacts, *, erase: Sequence[str] | None = None) -> Iterator[None]:
    """Hold a target while the block runs, where it is a block device.

    Parameters
    ----------
    erase : sequence of str, optional
        What the owner typed after ``--erase``, where the target is going to be written to.

    Raises
    ------
    DrivelabError
        C201 to C206, C208: it may not be written to. C207: it is not the
        device that was resolved. C209: it cannot be opened.
    """
    held = HeldDevice(target) if target.kind == "block_device" else None
    try:
        if held is not None and erase is not None:
            held.give_up(erase)
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
