"""What workloads that ran at the same time had in common: how long, how far apart, and on which devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from drivelab.model.measurement import DeviceCounts
from drivelab.run.device_counters import CounterReading, counted_device, counts_between
from drivelab.run.engine import EngineRun
from drivelab.run.measure import sync_call_count
from drivelab.run.together import Member

_OPERATIONS = ("read", "write", "trim")
# from and to, in ns of the monotonic clock
Span = tuple[int, int]


def measured_window_ns(summary: Mapping[str, Any]) -> Span:
    """The measured window of a run."""
    start = int(summary["started_monotonic_ns"])
    return start, start + int(summary["measured_ns"])


def at_work_ns(summary: Mapping[str, Any]) -> Span:
    """From the first I/O of a run until its last one was done: ramp and drain are work, too."""
    start, end = measured_window_ns(summary)
    begun = [began for thread in summary["threads"] if (began := int(thread.get("begun_monotonic_ns", 0)))]
    return min(begun, default=start), end + int(summary["drain_ns"])


def overlap_share(window: Span, others: Sequence[Span]) -> float:
    """Which part of a window all of some spans cover, from 0 to 1."""
    start = max([window[0], *(span[0] for span in others)])
    end = min([window[1], *(span[1] for span in others)])
    length = window[1] - window[0]
    return max(0, end - start) / length if length > 0 else 0.0


@dataclass(frozen=True, slots=True)
class SharedWork:
    """The members of a group after they ran.

    Attributes
    ----------
    members : sequence of Member
        What ran.
    runs : sequence of EngineRun or None
        What each found; None for one that failed.
    devices : sequence of tuple of str
        Names of the devices beneath each that are counted.
    before, after : CounterReading
        The counters of all these devices around the run.
    """

    members: Sequence[Member]
    runs: Sequence[EngineRun | None]
    devices: Sequence[tuple[str, ...]]
    before: CounterReading
    after: CounterReading

    def context(self, place: int) -> dict[str, Any]:
        """What is stored with one member that did not fail (``docs/data_format.md``)."""
        spans = [None if run is None else at_work_ns(run.summary) for run in self.runs]
        run, own = self.runs[place], spans[place]
        assert run is not None
        assert own is not None
        window = measured_window_ns(run.summary)
        others = [
            {
                "trial": self.members[other].name,
                "title": self.members[other].title or self.members[other].name,
                "start_offset_ns": span[0] - own[0] if span else None,
                "overlap_share": overlap_share(window, [span]) if span else 0.0,
            }
            for other, span in enumerate(spans)
            if other != place
        ]
        at_work = [span for other, span in enumerate(spans) if other != place and span is not None]
        shared = [name for name in self.devices[place] if len(self._users(name)) > 1]
        return {
            "together": {
                "with": others,
                "overlap_share": overlap_share(window, at_work) if len(at_work) == len(others) else 0.0,
                "shared_devices": [asdict(self._counts(name)) for name in shared if name in self.after.fields],
                "issued": {name: self._issued(name) for name in shared},
            },
            "device_counters_reason": self._reason(place),
        }

    def own_devices(self, place: int) -> tuple[DeviceCounts, ...]:
        """Counts of the devices that only one member used; none when its drive is shared."""
        own = [name for name in self.devices[place] if len(self._users(name)) == 1 and name in self.after.fields]
        drive = counted_device(self.members[place].target.devices)
        return tuple(self._counts(name) for name in own) if drive in own else ()

    def _reason(self, place: int) -> str:
        """Why a member has no counts of its own; empty when it has."""
        drive = counted_device(self.members[place].target.devices)
        users = [self.members[user].title or self.members[user].name for user in self._users(drive) if user != place]
        return f"{drive} is counted for {', '.join(users)}, too, which ran at the same time" if users else ""

    def _users(self, device: str) -> list[int]:
        return [place for place, names in enumerate(self.devices) if device in names]

    def _counts(self, device: str) -> DeviceCounts:
        """What a device did for all members that use it."""
        runs = [(self.members[place].workload, self.runs[place]) for place in self._users(device)]
        calls = [sync_call_count(workload, run) for workload, run in runs if run is not None]
        known = [count for count in calls if count is not None]
        before = CounterReading(self.before.read_at_ns, {device: self.before.fields[device]})
        return counts_between(before, self.after, sync_calls=sum(known) if known else None)[0]

    def _issued(self, device: str) -> dict[str, dict[str, int]]:
        """Operations and bytes of all members that use a device, in all phases."""
        found: dict[str, dict[str, int]] = {}
        for place in self._users(device):
            run = self.runs[place]
            for name in _OPERATIONS:
                counts = {} if run is None else run.summary["all_phases"].get(name, {})
                if counts.get("count"):
                    known = found.setdefault(name, {"count": 0, "bytes": 0})
                    found[name] = {key: known[key] + int(counts.get(key, 0)) for key in known}
        return found
