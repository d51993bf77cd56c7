"""What a job with ``verify`` reads back of its own writes, when it has made them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from drivelab.interop.fio.job_options import JobOptions
from drivelab.interop.fio.placing import Placing
from drivelab.interop.fio.translated import TranslatedJob
from drivelab.interop.fio.translation_of_io import Issued

_MIXES = ("rw", "readwrite", "randrw")
# what is read back is read as fast as can be, and not counted before or beside it
_READS: Mapping[str, Any] = {
    "verify": True,
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
        U035: it is to check a part that chance decided when it was written.
    """
    in_part = options.has("io_size") or options.has("number_ios")
    word = options.choice("rw").word
    if options.truth("verify_only") and word in _MIXES:
        what = "chance decided which blocks were written, and not read, when that was done"
        raise options.refuse("verify_only", what, do=f"leave it out of {word}, or check what only writes")
    if options.truth("verify_only") and in_part and word.startswith("rand"):
        what = "which blocks were written fio's own random numbers tell"
        raise options.refuse("verify_only", what, do="check what was written in order, or whole")
    pattern, is_checked = job.pattern, job.pattern.verify
    is_mix = {"read", "write"} <= set(io.weights)
    if is_mix and is_checked:
        # what is read among writes may be what was there before
        pattern = pattern.changed(verify=False)
        job = replace(job, pattern=pattern)
    if not (is_checked and "write" in io.weights and options.truth("do_verify")):
        return job
    unchecked = "; as in fio what is read among writes is not checked" if is_mix else ""
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
        whole |= {"operation": "read", "count": 0, "runtime": "0s"}
        if placed.shares_range and placed.job_count > 1:
            options.tell("verify", "noted", "what all jobs wrote is read back once, and is right whichever wrote it")
            whole |= {"job_count": 1, "share_range": False}
        elif options.number("loops") > 1:
            options.tell("verify", "noted", "what several passes wrote is read back once, behind the last")
        elif len(set(io.all_sizes)) > 1:
            options.tell("verify", "noted", f"all is read back in blocks of {max(io.all_sizes)} B")
        return replace(job, verify_pattern=pattern.changed(**_READS, **whole))
    is_one = placed.job_count == placed.job_files.count == len(set(io.all_sizes)) == 1
    if is_one and not pattern.zoned_drive.is_used and set(io.weights) <= {"read", "write"}:
        if not ordered or is_mix:
            what = "read back in the order of the writes, and what was written twice is read twice"
            options.tell("verify", "approximated", what + unchecked)
        elif pattern.runtime:
            options.tell("verify", "noted", "what was written is read back also where its time was over, unlike fio")
        return replace(job, verify_pattern=pattern.reading_back().changed(**_READS), reads_back=True)
    options.tell("verify", "approximated", f"nothing is read back afterwards: not all is written{unchecked}")
    return job
