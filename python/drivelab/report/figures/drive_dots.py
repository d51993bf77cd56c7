"""One number of many drives: each drive a dot, in a row for its model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drivelab.model.drive_values import FleetAnswerOfRuns, FleetDrive, NumberKey
from drivelab.model.metric import metric_of
from drivelab.report.figures import theme
from drivelab.report.figures.figure import Cell, DataTable, Figure, Plot
from drivelab.report.numerals import column_unit
from drivelab.report.sentences.fleet_drives import NumberWords

_PLOTS_MAX = 3
_ROW_PX, _TOP_PX, _BOTTOM_PX = 110, 40, 52
# drives of one model stand in lanes, so that few dots hide others
_LANES = 7
_LANE_HEIGHT = 0.09
_MODELS_MAX = 12


def drive_dots(answer: FleetAnswerOfRuns, medians: Mapping[NumberKey, Mapping[str, float]]) -> Figure:
    """The numbers that tell most, one drawing each.

    Parameters
    ----------
    answer : FleetAnswerOfRuns
        At least one number.
    """
    words = NumberWords([spread.key for spread in answer.spreads])
    # those in which drives stand apart, and the first one
    telling = [answer.spreads[0].key, *(one.key for one in answer.apart)]
    keys = list(dict.fromkeys(telling))[:_PLOTS_MAX]
    drives = {drive.key: drive for drive in answer.drives}
    rows: list[list[Cell]] = [
        [drives[name].host, drives[name].name, drives[name].serial, drives[name].model, words.words(key), value]
        for key in keys
        for name, value in medians[key].items()
    ]
    return Figure(
        key="drives",
        title="Each drive a dot, by model",
        caption="A drive's median over its runs and repeats. Dots lie in lanes only to be seen; diamonds stand apart.",
        plots=tuple(_plot(key, answer, drives, medians[key], words) for key in keys),
        table=DataTable(("host", "drive", "serial", "model", "number", "value"), rows),
    )


def _plot(
    key: NumberKey,
    answer: FleetAnswerOfRuns,
    drives: Mapping[str, FleetDrive],
    values: Mapping[str, float],
    words: NumberWords,
) -> Plot:
    metric = metric_of(key.metric)
    unit = column_unit(values.values(), metric.unit)
    counts: dict[str, int] = {}
    for name in values:
        counts[drives[name].model] = counts.get(drives[name].model, 0) + 1
    models = sorted(counts, key=lambda model: (-counts[model], model))
    # the rarest ones share the last row
    row_of = {model: min(place, _MODELS_MAX - 1) for place, model in enumerate(models)}
    row_count = min(len(models), _MODELS_MAX)
    height = _TOP_PX + _ROW_PX * row_count + _BOTTOM_PX
    layout = theme.layout(height)
    layout["margin"] |= {"t": _TOP_PX, "b": _BOTTOM_PX, "l": 14}
    name = f"{metric.title if metric.title == 'IOPS' else metric.words} [{unit.name}]" if unit.name else metric.words
    layout["xaxis"] = theme.axis(name)
    layout["yaxis"] = theme.blank_rows("", row_count)
    layout["annotations"] = [
        theme.row_label(_row_words(row, models, counts), row, 0.45, color=theme.INK) for row in range(row_count)
    ]
    odd = {one.drive for one in answer.apart if one.key == key}
    lanes = {name: place for place, name in enumerate(sorted(values, key=values.__getitem__))}

    def dots(names: list[str], label: str, color: str, symbol: str, size: int) -> dict[str, Any]:
        return theme.scatter(
            "markers",
            [float(f"{values[name] / unit.scale:.6g}") for name in names],
            [round(row_of[drives[name].model] + _LANE_HEIGHT * (lanes[name] % _LANES - 2), 3) for name in names],
            [
                f"{theme.escaped(drives[name].words)}<br><b>{values[name] / unit.scale:.4g} {unit.name}</b>"
                for name in names
            ],
            name=label,
            marker={"symbol": symbol, "size": size, "color": color},
        )

    alike = [name for name in values if name not in odd]
    data = [dots(alike, "alike", theme.BLUE, "circle", 6)] if alike else []
    data += [dots(sorted(odd), "stands apart", theme.VERMILLION, "diamond", 10)] if odd else []
    return Plot(data, layout, height, words.words(key))


def _row_words(row: int, models: list[str], counts: Mapping[str, int]) -> str:
    if row == _MODELS_MAX - 1 and len(models) > _MODELS_MAX:
        rest = models[row:]
        return f"{len(rest)} other models ({sum(counts[model] for model in rest)})"
    return f"<b>{theme.escaped(models[row])}</b> ({counts[models[row]]})"
