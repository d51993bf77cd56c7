"""What makes the numbers of two sides mean different things, so that their ratio would say nothing.

A kernel, a drive or a file system that differs is what somebody compares. A
write that is durable on one side and waits in a cache on the other is not: its
ratio is a number, and no answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from drivelab.analyse.command_changes import Bounds
from drivelab.model.finding import trials_of
from drivelab.model.metric import FLUSHES, FUA_WRITES
from drivelab.model.setting import AS_FOUND

WRITE_CACHE = "write-cache"
# below this share of operations nothing is flushed, above the other every one or two are
_NO_FLUSHES_MAX, _FLUSHES_MIN = 0.05, 0.45
# asked alike, a depth that is reached on one side only makes another workload of it
_DEPTH_RATIO_MAX = 1.25


@dataclass(frozen=True, slots=True)
class TrialConduct:
    """How a trial was carried out, as far as it decides what its numbers mean.

    Attributes
    ----------
    asked : mapping of str to str
        Parts of the workload as asked, by their name for people: ``queue depth``, ``durability``.
    is_direct : bool or None
        Whether the kernel bypassed the page cache; None when unknown.
    queue_depth : float or None
        I/Os outstanding on average, per job.
    levels, achieved : mapping of str to str
        Level of every factor as asked, and as read back.
    commands : mapping of str to (float, float)
        Device commands per operation, as bounds.
    invalid : collection of str
        Codes of the findings that say that it does not describe the drive.
    """

    asked: Mapping[str, str] = field(default_factory=dict)
    backend: str = ""
    is_direct: bool | None = None
    queue_depth: float | None = None
    levels: Mapping[str, str] = field(default_factory=dict)
    achieved: Mapping[str, str] = field(default_factory=dict)
    commands: Mapping[str, Bounds] = field(default_factory=dict)
    invalid: Collection[str] = ()


def pattern_words(asked: Mapping[str, str], *, is_durable: bool) -> str:
    """What kind of I/O was asked for: ``durable writes``, ``sequential I/O``; empty where it is none of these."""
    if is_durable:
        return "durable writes"
    access = asked.get("access", "")
    return f"{access} I/O" if access in ("sequential", "random") else ""


def reasons_against(
    base: Sequence[TrialConduct], new: Sequence[TrialConduct], compared: Collection[str] = ()
) -> tuple[str, ...]:
    """Why the numbers of two sides must not be compared; nothing when they may.

    Parameters
    ----------
    base, new : sequence of TrialConduct
        All trials of one combination on each side.
    compared : collection of str
        Factors that are meant to differ, by their name (``write-cache``, ``backend``).
    """
    meant = {name.replace("_", " ") for name in compared}
    if "filesystem" in compared:
        # a bare drive has no file that could grow
        meant.add("file state")
    found = [*_invalid(base, new)]
    found += _asked(base, new, meant)
    found += _achieved_otherwise(base, new, meant)
    found += _settings(base, new, compared)
    found += _flushes(base, new, compared)
    return tuple(found)


def asked_of(conduct: TrialConduct) -> dict[str, str]:
    """What was asked for, and what issued it and how, by its name for people: what stands apart where it differs.

    Settings, flushes and the queue depth achieved are not in it: they may be what is wrong with one of many drives.
    """
    found = dict(conduct.asked)
    if conduct.backend:
        found["backend"] = conduct.backend
    if conduct.is_direct is not None:
        found["I/O"] = _io_words(conduct.is_direct)
    return found


def are_asked_alike(base: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """Whether two workloads, as `asked_of` tells them, are compared: what one does not tell is not held against it."""
    return not any(_asked([TrialConduct(asked=base)], [TrialConduct(asked=new)], ()))


def _io_words(is_direct: bool) -> str:
    return "past the page cache" if is_direct else "through the page cache"


def _invalid(base: Sequence[TrialConduct], new: Sequence[TrialConduct]) -> Iterator[str]:
    for name, trials in (("BASE", base), ("NEW", new)):
        codes = sorted({code for trial in trials for code in trial.invalid})
        if codes:
            count = sum(bool(trial.invalid) for trial in trials)
            yield f"of {name} {trials_of(count, len(trials), 'do not')} describe the drive: {', '.join(codes)}"


def _asked(base: Sequence[TrialConduct], new: Sequence[TrialConduct], meant: Collection[str]) -> Iterator[str]:
    names = dict.fromkeys(name for trial in (*base, *new) for name in trial.asked)
    for name in names:
        # what a side does not tell, as of an imported run, can't be held against the other
        is_told = all(any(name in trial.asked for trial in side) for side in (base, new))
        if name not in meant and is_told:
            yield from _apart(name, *({trial.asked.get(name, "") for trial in side} for side in (base, new)))


def _achieved_otherwise(
    base: Sequence[TrialConduct], new: Sequence[TrialConduct], meant: Collection[str]
) -> Iterator[str]:
    if "backend" not in meant:
        yield from _apart("backend", *({trial.backend for trial in side if trial.backend} for side in (base, new)))
    if "direct" not in meant:
        directs = [{trial.is_direct for trial in side if trial.is_direct is not None} for side in (base, new)]
        yield from _apart("I/O", *({_io_words(one) for one in side} for side in directs))
    depths = [[trial.queue_depth for trial in side if trial.queue_depth] for side in (base, new)]
    if "queue depth" not in meant and all(depths):
        ours, theirs = (median(side) for side in depths)
        if max(ours, theirs) > _DEPTH_RATIO_MAX and max(ours / theirs, theirs / ours) > _DEPTH_RATIO_MAX:
            yield f"queue depth achieved: {ours:.3g} in BASE, {theirs:.3g} in NEW"


def _settings(base: Sequence[TrialConduct], new: Sequence[TrialConduct], compared: Collection[str]) -> Iterator[str]:
    """Settings that were asked for alike, and taken on one side only."""
    for name in dict.fromkeys(name for trial in (*base, *new) for name in trial.levels):
        asked = {trial.levels.get(name) for trial in (*base, *new)}
        if name in compared or len(asked) != 1 or AS_FOUND in asked:
            continue
        (level,) = asked
        refused = [{trial.achieved[name] for trial in side if name in trial.achieved} for side in (base, new)]
        # a file system reads back with its mount options behind it
        taken = [all(one is None or _is_taken(str(level), one) for one in side) for side in refused]
        if taken[0] != taken[1]:
            yield from _apart(f"{name} {level} as read back", *refused)


def _is_taken(level: str, achieved: str) -> bool:
    return achieved == level or achieved.split(" ")[0] == level.split(" ")[0]


def _flushes(base: Sequence[TrialConduct], new: Sequence[TrialConduct], compared: Collection[str]) -> Iterator[str]:
    if WRITE_CACHE in compared:
        # without a cache a write needs no flush to be durable: that is what is being compared
        return
    if all(trial.asked.get("durability") == "none" for trial in (*base, *new)):
        # nobody asked for any: flushes were other programs', or the file system's own
        return
    sides = [[trial.commands[FLUSHES] for trial in side if FLUSHES in trial.commands] for side in (base, new)]
    if not all(sides):
        return
    counts = [median(low for low, _ in side) for side in sides]
    durable = [
        count + median([trial.commands.get(FUA_WRITES, (0.0, 0.0))[0] for trial in side])
        for count, side in zip(counts, (base, new), strict=True)
    ]
    if min(durable) <= _NO_FLUSHES_MAX and max(durable) >= _FLUSHES_MIN:
        caches = [sorted({trial.achieved.get(WRITE_CACHE, "") for trial in side} - {""}) for side in (base, new)]
        text = f"flushes per operation: {counts[0]:.3g} in BASE, {counts[1]:.3g} in NEW"
        if all(caches) and caches[0] != caches[1]:
            yield f"{text}; the write cache was {' and '.join(caches[0])} in BASE, {' and '.join(caches[1])} in NEW"
        else:
            yield f"{text}: what is durable on one side need not be on the other"


def _apart(what: str, base: Collection[str], new: Collection[str]) -> Iterator[str]:
    if base and new and set(base) != set(new):
        yield f"{what}: {_listed(base)} in BASE, {_listed(new)} in NEW"


def _listed(values: Collection[str]) -> str:
    return " and ".join(sorted(value or "none" for value in values))
