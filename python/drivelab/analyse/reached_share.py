"""How much of what was written had reached the drive when the clock stopped; the rest was memory."""

from __future__ import annotations

from drivelab.model.estimate import Estimate
from drivelab.model.measurement import DeviceCounts, Measurement


def reached_device_share(measured: Measurement, counts: DeviceCounts | None) -> Estimate | None:
    """Bytes that the drive was given while the trial ran, over the bytes that were written, at most 1.

    Returns
    -------
    Estimate or None
        None for trials that wrote nothing, and where neither the kernel's
        counters nor the page cache tell. The end of the trial is that of the
        engine's run: a sync call that belongs to the workload is included.

    Notes
    -----
    Bytes that lie in the page cache afterwards and wait to be written cannot
    have reached the drive. Where the counters would allow for more than they
    do, the drive was given others' data or a journal besides. Without counters
    the page cache gives an upper bound only.
    """
    issued = int(measured.engine.get("all_phases", {}).get("write", {}).get("bytes", 0))
    if not issued:
        return None
    operations = int(measured.engine["all_phases"]["write"].get("count", 0))
    waiting = waiting_bytes(measured)
    most = 1.0 if waiting is None else max(0.0, 1 - waiting / issued)
    if counts is not None:
        share = min(counts.bytes_written / issued, most)
        method = "kernel counter of the drive, whole trial, and bytes waiting in the page cache afterwards"
        return Estimate(share, share, share, "1", operations, float(operations), method)
    if waiting is None:
        return None
    method = "bytes waiting in the page cache afterwards: an upper bound, for no drive was counted"
    return Estimate(None, 0.0, most, "1", operations, float(operations), method)


def waiting_bytes(measured: Measurement) -> int | None:
    """Bytes of the range that waited in the page cache to be written when the trial had ended; None when unknown."""
    found = (measured.context.get("page_cache") or {}).get("dirty_bytes_after")
    return None if found is None else int(found)
