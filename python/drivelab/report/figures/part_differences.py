"""Two traces side by side: what each part takes on both sides, and below it the difference with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drivelab.model.trace import ExplanationDifference, PartDifference
from drivelab.report.figures import theme
from drivelab.report.figures.figure import Figure, Plot
from drivelab.report.figures.part_style import NAMES_PX, label_beside_names, rows_axis
from drivelab.report.numerals import DisplayUnit, column_unit, latency_text
from drivelab.report.sentences.explanation_difference import interval_text, signed_text
from drivelab.report.tables.part_differences import differences_data, part_name

ROW_PX, TOP_PX, BOTTOM_PX, GAP_PX = 34, 44, 52, 46
DRAWN_AT_MOST = 8
CAPTION = (
    "Above, the mean of each part on both sides; below, how much longer it takes in the second, with an "
    "interval. The differences of the parts add up to that of the whole latency. Filled marks differ by more than "
    "chance; hollow ones may not. Intervals and marks are corrected for the number of parts (Holm)."
)


def part_differences(differences: Sequence[ExplanationDifference]) -> Figure | None:
    """One drawing for each difference; None where there is none."""
    if not differences:
        return None
    shown = differences[:DRAWN_AT_MOST]
    return Figure(
        key="part-differences",
        title="Which part differs",
        caption=CAPTION + theme.shown_words(len(shown), len(differences), "differences"),
        plots=tuple(_plot(one, has_name=len(differences) > 1) for one in shown),
        table=differences_data(differences),
    )


def _plot(one: ExplanationDifference, *, has_name: bool) -> Plot:
    row_px = ROW_PX * len(one.parts)
    height, domains = theme.panels(2, row_px, top_px=TOP_PX, bottom_px=BOTTOM_PX, gap_px=GAP_PX)
    layout = theme.layout(height, annotations=[], barmode="group", bargap=0.3, bargroupgap=0.06)
    layout["margin"] |= {"t": TOP_PX, "b": BOTTOM_PX, "l": NAMES_PX, "r": 14}
    layout["legend"]["traceorder"] = "normal"
    whole, *others = [part_name(part.part) for part in one.parts]
    names = [f"<b>{whole}</b>", *others]
    unit = column_unit([one.total.base_ns, one.total.new_ns], "ns")
    what = one.operation.replace("_", " ") or "operation"
    words = ("<b>mean of each part</b>", f"<b>{theme.escaped(one.new)} less {theme.escaped(one.base)}</b>")
    titles = (f"time per {what} [{unit.name}]", f"difference per {what} [{unit.name}]")
    for number, (domain, text, title) in enumerate(zip(domains, words, titles, strict=True), start=1):
        layout[theme.layout_key("x", number)] = theme.axis(
            title, anchor=theme.axis_name("y", number), nticks=9, zeroline=number == 2, zerolinecolor=theme.AXIS
        )
        layout[theme.layout_key("y", number)] = rows_axis(names, domain, number)
        layout["annotations"].append(label_beside_names(text, number))
    longest = max(max(part.base_ns, part.new_ns) for part in one.parts) / unit.scale
    # room for the time behind the longest bar, on a narrow page too
    layout["xaxis"] |= {"range": [0, 1.32 * longest or 1.0]}
    sides = ((one.base, theme.GREY, "/"), (one.new, theme.BLUE, ""))
    data = [_bars(one, place, name, color, shape, unit) for place, (name, color, shape) in enumerate(sides)]
    return Plot([*data, _differences(one, unit)], layout, height, (one.label or what) if has_name else "")


def _bars(
    one: ExplanationDifference, place: int, name: str, color: str, shape: str, unit: DisplayUnit
) -> dict[str, Any]:
    values = [part.new_ns if place else part.base_ns for part in one.parts]
    return {
        "type": "bar",
        "orientation": "h",
        "name": theme.escaped(name),
        "x": [float(f"{value / unit.scale:.6g}") for value in values],
        "y": list(range(len(values))),
        "text": [latency_text(value) if value else "none" for value in values],
        "textposition": "outside",
        "constraintext": "none",
        "textfont": {"size": theme.SMALL_TEXT_SIZE, "color": theme.INK},
        "cliponaxis": False,
        "hoverinfo": "text",
        "hovertext": [
            f"{theme.escaped(name)}<br>{part_name(part.part)} <b>{latency_text(value)}</b>"
            for part, value in zip(one.parts, values, strict=True)
        ],
        "marker": {
            "color": color,
            "pattern": {"shape": shape, "bgcolor": color, "fgcolor": theme.PAPER, "size": 5, "solidity": 0.2},
        },
    }


def _differences(one: ExplanationDifference, unit: DisplayUnit) -> dict[str, Any]:
    estimates = [part.difference_ns for part in one.parts]
    values = [(estimate.value or 0.0) / unit.scale for estimate in estimates]
    lows = [value if e.low is None else e.low / unit.scale for e, value in zip(estimates, values, strict=True)]
    highs = [value if e.high is None else e.high / unit.scale for e, value in zip(estimates, values, strict=True)]
    return theme.scatter(
        "markers",
        [float(f"{value:.6g}") for value in values],
        list(range(len(values))),
        [_hover(part) for part in one.parts],
        name="difference with its corrected interval",
        showlegend=False,
        marker={
            "symbol": ["circle" if part.is_beyond_noise else "diamond-open" for part in one.parts],
            "size": 8,
            "color": [_color(part) for part in one.parts],
        },
        error_x=theme.whiskers(zip(values, lows, highs, strict=True), theme.INK, width=4),
        on=(2, 2),
    )


def _color(part: PartDifference) -> str:
    if not part.is_beyond_noise:
        return theme.MUTED
    return theme.VERMILLION if (part.difference_ns.value or 0) > 0 else theme.GREEN


def _hover(part: PartDifference) -> str:
    interval = interval_text(part)
    certain = "more than chance" if part.is_beyond_noise else "not more than chance"
    return (
        f"{part_name(part.part)} <b>{signed_text(part.difference_ns.value or 0.0)}</b>"
        f"{f'<br>{interval}' if interval else '<br>no interval'}<br>{certain}"
    )
