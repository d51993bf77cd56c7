"""What volumes of the device mapper are made of, asked from its control device: sysfs doesn't tell."""

from __future__ import annotations

import errno
import fcntl
import os
import struct

from drivelab.inventory.system_paths import SYSTEM, SystemPaths

# struct dm_ioctl: version, data_size, data_start, target_count, open_count, flags, event_nr, padding, dev, name, uuid
_HEAD = struct.Struct("=3I3IiIIIQ128s129s7x")
# struct dm_target_spec: sector_start, length, status, next, target_type
_TARGET = struct.Struct("=QQiI16s")
_VERSION = (4, 0, 0)
_DM_TABLE_STATUS = 3 << 30 | _HEAD.size << 16 | 0xFD << 8 | 12
# tables, and nothing of what is going on, which a thin pool would have to write out first
_FLAGS = 1 << 4 | 1 << 11
_ANSWER_BYTES = 64 * 1024


def target_types(name: str, paths: SystemPaths = SYSTEM) -> tuple[str, ...]:
    """Kinds of the pieces of a volume, each once (``linear``, ``crypt``); empty where they can't be asked for.

    Parameters
    ----------
    name : str
        Its name in the device mapper (``vg-home``), not in the kernel.
    """
    asked = _HEAD.pack(*_VERSION, _ANSWER_BYTES, _HEAD.size, 0, 0, _FLAGS, 0, 0, 0, os.fsencode(name)[:127], b"")
    try:
        control = os.open(paths.dev / "mapper" / "control", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return ()
    try:
        answer = bytearray(asked.ljust(_ANSWER_BYTES, b"\0"))
        fcntl.ioctl(control, _DM_TABLE_STATUS, answer)
    except OSError as error:
        if error.errno not in (errno.ENXIO, errno.EPERM, errno.EACCES, errno.ENOTTY, errno.EINVAL):
            raise
        return ()
    finally:
        os.close(control)
    _, _, _, _, start, count, *_ = _HEAD.unpack_from(answer)
    found: dict[str, None] = {}
    at = start
    for _ in range(count):
        if at + _TARGET.size > len(answer):
            break
        _, _, _, step, kind = _TARGET.unpack_from(answer, at)
        found[kind.partition(b"\0")[0].decode(errors="replace")] = None
        at = start + step
    return tuple(found)
