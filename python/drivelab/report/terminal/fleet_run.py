"""What became of a fleet, as lines for a terminal: how much is measured, what is not and why, and what each said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from drivelab.model.fleet_plan import NO_DRIVE_MEETS, NOT_TOGETHER, FleetItem, is_done, seen_by_several
from drivelab.model.names import counted, in_number, names_in_words
from drivelab.report.terminal.wrapped import GAP, WIDTH, fitted, one_line, table_lines, wrapped

_ROWS_MAX = 40
_REASON_ROWS_MAX = 12
_NAMED_MAX = 3
_ANSWER_COLUMNS_MIN = 20
_COMPARED_MIN = 2


def fleet_run_lines(
    called: str,
    title: str,
    hosts: Mapping[str, tuple[str, Sequence[str]]],
    items: Sequence[FleetItem],
    *,
    plain: bool,
    go_on: str = "",
    can_compare: bool = True,
    need: str = "",
) -> list[str]:
    """A sentence, what is not measured and why, and a line for each target that is.

    Parameters
    ----------
    called, title : str
        What commands find the fleet by, and what it measures.
    hosts : mapping of str to (str, sequence of str)
        Why a host could not be asked, and what is odd about it.
    go_on : str
        The command that has measured what is missing; empty while it is measured.
    can_compare : bool
        Whether the runs can be set beside each other.
    need : str
        What targets are checked for, where that is one need.
    """
    lines = wrapped(_sentence(title, hosts, items, need), WIDTH, plain)
    missing = list(_missing(hosts, items))
    lines += ["", *(line for text in missing[:_REASON_ROWS_MAX] for line in wrapped(f"- {text}", WIDTH, plain, "  "))]
    if len(missing) > _REASON_ROWS_MAX:
        lines.append(f"and {len(missing) - _REASON_ROWS_MAX} more: drivelab fleet status {called} --json")
    done = [item for item in items if item.state == "complete"]
    if done:
        lines.append("")
        lines += _measured(done[:_ROWS_MAX], plain)
        if len(done) > _ROWS_MAX:
            lines.append(f"and {len(done) - _ROWS_MAX} more")
    working = [item for item in items if item.state == "measuring" and item.now]
    lines += ["", *(fitted(f"{item.key}{GAP}{item.now}", WIDTH) for item in working[:_ROWS_MAX])]
    lines.append("")
    if can_compare and sum(bool(item.gathered) and not item.is_void for item in items) >= _COMPARED_MIN:
        lines.append(f"compare the drives: drivelab fleet report {called}")
    if go_on and not is_done({host: reason for host, (reason, _) in hosts.items()}, {one.key: one for one in items}):
        lines.append(f"go on: {go_on}")
    told = [line for line, before in zip(lines, ["", *lines], strict=False) if line or before]
    return told if told[-1] else told[:-1]


def _measured(items: Sequence[FleetItem], plain: bool) -> Iterator[str]:
    """A line for each item: what it is called, and what its run says."""
    left = max(WIDTH - max(len(item.key) for item in items) - len(GAP), _ANSWER_COLUMNS_MIN)
    rows = [(item.key, one_line(item.answer, left, plain)) for item in items]
    return (fitted(line, WIDTH) for line in table_lines(rows, plain, left=2))


def _sentence(title: str, hosts: Mapping[str, tuple[str, Sequence[str]]], items: Sequence[FleetItem], need: str) -> str:
    if not items:
        return f"Nothing was measured: no drive of {counted(len(hosts), 'host')} is meant, or none could be asked."
    if together := next((reason for reason, _ in hosts.values() if reason.startswith(NOT_TOGETHER)), ""):
        return f"{title}: nothing began: {together}."
    with_items, all_hosts = len({item.host for item in items}), counted(len(hosts), "host")
    on = all_hosts if with_items >= len(hosts) else f"{with_items} of {all_hosts}"
    count, what, words = _outcome(items, need)
    told = f"{title}: {count} of {counted(len(items), 'target')} on {on} {what}"
    rest = {
        state: sum(1 for _ in group)
        for state, group in groupby(sorted(item.state for item in items if item.state != "complete"))
    }
    words += [f"{count} {state.replace('_', ' ')}" for state, count in rest.items()]
    lost = {name for name, (reason, _) in hosts.items() if reason}
    # what is told of a target is told of its host
    missed = {item.host for item in items if item.state in ("cut_off", "failed")}
    words += [f"{counted(len(lost - missed), 'host')} could not be asked to the end"] if lost - missed else []
    asked = {item.host for item in items} | lost
    unmet = {name for name, (_, notes) in hosts.items() if name not in asked and any(map(_is_unmet, notes))}
    words += [f"{counted(len(unmet), 'host', 'have')} no drive that is meant"] if unmet else []
    of_all = lost | missed | unmet
    in_all = f": {len(of_all)} hosts in all" if (missed or unmet) and len(of_all) > 1 else ""
    return f"{told}; {', '.join(words)}{in_all}." if words else f"{told}."


def _is_unmet(note: str) -> bool:
    return note.startswith(NO_DRIVE_MEETS)


def _outcome(items: Sequence[FleetItem], need: str) -> tuple[str, str, list[str]]:
    """How many targets came to what, and what those came to that were measured, too."""
    done = [item for item in items if item.state == "complete"]
    outcomes = Counter(item.outcome for item in done if item.outcome not in ("", "no_limit"))
    if outcomes:
        fit = outcomes["pass"]
        rest = {"undecided": outcomes["undecided"], "not fit": outcomes["fail"]}
        words = [f"{count} {word}" for word, count in rest.items() if count]
        return str(fit or "none"), f"{in_number(fit or 1, 'are')} fit for {need}", words
    if void := sum(item.is_void for item in done):
        usable = len(done) - void
        which = f"{void} {in_number(void, 'were')} measured and {in_number(void, 'do not')} describe the drive"
        return str(usable or "none"), f"{'gives' if usable < 2 else 'give'} a usable number", [which]
    return str(len(done)), f"{in_number(1 if len(items) == 1 else len(done), 'are')} measured", []


def _missing(hosts: Mapping[str, tuple[str, Sequence[str]]], items: Sequence[FleetItem]) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for name, (reason, notes) in hosts.items():
        for text in filter(None, ("" if reason.startswith(NOT_TOGETHER) else reason, *notes)):
            by_reason.setdefault(text, []).append(name)
    for item in items:
        if item.state in ("complete", "failed", "cut_off") and item.reason not in (
            "",
            hosts.get(item.host, ("", ()))[0],
        ):
            by_reason.setdefault(item.reason, []).append(item.key)
    for item in items:
        if item.outcome == "undecided":
            by_reason.setdefault(f"undecided: {item.why}", []).append(item.key)
        elif item.doubt:
            by_reason.setdefault(f"measured, but {item.doubt}", []).append(item.key)
    for keys in seen_by_several(items).values():
        yield f"{names_in_words(keys)} are one drive: it is measured from one host after the other"
    for reason, keys in by_reason.items():
        more = f" and {len(keys) - _NAMED_MAX} more" if len(keys) > _NAMED_MAX else ""
        yield f"{', '.join(keys[:_NAMED_MAX])}{more}: {reason}"
