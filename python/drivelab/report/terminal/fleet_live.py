"""How a fleet goes, as lines that a terminal redraws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drivelab.model.fleet_plan import FleetItem
from drivelab.model.fleet_standing import FleetStanding
from drivelab.model.names import counted
from drivelab.model.units import format_rate_bytes_per_s, format_rate_per_s, format_wait_ns
from drivelab.report.terminal.clean_text import terminal_text
from drivelab.report.terminal.wrapped import fitted, one_line

# the head, what is left out, and the prompt
_OTHER_LINES = 4
_SECOND_NS = 10**9


def live_lines(
    standing: FleetStanding, items: Sequence[FleetItem], width: int, height: int, *, plain: bool
) -> Iterator[str]:
    """A head, and a line for each target that is being measured, as many as there is room for.

    Parameters
    ----------
    standing : FleetStanding
        How the fleet stands.
    items : sequence of FleetItem
        As they are now.
    width, height : int
        Of the terminal.
    plain : bool
        Whether it knows ASCII only.
    """
    yield one_line(standing_text(standing), width, plain)
    working = [item for item in items if item.state == "measuring"]
    shown = working[: max(1, height - _OTHER_LINES)]
    name_width = max((len(item.key) for item in shown), default=0)
    for item in shown:
        yield fitted(terminal_text(f"  {item.key:<{name_width}}  {item.now or 'beginning'}", plain), width)
    if len(shown) < len(working):
        yield f"  and {len(working) - len(shown)} more"


def standing_text(standing: FleetStanding) -> str:
    """How a fleet stands, in one line: what is done, what those at work come to now, and the time left."""
    told = [f"{standing.complete} of {counted(standing.targets, 'target')} measured"]
    told += [f"{standing.measuring} at work{_rate(standing)}"]
    counts = {"waiting": standing.waiting, "failed": standing.failed, "cut off": standing.cut_off}
    told += [f"{count} {words}" for words, count in counts.items() if count]
    hosts = {"awaited": standing.hosts_awaited, "gone": standing.hosts_gone}
    told += [f"{counted(count, 'host')} {words}" for words, count in hosts.items() if count]
    left_ns = standing.left_ns
    left = "less than 1 s" if left_ns is not None and left_ns < _SECOND_NS else f"about {format_wait_ns(left_ns or 0)}"
    return ", ".join(told) + ("" if left_ns is None else f"; {left} left")


def _rate(standing: FleetStanding) -> str:
    """What targets at work come to together now; where some have not told, how many it is of."""
    if not standing.paced:
        return ""
    of = f" of {standing.paced}" if standing.paced < standing.measuring else ""
    if standing.is_of_bytes:
        return f" ({format_rate_bytes_per_s(standing.bytes_per_s)}{of})"
    return f" ({format_rate_per_s(standing.operations_per_s)} I/O/s{of})"
