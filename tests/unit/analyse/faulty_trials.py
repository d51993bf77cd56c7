"""Random trials as measuring hands them on, healthy or with one known fault of the computer around the drive.

What they are made of is how computers are built, and what breaks there: each fault is drawn from what it does, at
whatever strength it may have. Where a rule begins to speak is not known here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from faulty_sorts import SORT_FAULTS
from random_sorts import SORTS, TRUE_OF_SORT
from random_trials import Random, Trial, between, of_the_time
from simulated_trials import counted, drive, filesystem, measured, target, workload

from drivelab.analyse.findings import smart_findings, target_findings
from drivelab.analyse.trial import judge_trial
from drivelab.model.contents import Contents
from drivelab.model.drive import LinkFacts, WriteCacheFacts


def told_of(fault: str, seed: int, sort: str = "I/O") -> set[str]:
    """Codes of everything that is told of a random trial with a fault; an empty one is none, on a trial of a sort."""
    place = [1 + list(FAULTS).index(fault)] if fault else [0, list(SORTS).index(sort)]
    random = np.random.default_rng([seed, *place])
    if fault in SORT_FAULTS:
        return judged(SORT_FAULTS[fault][1](random))
    trial = SORTS[sort](random)
    while not _FITS.get(fault, lambda _: True)(trial):
        trial = SORTS[sort](random)
    if fault:
        _MAKERS[fault][1](random, trial)
    return judged(trial)


def judged(trial: Trial) -> set[str]:
    """Codes of all findings about a trial, its target and its drive."""
    values = {trial.operation: trial.latency_ns}
    if trial.is_durable:
        values = {"write": trial.latency_ns * 0.01, "sync": trial.latency_ns * 0.99, "durable_write": trial.latency_ns}
        values = {name: np.maximum(1, np.round(each)) for name, each in values.items()}
    made = measured(
        workload(trial.operation, **trial.asked),
        values,
        intervals=trial.first or trial.intervals,
        devices=[*trial.beneath, counted(**trial.counts)],
        context=trial.context,
        **trial.engine,
    )
    findings = [
        *judge_trial(made, trial.target)[1],
        *target_findings(trial.target),
        *smart_findings([("sda", *trial.smart)]),
    ]
    return {finding.code for finding in findings}


def _abandoned(random: Random, trial: Trial) -> None:
    trial.engine["abandoned_jobs"] = int(random.integers(1, 5))


def _answered_by_memory(random: Random, trial: Trial) -> None:
    """A file that was read or written not long before: a part of it is in memory, and buffered I/O finds it there."""
    share = random.uniform(0.05, 1)
    trial.asked["direct"] = trial.engine["achieved"]["direct"] = False
    trial.counts[f"{trial.operation}s"] = round((1 - share) * trial.count)


def _holes(random: Random, trial: Trial) -> None:
    share = between(random, 0.005, 1)
    missing = int(share * 2**30)
    kind = str(random.choice(["hole_bytes", "unwritten_bytes"]))
    trial.context["extents"] |= {"written_bytes": 2**30 - missing, kind: missing, "written_share": 1 - share}
    trial.counts["reads"] = round((1 - share) * trial.count)


def _other_state(random: Random, trial: Trial) -> None:
    missing = int(between(random, 0.03, 1) * 2**30)
    trial.context["extents"] |= {"written_bytes": 2**30 - missing, "unwritten_bytes": missing}


def _quietly_buffered(random: Random, trial: Trial) -> None:
    trial.context["page_cache"]["resident_bytes_after"] += int(between(random, 0.03, 1) * trial.issued)


def _no_barriers(random: Random, trial: Trial) -> None:
    """A mount without barriers: flushes come from others at most."""
    trial.counts["flushes"] = int(random.integers(0, 10))


def _too_fast(random: Random, trial: Trial) -> None:
    """A drive that forgets to flush answers as fast as its link and controller do."""
    trial.latency_ns = np.round(random.lognormal(np.log(between(random, 15e3, 70e3)), 0.2, trial.count))


def _stall(random: Random, trial: Trial) -> None:
    trial.engine["drain_ns"] = int(between(random, 1.5e9, 60e9))


def _not_kept(random: Random, trial: Trial) -> None:
    trial.context["settings_changed"] = {str(random.choice(["scheduler", "write-cache", "apm"])): "other"}


def _short(random: Random, trial: Trial) -> None:
    counts = {"count": trial.count, "bytes": trial.issued, "errors": 0, "short": int(random.integers(1, 500))}
    trial.engine["operations"] = {trial.operation: counts}


def _contents(random: Random, trial: Trial) -> None:
    zeros, parts = Contents(kind="zeros"), Contents(compressible_fraction=float(random.uniform(0.05, 1)))
    trial.asked["contents"] = zeros if random.random() < 0.5 else parts


def _neighbours(random: Random, trial: Trial) -> None:
    """Somebody else reads from the drive, uses the processors, or is another guest of the same computer."""
    which = int(random.integers(3))
    if which == 0:
        more = round(between(random, 0.05, 1) * trial.issued)
        trial.counts["bytes_read"] = more + (trial.issued if trial.operation == "read" else 0)
    elif which == 1:
        processors = trial.context["processors"]
        processors["busy"] += random.uniform(0.15, 1) * processors["count"] + 0.4
    else:
        trial.context["cpu_steal_share"] = float(between(random, 0.015, 0.5))


def _together(random: Random, trial: Trial) -> None:
    other = {"title": "reads", "trial": "reads-1", "start_offset_ns": int(random.integers(0, 10**6))}
    share = float(random.uniform(0.5, 1))
    trial.context["together"] = {"with": [other], "overlap_share": share, "shared_devices": [], "issued": {}}


def _own_limit(random: Random, trial: Trial) -> None:
    spent = int(trial.window_ns * random.uniform(0.97, 1))
    trial.engine["cpu"] = {"user_ns": spent // 2, "system_ns": spent - spent // 2, "total_ns": spent}
    trial.context["processors"] |= {"busy": 1.05, "own": 1.0}


def _shallow(random: Random, trial: Trial) -> None:
    trial.engine["achieved"]["queue_depth_mean"] = max(1, random.uniform(0.1, 0.8) * trial.asked["queue_depth"])


def _merged(random: Random, trial: Trial) -> None:
    """A range so small that random addresses follow each other."""
    merged = round(between(random, 0.03, 0.8) * trial.count)
    requests = trial.count - merged
    trial.counts |= {f"{trial.operation}s": requests, f"{trial.operation}_merges": merged}
    trial.counts["bytes_read" if trial.operation == "read" else "bytes_written"] = trial.issued


def _drifts(random: Random, trial: Trial) -> None:
    """A third slower to three times as slow at the end, or at the beginning."""
    line = np.linspace(0, np.log(between(random, 1.35, 3)), trial.count)
    trial.latency_ns = np.round(trial.latency_ns * np.exp(line if random.random() < 0.5 else line[::-1]))


def _brief(random: Random, trial: Trial) -> None:
    trial.intervals = int(random.integers(1, 10))
    of_the_time(random, trial)


def _write_through(_random: Random, trial: Trial) -> None:
    cache = WriteCacheFacts(False, "hdparm", "write through", False)
    trial.target = replace(trial.target, drives=(drive(write_cache=cache),))
    trial.counts["flushes"] = 0


def _layerbetween(random: Random, trial: Trial) -> None:
    """A layer below the file system that flushes on its own, once or more for each."""
    trial.counts["flushes"] = int(random.integers(2, 5)) * trial.count


def _few(random: Random, trial: Trial) -> None:
    trial.count = int(random.integers(100, 4500))
    trial.latency_ns = trial.latency_ns[: trial.count]
    trial.counts |= {f"{trial.operation}s": trial.count, "flushes": trial.count if trial.is_durable else 0}


def _lost_trace(random: Random, trial: Trial) -> None:
    if random.random() < 0.5:
        trial.context["trace"] = {"lost_events": int(random.integers(1, 10**6))}
    else:
        trial.context["trace_reason"] = "another program traces"


def _views_disagree(random: Random, trial: Trial) -> None:
    pair = (True, "write through") if random.random() < 0.5 else (False, "write back")
    cache = WriteCacheFacts(pair[0], "hdparm", pair[1], False)
    trial.target = replace(trial.target, drives=(drive(write_cache=cache),))
    if pair[1] == "write through":
        trial.counts["flushes"] = 0


def _elsewhere(random: Random, trial: Trial) -> None:
    kind, changes = (
        ("tmpfs", {"is_memory": True}),
        ("nfs4", {"is_network": True}),
        ("fuse.sshfs", {"is_fuse": True}),
    )[int(random.integers(3))]
    trial.target = target(filesystem(kind, **changes), [])


def _virtual(random: Random, trial: Trial) -> None:
    kind = str(random.choice(["loop device", "virtual machine", "memory"]))
    trial.target = replace(trial.target, drives=(drive(virtual=kind),))


def _slow_link(random: Random, trial: Trial) -> None:
    lanes = int(random.choice([1, 2]))
    link = LinkFacts("pcie", 8_000_000_000, 8_000_000_000, lanes, 4)
    sata = LinkFacts("sata", int(random.choice([3, 1.5]) * 1e9), 6_000_000_000)
    trial.target = replace(trial.target, drives=(drive(link=link if random.random() < 0.5 else sata),))


def _worn(random: Random, trial: Trial) -> None:
    name = str(random.choice(["media_errors", "reallocated_sectors", "crc_errors"]))
    before = trial.smart[0]
    trial.smart = (before, replace(before, **{name: getattr(before, name) + int(random.integers(1, 50))}))


def _hot(random: Random, trial: Trial) -> None:
    before = trial.smart[0]
    hot = {"temperature_celsius": int(random.integers(75, 95))}
    throttled = {"throttle_count": (before.throttle_count or 0) + int(random.integers(1, 9))}
    trial.smart = (before, replace(before, **(hot if random.random() < 0.5 else throttled)))


def _left_in_cache(random: Random, trial: Trial) -> None:
    trial.context["write_cache_emptied_ns"] = int(trial.window_ns * between(random, 0.12, 20))


Maker = Callable[[Random, Trial], None]
# what happens to a trial of I/O, and the kind that has to say so
_MAKERS: dict[str, tuple[str, Maker]] = {
    "I/O that never comes back": ("abandoned-io", _abandoned),
    "5 to 100 % in memory": ("page-cache-answered", _answered_by_memory),
    "0.5 to 100 % holes under reads": ("unwritten-range", _holes),
    "3 to 100 % reserved under overwrites": ("file-state-not-as-asked", _other_state),
    "3 to 100 % of direct I/O left in memory": ("direct-quietly-buffered", _quietly_buffered),
    "mounted without barriers": ("flushes-missing", _no_barriers),
    "durable writes of 15 to 70 us": ("latency-implausible", _too_fast),
    "1.5 to 60 s for the last I/O": ("stall-at-end", _stall),
    "a setting changed by others": ("setting-not-kept", _not_kept),
    "I/Os that moved less": ("short-operations", _short),
    "zeros, or 5 to 100 % compressible": ("compressible-content", _contents),
    "neighbours at drive, processors, host": ("foreign-work", _neighbours),
    "workloads together": ("ran-together", _together),
    "the processor 97 to 100 % busy": ("generator-saturated", _own_limit),
    "10 to 80 % of the queue depth": ("queue-depth-not-reached", _shallow),
    "3 to 80 % merged": ("merged-requests", _merged),
    "1.35 to 3 times slower or faster": ("drift", _drifts),
    "windows of 0.1 to 0.9 s": ("short-measurement", _brief),
    "a cache that is off": ("no-flush-sent", _write_through),
    "a layer that flushes too": ("flush-count-unexpected", _layerbetween),
    "100 to 4,500 I/Os": ("too-little-data", _few),
    "a trace lost or refused": ("trace-incomplete", _lost_trace),
    "cache on and never flushed, or the reverse": ("write-cache-views-disagree", _views_disagree),
    "memory, network, FUSE": ("network-or-memory-file-system", _elsewhere),
    "loop, virtual machine, memory": ("virtual-drive", _virtual),
    "a write cache of 0.12 to 20 windows": ("writes-left-in-cache", _left_in_cache),
    "half to a quarter of the link": ("link-below-maximum", _slow_link),
    "1 to 50 new errors": ("smart-errors-grew", _worn),
    "throttled, or above its limit": ("drive-hot", _hot),
}
# of every fault the kind that has to tell it
FAULTS = {fault: made[0] for fault, made in (*_MAKERS.items(), *SORT_FAULTS.items())}


def _is_plain(trial: Trial) -> bool:
    return not trial.is_durable


def _is_on_files(trial: Trial) -> bool:
    return trial.target.filesystem is not None


# what else is true of a trial with such a fault
CONSEQUENCES = {
    "0.5 to 100 % holes under reads": {"page-cache-answered"},
    "mounted without barriers": {"flush-count-unexpected"},
    "1.35 to 3 times slower or faster": {"level-moves"},
    "cache on and never flushed, or the reverse": {"no-flush-sent"},
    **{fault: more for fault, (_, _, more) in SORT_FAULTS.items()},
}

# which trials a fault can befall
_FITS: dict[str, Callable[[Trial], bool]] = {
    "5 to 100 % in memory": lambda trial: _is_plain(trial) and trial.operation == "read",
    "0.5 to 100 % holes under reads": lambda trial: trial.operation == "read" and _is_on_files(trial),
    "3 to 100 % reserved under overwrites": lambda trial: trial.operation == "write" and _is_on_files(trial),
    "3 to 100 % of direct I/O left in memory": lambda trial: _is_plain(trial) and _is_on_files(trial),
    "mounted without barriers": lambda trial: trial.is_durable and _is_on_files(trial),
    "durable writes of 15 to 70 us": lambda trial: trial.is_durable,
    "zeros, or 5 to 100 % compressible": lambda trial: trial.operation == "write",
    "10 to 80 % of the queue depth": lambda trial: trial.asked["queue_depth"] > 1,
    "3 to 80 % merged": _is_plain,
    "a write cache of 0.12 to 20 windows": lambda trial: _is_plain(trial) and trial.operation == "write",
    "a cache that is off": lambda trial: trial.is_durable,
    "a layer that flushes too": lambda trial: trial.is_durable and _is_on_files(trial),
}


def rates(trials: int, healthy_trials: int) -> dict[str, tuple[str, float, float, float]]:
    """Of each fault the kind that has to tell it, how often it does, and how often it is said of others and of none.

    Parameters
    ----------
    trials, healthy_trials : int
        With each fault, and without any: of each sort of trials so many, and of the sorts the worst counts.
    """
    told = {fault: [told_of(fault, seed) for seed in range(trials)] for fault in FAULTS}
    healthy_told = {sort: [told_of("", seed, sort) for seed in range(healthy_trials)] for sort in SORTS}
    found = {}
    for fault, code in FAULTS.items():
        others = [
            code in codes
            for other, of_other in told.items()
            if FAULTS[other] != code and code not in CONSEQUENCES.get(other, ())
            for codes in of_other
        ]
        recall = sum(code in codes for codes in told[fault]) / trials
        false = [
            sum(code in codes for codes in of_sort) / healthy_trials
            for sort, of_sort in healthy_told.items()
            if code not in TRUE_OF_SORT.get(sort, ())
        ]
        found[fault] = (code, recall, sum(others) / len(others), max(false))
    return found
