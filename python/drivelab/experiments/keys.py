"""Every key of an experiment's file: what it takes, its default, and what it means.

The schema for editors and the page about the format are made from this list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from drivelab.model.experiment import FigureName, TableName
from drivelab.model.workload import TREE_OPERATIONS


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a table.

    Attributes
    ----------
    takes : str
        What it takes, in Markdown.
    default : str
        The default as one would write it in the file; empty when there is none, or the key is required.
    meaning : str
        What it means.
    is_required : bool
        Whether it must be there.
    """

    takes: str
    default: str
    meaning: str
    is_required: bool = False


_SIZE = "a size: `512`, `4KiB`, `1MB`"
_TIME = 'a time with its unit: `"5s"`'
_LEVELS = Key("a list", "", "the levels that are measured; the first is the base of `one-at-a-time`", is_required=True)
_QUICK_LEVELS = Key("a list", "[]", "what replaces `levels` with `--quick`; empty: the same")
_FACTOR_WORKLOADS = Key("a list of names", "[]", "the workloads that it varies; empty: all")

_WORKLOAD = {
    "operation": Key(
        "`read`, `write`, `trim`, " + ", ".join(f"`{name}`" for name in TREE_OPERATIONS),
        '"write"',
        "what is done: the first three to blocks, the others to files of a tree (with `file_count`)",
    ),
    "operations": Key(
        "a list of tables", "[]", "a mix of operations; takes the place of `operation` and `read_fraction`"
    ),
    "read_fraction": Key("0 to 1", "", "share of reads in a mix with writes; takes the place of `operation`"),
    "access": Key(
        "`sequential`, `reverse`, `random`, `strided`, `same`, `zipf`, `pareto`, `normal`, `hot_cold`, or a table",
        '"sequential"',
        "order of the addresses; of files `sequential` is that of their names and `random` a random one",
    ),
    "block_size": Key(_SIZE, '"4KiB"', "bytes of one I/O, at most 1 GiB"),
    "block_sizes": Key("a list of tables", "[]", "a mix of sizes; takes the place of `block_size`"),
    "queue_depth": Key("1 to 4096", "1", "I/Os that each job keeps outstanding"),
    "submission_batch": Key(
        "0 to 4096",
        "0",
        "I/Os that are sent with one call at most, up to `queue_depth`; 0: as many as there are",
    ),
    "job_count": Key("1 to 1024", "1", "jobs side by side, each in its own part of the range"),
    "backend": Key(
        "`auto`, `sync`, `uring`, `aio`, `posixaio`, `mmap`, `stdio`",
        '"auto"',
        "how I/O is issued; `sync` is one thread that waits for `pread` and `pwrite`, as most programs do; `posixaio` "
        "is `aio_read` and `aio_write`, which a thread of the C library does one after the other for each job; `mmap` "
        "copies from and to a mapping; `stdio` is `fread` and `fwrite` with the buffer of the C library",
    ),
    "direct": Key("`true`, `false`", "false", "whether the page cache is bypassed (O_DIRECT)"),
    "cache_advice": Key(
        "`none`, `sequential`, `random`",
        '"none"',
        "what the kernel is told of the order of addresses; it reads farther ahead, or nothing ahead",
    ),
    "drop_cache_each_pass": Key(
        "`true`, `false`",
        "false",
        "whether the page cache gives up the range whenever an order of addresses begins again",
    ),
    "durability": Key(
        "`none`, `o_dsync`, `o_sync`, `rwf_dsync`, `fdatasync`, `fsync`, `sync_file_range`",
        '"none"',
        "how writes are made durable; the last makes nothing durable, it only starts the writing",
    ),
    "sync_every_writes": Key(
        'a number, or `"end"`', "1", "writes before each sync call; `end`: one after the last write"
    ),
    "last_sync": Key(
        "`due`, `never`, `always`",
        '"due"',
        "whether a sync call follows the last write of a job: where one is due after it, never, or always and apart "
        "from it",
    ),
    "blocking_sync": Key(
        "`true`, `false`", "false", "whether a job of backend `aio` waits for each sync call before it issues anything"
    ),
    "file_state": Key(
        "`overwrite`, `append`, `preallocated`, `sparse`",
        '"overwrite"',
        "what the file is like before: written, empty and growing, with space that is only reserved, with a length "
        "and no space; on a bare device there is no such difference, and everything overwrites",
    ),
    "file_size": Key(
        _SIZE,
        "0",
        "size of the file where the target is a file system; not needed to append, nor for one pass over space that "
        "is reserved or sparse: then it is as large as what is written",
    ),
    "fill_level": Key("a share: `20%`, 0.2", "1.0", "part of the device or file that is used: its start"),
    "offset": Key(_SIZE, "0", "where in the device or file that part begins; nothing before it is used"),
    "shift": Key(
        _SIZE,
        "0",
        "added to every address: the first write begins there, and all later ones are moved by as much; an appended "
        "file begins with a hole of that size",
    ),
    "contents": Key(
        "`random`, `zeros`, or a table",
        '"random"',
        "what is written; zeros and repeats are compressed away by many drives and file systems",
    ),
    "pacing": Key(
        "a table", '{ kind = "closed" }', "when the next I/O is issued: after a completion, or by a schedule"
    ),
    "count": Key("a number", "0", "I/Os after which it ends; 0 is no limit"),
    "bytes": Key(_SIZE, "0", "bytes after which it ends; 0 is no limit"),
    "capacities": Key(
        "a number", "0", "bytes after which it ends, as a multiple of the size of the device or file; 0 is no limit"
    ),
    "runtime": Key(_TIME, "", "time after which it ends"),
    "start_delay": Key(_TIME, "", "wait before its first I/O, when those of the same `together` have begun"),
    "ends_others": Key("`true`, `false`", "false", "whether those of the same `together` end when it has ended"),
    "ramp": Key(_TIME, "", "time of I/O before, which is not counted"),
    "interval": Key(_TIME, '"100ms"', "length of an interval of the time series; a trial should last 20 or more"),
    "rewrite_fraction": Key(
        "0 to 1", "0.0", "share of the reads that are written back, changed, to the same place right after"
    ),
    "share_range": Key(
        "`true`, `false`", "false", "whether all jobs work on the whole range, or on the same directories"
    ),
    "own_files": Key(
        "`true`, `false`", "false", "whether each job has a file of its own, of `file_size`, in place of a part of one"
    ),
    "range_size": Key(_SIZE, "0", "bytes of the device or file that are used, in place of `fill_level`; 0: all"),
    "pin_cpus": Key("a list of numbers", "[]", "processors that the jobs run on, in turn"),
    "polled_completion": Key("`true`, `false`", "false", "whether completions are polled for at the device (`uring`)"),
    "polled_submission": Key("`true`, `false`", "false", "whether a thread of the kernel takes submissions (`uring`)"),
    "verify": Key("`true`, `false`", "false", "whether what is read is checked against what was written there"),
    "file_count": Key("a number", "0", "operations on files: how many files there are, over all jobs"),
    "file_size_min": Key(
        _SIZE, "", "operations on files: sizes are evenly spread from here to `file_size`; left out: all of `file_size`"
    ),
    "directory_count": Key("a number", "0", "operations on files: directories they lie in; 0: all in one"),
    "directory_depth": Key("1 to 64", "1", "operations on files: how many levels deep the directories lie"),
    "sync_directory": Key(
        "`true`, `false`", "false", "operations on files: whether the directory is made durable after each of them, too"
    ),
    "record_ios": Key("`true`, `false`", "false", "whether every single I/O is kept (`ios/TRIAL.parquet`)"),
}

