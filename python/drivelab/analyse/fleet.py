"""Which drive of a fleet is slow, and whether it is the drive or its whole host.

A drive is held against the others of its host at the same time and under the same load, a host against the others of
its cluster. What is usual is learned from the samples themselves: what load does, how much peers differ, and how much
each drive does. Two things are told apart: *slow* is what chance makes of a whole fleet once in twenty times, *odd*
what it makes on one of a thousand dates of a drive, so that of many dates some are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from drivelab.analyse.fleet_changes import common_changes, without_changes
from drivelab.analyse.fleet_elsewhere import (
    are_enough,
    by_kind,
    drives_elsewhere,
    has_peers,
    hosts_as_drives,
    is_whole,
    joined_to_hosts,
    with_samples,
)
from drivelab.analyse.fleet_excess import PEERS_MIN, logarithm
from drivelab.analyse.fleet_judged import Found, Group, always_slow, beside_peers, judged, unjudged_one
from drivelab.analyse.fleet_kinds import by_level, host_kinds
from drivelab.analyse.fleet_usual import dates_of, less_usual, median_of_columns
from drivelab.analyse.fleet_windows import ALARMS_PER_1000_DATES, usual_step_s
from drivelab.model.fleet import FleetAnswer, HostSeries, SilentDrive, SlowOne, Unjudged

# if more than that of a host differ by so much all the time, they are drives of another kind
_OTHER_KIND_SHARE = 0.25
_OTHER_KIND = math.log(1.25)
# the programs of one host are not those of another: less than that is no slow host
_HOST_RATIO_MIN = 1.25
# a host may be slow on most dates: usual is what it shows on the best of the others
_HOST_USUAL = 0.1
# who would have to take so many times as long to be found has no peers
_FOUND_FROM_MAX = 2.0
# a drive is silent where its host has samples for so much longer
_SILENT_S, _SILENT_STEPS = 600, 20
# what came of drives, and of whole hosts
_Both = tuple[list[Found], list[Found]]


def judge_fleet(hosts: Sequence[HostSeries]) -> FleetAnswer:
    """Which drives and hosts are slow.

    Parameters
    ----------
    hosts : sequence of HostSeries
        Each host of each cluster once; one of them with a sample at least.
    """
    parts = [part for host in hosts for part in _by_role(host)]
    changes = [change for members in by_kind(parts).values() for change in common_changes(members)]
    if changes:
        parts = [part for host in hosts for part in _by_role(without_changes(host, changes))]
    drives = _judge((part for part in parts if has_peers(part) or not with_samples(part)), _judge_drives)
    wholes = _judge(hosts_as_drives(part for part in parts if has_peers(part)), _judge_hosts)
    drives, wholes = _judged_elsewhere(parts, drives, wholes)
    only = {(host.cluster, host.host) for host in hosts if len(host.drives) == 1}
    dates = sum(int(np.isfinite(host.latency[rows]).any(axis=0).sum()) for host, rows in _host_dates(hosts))
    times = [host.time_s for host in hosts if len(host.time_s)]
    return FleetAnswer(
        drive_count=sum(len(host.drives) for host in hosts),
        host_count=len(hosts),
        sample_count=sum(int(np.isfinite(host.latency).sum()) for host in hosts),
        drive_dates=dates,
        begin_s=min(int(one[0]) for one in times),
        end_s=max(int(one[-1]) for one in times),
        changes=tuple(changes),
        drives=_worst_first(
            replace(one, is_only_drive=(one.cluster, one.host) in only) for found in drives for one in found.slow
        ),
        hosts=_worst_first(one for found in wholes for one in found.slow),
        always_hosts=_worst_first(one for found in (*wholes, *drives) for one in found.always),
        odd_drives=_worst_first(one for found in drives for one in found.odd),
        odd_hosts=_worst_first(one for found in wholes for one in found.odd),
        odd_by_chance=ALARMS_PER_1000_DATES / 1000 * dates,
        unjudged=tuple(one for found in drives for one in found.unjudged),
        hosts_unjudged=tuple(one for found in wholes for one in found.unjudged),
        silent=tuple(_silent(hosts)),
        host_kinds=tuple(kinds for found in (*wholes, *drives) for kinds in found.kinds),
        has_load=all(np.isfinite(logarithm(host.throughput)).any() for host in hosts),
        least_ratios={"drives": _least_ratios(drives), "hosts": _least_ratios(wholes)},
    )


def _host_dates(hosts: Iterable[HostSeries]) -> Iterator[tuple[HostSeries, slice]]:
    for host in hosts:
        for rows in dates_of(host.time_s).rows():
            yield host, rows


def _silent(hosts: Iterable[HostSeries]) -> Iterator[SilentDrive]:
    for host in hosts:
        until_s = max(_SILENT_S, _SILENT_STEPS * usual_step_s(host.time_s))
        for drive, column in zip(host.drives, np.isfinite(host.latency).T, strict=True):
            rows = np.flatnonzero(column)
            if len(rows) and host.time_s[-1] - host.time_s[rows[-1]] > until_s:
                yield SilentDrive(host.cluster, host.host, drive, int(host.time_s[rows[-1]]))


def _worst_first(found: Iterable[SlowOne]) -> tuple[SlowOne, ...]:
    return tuple(sorted(found, key=_place))


def _place(one: SlowOne) -> tuple[bool, int, float, str, str, str]:
    return one.has_recovered, -one.risk, -one.ratio, one.cluster, one.host, one.drive


def _least_ratios(found: Iterable[Found]) -> dict[str, float]:
    """From which ratio on any of these would be found; what lasts longer has a shorter time in it, too."""
    least: dict[str, float] = {}
    for one in found:
        needed = math.inf
        for limit in one.limits:
            needed = min(needed, math.exp(limit.odd))
            least[str(limit.window_s)] = max(least.get(str(limit.window_s), 0.0), needed)
    return least


def _by_role(host: HostSeries) -> Iterator[HostSeries]:
    """The drives of a host, those of each model or role by themselves."""
    for role in dict.fromkeys(host.roles):
        columns = [place for place, one in enumerate(host.roles) if one == role]
        yield replace(
            host,
            drives=tuple(host.drives[place] for place in columns),
            roles=(role,) * len(columns),
            latency=host.latency[:, columns],
            throughput=host.throughput[:, columns],
        )


def _judge(parts: Iterable[HostSeries], judge_pool: Callable[[list[Group], int], Found]) -> list[Found]:
    """What comes of all groups, those of each cluster and role by themselves."""
    few: list[Unjudged] = []
    with_peers = []
    for part in parts:
        if has_peers(part):
            with_peers.append(part)
        else:
            why = _few_words(part)
            few += [unjudged_one(part, column, why) for column in range(len(part.drives))]
    pools = [[Group.of(part) for part in members] for members in by_kind(with_peers).values()]
    all_dates = sum(group.drive_dates() for pool in pools for group in pool)
    return [Found(unjudged=tuple(few)), *(judge_pool(pool, all_dates) for pool in pools)]


def _few_words(part: HostSeries) -> str:
    beside = with_samples(part)
    if not beside:
        return "no latency"
    are_hosts = not (part.host or any(part.drives))
    where = "" if are_hosts else " in all hosts" if len(set(part.hosts)) > 1 else " in the host"
    what = f"{'host' if are_hosts else 'drive'}{'' if beside == 1 else 's'} of one kind{where}"
    return f"{beside} {what}, and it takes {PEERS_MIN + 1} to compare"


def _judged_elsewhere(parts: Sequence[HostSeries], drives: list[Found], wholes: list[Found]) -> _Both:
    """What came of drives and hosts, with the drives that only other hosts tell of.

    They are those of hosts with few drives of a kind, those of a host whose drives differ from each other while other
    hosts do not, and those of a host that is slow in some of its drives alone.
    """
    slow_hosts = {(one.cluster, one.role, one.host): one for found in wholes for one in found.slow}
    mixed = {(part.cluster, part.roles[0], part.host) for found in drives for part in found.mixed}
    for kind, members in by_kind(parts).items():
        large = [part for part in members if has_peers(part)]
        few = [part for part in members if with_samples(part) and not has_peers(part)]
        uneven = {
            (*kind, part.host)
            for part in large
            if (one := slow_hosts.get((*kind, part.host))) is not None and not is_whole(part, one)
        }
        differ = [part for part in large if (*kind, part.host) in mixed | uneven]
        others = [part for part in large if (*kind, part.host) not in mixed | uneven]
        alone = [*few, *(differ if are_enough(differ, others) else [])]
        if alone:
            (*_, found) = _judge([drives_elsewhere(alone, others)], _judge_hosts)
            drives, wholes = _in_place(drives, wholes, found, alone)
    return drives, wholes


def _in_place(drives: list[Found], wholes: list[Found], elsewhere: Found, alone: list[HostSeries]) -> _Both:
    """What came of drives and hosts, with what other hosts tell of the drives of some hosts in its place."""
    places = {(part.cluster, part.host, drive) for part in alone for drive in part.drives}
    kinds = {(part.cluster, part.roles[0], part.host) for part in alone}
    slow = [one for one in elsewhere.slow if _where(one) in places]
    told = {_where(one) for one in slow}
    slow, joined = joined_to_hosts(slow, [part for part in alone if not has_peers(part)])
    drives = [
        replace(
            found,
            slow=tuple(one for one in found.slow if _where(one) not in told),
            odd=tuple(one for one in found.odd if _where(one) not in places),
            unjudged=tuple(one for one in found.unjudged if _where(one) not in places),
        )
        for found in drives
    ]
    wholes = [
        replace(
            found,
            slow=tuple(one for one in found.slow if (one.cluster, one.role, one.host) not in kinds),
            odd=tuple(one for one in found.odd if (one.cluster, one.role, one.host) not in kinds),
        )
        for found in wholes
    ]
    found = replace(
        elsewhere,
        slow=tuple(slow),
        odd=tuple(one for one in elsewhere.odd if _where(one) in places),
        always=tuple(one for one in elsewhere.always if _where(one) in places),
        unjudged=tuple(one for one in elsewhere.unjudged if _where(one) in places),
    )
    return [*drives, found], [*wholes, Found(slow=tuple(joined))]


def _where(one: SlowOne | Unjudged) -> tuple[str, str, str]:
    return one.cluster, one.host, one.drive


def _judge_drives(pool: list[Group], all_dates: int) -> Found:
    kept, unjudged, mixed = [], [], []
    for group, beside in zip(pool, beside_peers(pool), strict=True):
        usual = median_of_columns(beside)
        apart = max(int((usual > _OTHER_KIND).sum()), int((usual < -_OTHER_KIND).sum()))
        if apart > max(1, _OTHER_KIND_SHARE * len(usual)):
            why = f"{apart} of {len(usual)} differ from the others all the time: tell their models in a column 'model'"
            unjudged += [unjudged_one(group.series, column, why, lacks_model=True) for column in range(len(usual))]
            mixed.append(group.series)
        else:
            kept.append(group)
    if not kept:
        return Found(unjudged=tuple(unjudged), mixed=tuple(mixed))
    raw = beside_peers(kept)
    excess = less_usual(list(zip(raw, (group.dates for group in kept), strict=True)))
    found = judged(kept, raw, excess, all_dates)
    return replace(found, unjudged=(*found.unjudged, *unjudged), mixed=tuple(mixed))


def _judge_hosts(pool: list[Group], all_dates: int) -> Found:
    """Hosts differ by their hardware: each by what it usually shows, where there are dates enough to know it."""
    pool = [Group.of(one) for group in pool for one in by_level(group.series)]
    # what load does is another thing for each kind
    raw = [beside for group in pool for beside in beside_peers([group])]
    dates = list(zip(raw, (group.dates for group in pool), strict=True))
    usual = less_usual(dates, is_bounded=False, quantile=_HOST_USUAL)
    found = judged(pool, usual, usual, all_dates, _HOST_RATIO_MIN)
    if found.limits and min(limit.odd for limit in found.limits) > math.log(_FOUND_FROM_MAX):
        return _too_different(pool, found)
    always = always_slow(pool, raw, found.limits)
    slow = {(one.host, one.drive) for one in found.slow}
    is_known = any(len(group.dates.days) > 1 for group in pool)
    always = (one for one in always if is_known and (one.host, one.drive) not in slow)
    kinds = (host_kinds([group.series for group in pool]),) if len(pool) > 1 else ()
    return replace(found, always=tuple(always), kinds=kinds)


def _too_different(pool: Sequence[Group], found: Found) -> Found:
    """What is left to say where peers differ so much that hardly any slowdown would show beside that."""
    told = {(one.host, one.drive) for one in (*found.slow, *found.odd)}
    why = "they differ too much from each other: tell their models in a column 'model'"
    unjudged = tuple(
        unjudged_one(group.series, column, why, lacks_model=True)
        for group in pool
        for column in range(len(group.series.drives))
        if group.series.place(column) not in told
    )
    return replace(found, unjudged=unjudged, limits=())
