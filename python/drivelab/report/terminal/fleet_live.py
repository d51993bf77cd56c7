"""How a fleet goes, as lines that a terminal redraws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from drivelab.model.fleet_plan import FleetItem
from drivelab.model.names import counted
from drivelab.report.terminal.clean_text import terminal_text
from drivelab.report.terminal.wrapped import fitted, one_line

# the head, what is left out, and the prompt
_OTHER_LINES = 4


def live_lines(items: Sequence[FleetItem], gone: int, width: int, height: int, *, plain: bool) -> Iterator[str]:
    """A head, and a line for each target that is being measured, as many as there is room for.

    Parameters
    ----------
    items : sequence of FleetItem
        As they are now.
    gone : int
        How many hosts could not be asked, or left.
    width, height : int
        Of the terminal.
    plain : bool
        Whether it knows ASCII only.
    """
    count = Counter(item.state for item in items)
    told = [f"{count['complete']} of {counted(len(items), 'target')} measured, {count['measuring']} at work"]
    told += [f"{count['failed']} failed"] if count["failed"] else []
    told += [f"{count['cut_off']} cut off"] if count["cut_off"] else []
    told += [f"{counted(gone, 'host')} gone"] if gone else []
    yield one_line(", ".join(told), width, plain)
    working = [item for item in items if item.state == "measuring"]
    shown = working[: max(1, height - _OTHER_LINES)]
    name_width = max((len(item.key) for item in shown), default=0)
    for item in shown:
        yield fitted(terminal_text(f"  {item.key:<{name_width}}  {item.now or 'beginning'}", plain), width)
    if len(shown) < len(working):
        yield f"  and {len(working) - len(shown)} more"
