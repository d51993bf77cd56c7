"""Random trials of further sorts, without a fault: restless drives, files of a tree, writes that last, loop devices.

What they do is how drives and file systems are built; where a rule begins to speak is not known here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from random_trials import Random, Trial, between, healthy, of_the_time
from simulated_trials import Latencies, counted, drive, filesystem, target

from drivelab.model.target import BlockLayer
from drivelab.model.tree import Tree
from drivelab.model.workload import BlockSizeShare, Limits

# how many inodes a file system reads at once
_INODES_AT_ONCE = {"ext4": 512, "xfs": 64, "btrfs": 40}
# btrfs keeps such small contents with the inode
_INLINE_BYTES_MAX = 2048
_PAGE = 4096
# of a trial that lasts: what came to the drive, in capacities
Course = Callable[[Latencies], Latencies]


def plain(random: Random, operation: str = "") -> Trial:
    """A trial without a fault whose I/Os are not durable; all of one operation, if asked."""
    trial = healthy(random)
    while trial.is_durable or operation not in ("", trial.operation):
        trial = healthy(random)
    return trial


def restless(random: Random) -> Trial:
    """A drive whose level changes all the time: it collects garbage, jumps between two levels, or does so regularly."""
    trial = healthy(random)
    level, factor, times = np.ones(trial.count), between(random, 1.3, 4), int(random.integers(20, 60))
    which = int(random.integers(3))
    if which == 0:
        for at in random.uniform(0, trial.count, times // 2):
            level[int(at) : int(at + trial.count * random.exponential(0.5 / times))] = factor
    elif which == 1:
        at, is_slow = 0.0, bool(random.random() < 0.5)
        while at < trial.count:
            end = at + random.exponential(trial.count / times)
            level[int(at) : int(end)] = factor if is_slow else 1
            at, is_slow = end, not is_slow
    else:
        phase = np.arange(trial.count) / trial.count * times + random.random()
        level = np.where(phase % 1 < random.uniform(0.2, 0.5), factor, 1.0)
    trial.latency_ns = np.round(trial.latency_ns * level)
    return trial


def of_files(random: Random) -> Trial:
    """Files that are looked up, listed or read in their order, once the caches are empty or the file system is mounted.

    The drive reads the blocks of directories, some of them at once, inodes by the table's block and what is read ahead
    of it, and contents in whole pages; whatever is asked for a second time memory knows.
    """
    trial = plain(random, "read")
    kind = str(random.choice(list(_INODES_AT_ONCE)))
    trial.operation = str(random.choice(["stat", "list", "read_file"]))
    files, directories = int(between(random, 500, 20_000)), int(between(random, 1, 100))
    smallest = int(between(random, 512, 65_536))
    largest = int(smallest * random.uniform(1, 4))
    trial.block = (smallest + largest) // 2 if trial.operation == "read_file" else 0
    seen = min(files, trial.count)
    names = files if trial.operation == "list" else seen
    blocks = max(directories, math.ceil(names / random.uniform(100, 170)))
    reads = blocks / random.uniform(1, 4) if blocks > directories else directories
    if trial.operation != "list":
        reads += seen / _INODES_AT_ONCE[kind]
    contents = seen * math.ceil(trial.block / _PAGE) * _PAGE
    if kind == "btrfs" and trial.block <= _INLINE_BYTES_MAX:
        contents = seen * trial.block
    elif contents:
        reads += seen
    trial.counts = {"reads": math.ceil(reads), "bytes_read": _PAGE * blocks + contents}
    tree = Tree(file_count=files, directory_count=directories, file_bytes_min=smallest, file_bytes_max=largest)
    sizes = (BlockSizeShare(bytes=max(1, trial.block)),)
    trial.asked = {"tree": tree, "backend": "sync", "direct": False, "block_sizes": sizes}
    trial.engine["achieved"] |= {"direct": False, "queue_depth_mean": 1.0, "queue_depth_max": 1}
    moved = {trial.operation: {"count": trial.count, "bytes": trial.issued, "errors": 0, "short": 0}}
    trial.engine |= {"operations": moved, "all_phases": moved}
    trial.target = target(filesystem(kind), [drive()])
    for name in ("extents", "page_cache"):
        trial.context.pop(name, None)
    if random.random() < 0.6:
        trial.context["dropped_page_cache"] = {"method": "drop_caches", "reason": "", "resident_bytes": None}
    return trial


def lasting(random: Random, course: Course = np.ones_like, scatter: float = 0.05, fills: float = 0.0) -> Trial:
    """Direct writes for some minutes, of one to two and a half times what the drive holds.

    Parameters
    ----------
    random : Generator
        Where chance comes from.
    course : callable
        The relative throughput, by what was written before in capacities.
    scatter : float
        Of the logarithm of the throughput from interval to interval.
    fills : float
        How many capacities are written; left to chance if 0.
    """
    trial = plain(random, "write")
    fills = fills or random.uniform(1.2, 2.5)
    trial.intervals, trial.count = int(random.integers(200, 500)), int(random.integers(6000, 8000))
    trial.asked["interval_ns"] = 10**9
    # how long each part of the whole takes, and so how far it is at the end of each interval
    parts = np.linspace(0, fills, 4001)
    took = np.append(0, np.cumsum(1 / course((parts[1:] + parts[:-1]) / 2)))
    even = np.interp(np.linspace(0, took[-1], trial.intervals + 1), took, parts)
    moved = np.diff(even) * np.exp(scatter * random.standard_normal(trial.intervals))
    ends = np.round(np.cumsum(moved) / moved.sum() * trial.count).astype(int)
    trial.first = ends[:-1].tolist()
    in_each = np.diff(ends, prepend=0)
    slow = np.repeat(in_each.mean() / np.maximum(1, in_each), in_each)
    trial.latency_ns = np.round(slow * random.lognormal(np.log(between(random, 1e6, 5e7)), 0.3, trial.count))
    written = between(random, 5e7, 4e8) * trial.window_ns / 1e9
    trial.block = max(_PAGE, int(written / trial.count) // _PAGE * _PAGE)
    capacity = int(trial.issued / fills)
    is_by_bytes = random.random() < 0.7
    limits = Limits(bytes=max(capacity, trial.issued)) if is_by_bytes else Limits(runtime_ns=trial.window_ns)
    trial.asked |= {"block_sizes": (BlockSizeShare(bytes=trial.block),), "limits": limits}
    trial.counts |= {"writes": trial.count, "block": trial.block}
    trial.target = target(None, [drive(size_bytes=capacity)])
    for name in ("extents", "page_cache"):
        trial.context.pop(name, None)
    trial.engine["drain_ns"] = int(random.uniform(0, 3) * trial.latency_ns.mean())
    of_the_time(random, trial)
    return trial


def settled(random: Random) -> Trial:
    """The same on a drive whose cache of fast flash is full after a part of the first capacity."""
    full, times = random.uniform(0.02, 0.2), between(random, 1.5, 8)
    return lasting(random, lambda written: np.where(written < full, times, 1.0))


def on_loop_device(random: Random) -> Trial:
    """Direct I/O to a loop device that passes all of it on; the file system beneath its file writes its journal."""
    trial = plain(random)
    file = str(random.choice(["/images/a.img", "/var/lib/machines/b.raw", "/srv/drivelab-scratch-1-ab.img"]))
    common = (0, 512, 4096, "write back", False, False, False, "none")
    disk = BlockLayer("sda", "/dev/sda", "8:0", "disk", 10**12, *common)
    loop = BlockLayer("loop4", "/dev/loop4", "7:4", "loop", 10**11, *common, file)
    trial.target = replace(trial.target, devices=(disk, loop))
    trial.context["counted_device"] = "loop4"
    trial.counts["device"] = "loop4"
    passed_on(random, trial, 1.0)
    return trial


def passed_on(random: Random, trial: Trial, share: float) -> None:
    """Let so much of a trial on a loop device reach the drive, and a commit or two of the journal."""
    journal = int(random.integers(0, 3)) * 8 * _PAGE
    moved = {"reads": 0, "writes": 0} | {f"{trial.operation}s": round(share * trial.count)}
    read, written = (trial.block * moved[name] for name in ("reads", "writes"))
    trial.beneath = (counted(**moved, bytes_read=read, bytes_written=written + journal),)


# all sorts of trials without a fault
SORTS: dict[str, Callable[[Random], Trial]] = {
    "I/O": healthy,
    "restless": restless,
    "files": of_files,
    "lasting": lasting,
    "settled": settled,
    "loop": on_loop_device,
}
# what is true of a sort, and told
TRUE_OF_SORT = {"settled": {"throughput-cliff", "level-moves", "drift"}}


def has_own_pages(trial: Trial) -> bool:
    """Whether what is read are contents of files that lie in pages of their own."""
    on = trial.target.filesystem
    return trial.block > (_INLINE_BYTES_MAX if on is not None and on.type == "btrfs" else 0)
