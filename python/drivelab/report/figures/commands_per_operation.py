"""Commands per operation: what the drive was told to do for each write that a program called durable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drivelab.model.estimate import Estimate
from drivelab.model.metric import DEVICE_BYTES, FLUSHES, FUA_WRITES, WRITES, metric_of
from drivelab.report.content import TrialContent
from drivelab.report.figures import theme
from drivelab.report.figures.figure import DataTable, Figure, Plot
from drivelab.report.numerals import rate_text

ROW_PX, TOP_PX, BOTTOM_PX = 50, 40, 56
ROWS_PER_PLOT = 18
_LABEL_ABOVE = 0.42
_LABEL_SHARE = 0.56
# metric, colour and the pattern that tells it from its neighbours without colour
KINDS = (
    (WRITES, theme.BLUE, ""),
    (FUA_WRITES, theme.SKY, "/"),
    (FLUSHES, theme.VERMILLION, "x"),
)
CAPTION = (
    "Two latencies can be compared only when the same commands stand behind them. Counted by the kernel for the drive "
    "while the trial ran, divided by the operations completed; a whisker shows where the counters leave it open."
)


def commands_per_operation(trials: Sequence[TrialContent]) -> Figure | None:
    """The commands behind every durable write; None when no trial has such counts."""
    shown = [trial for trial in trials if trial.is_durable and any(trial.estimate(kind[0]) for kind in KINDS)]
    if not shown:
        return None
    kinds = [kind for kind in KINDS if any(_is_seen(trial.estimate(kind[0])) for trial in shown)] or [KINDS[0]]
    sheets = [("", shown)] if len(shown) <= ROWS_PER_PLOT else theme.sheets(shown, ROWS_PER_PLOT)
    return Figure(
        key="commands-per-operation",
        title="What the drive was told to do for each durable operation",
        caption=CAPTION + theme.invalid_words(shown),
        plots=tuple(_plot(group, members, kinds) for group, members in sheets),
        table=_table(shown),
    )


def _plot(group: str, trials: Sequence[TrialContent], kinds: Sequence[tuple[str, str, str]]) -> Plot:
    height = TOP_PX + BOTTOM_PX + ROW_PX * len(trials)
    layout = theme.layout(height, barmode="group", bargap=_LABEL_SHARE, bargroupgap=0.1, annotations=[])
    layout["margin"] |= {"t": TOP_PX, "b": BOTTOM_PX, "l": 14}
    layout["xaxis"] = theme.axis("commands per operation [1]", rangemode="tozero", nticks=12)
    layout["yaxis"] = theme.axis(
        "trial",
        range=[len(trials) - 0.5, -0.62],
        tickvals=list(range(len(trials))),
        ticktext=[""] * len(trials),
        ticks="",
        showgrid=False,
        fixedrange=True,
    )
    layout["annotations"] = [theme.row_label(trial, row, _LABEL_ABOVE) for row, trial in enumerate(trials)]
    return Plot([_bars(trials, *kind) for kind in kinds], layout, height, group)


def _is_seen(estimate: Estimate | None) -> bool:
    return estimate is not None and bool(estimate.value or estimate.high)


def _bars(trials: Sequence[TrialContent], metric: str, color: str, pattern: str) -> dict[str, Any]:
    words = metric_of(metric).head
    found = [(row, trial, e) for row, trial in enumerate(trials) if (e := trial.estimate(metric))]
    values = [_middle(estimate) for _, _, estimate in found]
    lows = [v if e.low is None else e.low for (_, _, e), v in zip(found, values, strict=True)]
    highs = [v if e.high is None else e.high for (_, _, e), v in zip(found, values, strict=True)]
    return {
        "type": "bar",
        "orientation": "h",
        "name": words,
        "x": values,
        "y": [row for row, _, _ in found],
        "text": [rate_text(value) for value in values],
        "textposition": "outside",
        "textfont": {"size": theme.SMALL_TEXT_SIZE, "color": theme.INK},
        "cliponaxis": False,
        "hovertext": [_hover(trial, words, estimate) for _, trial, estimate in found],
        "hoverinfo": "text",
        "marker": {"color": color, "pattern": _pattern(pattern, color)},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "visible": lows != highs,
            "array": [max(0.0, high - value) for high, value in zip(highs, values, strict=True)],
            "arrayminus": [max(0.0, value - low) for low, value in zip(lows, values, strict=True)],
            "color": theme.INK,
            "thickness": 1,
            "width": 3,
        },
    }


def _pattern(shape: str, color: str) -> dict[str, Any]:
    return {"shape": shape, "bgcolor": color, "fgcolor": theme.PAPER, "size": 5, "solidity": 0.2}


def _middle(estimate: Estimate) -> float:
    """The value; between its bounds where the counters give only those."""
    if estimate.value is not None:
        return estimate.value
    ends = [end for end in (estimate.low, estimate.high) if end is not None]
    return sum(ends) / len(ends) if ends else 0.0


def _hover(trial: TrialContent, words: str, estimate: Estimate) -> str:
    between = "" if estimate.low is None or estimate.high is None else f"{rate_text(estimate.low)} to "
    between += "" if not between else f"{rate_text(estimate.high or 0)}, "
    return (
        f"{theme.named(trial)}<br><b>{rate_text(_middle(estimate))}</b> {words} per operation"
        f"<br>{between}{estimate.sample_count} operations"
    )


def _table(trials: Sequence[TrialContent]) -> DataTable:
    metrics = (*(kind[0] for kind in KINDS), DEVICE_BYTES)
    rows: list[list[str | int | float | None]] = []
    for trial in trials:
        for metric in metrics:
            estimate = trial.estimate(metric)
            if estimate is not None:
                ends = (estimate.value, estimate.low, estimate.high)
                rounded = [None if end is None else round(end, 4) for end in ends]
                rows.append([trial.name, metric, *rounded, estimate.sample_count])
    return DataTable(("trial", "metric", "value", "low", "high", "operation_count"), rows)
