"""Keeps a command small in memory: it often runs beside a database that needs the rest.

The numbers of a check fit into a few MB, but reading and writing many small
tables leaves several times as much in pools that are not given back; a million
calls of a program leave 180 MB.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress

import pyarrow as pa

_M_ARENA_MAX, _M_MMAP_THRESHOLD = -8, -3
_OF_ITS_OWN_BYTES = 1 << 18


def keep_memory_low() -> None:
    """Use one plain pool for everything; to be called before other threads begin."""
    # Arrow's own pool keeps 40 % more for itself
    pa.set_memory_pool(pa.system_memory_pool())
    # a C library that is not glibc has no such call, and no such arenas either
    with suppress(AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
        # left alone, it keeps pieces of up to 32 MB for itself once it has seen such a one
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _OF_ITS_OWN_BYTES)


def give_memory_back() -> None:
    """Return what is free to the system."""
    with suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