KEYS: dict[str, dict[str, Key]] = {
    "Experiment": {
        "format": Key("`1`", "", "version of the format", is_required=True),
        "name": Key("small letters, digits, `.`, `-`", "", "name of the experiment", is_required=True),
        "question": Key("text", "", "what it answers, in one sentence", is_required=True),
        "description": Key("text", '""', "what it does, and what to know before one believes its numbers"),
        "source": Key("text", '""', "where the idea or the method comes from"),
        "repeats": Key("a table", "{ full = 5, quick = 3 }", "how often every combination is measured"),
        "design": Key(
            "`full`, `one-at-a-time`",
            '"full"',
            "which combinations are measured: all, or the first level of every factor and each other level alone",
        ),
        "requires": Key(
            "`anything`, `device`",
            '"anything"',
            "which targets can answer it; `device`: a block device or `scratch:SIZE`, no directory and no file",
        ),
        "factors": Key("tables", "[]", "what is varied"),
        "workloads": Key("tables", "", "the I/O that is issued; at least one", is_required=True),
        "reference": Key("a table", "", "a combination that is measured again and again, so that a drift shows"),
        "tables": Key(
            "a list of " + ", ".join(f"`{name}`" for name in get_args(TableName)),
            "[]",
            "the tables of the report that answer the question; `phases`: rate, processor and latencies of every "
            "workload; `surfaces`: throughput over `file_size` and `block_size`, as IOzone prints it",
        ),
        "figures": Key(
            "a list of " + ", ".join(f"`{name}`" for name in get_args(FigureName)),
            "[]",
            "the figures that answer it; `throughput-over-time` and `total-time` are drawn only when they are named",
        ),
    },
    "Scale": {
        "full": Key("1 to 1000", "5", "repeats at full size"),
        "quick": Key("1 to 1000", "3", "repeats with `--quick`"),
    },
    "Factor": {
        "setting": Key(
            "`filesystem`, `mount`, `workload`, `trim`, `purge`, `precondition`, `page-cache`, or a setting",
            "",
            "what is varied",
            is_required=True,
        ),
        "key": Key("a key of `[[workloads]]`", "", 'with `setting = "workload"`: the key that is varied'),
        "levels": _LEVELS,
        "quick_levels": _QUICK_LEVELS,
        "workloads": _FACTOR_WORKLOADS,
    },
    "FileSystemLevel": {
        "type": Key(
            "`raw`, `ext2`, `ext3`, `ext4`, `xfs`, `btrfs`, `f2fs`",
            "",
            "what is made on the target; `raw`: nothing",
            is_required=True,
        ),
        "name": Key("small letters, digits, `.`, `-`", "", "what the level is called; else its type"),
        "mkfs_options": Key("a list of texts", "[]", "options of the mkfs program that touch the target alone"),
        "mount_options": Key("a list of texts", "[]", "options it is mounted with that touch the target alone"),
    },
    "MountLevel": {
        "name": Key("small letters, digits, `.`, `-`", "", "what the level is called", is_required=True),
        "options": Key("a list of texts", "[]", "options it is mounted with, beside those of the file system"),
    },
    "ExperimentWorkload": {
        "name": Key("small letters, digits, `.`, `-`", "", "name of the workload", is_required=True),
        "title": Key("text", '""', "what it is called in tables; else its name"),
        "together": Key(
            "text", '""', "workloads that follow each other and say the same run at the same time, each on its own file"
        ),
        "quick": Key("a table", "{}", "keys of the workload that are different with `--quick`"),
        **_WORKLOAD,
    },
    "SizeShare": {
        "bytes": Key(_SIZE, "", "bytes of one I/O, at most 1 GiB", is_required=True),
        "weight": Key("above 0", "1.0", "share of the I/Os that have this size, over the sum of all weights"),
    },
    "OperationMix": {
        "operation": Key("as `operation`", "", "what is done", is_required=True),
        "weight": Key("above 0", "1.0", "share of the operations that are this one, over the sum of all weights"),
        "block_sizes": Key("a list of tables", "[]", "sizes of its own; else those of the workload"),
        "access": Key(
            "as `access`", "", "order of its own, with a place of its own to go on from; else the workload's"
        ),
    },
    "Access": {
        "kind": Key("as `access`", "", "order of the addresses"),
        "stride_bytes": Key(
            "a number", "0", "`strided`: distance from one I/O to the next; 0: every other block is left out"
        ),
        "pareto_h": Key("0 to 1", "0.2", "`pareto`: skew; the smaller, the fewer addresses get most I/Os"),
        "normal_deviation": Key(
            "above 0, at most 1", "0.1", "`normal`: standard deviation about the middle, as a share of the range"
        ),
        "run_blocks": Key("1 or more", "1", "blocks in a row from each random place on"),
        "random_fraction": Key(
            "above 0, at most 1", "1.0", "share of random places in an order that is else sequential"
        ),
        "covers_once": Key("`true`, `false`", "false", "`random`: every block once before any comes again"),
        "zipf_theta": Key("above 0, below 5", "0.99", "`zipf`: skew; the larger, the fewer addresses get most I/Os"),
        "hot_range_fraction": Key("0 to 1", "0.1", "`hot_cold`: part of the range that is hot"),
        "hot_access_fraction": Key("0 to 1", "0.9", "`hot_cold`: part of the I/Os that go there"),
    },
    "Contents": {
        "kind": Key("`random`, `zeros`", '"random"', "what is written"),
        "compressible_fraction": Key("0 to 1", "0.0", "part of every 4 KiB that is zeros"),
        "duplicate_fraction": Key("0 to 1", "0.0", "part of the writes that repeat one block"),
    },
    "Pacing": {
        "kind": Key(
            "`closed`, `fixed`, `poisson`",
            '"closed"',
            "after a completion, at equal distances, or at random ones",
        ),
        "rate_per_s": Key("a number", "0.0", "`fixed`, `poisson`: arrivals per second over all jobs"),
        "think_ns": Key("a number", "0", "`closed`: pause in ns that a job makes ..."),
        "think_every": Key("1 or more", "1", "... after so many I/Os"),
    },
    "Reference": {
        "workload": Key("a name", "", "the workload", is_required=True),
        "levels": Key("a table", "{}", "level of each factor, as in its `levels`; others stand at their first"),
    },
}
