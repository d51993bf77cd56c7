"""Random trials without a fault, as measuring hands them on; `faulty_trials` adds the faults."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from simulated_trials import INTERVAL_NS, Latencies, drive, filesystem, target

from drivelab.model.measurement import DeviceCounts
from drivelab.model.smart import SmartFacts
from drivelab.model.target import TargetFacts
from drivelab.model.workload import BlockSizeShare, Durability

Random = np.random.Generator
_SYNC = {"backend": "sync", "direct": False, "durability": Durability(method="fdatasync")}


@dataclass
class Trial:
    """What is known of a trial, to be changed by a fault.

    Attributes
    ----------
    operation : str
        read or write.
    count, block : int
        I/Os, and bytes of each.
    is_durable : bool
        Whether each write is followed by fdatasync.
    asked, engine, context, counts : dict
        Changes of the workload, of the engine's summary, of the context, and of what the drive counted.
    latency_ns : array
        Of each I/O, with its sync call.
    intervals : int
        Of a tenth of a second, unless another length is asked for.
    first : list of int
        With which I/O each interval but the first begins; empty where all have as many.
    beneath : tuple of DeviceCounts
        What devices below the one that is counted did.
    target : TargetFacts
        A drive, mostly with a file system.
    smart : tuple of SmartFacts
        What the drive said before and after.
    """

    operation: str
    count: int
    block: int
    is_durable: bool
    latency_ns: Latencies
    intervals: int
    target: TargetFacts
    smart: tuple[SmartFacts, SmartFacts]
    asked: dict[str, Any] = field(default_factory=dict)
    engine: dict[str, Any] = field(default_factory=dict)
    context: dict[str, Any] = field(default_factory=dict)
    counts: dict[str, Any] = field(default_factory=dict)
    first: list[int] = field(default_factory=list)
    beneath: tuple[DeviceCounts, ...] = ()

    @property
    def issued(self) -> int:
        """Bytes of all I/Os."""
        return self.count * self.block

    @property
    def window_ns(self) -> int:
        """Its length."""
        return self.intervals * int(self.asked.get("interval_ns", INTERVAL_NS))


def between(random: Random, low: float, high: float) -> float:
    """Any strength between two, small ones as likely as large ones."""
    return float(np.exp(random.uniform(np.log(low), np.log(high))))


def healthy(random: Random) -> Trial:
    """A trial of 3 to 6 s on a drive of flash, of some thousand I/Os that are alike."""
    operation = str(random.choice(["read", "write"]))
    is_durable = operation == "write" and bool(random.random() < 0.4)
    count = int(random.integers(5200, 8000))
    depth = 1 if is_durable else int(random.choice([1, 4, 32]))
    block = int(random.choice([4096, 16384]))
    intervals = int(random.integers(30, 60))
    on = None if random.random() < 0.3 else filesystem(str(random.choice(["ext4", "xfs"])))
    latency_ns = np.round(random.lognormal(np.log(between(random, 2e5, 2e6)), random.uniform(0.1, 0.5), count))
    known = {"temperature_celsius": int(random.integers(30, 55)), "temperature_warning_celsius": 75}
    errors = {name: int(random.integers(0, 9)) for name in ("media_errors", "reallocated_sectors", "crc_errors")}
    smart = SmartFacts(drive="sda", protocol="ata", throttle_count=int(random.integers(0, 5)), **known, **errors)
    smart = replace(smart, sources=dict.fromkeys(errors, "attribute"))
    trial = Trial(operation, count, block, is_durable, latency_ns, intervals, target(on, [drive()]), (smart, smart))
    # the file system looks up an extent or two; of writes the journal has its part where they are not durable
    trial.counts = {f"{operation}s": count, "flushes": count if is_durable else 0, "block": block}
    trial.asked = {"queue_depth": depth, "block_sizes": (BlockSizeShare(bytes=block),), **(_SYNC if is_durable else {})}
    trial.engine = {
        "drain_ns": int(random.uniform(0, 5) * latency_ns.mean()),
        "achieved": {
            "queue_depth_mean": depth * random.uniform(0.97, 1),
            "queue_depth_max": depth,
            "direct": not is_durable,
            "direct_note": "",
            "job_count": 1,
        },
    }
    of_the_time(random, trial)
    if on is not None:
        size = 2**30
        trial.context["extents"] = {
            "method": "fiemap",
            "range_bytes": size,
            "written_bytes": size,
            "written_share": 1.0,
        }
        pages = int(random.integers(0, 3)) * 4096
        trial.context["page_cache"] = {
            "resident_bytes_before": 0,
            "resident_bytes_after": pages,
            "range_bytes": size,
        }
    return trial


def of_the_time(random: Random, trial: Trial) -> None:
    """What is counted over the window: the processors, and after it how long the drive's cache takes to be emptied."""
    spent = int(trial.window_ns * random.uniform(0.02, 0.7))
    trial.engine["cpu"] = {"user_ns": spent // 3, "system_ns": spent - spent // 3, "total_ns": spent}
    own = spent / trial.window_ns
    trial.context["processors"] = {
        "busy": own + random.uniform(0, 0.15),
        "own": own,
        "kernel_threads": 0.0,
        "count": int(random.choice([2, 8, 32])),
        "duration_ns": trial.window_ns,
    }
    trial.context["cpu_steal_share"] = float(random.choice([0, random.uniform(0, 0.005)]))
    if trial.operation == "write" and not trial.is_durable:
        # a flush and what the cache of a fast drive holds
        trial.context["write_cache_emptied_ns"] = int(between(random, 3e5, 0.05 * trial.window_ns))
