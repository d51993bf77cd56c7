"""What a look at a run shows, as lines of a width: pure, so that every width can be tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from drivelab.model.operations_apart import DIRECTIONS, plural
from drivelab.model.units import format_duration_ns, format_rate_per_s, format_wait_ns
from drivelab.run.engine import Progress

# of what is cut at least so much stays: a sixth of the line of the bar, and the beginning of a name
_BAR_SHARE, _NAME_MIN, _NAME_KEPT = 6, 12, 30
# the longest time left in words: what stands before it does not move
_LEFT_WIDTH = len("less than 1 s left")
_GAP = "  "


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at a run shows.

    Attributes
    ----------
    share : float
        How much of the time is over, from 0 to 1.
    left : str
        The time left, in words; empty where it is unknown.
    place, name : str
        Which step it is (``5 of 17``), and its name.
    now : tuple of str
        What it is doing, the most important first: the last ones are left out where there is no room.
    found : tuple of str
        What was found so far, the latest last: the first ones are left out where there is no room.
    """

    title: str
    share: float = 0.0
    left: str = ""
    place: str = ""
    name: str = ""
    now: tuple[str, ...] = ()
    found: tuple[str, ...] = ()


def live_lines(look: Look, width: int, *, plain: bool = False) -> list[str]:
    """At most three lines, none wider than `width`; in ASCII where they are to be plain."""
    told = f"{_GAP}{look.share:4.0%}".replace("%", " %") + f"{_GAP}{look.left:>{_LEFT_WIDTH}}"
    title = cut(look.title, width - len(told) - len(_GAP) - width // _BAR_SHARE, plain=plain)
    room = width - len(title) - len(_GAP) - len(told)
    done = round(room * look.share)
    full, empty = ("#", "-") if plain else ("━", "─")
    lines = [f"{title}{_GAP}{full * done}{empty * (room - done)}{told}", _step_line(look, width, plain=plain)]
    found = _latest(look.found, width - len("  so far: "), " - " if plain else " · ", plain=plain)
    return [line for line in [*lines, f"  so far: {found}" if found else ""] if line.strip()]


def finished_line(place: str, names: tuple[str, str], told: Sequence[str], left: str, width: int) -> str:
    """One line about a finished step; where there is no room, its short name, less that is told, and that name cut."""
    head, tail = f"step {place}, ", f"; {left}" if left else ""
    room = width - len(head) - len(tail) - len(": ")
    kept = list(told)
    name = names[0] if len(names[0]) + len(", ".join(kept)) <= room else names[1] or names[0]
    while len(kept) > 1 and len(", ".join(kept)) + min(len(name), _NAME_KEPT) > room:
        kept.pop()
    text = ", ".join(kept)
    name = cut(name, max(_NAME_MIN, room - len(text)), plain=True)
    return f"{head}{name}: {cut(text, room - len(name), plain=True)}{tail}"


def cut(text: str, width: int, *, plain: bool) -> str:
    """A text no wider than a width, with a sign where it is cut."""
    # imported here: what is piped needs no terminal library
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= width:
        return text
    sign = "..." if plain else "…"
    return set_cell_size(text, max(0, width - len(sign))).rstrip() + sign


def left_text(left_ns: int) -> str:
    """The time left in words: ``about 21 s left``."""
    return f"about {format_wait_ns(left_ns)} left" if left_ns >= 0.5e9 else "less than 1 s left"


def now_texts(progress: Progress) -> tuple[str, ...]:
    """How a workload goes: rate, typical and slowest latency."""
    if progress.elapsed_ns <= 0:
        return ("making its file ready",)
    if progress.is_ramping:
        return ("warming up",)
    if not progress.counted_ns:
        return ("measuring",)
    seconds = progress.counted_ns / 1e9
    counts = {name: count for name in DIRECTIONS if (count := progress.counts.get(name))}
    if len(counts) < 2:
        rates = [f"{format_rate_per_s(progress.operation_count() / seconds)}/s"]
    else:
        rates = [f"{plural(name)} {format_rate_per_s(count / seconds)}/s" for name, count in counts.items()]
    if progress.latency_ns is None:
        return tuple(rates)
    typical_ns, slowest_ns = progress.latency_ns
    return (*rates, f"typical {format_duration_ns(typical_ns)}", f"slowest {format_duration_ns(slowest_ns)}")


def _step_line(look: Look, width: int, *, plain: bool) -> str:
    head = f"{_GAP}{look.place}{_GAP}" if look.place else _GAP
    room = width - len(head)
    if not look.name:
        return head + cut(_GAP.join(look.now), room, plain=plain)
    kept = list(look.now)
    while len(kept) > 1 and len(_GAP.join(kept)) + len(_GAP) + min(len(look.name), _NAME_MIN) > room:
        kept.pop()
    now = cut(_GAP.join(kept), room, plain=plain)
    name = cut(look.name, room - len(now) - len(_GAP), plain=plain)
    return f"{head}{name}{_GAP}{now}".rstrip() if room > len(now) + len(_GAP) else head + now


def _latest(texts: Sequence[str], width: int, between: str, *, plain: bool) -> str:
    """As many of the latest as there is room for."""
    kept: list[str] = []
    for text in reversed(texts):
        if len(between.join([text, *kept])) > width:
            break
        kept.insert(0, text)
    return between.join(kept) if kept or not texts else cut(texts[-1], width, plain=plain)
