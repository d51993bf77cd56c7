"""The line of values that bonnie++ prints: its fields in their order, and the phases that they are about."""

from __future__ import annotations

from dataclasses import dataclass

# what format 1.98 has more than 1.97, behind the size of a chunk
SEEK_FIELDS = ("seeks_count", "seek_processes")
FIELDS = (
    *("format_version", "version", "name", "concurrency", "seed", "file_size", "io_chunk_size"),
    *SEEK_FIELDS,
    *("putc", "putc_cpu", "put_block", "put_block_cpu", "rewrite", "rewrite_cpu", "getc", "getc_cpu"),
    *("get_block", "get_block_cpu", "seeks", "seeks_cpu", "num_files", "max_size", "min_size", "num_dirs"),
    *("file_chunk_size", "seq_create", "seq_create_cpu", "seq_stat", "seq_stat_cpu", "seq_del", "seq_del_cpu"),
    *("ran_create", "ran_create_cpu", "ran_stat", "ran_stat_cpu", "ran_del", "ran_del_cpu", "putc_latency"),
    *("put_block_latency", "rewrite_latency", "getc_latency", "get_block_latency", "seeks_latency"),
    *("seq_create_latency", "seq_stat_latency", "seq_del_latency", "ran_create_latency", "ran_stat_latency"),
    "ran_del_latency",
)
FORMATS = {
    "1.96": tuple(name for name in FIELDS if name not in SEEK_FIELDS),
    "1.97": tuple(name for name in FIELDS if name not in SEEK_FIELDS),
    "1.98": FIELDS,
}
# of bonnie++ 1.03, which has no version in its line, and no latencies
OLD_VERSION = "1.03"
OLD_FIELDS = (
    *("name", "file_size"),
    *FIELDS[FIELDS.index("putc") : FIELDS.index("num_files") + 1],
    *FIELDS[FIELDS.index("seq_create") : FIELDS.index("ran_del_cpu") + 1],
)
# processes that seek at the same time in 1.03, unless it was built otherwise
OLD_SEEK_PROCESSES = "3"
# the share of its seeks that bonnie++ writes back
SEEKS_WRITTEN_BACK = 0.1
FILES_PER_UNIT = 1024


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of bonnie++: its field, and the workload that it is here."""

    field: str
    workload: str
    title: str
    operation: str
    access: str
    is_names: bool = False


PHASES = (
    Phase("putc", "per-character-write", "write, one byte a call", "write", "sequential"),
    Phase("put_block", "block-write", "write in blocks", "write", "sequential"),
    Phase("rewrite", "rewrite", "rewrite: read a block, change it, write it back", "read", "sequential"),
    Phase("getc", "per-character-read", "read, one byte a call", "read", "sequential"),
    Phase("get_block", "block-read", "read in blocks", "read", "sequential"),
    Phase("seeks", "seeks", "random seeks, a tenth written back", "read", "random"),
    Phase("seq_create", "create-sequential", "create files, names in order", "create", "sequential", is_names=True),
    Phase("seq_stat", "stat-sequential", "stat files, names in order", "stat", "sequential", is_names=True),
    Phase("seq_del", "delete-sequential", "delete files, names in order", "delete", "sequential", is_names=True),
    Phase("ran_create", "create-random", "create files, random names", "create", "random", is_names=True),
    Phase("ran_stat", "stat-random", "stat files, random order", "stat", "random", is_names=True),
    Phase("ran_del", "delete-random", "delete files, random order", "delete", "random", is_names=True),
)
