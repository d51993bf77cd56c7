"""Made-up hosts full of drives, by queues and chance alone: nothing here knows how a slow drive is looked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import signal

from drivelab.model.fleet import HostSeries

MONDAY_S = 1_700_438_400
DAY_S = 86_400
# by model: latency without load in us, and the throughput at which it would stand still
MODELS = {"fast": (60.0, 300e6), "slow": (140.0, 180e6)}


@dataclass(frozen=True)
class Slowdown:
    """A drive, or without one a host as a whole, that takes longer for a while."""

    host: str
    drive: str
    ratio: float
    begin_share: float = 0.0
    end_share: float = 1.0
    date: int | None = None


@dataclass(frozen=True)
class Fleet:
    """What is made up."""

    hosts: int = 8
    drives: int = 12
    dates: int = 2
    hours: float = 3.0
    step_s: int = 15
    models: Sequence[str] = ("fast",)
    tells_models: bool = True
    missing: float = 0.03
    # of each drive beside its peers, of its slow wandering, and of each sample
    spread: float = 0.02
    wander: float = 0.06
    noise: float = 0.15
    slowdowns: Sequence[Slowdown] = ()
    busy: Mapping[str, float] = field(default_factory=dict)

    def made(self, seed: int) -> list[HostSeries]:
        """The hosts of one seed."""
        random = np.random.default_rng(seed)
        return [self._host(random, f"h{number}") for number in range(1, self.hosts + 1)]

    def _host(self, random: np.random.Generator, name: str) -> HostSeries:
        per_date = int(self.hours * 3600 / self.step_s)
        of_date = MONDAY_S + 13 * 3600 + np.arange(per_date) * self.step_s
        time_s = np.concatenate([of_date + date * DAY_S for date in range(self.dates)])
        drives = tuple(f"disk{number}" for number in range(1, self.drives + 1))
        models = [self.models[place % len(self.models)] for place in range(self.drives)]
        base = np.array([MODELS[model][0] for model in models])
        most = np.array([MODELS[model][1] for model in models])
        # by the hour of the day, by what the host's programs do, and by chance of each drive
        diurnal = 0.25 + 0.1 * np.sin((time_s % DAY_S) / DAY_S * 2 * np.pi)
        common = np.exp(wandering(random, len(time_s), 1, 0.2, 40)) * diurnal[:, np.newaxis]
        own = np.exp(random.normal(0, 0.2, (len(time_s), self.drives)))
        busy = np.array([self.busy.get(drive, 1.0) for drive in drives])
        use = np.minimum(common * own * busy, 0.9)
        latency = base / (1 - use) * np.exp(random.normal(0, self.spread, self.drives))
        latency *= np.exp(wandering(random, len(time_s), self.drives, self.wander, 60))
        latency *= np.exp(random.normal(0, self.noise, latency.shape))
        for one in self.slowdowns:
            if one.host == name:
                columns = [place for place, drive in enumerate(drives) if one.drive in ("", drive)]
                for date in range(self.dates) if one.date is None else [one.date]:
                    rows = slice(*(int(per_date * (date + share)) for share in (one.begin_share, one.end_share)))
                    latency[rows, columns] *= one.ratio
        latency[random.random(latency.shape) < self.missing] = np.nan
        roles = tuple(models) if self.tells_models else ("",) * self.drives
        return HostSeries("", name, drives, roles, time_s, latency.astype(np.float32), (use * most).astype(np.float32))


def wandering(random: np.random.Generator, rows: int, columns: int, scale: float, memory: float) -> np.ndarray:
    """What goes up and down and comes back in about so many samples."""
    keep = np.exp(-1 / memory)
    first = random.normal(0, scale, columns)
    steps = random.normal(0, scale * np.sqrt(1 - keep**2), (rows, columns))
    steps[0] = first
    # each is so much of the one before, and its step
    return signal.lfilter([1.0], [1.0, -keep], steps, axis=0)
