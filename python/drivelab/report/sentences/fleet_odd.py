"""What samples of a fleet say: which drives and hosts are slow, and after them those that have recovered."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from drivelab.model.fleet import CommonChange, FleetAnswer, SilentDrive, SlowOne, Unjudged
from drivelab.model.names import in_number, some_in_words
from drivelab.model.units import format_percent, format_wait_ns
from drivelab.report.parts_of_text import capitalised


def answer_sentence(answer: FleetAnswer, *, has_cluster: bool = False) -> str:
    """What the samples say: what is slow now, then what was, then which drives stopped reporting.

    Where many became slower together, that comes before single ones.

    Parameters
    ----------
    has_cluster : bool
        Whether a host is named with its cluster.
    """
    untold, stopped = list(_untold(answer)), list(_stopped(answer, has_cluster=has_cluster))
    if not (answer.judged_drive_count or answer.hosts or answer.changes):
        first = answer.unjudged[0].why if answer.unjudged else "no samples"
        return "; ".join([f"No drive can be judged: {first}", *untold, *stopped]) + "."
    told = []
    for has_recovered in (False, True):
        told += [_change_words(answer, one) for one in answer.changes if one.is_still_slow != has_recovered]
        told.append(_drives_words(answer, has_recovered, has_cluster=has_cluster))
        told.append(_hosts_words(answer, has_recovered, has_cluster=has_cluster))
    told = [words for words in told if words]
    if answer.drives or answer.hosts:
        return ". ".join([*told, *map(capitalised, untold), *stopped]) + "."
    drives, were = (in_number(answer.drive_count, word) for word in ("drive", "were"))
    judged = f"{answer.judged_drive_count:,} of " if answer.unjudged else "all "
    which = "No other drive" if told else "No drive"
    unexplained = _unexplained_words(answer, has_cluster=has_cluster)
    none = f"{which} {unexplained or 'stays slower than its peers'}: "
    none += f"{judged}{answer.drive_count:,} {drives} {were} compared"
    return ". ".join([*told, "; ".join([none, *untold, *stopped])]) + "."


def _change_words(answer: FleetAnswer, change: CommonChange) -> str:
    """Which drives or hosts became slower together, when, and by what."""
    count, hosts, of_cluster = len(change.ratios), change.by_host, f" of {change.cluster}" if change.cluster else ""
    # where there are drives of other models, too, it is said which these are
    of_model = f" of model {change.role}" if change.role and change.drive_count < answer.drive_count else ""
    if change.is_of_hosts and len(change.whole_hosts) == len(change.drive_counts):
        share = "All" if count == change.drive_count else f"{count:,} of"
        who, names = f"{share} {change.drive_count:,} drives{of_model}{of_cluster} in {len(hosts)} hosts", "they"
    elif change.is_of_hosts:
        which = f"The drives{of_model} in " if of_model else ""
        who = f"{which}{len(change.whole_hosts):,} of {len(change.drive_counts):,} hosts{of_cluster}"
        names = some_in_words(change.whole_hosts)
    else:
        who = f"{count:,} of {change.drive_count:,} drives{of_model}{of_cluster} in {len(hosts)} hosts"
        host, drives = next(iter(hosts.items()))
        where = "of each of them" if set(hosts.values()) == {drives} else f"of {host}, and others of the other hosts,"
        names = f"{some_in_words(drives)} {where}"
    since = when_words(change.since_s)
    until = _until_words(since, change.until_s)
    when = f"since {since}" if change.is_still_slow else f"from {since} to {until}, not since"
    verb, take = ("are", "take") if change.is_still_slow else ("were", "took")
    to_do = (
        "with hardly more to do" if answer.has_load else f"or {'have' if change.is_still_slow else 'had'} more to do"
    )
    return f"{who} {verb} slower {when}: {names} {take} {times_words(change.ratio)} what they took before, {to_do}"


def _drives_words(answer: FleetAnswer, has_recovered: bool, *, has_cluster: bool) -> str:
    """How many drives are slow, or were, and the worst of them."""
    found = [one for one in answer.drives if one.has_recovered == has_recovered]
    if not found:
        return ""
    worst, count = found[0], len(found)
    is_more = count < len(answer.drives) and has_recovered
    of = (
        f"{count:,} more"
        if is_more
        else f"{count:,} of {answer.drive_count:,} {in_number(answer.drive_count, 'drive')}"
    )
    verb = f"{in_number(count, 'were' if has_recovered else 'are')} {_slow_words(answer, count, has_recovered)}"
    name = f"{worst.drive} of {host_name(worst, has_cluster=has_cluster)}"
    loads = "for the same load" if answer.has_load else "whatever their loads"
    take = "took" if has_recovered else "takes"
    peers = "the drives of other hosts" if worst.are_peers_elsewhere else "the other drives of its host"
    told = f"{name} {take} {times_words(worst.ratio)} what {peers} {take.rstrip('s')} {loads}, {_time_words(worst)}"
    return f"{of} {verb}{':' if count == 1 else ', the worst:'} {told}{worse_words(worst)}{_only_words(worst)}"


def _unexplained_words(answer: FleetAnswer, *, has_cluster: bool) -> str:
    """The worst of what stands out to the end and is hardly made by chance, though it is not slow for sure."""
    if not answer.unexplained:
        return ""
    worst, more = answer.unexplained[0], len(answer.unexplained) - 1
    name = host_name(worst, has_cluster=has_cluster)
    who = f"{worst.drive} of {name}" if worst.drive else f"host {name} as a whole"
    return (
        f"is slow for sure, but {who}{f' (and {more} more)' if more else ''} takes {times_words(worst.ratio)} what its "
        f"peers take since {when_words(worst.spans[-1].since_s)}, which chance hardly makes"
    )


def _only_words(one: SlowOne) -> str:
    return "; it is the only drive of its host, so either may be slow" if one.is_only_drive else ""


def _hosts_words(answer: FleetAnswer, has_recovered: bool, *, has_cluster: bool) -> str:
    """Which host is slow as a whole, or was, and how many more."""
    found = [one for one in answer.hosts if one.has_recovered == has_recovered]
    if not found:
        return ""
    worst, more = found[0], f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    verb, should = ("was", "should have taken") if has_recovered else ("is", "should take")
    return (
        f"Host {host_name(worst, has_cluster=has_cluster)}{more} as a whole {verb} "
        f"{_slow_words(answer, 1, has_recovered)}: {times_words(worst.ratio)} what it {should} beside the other hosts, "
        f"{_time_words(worst)}{worse_words(worst)}"
    )


def _slow_words(answer: FleetAnswer, count: int, has_recovered: bool) -> str:
    """Without loads nobody can tell a slow drive from a busy one."""
    had = "had" if has_recovered else in_number(count, "have")
    return "slow" if answer.has_load else f"slow or {had} more to do"


def _time_words(one: SlowOne) -> str:
    """When it was slow, and whether it still is."""
    first, last = one.spans[0], one.spans[-1]
    if len(one.spans) > 1:
        often = f"{len(one.spans)} times for {_lengths_words(one)}, {format_percent(one.share)} of its time"
        if one.is_still_slow:
            return f"since {when_words(last.since_s)} and before: {often}, first at {when_words(first.since_s)}"
        return f"{often}, from {when_words(first.since_s)} to {until_words(one)}{_recovered_words(one)}"
    if one.has_recovered:
        return f"from {when_words(first.since_s)} to {until_words(one)}{_recovered_words(one)}"
    since = f"since {'its first sample, ' if one.is_from_the_start else ''}{when_words(first.since_s)}"
    return f"{since} (first told after {first.told_after_s} s of data)" if one.drive else since


def worse_words(one: SlowOne) -> str:
    """How it came to what it takes now; nothing of what always took as much, or has recovered."""
    worse = one.worsening
    if worse is None or one.has_recovered:
        return ""
    if not worse.is_at_once:
        return f"; it has become worse, from {times_words(worse.before_ratio)} at first"
    when = _until_words(when_words(one.spans[-1].since_s), worse.since_s)
    return f"; it got worse at {when}, from {times_words(worse.before_ratio)} before"


def _recovered_words(one: SlowOne) -> str:
    return ", not since" if one.has_recovered else ""


def _lengths_words(one: SlowOne) -> str:
    """``25 to 30 min``."""
    lengths_s = [span.until_s - span.since_s for span in one.spans]
    least, most = (format_wait_ns(length_s * 1e9) for length_s in (min(lengths_s), max(lengths_s)))
    if least == most:
        return most
    number, _, unit = least.partition(" ")
    return f"{number if most.endswith(f' {unit}') and most.count(' ') == 1 else least} to {most}"


def _untold(answer: FleetAnswer) -> Iterator[str]:
    """Which hosts cannot be judged as a whole because nothing tells which of them are alike."""
    found = [one for one in answer.hosts_unjudged if one.lacks_model]
    if found:
        are = in_number(len(found), "are")
        names = some_in_words([one.host for one in found])
        yield f"whether {names} {are} slow as a whole cannot be told: {found[0].why}"


def _stopped(answer: FleetAnswer, *, has_cluster: bool) -> Iterator[str]:
    """The first of the drives that stopped reporting, and how many more there are."""
    if answer.silent:
        first = min(answer.silent, key=lambda one: one.last_s)
        more = f" (and {len(answer.silent) - 1:,} more)" if len(answer.silent) > 1 else ""
        name = f"{first.drive} of {host_name(first, has_cluster=has_cluster)}"
        yield f"{name}{more} stopped reporting at {when_words(first.last_s)}"


def host_name(one: SlowOne | Unjudged | SilentDrive, *, has_cluster: bool) -> str:
    """A host, where it is wanted with its cluster."""
    return f"{one.cluster}/{one.host}" if has_cluster and one.cluster else one.host


def times_words(ratio: float) -> str:
    """``1.52x``, ``2.1x``, ``14x``."""
    return f"{ratio:.0f}x" if ratio >= 10 else f"{ratio:.1f}x" if ratio >= 2 else f"{ratio:.2f}x"


def when_words(time_s: int) -> str:
    """Date and time (UTC)."""
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%d %H:%M")


def until_words(one: SlowOne) -> str:
    """When it was slow for the last time: its time of day alone, where the date is that of its begin."""
    return _until_words(when_words(one.spans[0].since_s), one.spans[-1].until_s)


def _until_words(since: str, until_s: int) -> str:
    until = when_words(until_s)
    return until[11:] if until[:10] == since[:10] else until
