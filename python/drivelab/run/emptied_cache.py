"""Empties the write cache that a trial leaves behind: its time belongs to that trial, and to no later one."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from drivelab.model.workload import Workload
from drivelab.run.engine import StopRequest


def leaves_cache_full(workload: Workload, *, is_direct: bool) -> bool:
    """Whether writes may end in the drive's own cache: past the page cache, and with nothing to make them durable."""
    is_synced = workload.durability.method != "none"
    is_on_one = workload.tree is None and workload.backend != "null"
    return workload.writes_contents and is_direct and not is_synced and is_on_one


def emptied_cache(workload: Workload, engine: Mapping[str, Any], stop: StopRequest | None) -> dict[str, Any]:
    """How long the drive takes to write what it has answered for already, for the context of a measurement.

    Parameters
    ----------
    engine : mapping
        The engine's summary of it: whether direct I/O was had.
    stop : StopRequest, optional
        Where the user asked for the end, nothing is waited for.

    Returns
    -------
    dict
        ``write_cache_emptied_ns``; empty where no cache is left full, and where the target refused.
    """
    is_stopped = stop is not None and stop.is_set()
    if is_stopped or not leaves_cache_full(workload, is_direct=bool(engine["achieved"]["direct"])):
        return {}
    taken_ns = empty_cache(workload.target.all_opened_by)
    return {} if taken_ns is None else {"write_cache_emptied_ns": taken_ns}


def empty_cache(paths: Sequence[str]) -> int | None:
    """Make durable what was written to files or devices; the time it took, None where one of them refused."""
    started = time.monotonic_ns()
    try:
        for path in paths:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
    except OSError:
        # the errors of what was written are told; this one is the next one's to meet
        return None
    return time.monotonic_ns() - started
