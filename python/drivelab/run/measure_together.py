"""Measures workloads that run at the same time, each as a trial of its own.

All are brought into their state first, one after the other. Then each is run by
a thread of its own, and their first I/Os are issued at the same moment. The
kernel counts what reaches a device, not for whom: where several of them use one
device, its counts are kept apart from those of a trial.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from drivelab.model.errors import DrivelabError
from drivelab.model.measurement import DeviceCounts, Measurement
from drivelab.run.before_writing import look_before, prepare_own_target
from drivelab.run.device_counters import CounterReading, counted_device, counted_devices, counts_between, read_counters
from drivelab.run.emptied_cache import emptied_cache
from drivelab.run.engine import EngineRun, StopRequest
from drivelab.run.measure import context_of_file, extents_of, resident_of, sync_call_count, watch_idle
from drivelab.run.surroundings import read_surroundings, surroundings_between
from drivelab.run.together import Member, run_together, without_one
from drivelab.run.tree_cache import drop_cached

_OPERATIONS = ("read", "write", "trim")
# from and to, in ns of the monotonic clock
Span = tuple[int, int]


def measure_together(
    members: Sequence[Member], *, stop: StopRequest, idle_watch_s: float = 0.0
) -> list[Measurement | DrivelabError]:
    """What each of several workloads did while the others were at work.

    Parameters
    ----------
    members : sequence of Member
        What runs at the same time; each ends by its own limits.
    idle_watch_s : float
        How long to watch each drive for the work of others before.

    Returns
    -------
    list of Measurement or DrivelabError
        In the order of the members; an error is why that one failed. When one cannot begin, none is measured. A
        drive that refuses the I/O of one ends that one, and the others go on.

    Raises
    ------
    DrivelabError
        C201 to C209: a device may not be written to any more.

    Notes
    -----
    ``context["together"]`` says with whom a trial ran, how far apart they began,
    which part of the measured time the others were at work, and what the devices
    that they share did for all of them. ``devices`` is empty when the drive is shared.
    """
    refused = _prepared(members, stop)
    if refused:
        return refused
    counted = [counted_devices(member.target.devices, member.workload.backend) for member in members]
    dropped = [drop_cached(member.workload) if member.drops_page_cache else {} for member in members]
    drives = [counted_device(member.target.devices) for member in members]
    idle = {drive: watch_idle([drive], idle_watch_s) for drive in dict.fromkeys(drives) if drive}
    extents = [extents_of(member.workload) for member in members]
    temperatures_of = list(dict.fromkeys(drive.name for member in members for drive in member.target.drives))
    around = read_surroundings(temperatures_of)
    # before the first of them begins: from then on they use the drive themselves
    look_before(*(member.workload for member in members))
    before = read_counters(list(dict.fromkeys(name for names, _ in counted for name in names)))
    resident_before = [resident_of(member.workload) for member in members]
    found = run_together(members, stop)
    resident_after = [resident_of(member.workload) for member in members]
    after = read_counters(list(before.fields))
    around_them = surroundings_between(around, read_surroundings(temperatures_of))
    runs = [result if isinstance(result, EngineRun) else None for result in found]
    emptied = _emptied(members, runs, stop)
    shared = SharedWork(members, runs, [names for names, _ in counted], before, after)
    measured: list[Measurement | DrivelabError] = []
    for place, (member, result) in enumerate(zip(members, found, strict=True)):
        if isinstance(result, DrivelabError):
            measured.append(result)
            continue
        resident = resident_before[place], resident_after[place]
        context = around_them | context_of_file(member.workload, extents[place], *resident) | shared.context(place)
        context |= (
            dropped[place] | emptied[place] | {"other_work": idle.get(drives[place]), "counted_device": drives[place]}
        )
        context["device_counters_reason"] = counted[place][1] or context["device_counters_reason"]
        measured.append(result.measurement(member.name, member.workload, shared.own_devices(place), context))
    return measured


def _emptied(members: Sequence[Member], runs: Sequence[EngineRun | None], stop: StopRequest) -> list[dict[str, Any]]:
    """What the write caches took to empty: all at once, since one flush empties a drive of what all of them wrote."""

    def of_one(member: Member, run: EngineRun | None) -> dict[str, Any]:
        return {} if run is None else emptied_cache(member.workload, run.summary, stop)

    with ThreadPoolExecutor(len(members)) as pool:
        return list(pool.map(of_one, members, runs))


def _prepared(members: Sequence[Member], stop: StopRequest) -> list[Measurement | DrivelabError]:
    """Why none of the members can begin, for each of them; empty when all can."""
    for place, member in enumerate(members):
        try:
            prepare_own_target(member.workload, stop=stop)
        except DrivelabError as error:
            if error.code.startswith("C"):
                raise
            return list(without_one(members, place, error))
    return []


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
