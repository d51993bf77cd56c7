"""What a write and a flush cost every drive of some results: its durable small writes, by their commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from drivelab.analyse.expected_commands import append_commands
from drivelab.analyse.flush_model import SAME_COUNT, MixtureTime, fit_flush_model
from drivelab.model.flush_fit import FlushFit
from drivelab.model.judged_metric import LATENCY, MEAN_LATENCY
from drivelab.model.metric import FLUSHES, FUA_WRITES, WRITES
from drivelab.model.result_set import MeasuredDrive, Observation, ResultSet

# a larger write is several requests
BLOCK_BYTES_MAX = 64 * 1024
# what a few commands cost is not to be had of latencies that are known less well
_SCATTER_MAX = 2.0
FILESYSTEM, MOUNT, WRITE_CACHE = "filesystem", "mount", "write-cache"
# published workloads that are synchronous appends (dd oflag=direct,sync): their commands are known, though not counted
SYNCHRONOUS_APPENDS = {("reference:ssd-latency", "small-write")}

_Group = dict[tuple[str, str, float, float], list[Observation]]


def flush_fits(sets: Sequence[ResultSet]) -> tuple[FlushFit, ...]:
    """The costs of a write and of a flush of every drive that was measured with enough mixtures of both.

    Returns
    -------
    tuple of FlushFit
        One per result set, drive, workload and combination of the factors other
        than file system, mount options and write cache; none where fewer than three
        mixtures of writes and flushes were measured.

    Notes
    -----
    Durable writes of at most `BLOCK_BYTES_MAX`, one at a time, whose trials all
    describe the drive: their median latency, or the mean where a page tells
    nothing else. Combinations that differ in mount options only and cost the
    same commands are averaged.
    """
    found = []
    for one in sets:
        drives = {(drive.name, drive.machine): drive for drive in one.drives}
        for members in _alike(one.observations).values():
            first = members[0]
            drive = drives.get((first.drive, first.machine), MeasuredDrive(first.drive))
            fit = _fit(one, drive, _of_one_metric(members))
            if fit.verdict != "too few cells":
                found.append(fit)
    return tuple(found)


def _alike(observations: Sequence[Observation]) -> dict[object, list[Observation]]:
    """Observations that differ in nothing but file system, mount options and write cache."""
    groups: dict[object, list[Observation]] = {}
    for one in observations:
        if not one.is_durable or one.operation == "read" or one.metric not in (LATENCY, MEAN_LATENCY):
            continue
        is_small = one.block_size_bytes is None or one.block_size_bytes <= BLOCK_BYTES_MAX
        if not is_small or (one.queue_depth or 1) > 1 or one.invalid_trials:
            continue
        others = tuple(sorted(item for item in one.levels.items() if item[0] not in (FILESYSTEM, MOUNT, WRITE_CACHE)))
        groups.setdefault((one.drive, one.machine, one.workload, one.block_size_bytes, others), []).append(one)
    return groups


def _of_one_metric(members: Sequence[Observation]) -> list[Observation]:
    """Medians where there are as many as means, else means."""
    by_metric = {metric: [one for one in members if one.metric == metric] for metric in (LATENCY, MEAN_LATENCY)}
    return max(by_metric.values(), key=len)


def _fit(results: ResultSet, drive: MeasuredDrive, members: Sequence[Observation]) -> FlushFit:
    first = members[0]
    has_counts = (results.key, first.workload) not in SYNCHRONOUS_APPENDS
    notes: list[str] = []
    cells: _Group = {}
    for one in members:
        counts = _counts(one) if has_counts else _known_counts(one)
        why = _left_out(one, counts)
        if why:
            notes.append(f"{_label(one.levels)}: {why}")
        elif counts is not None:
            key = (one.levels.get(FILESYSTEM, ""), one.levels.get(WRITE_CACHE, ""), *counts)
            cells.setdefault(_same(key, cells), []).append(one)
    times = [_time(key, group) for key, group in cells.items()]
    if not has_counts:
        times += _not_measured(times)
    return fit_flush_model(
        times,
        drive=first.drive,
        machine=first.machine,
        workload=first.title or first.workload,
        metric=first.metric,
        is_hard_disk="hard disk" in drive.kind.lower() or "hdd" in drive.kind.lower(),
        has_counts=has_counts,
        notes=tuple(dict.fromkeys(notes)),
    )


def _counts(one: Observation) -> tuple[float, float] | None:
    """Writes and flushes per operation, where both are known."""
    if WRITES not in one.commands or FLUSHES not in one.commands:
        return None
    return fmean(one.commands[WRITES]), fmean(one.commands[FLUSHES])


def _known_counts(one: Observation) -> tuple[float, float] | None:
    return append_commands(one.levels.get(FILESYSTEM, ""), has_cache=one.levels.get(WRITE_CACHE) != "off")


def _left_out(one: Observation, counts: tuple[float, float] | None) -> str:
    """Why an observation tells nothing of the two costs; empty where it does."""
    if counts is None or one.estimate.value is None:
        return "no latency" if counts else "its commands were not counted"
    bounds = [one.commands[name] for name in (WRITES, FLUSHES) if name in one.commands]
    if any(high - low > SAME_COUNT for low, high in bounds):
        return "its commands are only known between bounds, or differ between repeats"
    if max(one.commands.get(FUA_WRITES, (0.0, 0.0))) > SAME_COUNT:
        return "its writes carry Force Unit Access, and cost neither what a write nor what a flush costs"
    low, high = one.estimate.low, one.estimate.high
    if low is not None and high is not None and high > _SCATTER_MAX * low:
        return f"its repeats scatter by more than a factor of {_SCATTER_MAX:g}"
    cache, is_flushed = one.levels.get(WRITE_CACHE), counts[1] >= SAME_COUNT
    if cache == "off" and is_flushed:
        return "flushes with the cache off cost something else"
    if cache == "on" and not is_flushed:
        return "nothing was flushed though the cache was on"
    return ""


def _same(key: tuple[str, str, float, float], known: _Group) -> tuple[str, str, float, float]:
    """The key of the cell with the same levels and the same commands, but for what counts scatter."""
    for other in known:
        is_near = abs(other[2] - key[2]) < SAME_COUNT and abs(other[3] - key[3]) < SAME_COUNT
        if other[:2] == key[:2] and is_near:
            return other
    return key


def _time(key: tuple[str, str, float, float], group: Sequence[Observation]) -> MixtureTime:
    latency = fmean(one.estimate.value or 0.0 for one in group)
    low, high = (
        _mean_of_all(each) for each in zip(*((one.estimate.low, one.estimate.high) for one in group), strict=True)
    )
    return MixtureTime(*key, latency, low, high, min(one.trial_count for one in group))


def _mean_of_all(ends: Sequence[float | None]) -> float | None:
    known = [end for end in ends if end is not None]
    return fmean(known) if len(known) == len(ends) else None


def _not_measured(times: Sequence[MixtureTime]) -> Iterator[MixtureTime]:
    """What the known commands say of combinations that nobody measured."""
    there = {(one.filesystem, one.cache) for one in times}
    for cache in ("on", "off"):
        for filesystem in ("raw", "ext4", "xfs"):
            counts = append_commands(filesystem, has_cache=cache == "on")
            if counts is not None and (filesystem, cache) not in there and any(one.cache == cache for one in times):
                yield MixtureTime(filesystem, cache, *counts, None)


def _label(levels: Mapping[str, str]) -> str:
    words = [levels.get(FILESYSTEM, ""), levels.get(MOUNT, "")]
    cache = levels.get(WRITE_CACHE)
    return ", ".join([*filter(None, words), *([f"write cache {cache}"] if cache else [])]) or "the only combination"
