"""What a job with ``verify`` reads back of its own writes, when it has made them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from drivelab.interop.fio.job_options import JobOptions
from drivelab.interop.fio.placing import Placing
from drivelab.interop.fio.translated import TranslatedJob
from drivelab.interop.fio.translation_of_io import Issued

# what is read back is read as fast as can be, and not counted before or beside it
_READS: Mapping[str, Any] = {
    "operation": "read",
    "durability": "none",
    "sync_every_writes": 1,
    "last_sync": "due",
    "sync_order": "after_write",
    "file_state": "overwrite",
    "pacing": {},
    "start_delay": "0s",
    "ramp": "0s",
    "ends_others": False,
}


def with_verification(options: JobOptions, job: TranslatedJob, placed: Placing, io: Issued) -> TranslatedJob:
    """The job with reads of all that it writes, where that is known.

    Raises
    ------
    DrivelabError
        U035: it is to check a random part that fio wrote.
    """
    in_part = options.has("io_size") or options.has("number_ios")
    if options.truth("verify_only") and in_part and options.choice("rw").word.startswith("rand"):
        what = "which blocks were written fio's own random numbers tell"
        raise options.refuse("verify_only", what, do="check what was written in order, or whole")
    if not (job.pattern.verify and "write" in io.weights and options.truth("do_verify")):
        return job
    pattern = job.pattern
    # what is left of the range behind the last whole block is not written
    left_bytes = max(io.all_sizes) * placed.job_count * placed.job_files.count
    covers = placed.all_bytes and pattern.bytes > placed.all_bytes - left_bytes
    covers = covers and not (pattern.runtime or pattern.count or pattern.access.zone_bytes)
    ordered = pattern.access.kind in ("sequential", "reverse") or pattern.access.covers_once
    only_writes = set(io.weights) == {"write"}
    # on zones nothing is left below write pointers but what was written
    if only_writes and ((covers and ordered) or pattern.zoned_drive.is_used):
        whole_bytes = min((limit for limit in (placed.all_bytes, pattern.bytes) if limit), default=0)
        whole = {"access": {"kind": "sequential"}, "block_size": max(io.all_sizes), "bytes": whole_bytes}
        return replace(job, verify_pattern=pattern.changed(**_READS, **whole, count=0, runtime="0s"))
    if only_writes and placed.job_count == placed.job_files.count == len(set(io.all_sizes)) == 1:
        if not ordered:
            what = "read back in the order of the writes, and what was written twice is read twice"
            options.tell("verify", "approximated", what)
        elif pattern.runtime:
            options.tell("verify", "noted", "what was written is read back also where its time was over, unlike fio")
        return replace(job, verify_pattern=pattern.changed(**_READS), reads_back=True)
    options.tell("verify", "approximated", "nothing is read back afterwards: not all is written")
    return job
