"""Known faults of trials that last, of levels that move, of files that memory knows, and beneath loop devices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from random_sorts import SORTS, has_own_pages, lasting, passed_on
from random_trials import Random, Trial, between

from drivelab.model.workload import Limits


def moving_level(random: Random) -> Trial:
    """The latency goes from one level to another once, or back again, or once more, after stretches that are long."""
    trial = SORTS["I/O"](random)
    stretches = random.uniform(1, 2, int(random.integers(2, 5)))
    ends = np.cumsum(stretches) / stretches.sum()
    is_slow = np.searchsorted(ends, np.linspace(0, 1, trial.count, endpoint=False), side="right") % 2
    if random.random() < 0.5:
        is_slow = 1 - is_slow
    trial.latency_ns = np.round(trial.latency_ns * between(random, 1.3, 4) ** is_slow)
    return trial


def known_files(random: Random) -> Trial:
    """Names and attributes that memory knows already, or of contents that have pages of their own the most part."""
    trial = SORTS["files"](random)
    share = float(random.uniform(0.6, 1)) if has_own_pages(trial) and random.random() < 0.5 else 1.0
    trial.counts = {name: round((1 - share) * count) for name, count in trial.counts.items()}
    return trial


def host_cached(random: Random) -> Trial:
    """The host keeps what its file system read or wrote, and answers the loop device from memory."""
    trial = SORTS["loop"](random)
    passed_on(random, trial, 1 - between(random, 0.05, 1))
    return trial


def still_slowing(random: Random) -> Trial:
    """A drive that makes room for more and more writes is on its way to a lower level, as an exponential function."""
    way, above = random.uniform(0.3, 1.5), between(random, 1.1, 3)
    fills = float(random.uniform(1.2, 2.5))
    last = np.exp(-np.linspace(fills - 0.25, fills, 100) / way).mean()
    return lasting(random, lambda written: 1 + (above - 1) / last * np.exp(-written / way), _quiet(random), fills)


def just_full(random: Random) -> Trial:
    """Fast flash that is full only shortly before the end."""
    fills, times = float(random.uniform(1.2, 2.5)), between(random, 1.5, 8)
    full = fills - random.uniform(0.05, 0.2)
    return lasting(random, lambda written: np.where(written < full, times, 1.0), _quiet(random), fills)


def uneven(random: Random) -> Trial:
    """A drive that is at another speed for each twentieth of its capacity."""
    steps = np.exp(random.uniform(0.4, 0.8) * random.standard_normal(60))
    return lasting(random, lambda written: steps[(written * 20).astype(int)], _quiet(random))


def cut_short(random: Random) -> Trial:
    """A whole capacity was to be written, and the trial was ended before."""
    trial = lasting(random, fills=float(random.uniform(0.05, 0.9)))
    trial.asked["limits"] = Limits(bytes=trial.target.drives[0].size_bytes)
    return trial


def _quiet(random: Random) -> float:
    return between(random, 0.01, 0.06)


def asked_precisely(random: Random) -> Trial:
    """Asked to end as soon as a number is known within 1 to 10 %, which it is before, or never."""
    trial = SORTS["I/O"](random)
    longest_ns = int(trial.window_ns * random.uniform(1, 6))
    trial.asked["limits"] = Limits(runtime_ns=longest_ns, precision=between(random, 0.01, 0.1))
    trial.engine["stopped_by"] = "precision" if longest_ns > trial.window_ns and random.random() < 0.7 else "runtime"
    return trial


_LASTING_TOO = {"throughput-cliff", "throughput-swings", "drift", "level-moves"}
# what happens, the kind that has to say so, how it is made, and what else is true then
SORT_FAULTS: dict[str, tuple[str, Callable[[Random], Trial], set[str]]] = {
    "a loop device whose host answers 5 to 100 %": ("host-cache-answered", host_cached, set()),
    "names, or 60 to 100 % of contents, in memory": ("names-in-memory", known_files, set()),
    "one to three moves of the level, 1.3 to 4 times": ("level-moves", moving_level, {"drift"}),
    "10 to 200 % above the level that it goes to": ("not-steady", still_slowing, _LASTING_TOO),
    "a fast cache full 5 to 20 % of the capacity before the end": ("not-steady", just_full, _LASTING_TOO),
    "a scatter of 40 to 80 % between rounds": ("not-steady", uneven, _LASTING_TOO),
    "ended after 5 to 90 % of a capacity": ("not-steady", cut_short, set()),
    "a precision of 1 to 10 % asked for": ("precision", asked_precisely, set()),
}
