"""The phases of block I/O as they were: nothing is lost to splits, and flushes are a phase of their own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drivelab import _engine
from drivelab.trace.recording import RecordingSummary, reading_errors

# in the order of tables: the names are btt's as far as btt has them
PHASES = (
    "Q2Q",
    "Q2A",
    "Q2G",
    "S2G",
    "preflush_wait",
    "G2I",
    "G2D",
    "Q2M",
    "I2D",
    "M2D",
    "D2C",
    "Q2C",
    "postflush_wait",
    "flush",
    "flush_Q2C",
)
# bios that carry data; a flush alone has its own
CLASSES = ("read", "write", "fua_write", "metadata_write", "flush", "discard", "other")
_NS_PER_S = 1e9
_PASSED_ON = ("depth", "seeks", "requests", "load", "commands", "processes", "counts")


@dataclass(frozen=True, slots=True)
class PhaseTimes:
    """How long a phase took, ns; a quantile that so few times cannot carry is None.

    Attributes
    ----------
    n : int
        How many times it was passed.
    sum_ns, min_ns, max_ns : int
        Exact.
    mean_ns : float
        Exact.
    p50_ns, p90_ns, p99_ns, p99_9_ns : float or None
        To within 0.1 %.
    """

    n: int
    sum_ns: int
    min_ns: int
    max_ns: int
    mean_ns: float
    p50_ns: float | None
    p90_ns: float | None
    p99_ns: float | None
    p99_9_ns: float | None

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> PhaseTimes:
        """What the engine tells of a phase."""
        return PhaseTimes(**{name.replace(".", "_"): value for name, value in found.items()})

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON, with all numbers."""
        names = PhaseTimes.__dataclass_fields__
        return {name.replace("p99_9", "p99.9"): getattr(self, name) for name in names}

    def row_json(self) -> dict[str, Any]:
        """The keys of a row of btt's table, in s, and the median and p99."""
        quantiles = {"p50_s": self.p50_ns, "p99_s": self.p99_ns}
        return {
            "min_s": self.min_ns / _NS_PER_S,
            "avg_s": self.mean_ns / _NS_PER_S,
            "max_s": self.max_ns / _NS_PER_S,
            "n": self.n,
            **{name: None if value is None else value / _NS_PER_S for name, value in quantiles.items()},
        }


Phases = Mapping[str, PhaseTimes]


@dataclass(frozen=True, slots=True)
class Trap:
    """Something of a recording that makes btt's table say something else than people read in it.

    Attributes
    ----------
    key : str
        splits, flushes_hidden, ...
    text : str
        What it is, in sentences with its numbers.
    numbers : mapping
        The numbers alone.
    """

    key: str
    text: str
    numbers: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BlockPhases:
    """What a recording comes to.

    Attributes
    ----------
    phases : mapping of str to PhaseTimes
        Of all bios, by phase; those of `PHASES` that came.
    devices, classes : mapping of str to mapping
        The same for each device (``major:minor``), and for each of `CLASSES` that came.
    sizes : mapping of str to mapping
        The same by bytes: ``4096``, ``4097-8191``.
    traps : tuple of Trap
        Where btt is off on this recording.
    recording : RecordingSummary
        What reading it found.
    more : mapping
        Depths, distances, requests, load, commands, processes and counts, as the engine tells them.
    """

    phases: Phases
    devices: Mapping[str, Phases]
    classes: Mapping[str, Phases]
    sizes: Mapping[str, Phases]
    traps: tuple[Trap, ...]
    recording: RecordingSummary
    more: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON: btt's rows in s first, then everything in ns."""
        rows = {device: _rows_json(phases) for device, phases in self.devices.items()}
        renamed = {"queue_depth" if key == "depth" else key: value for key, value in self.more.items()}
        return {
            "all": _rows_json(self.phases),
            "devices": rows,
            "warnings": [trap.text for trap in self.traps],
            "traps": {trap.key: dict(trap.numbers) for trap in self.traps},
            "phases": _phases_json(self.phases),
            "classes": {name: _phases_json(phases) for name, phases in self.classes.items()},
            "sizes": {name: _phases_json(phases) for name, phases in self.sizes.items()},
            "flushes": self._flushes_json(),
            **renamed,
            "damages": [damage.to_json() for damage in self.recording.damages],
            "recording": self.recording.to_json(),
        }

    def _flushes_json(self) -> dict[str, Any]:
        names = ("flush", "flush_Q2C", "preflush_wait", "postflush_wait")
        share = None
        flushing = [device for device, phases in self.devices.items() if "flush" in phases]
        # a device may lie on another, and its flushes hold those of that one
        if len(flushing) == 1 and self.recording.duration_ns:
            share = self.phases["flush"].sum_ns / self.recording.duration_ns
        return {**_phases_json({name: self.phases[name] for name in names if name in self.phases}), "time_share": share}


def block_phases(paths: Sequence[Path]) -> BlockPhases:
    """Follow every bio of recordings from Q to its end.

    Parameters
    ----------
    paths : sequence of Path
        Directories, base names, files of CPUs or merged dumps; read as one recording. Records that stand there
        twice count once.

    Raises
    ------
    DrivelabError
        B901, B902, B903, B905, B906: nothing can be read.

    Notes
    -----
    Ctrl-C is raised while it reads. Memory does not grow with the recording.
    """
    with reading_errors(paths):
        found = json.loads(_engine.btt_phases([str(path) for path in paths]))
    return BlockPhases(
        phases=_phases_of(found["all"]),
        devices={device: _phases_of(phases) for device, phases in found["devices"].items()},
        classes={name: _phases_of(found["classes"][name]) for name in CLASSES if name in found["classes"]},
        sizes={name: _phases_of(found["sizes"][name]) for name in sorted(found["sizes"], key=smallest_bytes)},
        traps=tuple(Trap(one["key"], one["text"], one["numbers"]) for one in found["warnings"]),
        recording=RecordingSummary.from_json(found["recording"]),
        more={key: found[key] for key in _PASSED_ON},
    )


def smallest_bytes(sizes: str) -> int:
    """The smallest size of a range such as ``4097-8191``."""
    return int(sizes.partition("-")[0])


def _phases_of(found: Mapping[str, Any]) -> dict[str, PhaseTimes]:
    return {name: PhaseTimes.from_json(found[name]) for name in PHASES if name in found}


def _phases_json(phases: Phases) -> dict[str, Any]:
    return {name: times.to_json() for name, times in phases.items()}


def _rows_json(phases: Phases) -> dict[str, Any]:
    return {name: times.row_json() for name, times in phases.items()}
