"""What a fleet is going to do, as lines for a terminal: what is erased first, and what is refused."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from drivelab.model.fleet_plan import FleetItem, ItemPlan, seen_by_several
from drivelab.model.names import counted, counted_of, in_number, names_in_words
from drivelab.model.units import format_bytes, format_wait_ns
from drivelab.report.terminal.wrapped import WIDTH, fitted, table_lines, wrapped

_ROWS_MAX, _REASONS_MAX, _NAMED_MAX = 40, 12, 3
_HEADS = ("target", "erases", "writes", "about")
_UNKNOWN = ItemPlan()


def fleet_plan_lines(
    items: Sequence[FleetItem],
    reasons: Mapping[str, str],
    notes: Mapping[str, Sequence[str]],
    unknown_lines: Sequence[str] = (),
    *,
    asked: Collection[str] = (),
    plain: bool,
) -> list[str]:
    """A sentence, a line for each target, those that are erased first, and what is refused and why.

    Parameters
    ----------
    items : sequence of FleetItem
        With their plans.
    reasons, notes : mapping of str to str, mapping of str to sequence of str
        Why hosts could not be asked, and what is odd about hosts.
    unknown_lines : sequence of str
        Lines of the erase list that mean no drive of the hosts that have answered, and may mean one of others.
    asked : collection of str
        Hosts that were asked, whether they have answered or not.
    """
    lines = wrapped(_sentence(items), WIDTH, plain)
    allowed = sorted((item for item in items if not _plan(item).refused), key=lambda one: not _plan(one).erases)
    if allowed:
        rows = [_HEADS, *map(_row, allowed[:_ROWS_MAX])]
        lines += ["", *(fitted(f"  {line}", WIDTH) for line in table_lines(rows, plain, left=2))]
        if len(allowed) > _ROWS_MAX:
            lines.append(f"  and {len(allowed) - _ROWS_MAX} more: --json")
    told = list(_reasons(items, reasons, notes, list(_unknown(unknown_lines, asked))))
    lines += [""] if told else []
    lines += [*(line for text in told[:_REASONS_MAX] for line in wrapped(f"- {text}", WIDTH, plain, "  "))]
    if len(told) > _REASONS_MAX:
        lines.append(f"and {len(told) - _REASONS_MAX} more: --json")
    return lines


def _plan(item: FleetItem) -> ItemPlan:
    return item.plan or _UNKNOWN


def _sentence(items: Sequence[FleetItem]) -> str:
    """How many targets are erased, how long the slowest host takes, and how much is written."""
    allowed = [item for item in items if not _plan(item).refused]
    erased = [item for item in allowed if _plan(item).erases]
    refused = [item for item in items if _plan(item).refused]
    hosts = counted(len({item.host for item in erased}), "host")
    of = counted_of(len(erased), len(items), "target")
    told = [f"ERASES {of}, on {hosts}" if erased else f"Nothing is erased of {counted(len(items), 'target')}"]
    if refused:
        hosts = counted(len({item.host for item in refused}), "host")
        told.append(f"{len(refused)} on {hosts} cannot be measured so")
    times: dict[str, int] = {}
    for item in allowed:
        times[item.host] = times.get(item.host, 0) + _plan(item).expected_ns
    if longest := max(times.values(), default=0):
        told.append(f"about {format_wait_ns(longest)}" + (" on the host that takes longest" if len(times) > 1 else ""))
    if written := sum(_plan(item).bytes_written for item in allowed):
        told.append(f"{format_bytes(written)} written")
    return f"{'; '.join(told)}."


def _row(item: FleetItem) -> tuple[str, ...]:
    plan = _plan(item)
    erases = ", ".join(plan.consents or plan.erases) or "nothing"
    written = format_bytes(plan.bytes_written) if plan.bytes_written else "-"
    return item.key, erases, written, format_wait_ns(plan.expected_ns) if plan.expected_ns else "-"


def _unknown(lines: Sequence[str], asked: Collection[str]) -> Iterator[str]:
    """Of which lines of the erase list nobody knows what they mean: serials, and names on hosts that say nothing."""
    if serials := [line for line in lines if ":" not in line]:
        none = "no drive of the hosts that have answered; it stops nothing, since other hosts may have it"
        yield f"{_some(serials)} of the erase list: {none}"
    named = {line: line.partition(":")[0] for line in lines if ":" in line}
    for is_asked, verb, what in ((True, "have", "not answered"), (False, "were", "not asked")):
        if those := [line for line, host in named.items() if (host in asked) == is_asked]:
            hosts = list(dict.fromkeys(named[line] for line in those))
            said = f"{_some(hosts)} {in_number(len(hosts), verb)} {what}"
            yield f"{_some(those)} of the erase list: {said}; it stops nothing"


def _reasons(
    items: Sequence[FleetItem],
    reasons: Mapping[str, str],
    notes: Mapping[str, Sequence[str]],
    unknown: Iterable[str],
) -> Iterator[str]:
    """Why targets are refused and hosts could not be asked, each reason once."""
    found: dict[str, list[str]] = {}
    for item in items:
        if (refused := _plan(item).refused) and not _plan(item).is_not_listed:
            found.setdefault(refused, []).append(item.key)
    if missing := [item for item in items if _plan(item).is_not_listed]:
        hosts = counted(len({item.host for item in missing}), "host")
        them = f"{counted(len(missing), 'drive')} on {hosts}"
        yield f"consent is missing for {them}: to have them erased, list {_some([_line_of(one) for one in missing])}"
    yield from unknown
    for name, reason in reasons.items():
        found.setdefault(reason, []).append(name)
    for name, of_host in notes.items():
        for note in of_host:
            found.setdefault(note, []).append(name)
    for reason, keys in found.items():
        yield f"{_some(keys)}: {reason}"
    for keys in seen_by_several(items).values():
        yield f"{names_in_words(keys)} are one drive: it is measured from one host after the other"


def _line_of(item: FleetItem) -> str:
    """What of the erase list would be the consent for a drive."""
    return ", ".join(word if "serial" in item.drive else f"{item.host}:{word}" for word in _plan(item).consents)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    return f"{', '.join(names[:_NAMED_MAX])}{more}"
