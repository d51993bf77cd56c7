"""How a fleet goes, as lines that a terminal redraws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drivelab.model.fleet_plan import FleetItem
from drivelab.model.fleet_standing import FleetStanding
from drivelab.model.names import counted, counted_of
from drivelab.model.units import format_rate_bytes_per_s, format_rate_per_s, format_wait_ns
from drivelab.report.terminal.clean_text import terminal_text
from drivelab.report.terminal.wrapped import ellipsis, fitted, one_line

# the head of two lines, what is left out, and the prompt
_OTHER_LINES = 5
_SECOND_NS = 10**9


def live_lines(
    standing: FleetStanding, items: Sequence[FleetItem], width: int, height: int, *, plain: bool
) -> Iterator[str]:
    """A head of two lines, and a line for each target that is being measured, as many as there is room for."""
    yield one_line(counts_text(standing), width, plain)
    yield one_line(pace_text(standing), width, plain)
    working = [item for item in items if item.state == "measuring"]
    shown = working[: max(1, height - _OTHER_LINES)]
    name_width = max((len(item.key) for item in shown), default=0)
    for item in shown:
        yield _whole_words(terminal_text(f"  {item.key:<{name_width}}  {item.now or 'beginning'}", plain), width, plain)
    if len(shown) < len(working):
        yield f"  and {len(working) - len(shown)} more"


def counts_text(standing: FleetStanding) -> str:
    """What of a fleet is done, at work, and waits."""
    told = [f"{counted_of(standing.complete, standing.targets, 'target')} measured"]
    told += [f"{standing.measuring} at work"]
    counts = {"waiting": standing.waiting, "failed": standing.failed, "cut off": standing.cut_off}
    told += [f"{count} {words}" for words, count in counts.items() if count]
    hosts = {"awaited": standing.hosts_awaited, "gone": standing.hosts_gone}
    told += [f"{counted(count, 'host')} {words}" for words, count in hosts.items() if count]
    return ", ".join(told)


def pace_text(standing: FleetStanding) -> str:
    """The time left, and what those at work come to now: apart from the counts, which would move with its digits."""
    left_ns = standing.left_ns
    if left_ns is None:
        return f"time left not known; {_rate(standing)}"
    left = "less than 1 s" if left_ns is not None and left_ns < _SECOND_NS else f"about {format_wait_ns(left_ns or 0)}"
    return f"{left} left; {_rate(standing)}"


def _rate(standing: FleetStanding) -> str:
    """What targets at work come to together now; where some have not told, how many it is of."""
    if not standing.paced:
        return "no rate now"
    of = f" of {counted(standing.paced, 'target')}" if standing.paced < standing.measuring else ""
    if standing.is_of_bytes:
        return f"{format_rate_bytes_per_s(standing.bytes_per_s)}{of}"
    return f"{format_rate_per_s(standing.operations_per_s)} I/O/s{of}"


def _whole_words(line: str, width: int, plain: bool) -> str:
    """A line no wider than a terminal, which ends with a whole word."""
    if fitted(line, width) == line.rstrip():
        return line.rstrip()
    end = ellipsis(plain)
    words = fitted(line, width - len(end) - 1).rpartition(" ")[0].rstrip()
    return f"{words} {end}" if words else fitted(line, width)
