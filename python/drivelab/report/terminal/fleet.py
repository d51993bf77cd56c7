"""What drives of a fleet come to, as lines for a terminal: the answer, the slow ones, and what could not be judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from drivelab.model.fleet import FleetAnswer, SilentDrive, SlowOne, Span
from drivelab.model.names import counted, in_number
from drivelab.model.units import format_percent, format_wait_ns
from drivelab.report.sentences.fleet_odd import (
    answer_sentence,
    host_name,
    times_words,
    until_words,
    when_words,
    worse_words,
)
from drivelab.report.terminal.wrapped import WIDTH, table_lines, wrapped

_ROWS_MAX = 8
_NAMED_MAX = 4
_REASONS_MAX = 3


def fleet_lines(
    answer: FleetAnswer,
    notes: Mapping[str, int],
    remarks: Sequence[str] = (),
    *,
    plain: bool,
    has_details: bool = False,
) -> list[str]:
    """The answer in one sentence, a table of what is slow, and what limits it: 25 lines at most, without details.

    Parameters
    ----------
    notes : mapping of str to int
        What of the files was left out, and how many of it.
    remarks : sequence of str
        How times were read that may be read otherwise.
    """
    several = len({one.cluster for one in (*answer.drives, *answer.hosts)}) > 1
    slow = [*answer.drives, *answer.hosts]
    lines = wrapped(answer_sentence(answer, has_cluster=several), WIDTH, plain)
    if slow:
        shown = slow if has_details else slow[:_ROWS_MAX]
        lines += ["", *_table(shown, answer.silent, plain, has_cluster=several)]
        if len(slow) > _ROWS_MAX and not has_details:
            lines.append(f"and {len(slow) - _ROWS_MAX} more: --details")
    lines.append("")
    for text in [*remarks[:_REASONS_MAX], *_remarks(answer, notes)]:
        lines += wrapped(f"- {text}", WIDTH, plain, "  ")
    if has_details:
        lines += ["", *(line for text in _details(answer) for line in wrapped(text, WIDTH, plain, "    "))]
    return lines


def _table(slow: Sequence[SlowOne], silent: Sequence[SilentDrive], plain: bool, *, has_cluster: bool) -> Iterator[str]:
    stopped = {(one.cluster, one.host, one.drive) for one in silent}
    rows = [("drive", "host", "since (UTC)", "until", "slower by (95 %)", "share", "risk")]
    for one in slow:
        share = "always" if one.share > 0.995 else format_percent(one.share)
        interval = f"{times_words(one.ratio)} ({times_words(one.ratio_low)[:-1]}-{times_words(one.ratio_high)[:-1]})"
        name = host_name(one, has_cluster=has_cluster)
        edges = _edges(one, has_stopped=(one.cluster, one.host, one.drive) in stopped)
        rows.append((one.drive or "whole host", name, *edges, interval, share, str(one.risk)))
    yield from table_lines(rows, plain, left=4)


def _edges(one: SlowOne, *, has_stopped: bool) -> tuple[str, str]:
    """Begin and end; the year is that of the begin."""
    since = when_words(one.spans[0].since_s)
    if one.is_still_slow and not has_stopped:
        return since, "still"
    until = until_words(one).removeprefix(since[:5])
    return since, f"{until} (silent)" if one.is_still_slow else until


def _remarks(answer: FleetAnswer, notes: Mapping[str, int]) -> Iterator[str]:
    """What is beside the slow ones, and what could not be judged."""
    if not answer.has_load:
        yield "no throughput is told: a drive that has more to do than the others looks slow"
    if answer.drives or answer.hosts:
        yield (
            "risk: each date counts 100 (slowed down 5 times and more), 25 (2), 10 (1.5), 5 (1.2) or 1; "
            f"of {_name_of_worst(answer)}: {_severity_words(answer)}"
        )
    if answer.odd_drives:
        more = " more" if answer.drives else ""
        yield (
            f"{counted(len(answer.odd_drives), 'drive')}{more} stood out for a while; chance alone makes "
            f"{_by_chance_words(answer)} in {answer.drive_dates:,} dates of drives: --details"
        )
    if answer.odd_hosts:
        yield f"{counted(len(answer.odd_hosts), 'host')} stood out as a whole for a while: --details"
    everywhere = [
        name for name, count in Counter(one.drive for one in answer.drives).items() if count > answer.host_count / 2
    ]
    if answer.host_count > 2 and everywhere:
        yield f"{_some(everywhere)} slow in most hosts: drives of another kind? tell it in a column 'model'"
    for cluster, found in groupby(sorted(answer.always_hosts, key=lambda one: one.cluster), lambda one: one.cluster):
        hosts = list(found)
        middle = times_words(sorted(one.ratio for one in hosts)[len(hosts) // 2])
        where = f" of {cluster}" if cluster else ""
        names = [f"{one.drive} of {one.host}" if one.drive else one.host for one in hosts]
        kind = "drive" if any(one.drive for one in hosts) else "host"
        take = f"{kind}{where} takes" if len(hosts) == 1 else f"{kind}s{where} take"
        yield (
            f"{len(hosts)} {take} {middle} what the others take, nearly always: "
            f"other hardware, or slow as a whole: {_some(names)}"
        )
    if answer.silent:
        names = [f"{one.drive} of {one.host} since {when_words(one.last_s)}" for one in answer.silent]
        yield f"no samples any more: {_some(names)}"
    for why, count in Counter(one.why for one in answer.unjudged).most_common(_REASONS_MAX):
        of = _some(list(dict.fromkeys(one.host for one in answer.unjudged if one.why == why)))
        yield f"cannot be judged: {count} {'drive' if count == 1 else 'drives'} of {of}: {why}"
    for kinds in answer.host_kinds:
        told = [
            f"{_some(hosts)} ({times_words(ratio)})" for hosts, ratio in zip(kinds.hosts, kinds.ratios, strict=True)
        ]
        what = f"hosts of model {kinds.role}" if kinds.role else "hosts"
        yield (
            f"{what} are of {len(told)} kinds by what they take, and each is compared with its own: {'; '.join(told)}; "
            "tell their models in a column 'model'"
        )
    # those that lack a model are in the first sentence
    if few := [one for one in answer.hosts_unjudged if not one.lacks_model]:
        yield f"whether a whole host is slow cannot be judged of {_some([one.host for one in few])}: {few[0].why}"
    for text, count in list(notes.items())[:_REASONS_MAX]:
        yield f"left out ({count:,}): {text}"
    yield (
        f"{answer.sample_count:,} {in_number(answer.sample_count, 'sample')} of "
        f"{answer.host_count:,} {in_number(answer.host_count, 'host')}, "
        f"{when_words(answer.begin_s)} to {when_words(answer.end_s)} (UTC){_least_words(answer)}"
    )


def _by_chance_words(answer: FleetAnswer) -> str:
    """How many stand out by chance alone."""
    by_chance = answer.odd_by_chance
    return f"about {by_chance:.0f} of them" if by_chance >= 1 else f"one in about {1 / by_chance:,.0f} such fleets"


def _name_of_worst(answer: FleetAnswer) -> str:
    worst = (*answer.drives, *answer.hosts)[0]
    return worst.drive or worst.host


def _severity_words(answer: FleetAnswer) -> str:
    worst = (*answer.drives, *answer.hosts)[0]
    told = [f"{days} {name}" for name, days in worst.severities.items() if days]
    return f"{', '.join(told)} {'date' if sum(worst.severities.values()) == 1 else 'dates'}"


def _least_words(answer: FleetAnswer) -> str:
    """From which slowdown on anything is found: of the shortest and of the longest window."""
    found = []
    for kind, name in (("drives", "a drive"), ("hosts", "a host")):
        least = [(int(window_s), ratio) for window_s, ratio in answer.least_ratios[kind].items()]
        ends = sorted({least[0], least[-1]}) if least else []
        told = " or ".join(f"{times_words(ratio)} for {format_wait_ns(window_s * 1e9)}" for window_s, ratio in ends)
        found += [f"{name} from {told}"] if told else []
    return f"; found is, by most of its samples, {', and '.join(found)}" if found else ""


def _some(names: Sequence[str]) -> str:
    if len(names) <= _NAMED_MAX:
        return ", ".join(names)
    return f"{', '.join(names[: _NAMED_MAX - 1])} and {len(names) - _NAMED_MAX + 1} more"


def _details(answer: FleetAnswer) -> Iterator[str]:
    """All spans and dates, what was odd, and everything that could not be judged."""
    kinds = {"slow": (*answer.drives, *answer.hosts), "always": answer.always_hosts}
    kinds["stood out"] = (*answer.odd_drives, *answer.odd_hosts)
    for kind, found in kinds.items():
        for one in found:
            name = (
                f"{one.drive} of {host_name(one, has_cluster=True)}"
                if one.drive
                else f"host {host_name(one, has_cluster=True)}"
            )
            times = f"{counted(len(one.spans), 'time')}{worse_words(one)}"
            yield f"{kind}: {name}{f' ({one.role})' if one.role else ''}, {times_words(one.ratio)}, {times}"
            yield f"  {'; '.join(_span_words(span) for span in one.spans)}"
            yield f"  {', '.join(f'{date} {times_words(slowdown)}' for date, slowdown in one.days.items())}"
    for change in answer.changes:
        yield f"slower together{f': model {change.role}' if change.role else ''}, {times_words(change.ratio)}"
        yield f"  {when_words(change.since_s)} to {when_words(change.until_s)}"
        yield "  " + "; ".join(f"{', '.join(drives)} of {host}" for host, drives in change.by_host.items())
    for left in (*answer.unjudged, *answer.hosts_unjudged):
        name = host_name(left, has_cluster=True)
        yield f"cannot be judged: {f'{left.drive} of ' if left.drive else ''}{name}: {left.why}"
    for kind, least in answer.least_ratios.items():
        told = (f"{times_words(ratio)} for {format_wait_ns(int(window_s) * 1e9)}" for window_s, ratio in least.items())
        yield f"{kind} are found from {', '.join(told)} on"


def _span_words(span: Span) -> str:
    return f"{when_words(span.since_s)} to {when_words(span.until_s)}"
