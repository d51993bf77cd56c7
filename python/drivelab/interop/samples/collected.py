"""Samples of many files put in order: for each host times by drives."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from drivelab.interop.samples.columns import LATENCY_UNITS
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet import HostSeries, Seconds, Singles

# a clock that goes back for an hour, or a file that overlaps the next, and not another host
_REPEATED_SHARE = 0.2
_UNITS_APART = 300.0
# made of others, or no drives: they are no peers
_NO_DRIVE = re.compile(r"(loop|ram|zram|sr|fd|dm-|md|nbd)\d+")

Codes = npt.NDArray[np.int32]


@dataclass(slots=True)
class _Host:
    drives: dict[str, int] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    parts: list[tuple[Codes, Seconds, Singles, Singles]] = field(default_factory=list)


@dataclass(slots=True)
class Collected:
    """Samples as they come in.

    Attributes
    ----------
    unit : str
        Unit that latencies have where a file does not tell it; empty is not known.
    notes : dict of str to int
        What was left out, and how many of it.
    without_zone : set of (cluster, host)
        Hosts with times that tell no zone.
    """

    unit: str = ""
    notes: dict[str, int] = field(default_factory=dict)
    without_zone: set[tuple[str, str]] = field(default_factory=set)
    _hosts: dict[tuple[str, str], _Host] = field(default_factory=dict)
    _units: dict[str, str] = field(default_factory=dict)

    def note(self, text: str, count: int) -> None:
        """Add to what was left out."""
        if count:
            self.notes[text] = self.notes.get(text, 0) + count

    def latency_factor(self, told_unit: str, where: str) -> float:
        """What makes microseconds of a file's latencies; of an unknown unit they stay as they are."""
        unit = told_unit or self.unit
        self._units.setdefault(unit, where)
        return LATENCY_UNITS[unit] if unit else 1.0

    @property
    def has_unit(self) -> bool:
        """Whether latencies are known to be microseconds."""
        return "" not in self._units

    def add(
        self,
        place: tuple[str, str],
        drives: tuple[Sequence[str], Codes],
        roles: Mapping[str, str],
        time_s: Seconds,
        latency: npt.NDArray[np.float64],
        throughput: npt.NDArray[np.float64],
    ) -> None:
        """Take samples of one host.

        Parameters
        ----------
        drives : (names, codes)
            The names, and for each sample which it is of.
        roles : mapping of str to str
            Model or role by drive, as far as they are told.
        time_s, latency, throughput : numpy.ndarray
            Of each sample; the time is -1 where there is none.
        """
        host = self._hosts.setdefault(place, _Host())
        names, codes = drives
        self.note("lines without a time", int((time_s < 0).sum()))
        with np.errstate(invalid="ignore"):
            self.note("latencies below 0", int((latency < 0).sum()))
        number = np.full(len(names), -1, dtype=np.int32)
        for code in np.unique(codes[time_s >= 0]):
            if not _NO_DRIVE.fullmatch(names[code]):
                number[code] = host.drives.setdefault(names[code], len(host.drives))
        host.roles.update(roles)
        own = number[codes]
        kept = (own >= 0) & (time_s >= 0)
        numbers = (latency[kept].astype(np.float32), throughput[kept].astype(np.float32))
        host.parts.append((own[kept], time_s[kept], *numbers))

    def hosts(self) -> list[HostSeries]:
        """All hosts, by name; what was collected is gone then.

        Raises
        ------
        DrivelabError
            I505: no sample. I511: units that differ, or may. I512: many samples of one drive at one time.
        """
        if "" in self._units and len(self._units) > 1:
            named, unnamed = next(unit for unit in self._units if unit), self._units[""]
            what = f"{self._units[named]} has latencies in {named}, and this file does not tell its unit"
            raise DrivelabError("I511", what, where=unnamed)
        found = []
        for cluster, name in sorted(self._hosts, key=_by_number):
            host = self._hosts.pop((cluster, name))
            if host.drives and any(len(part[0]) for part in host.parts):
                found.append(self._series(cluster, name, host))
        if not any(np.isfinite(host.latency).any() for host in found):
            raise DrivelabError("I505", "there is no sample with a time, a drive and a latency in it")
        self._hold_units(found)
        return found

    def _series(self, cluster: str, name: str, host: _Host) -> HostSeries:
        drives, time_s, latency, throughput = (np.concatenate(part) for part in zip(*host.parts, strict=True))
        host.parts.clear()
        order = np.lexsort((time_s, drives))
        steps = np.diff(time_s[order])[np.diff(drives[order]) == 0]
        step_s = int(np.median(steps[steps > 0])) if (steps > 0).any() else 1
        repeated = int((steps == 0).sum())
        if repeated > _REPEATED_SHARE * len(time_s):
            own = drives[order][1:][np.diff(drives[order]) == 0][steps == 0][0]
            one = next(drive for drive, code in host.drives.items() if code == own)
            what = f"drive {one} has several samples at one time, and so have others: {repeated:,} of {len(time_s):,}"
            raise DrivelabError("I512", what, where=f"host {name}" if name else "samples without a host")
        self.note("samples at a time that the drive has another one at", repeated)
        times, rows = np.unique(_on_grid(time_s, step_s), return_inverse=True)
        shape = (len(times), len(host.drives))
        filled = []
        for values in (latency, throughput):
            table = np.full(shape, np.nan, dtype=np.float32)
            table[rows, drives] = np.where(values >= 0, values, np.nan)
            filled.append(table)
        names = sorted(host.drives, key=lambda drive: _by_number((drive,)))
        columns = [host.drives[drive] for drive in names]
        roles = tuple(host.roles.get(drive, "") for drive in names)
        return HostSeries(cluster, name, tuple(names), roles, times, filled[0][:, columns], filled[1][:, columns])

    def _hold_units(self, found: Sequence[HostSeries]) -> None:
        if self.has_unit:
            return
        middles = {host.host: float(np.nanmedian(host.latency)) for host in found if np.isfinite(host.latency).any()}
        low, high = min(middles, key=middles.__getitem__), max(middles, key=middles.__getitem__)
        if middles[low] > 0 and middles[high] > _UNITS_APART * middles[low]:
            apart = middles[high] / middles[low]
            what = (
                f"latencies of host {high} are {apart:,.0f} times those of host {low}: another unit, by the looks of it"
            )
            raise DrivelabError("I511", what, do="write the unit into the name of each file's column: latency_us")


def _on_grid(time_s: Seconds, step_s: int) -> Seconds:
    """Times of drives that are sampled one after the other, as if at once: the step that is nearest.

    Steps are counted from the time of day at which most samples lie, so that what is regular stays as it is.
    """
    phases, counts = np.unique(time_s % step_s, return_counts=True)
    phase = int(phases[np.argmax(counts)])
    return (time_s - phase + step_s // 2) // step_s * step_s + phase


def _by_number(names: Sequence[str]) -> list[list[tuple[int, str]]]:
    """An order in which disk2 comes before disk10."""
    return [
        [(int(part or 0), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)] for name in names
    ]
