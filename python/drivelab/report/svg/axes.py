"""How axes look: lines, ticks, grid and names, and the room that these take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drivelab.report.card.letters import wrapped
from drivelab.report.svg.axis import Axis, Tick, ticks_of
from drivelab.report.svg.ink import Ink
from drivelab.report.svg.words import LINE_EM, lines_of, text_element, wide

_TICK_PX, _TICK_GAP_PX, _TITLE_GAP_PX = 4, 3, 5
_SIZE_PX = 11.0
_TITLE_SIZE_PX, _TITLE_LINES = 12.0, 3
# how much longer than its axis a name may be: there is room beside panels
_TITLE_BEYOND_PX = 14
# letters of most fonts are narrower than those that room is kept for
_LIKELY = 0.87


def left_px(
    specs: Mapping[str, Mapping[str, Any]], ranges: Mapping[str, tuple[float, float]], inner_px: float
) -> float:
    """The room left of all axes for the numbers and names of those that stand there."""
    found = 0.0
    for name, spec in specs.items():
        beside = specs.get(spec.get("anchor", "x"), {}).get("domain", (0, 1))
        if name[0] == "y" and beside[0] == 0 and spec.get("automargin", True) and spec.get("visible", True):
            low, high = spec.get("domain", (0, 1))
            axis = Axis(spec, *ranges[name], inner_px * (1 - low), inner_px * (1 - high))
            found = max(found, _numbers_px(axis) + _title_px(spec, inner_px * (high - low)) + 2)
    return found


def bottom_px(specs: Mapping[str, Mapping[str, Any]], room_px: float) -> float:
    """The room below all axes."""
    titles = [_title_px(spec, room_px) for name, spec in specs.items() if name[0] == "x"]
    return _TICK_PX + _TICK_GAP_PX + _SIZE_PX * LINE_EM + max(titles, default=0.0) + 2


def _numbers_px(axis: Axis) -> float:
    ticks = ticks_of(axis, _SIZE_PX) if axis.spec.get("showticklabels", True) else []
    widths = [wide(tick.text, _SIZE_PX) for tick in ticks if tick.text]
    return _TICK_PX + _TICK_GAP_PX + max(widths, default=0.0) * 0.95


def _title_px(spec: Mapping[str, Any], room_px: float) -> float:
    lines = lines_of(title) if (title := _title(spec, room_px)) else []
    return _TITLE_GAP_PX + LINE_EM * _TITLE_SIZE_PX * len(lines) if lines else 0.0


def _title(spec: Mapping[str, Any], room_px: float) -> str:
    """The name of an axis, in as many lines as it needs."""
    text = str(spec.get("title", {}).get("text", ""))
    if _LIKELY * wide(text, _TITLE_SIZE_PX) <= room_px + _TITLE_BEYOND_PX:
        return text
    return "<br>".join(wrapped(text, (room_px + _TITLE_BEYOND_PX) / _LIKELY, _TITLE_SIZE_PX, _TITLE_LINES))


def axis_elements(axis: Axis, beside: Sequence[Axis], ink: Ink) -> tuple[str, str, float]:
    """An axis: what lies below the drawing, what lies over it, and how far its words reach to the right.

    Parameters
    ----------
    beside : sequence of Axis
        Those across it, over which its grid lies; it stands at the one that it names.
    """
    spec = axis.spec
    if not spec.get("visible", True):
        return "", "", 0.0
    is_lying = spec["side"] == "bottom"
    size = float(spec.get("tickfont", {}).get("size", _SIZE_PX))
    ticks = ticks_of(axis, size)
    # the lowest panel, or the leftmost one
    stands = max(other.begin for other in beside) if is_lying else min(other.begin for other in beside)
    grid = [tick.value for tick in ticks] if spec.get("showgrid", True) else []
    lines = _across(axis, grid, beside, ink.colour(spec.get("gridcolor", "var(--grid)")))
    if spec.get("zeroline"):
        lines += _across(axis, [0.0], beside, ink.colour(spec.get("zerolinecolor", "var(--axis)")))
    colour = ink.colour(spec.get("linecolor", "var(--axis)"))
    path = ""
    if spec.get("showline"):
        low, high = sorted((axis.begin, axis.end))
        path += f"M{low:.1f} {stands:.1f}H{high:.1f}" if is_lying else f"M{stands:.1f} {low:.1f}V{high:.1f}"
    if spec.get("ticks", "outside"):
        for tick in ticks:
            at = axis.at(tick.value)
            path += f"M{at:.1f} {stands:.1f}v{_TICK_PX}" if is_lying else f"M{stands:.1f} {at:.1f}h{-_TICK_PX}"
    over = f'<path d="{path}" fill="none" stroke="{colour}"/>' if path else ""
    words, reach = _words(axis, ticks, stands, size, ink)
    return lines, over + words, reach


def _across(axis: Axis, values: Sequence[float], beside: Sequence[Axis], colour: str) -> str:
    path = ""
    for value in values:
        at = axis.at(value)
        if at is None or not axis.has(at):
            continue
        for other in beside:
            low, high = sorted((other.begin, other.end))
            is_lying = axis.spec["side"] == "bottom"
            path += f"M{at:.1f} {low:.1f}V{high:.1f}" if is_lying else f"M{low:.1f} {at:.1f}H{high:.1f}"
    return f'<path d="{path}" fill="none" stroke="{colour}"/>' if path else ""


def _words(axis: Axis, ticks: Sequence[Tick], stands: float, size: float, ink: Ink) -> tuple[str, float]:
    """Numbers and name of an axis, and how far the numbers reach to the right."""
    spec = axis.spec
    is_lying = spec["side"] == "bottom"
    colour = ink.colour(spec.get("tickfont", {}).get("color", "var(--muted)"))
    found, reach, away = [], 0.0, _TICK_PX + _TICK_GAP_PX
    for tick in ticks if spec.get("showticklabels", True) else ():
        at = axis.at(tick.value) or 0.0
        if is_lying:
            found.append(text_element(tick.text, at, stands + away + 0.55 * size, size, colour, "middle"))
            reach = max(reach, at + 0.95 * wide(tick.text, size) / 2)
        else:
            found.append(text_element(tick.text, stands - away, at, size, colour, "end"))
    room = abs(axis.end - axis.begin)
    title = _title(spec, room)
    if title:
        middle = (axis.begin + axis.end) / 2
        line = LINE_EM * _TITLE_SIZE_PX * len(lines_of(title))
        color = ink.colour(spec["title"].get("font", {}).get("color", "var(--muted)"))
        if is_lying:
            y = stands + away + LINE_EM * size + _TITLE_GAP_PX + line / 2
            found.append(text_element(title, middle, y, _TITLE_SIZE_PX, color, "middle"))
        else:
            x = stands - _numbers_px(axis) - _TITLE_GAP_PX - line / 2 + 2
            turn = f"rotate(-90 {x:.1f} {middle:.1f})"
            found.append(text_element(title, x, middle, _TITLE_SIZE_PX, color, "middle", turn))
    return "".join(found), reach
