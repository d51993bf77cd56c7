"""Measures workloads that run at the same time, each as a trial of its own.

All are brought into their state first, one after the other. Then each is run by
a thread of its own, and their first I/Os are issued at the same moment. The
kernel counts what reaches a device, not for whom: where several of them use one
device, its counts are kept apart from those of a trial.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from drivelab.model.errors import DrivelabError
from drivelab.model.measurement import Measurement
from drivelab.run.before_writing import look_before, prepare_own_target
from drivelab.run.device_counters import counted_device, counted_devices, read_counters
from drivelab.run.emptied_cache import emptied_cache
from drivelab.run.engine import EngineRun, StopRequest
from drivelab.run.measure import context_of_file, look_at_file, watch_idle
from drivelab.run.shared_work import SharedWork
from drivelab.run.surroundings import read_surroundings, surroundings_between
from drivelab.run.together import Member, run_together, without_one
from drivelab.run.tree_cache import drop_cached


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
    looked_at = [look_at_file(member.workload) for member in members]
    temperatures_of = list(dict.fromkeys(drive.name for member in members for drive in member.target.drives))
    around = read_surroundings(temperatures_of)
    # before the first of them begins: from then on they use the drive themselves
    look_before(*(member.workload for member in members))
    before = read_counters(list(dict.fromkeys(name for names, _ in counted for name in names)))
    found = run_together(members, stop)
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
        context = around_them | context_of_file(member.workload, looked_at[place]) | shared.context(place)
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
