"""Every key of an experiment's file: what it takes, its default, and what it means.

The schema for editors and the page about the format are made from this list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from pydantic import BaseModel

from drivelab.model.contents import Contents
from drivelab.model.experiment import FigureName, TableName
from drivelab.model.job_files import JobFiles
from drivelab.model.told import told_fields
from drivelab.model.view import METRIC_NAMES, PLACES
from drivelab.model.workload import Access, Pacing
from drivelab.model.workload_keys import WorkloadKeys
from drivelab.model.zoned_drive import ZonedDrive


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a table.

    Attributes
    ----------
    takes : str
        What it takes, in Markdown.
    default : str
        The default as one would write it in the file; empty when there is none, or the key is required.
    """

    takes: str
    default: str
    meaning: str
    is_required: bool = False


_SIZE = "a size: `512`, `4KiB`, `1MB`"
_LEVELS = Key("a list", "", "the levels that are measured; the first is the base of `one-at-a-time`", is_required=True)
_QUICK_LEVELS = Key("a list", "[]", "what replaces `levels` with `--quick`; empty: the same")
_FACTOR_WORKLOADS = Key("a list of names", "[]", "the workloads that it varies; empty: all")


def _keys_of(model: type[BaseModel]) -> dict[str, Key]:
    """The keys of a table whose fields say themselves what they are."""
    return {
        one.path[0]: Key(one.takes, one.default, one.told.meaning, is_required=one.field.is_required())
        for one in told_fields(model)
        if len(one.path) == 1
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
        "phases": Key(
            "tables",
            "[]",
            "the order in which workloads are measured, in rounds until something is steady; without any, every "
            "combination is repeated in random order",
        ),
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
        "views": Key("tables", "[]", "tables of your own, made of the same numbers"),
    },
    "Phase": {
        "name": Key("small letters, digits, `.`, `-`", "", "name of the phase", is_required=True),
        "workloads": Key(
            "a list of names",
            "",
            "its workloads, one after the other, each with all its combinations, the first factor outermost",
            is_required=True,
        ),
        "rounds": Key("1 to 10000", "1", "how often they are measured at most"),
        "quick_rounds": Key("1 to 10000", "", "what replaces `rounds` with `--quick`"),
        "track": Key(
            "tables",
            "[]",
            "combinations whose numbers end the phase: with the round in which all of them have been steady for five "
            "rounds",
        ),
        "capacities": Key(
            "0 to 1000", "0", "no further round begins once the phase has written so many times the size of the target"
        ),
    },
    "Tracked": {
        "workload": Key("a name", "", "its workload", is_required=True),
        "levels": Key("a table", "{}", "level of each factor that has several"),
        "metric": Key(
            "`iops`, `throughput_bytes_per_s`, `total_latency_ns_mean`",
            '"iops"',
            "the number; [what it is](../metrics.md)",
        ),
    },
    "Point": {
        "of": Key("a name", "", "the workload whose combinations are looked at", is_required=True),
        "which": Key(
            "`max`, `mid`",
            "",
            "`max`: most IOPS among those with a mean latency below 5 ms; `mid`: nearest to the middle between the "
            "most and the fewest IOPS among them",
            is_required=True,
        ),
    },
    "View": {
        "key": Key("small letters, digits, `.`, `-`", "", "its name, and that of its CSV file", is_required=True),
        "title": Key("text", "", "what stands above it", is_required=True),
        "caption": Key("text", '""', "how to read it"),
        "metrics": Key(
            "a list of " + ", ".join(f"`{name}`" for name in METRIC_NAMES),
            "",
            "its numbers, each in a column of its own; [what they are](../metrics.md). `small_write_latency` is of "
            "durable writes below 1 MiB, and of larger ones where their size is a factor: the mean beside published "
            "pages, else the median",
            is_required=True,
        ),
        "workloads": Key("a list of names", "[]", "the workloads that it shows; empty: all"),
        "keep": Key("a table", "{}", "the levels that it shows, by factor; of others all"),
        "rows": Key(
            "a list of factors, " + ", ".join(f"`{name}`" for name in PLACES),
            '["drive"]',
            "what tells its rows apart; what varies and is named nowhere is added",
        ),
        "columns": Key("as `rows`", "[]", "what has a column of numbers for each of its levels"),
        "split": Key("as `rows`", "[]", "what has a table for each of its levels, the first six"),
        "mean_over": Key("as `rows`", "[]", "of whose levels the mean is shown; its interval spans theirs"),
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
        "point": Key(
            "a table", "", "a combination of another workload, chosen when that was measured: its levels are taken over"
        ),
        "quick": Key("a table", "{}", "keys of the workload that are different with `--quick`"),
        **_keys_of(WorkloadKeys),
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
        "drawn_only": Key("true or false", "false", "it has its turn and its place, and is not issued"),
    },
    "Access": _keys_of(Access),
    "Zone": {
        "range_fraction": Key("above 0, at most 1", "", "its part of the range", is_required=True),
        "access_fraction": Key("above 0, at most 1", "", "its part of the I/Os", is_required=True),
    },
    "Contents": _keys_of(Contents),
    "Pacing": _keys_of(Pacing),
    "JobFiles": _keys_of(JobFiles),
    "ZonedDrive": _keys_of(ZonedDrive),
    "Reference": {
        "workload": Key("a name", "", "the workload", is_required=True),
        "levels": Key("a table", "{}", "level of each factor, as in its `levels`; others stand at their first"),
    },
}
