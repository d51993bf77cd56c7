"""What each level does: its ratio to the baseline with the 95 % interval, one row each, on one axis of ratios."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from drivelab.model.run_answer import LevelEffect, RunAnswer
from drivelab.report.combination_labels import level_text
from drivelab.report.effect_words import commands_words, effects_title, interval_words
from drivelab.report.figures import theme
from drivelab.report.figures.figure import DataTable, Figure, Plot
from drivelab.report.numerals import number_text, typeset

ROW_PX, TOP_PX, BOTTOM_PX = 34, 40, 56
ROWS_PER_PLOT, PLOTS_AT_MOST = 25, 8
_LABEL_ABOVE = 0.42
# symbol and colour of each verdict: no meaning hangs on colour alone
_MARKS = {
    "matters": ("circle", theme.VERMILLION),
    "differs": ("circle-open", theme.VERMILLION),
    "no effect": ("square-open", theme.BLUE),
    "not settled": ("diamond-open", theme.MUTED),
    "not judged": ("x-thin-open", theme.MUTED),
}
_COUNTS = ("trial_count", "invalid_trials")
CAPTION = (
    "Level over baseline, paired within blocks. Whiskers are 95\u00a0% intervals; the grey band is what counts as no "
    "effect. A level matters when its whole interval lies outside the band and it is told from chance, corrected for "
    "the number of levels tried. A level without whiskers was measured in too few blocks; one that is not judged has "
    "trials that do not describe the drive."
)


def effects_overview(answer: RunAnswer) -> Figure | None:
    """The effects of all levels; None when there are none."""
    groups: dict[tuple[str, str], list[LevelEffect]] = {}
    for effect in answer.effects:
        if effect.ratio.value is not None:
            groups.setdefault((effect.target, effect.workload), []).append(effect)
    pieces = [
        (members[begin : begin + ROWS_PER_PLOT], effects_title(members, answer))
        for members in groups.values()
        for begin in range(0, len(members), ROWS_PER_PLOT)
    ]
    if not pieces:
        return None
    is_cut = len(pieces) > PLOTS_AT_MOST
    return Figure(
        key="effects-overview",
        title="What each level changes",
        caption=CAPTION + (f" Drawn are the first {PLOTS_AT_MOST}; the data below hold all." if is_cut else ""),
        plots=tuple(_plot(effects, title, _ends(groups.values())) for effects, title in pieces[:PLOTS_AT_MOST]),
        table=_table([effect for members in groups.values() for effect in members]),
    )


def _ends(groups: Iterable[Sequence[LevelEffect]]) -> tuple[float, float]:
    """Smallest and largest ratio of all drawings, so that they can be compared."""
    ends = [1.0]
    for effect in (effect for effects in groups for effect in effects):
        bound = 1 + effect.bound
        ends += [end for end in (effect.ratio.value, effect.ratio.low, effect.ratio.high) if end]
        ends += [1 / bound, bound]
    return min(ends), max(ends)


def _plot(effects: Sequence[LevelEffect], title: str, ends: tuple[float, float]) -> Plot:
    height = TOP_PX + BOTTOM_PX + ROW_PX * len(effects)
    bound = 1 + effects[0].bound
    low, high = theme.padded_range(ends[0] * 1e6, ends[1] * 1e6, 1.5)
    layout = theme.layout(height, annotations=[], shapes=_band(bound))
    layout["margin"] |= {"t": TOP_PX, "b": BOTTOM_PX, "l": 14}
    ticks = [tick / 1e6 for tick in theme.latency_ticks(low, high, at_most=12)]
    layout["xaxis"] = theme.axis(
        "level over baseline [1, log scale]",
        type="log",
        range=[math.log10(low / 1e6), math.log10(high / 1e6)],
        tickmode="array",
        tickvals=ticks,
        ticktext=[f"{tick:g}" for tick in ticks],
    )
    layout["yaxis"] = theme.axis(
        "level",
        range=[len(effects) - 0.6, -0.75],
        tickvals=list(range(len(effects))),
        ticktext=[""] * len(effects),
        showgrid=False,
        showline=False,
        ticks="",
        fixedrange=True,
    )
    layout["annotations"] = [_label(effect, row) for row, effect in enumerate(effects)]
    data = [_marks(effects, verdict) for verdict in _MARKS if any(e.verdict == verdict for e in effects)]
    return Plot(data, layout, height, title)


def _band(bound: float) -> list[dict[str, Any]]:
    """The range of ratios that count as no effect, and the line at 1."""
    band = {"type": "rect", "xref": "x", "x0": 1 / bound, "x1": bound, "yref": "paper", "y0": 0, "y1": 1}
    line = {"type": "line", "xref": "x", "x0": 1, "x1": 1, "yref": "paper", "y0": 0, "y1": 1}
    return [
        band | {"fillcolor": "var(--heat-1)", "line": {"width": 0}, "layer": "below"},
        line | {"line": {"width": 1, "color": theme.AXIS}, "layer": "below"},
    ]


def _label(effect: LevelEffect, row: int) -> dict[str, Any]:
    changed = f" · {commands_words(effect)}".replace("->", "→") if effect.commands_changed else ""
    return {
        "name": "row",
        "text": theme.escaped(typeset(f"{effect.factor} {level_text(effect.factor, effect.level)}{changed}")),
        "xref": "paper",
        "x": 0,
        "xanchor": "left",
        "yref": "y",
        "y": row - _LABEL_ABOVE,
        "yanchor": "middle",
        "showarrow": False,
        "font": {"size": theme.SMALL_TEXT_SIZE, "color": theme.MUTED},
    }


def _marks(effects: Sequence[LevelEffect], verdict: str) -> dict[str, Any]:
    symbol, color = _MARKS[verdict]
    found = [(row, e, e.ratio.value or 1.0) for row, e in enumerate(effects) if e.verdict == verdict]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": {"no effect": f"no effect of {100 * effects[0].bound:.0f} % or more"}.get(verdict, verdict),
        "x": [float(f"{value:.5g}") for _, _, value in found],
        "y": [row for row, _, _ in found],
        "text": [_hover(effect) for _, effect, _ in found],
        "hoverinfo": "text",
        "marker": {"symbol": symbol, "size": 9, "color": color, "line": {"width": 1.5, "color": color}},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [(e.ratio.high or value) - value for _, e, value in found],
            "arrayminus": [value - (e.ratio.low or value) for _, e, value in found],
            "color": color,
            "thickness": 1.5,
            "width": 3,
        },
    }


def _hover(effect: LevelEffect) -> str:
    blocks = len(effect.block_ratios)
    return (
        f"{theme.escaped(f'{effect.factor} {effect.level} over {effect.baseline}')}<br>"
        f"<b>{number_text(effect.ratio.value or 0)}</b>: {effect.verdict_text}<br>"
        f"{theme.escaped(interval_words(effect))} ({blocks} {'block' if blocks == 1 else 'blocks'})<br>"
        f"commands per operation: {theme.escaped(commands_words(effect))}"
    )


def _table(effects: Sequence[LevelEffect]) -> DataTable:
    columns = ("target", "workload", "factor", "level", "baseline", "metric", "ratio", "ratio_low", "ratio_high")
    rows = [
        [
            *(effect.target, effect.workload, effect.factor, effect.level, effect.baseline, effect.metric),
            *(_rounded(end) for end in (effect.ratio.value, effect.ratio.low, effect.ratio.high)),
            *(_rounded(effect.p_value), _rounded(effect.adjusted_p_value)),
            *(len(effect.block_ratios), effect.verdict, commands_words(effect)),
            *(effect.trial_count, effect.invalid_trials),
        ]
        for effect in effects
    ]
    return DataTable((*columns, "p_value", "adjusted_p_value", "block_count", "verdict", "commands", *_COUNTS), rows)


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")
