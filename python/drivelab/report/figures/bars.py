"""Observations in rows: a drive and its levels, side by side those of the levels of one more factor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drivelab.model.apart import are_apart
from drivelab.model.estimate import Estimate
from drivelab.model.workload import TREE_OPERATIONS
from drivelab.report.figures import theme
from drivelab.report.figures.figure import Cell, DataTable
from drivelab.report.figures.measured import (
    BLOCK_SIZE,
    CACHE,
    QUEUE_DEPTH,
    WORKLOAD,
    Measured,
    Point,
    level_of,
    levels_words,
    point_of,
    varying,
)
from drivelab.report.figures.quantity import (
    Scale,
    ends_of,
    evidence_words,
    exact_text,
    invalid_marks,
    owners,
    scale_of,
)
from drivelab.report.numerals import SIGNIFICANT_DIGITS, number_text

SERIES_AT_MOST = 6
# more levels of a number than this make a line, not bars
NUMBERS_AT_MOST = 2
# a linear axis on which the shortest bar is still seen
_SPAN_LINEAR = 40
_MARGIN_PX, _BOTTOM_PX = 14, 56
_VALUE_COLUMNS = {
    "latency": "latency_ns",
    "throughput": "throughput_bytes_per_s",
    "rate": "rate_per_s",
    "other": "duration_ns",
}
_ALWAYS = ("latency", "throughput")
_BEST = "What is marked “best” is ahead of all others of its drive by more than"
_OF_REPEATS = "repeats differ, each workload by itself; the answer judges all of them together."
_OF_ONE = "the drive's own variation within a trial; whether it would come again was not tried, as there was 1 repeat."
_NOT_TAKEN = (
    "A hollow mark with “not taken” is of a level that the kernel or the drive refused: what was measured is the "
    "level that it kept."
)


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: in the row of a drive and its levels, of the series of one more level."""

    point: Point
    drive: str
    row: str
    series: str
    is_best: bool = False

    @property
    def first(self) -> Measured:
        """What it was made of, the first of it."""
        return self.point.members[0]

    @property
    def is_hollow(self) -> bool:
        """Whether it is of nothing that was measured here at the level it names."""
        return self.first.is_reference or bool(self.not_taken)

    @property
    def not_taken(self) -> str:
        """Levels that were asked for and not taken."""
        return self.first.observation.not_taken

    @property
    def word(self) -> str:
        """What stands behind its number: that it is the best, or not what it says."""
        return " not taken" if self.not_taken else " <b>best</b>" if self.is_best else ""

    @property
    def repeat_count(self) -> int:
        """Trials behind each number in it, of the one with the fewest."""
        return min(one.observation.trial_count for one in self.point.members)

    @property
    def low(self) -> float:
        """The lower end of its whisker."""
        return self.point.value if self.point.low is None else self.point.low

    @property
    def high(self) -> float:
        """The upper end of its whisker."""
        return self.point.value if self.point.high is None else self.point.high


@dataclass(frozen=True, slots=True)
class Common:
    """What the drawings of one group have in common, so that their bars can be compared."""

    scale: Scale
    ends: tuple[float, float]
    series: tuple[str, ...]

    @classmethod
    def of(cls, bars: Sequence[Bar]) -> Common:
        """What these bars have in common."""
        values = [bar.point.value for bar in bars]
        unit = bars[0].first.observation.estimate.unit
        scale = scale_of(values, unit, is_log=max(values) > _SPAN_LINEAR * min(values))
        series = dict.fromkeys(bar.series for bar in bars)
        # "off" has the same colour in all groups, whichever came first
        ordered = sorted(series, key=lambda words: words.endswith(" off"))
        return cls(scale, ends_of([bar.point for bar in bars]), tuple(ordered))


def words_of(bars: Sequence[Bar]) -> str:
    """What the words at the bars mean, as far as some have them."""
    best = [bar for bar in bars if bar.is_best]
    is_of_one = any(bar.repeat_count == 1 for bar in best)
    told = [f"{_BEST} {_OF_ONE if is_of_one else _OF_REPEATS}"] if best else []
    return " ".join([*told, *([_NOT_TAKEN] if any(bar.not_taken for bar in bars) else [])])


def bars_of(members: Sequence[Measured]) -> list[Bar]:
    """A bar for each drive and combination of levels; none where a number has so many levels that they are a line."""
    varied = varying(members, (BLOCK_SIZE, QUEUE_DEPTH))
    if any(len({one.numbers.get(factor) for one in members}) > NUMBERS_AT_MOST + 4 for factor in varied):
        return []
    series = _series_factor(members, varied)
    rest = [factor for factor in varied if factor != series]
    groups: dict[tuple[str, ...], list[Measured]] = {}
    for one in members:
        levels = (level_of(one, factor) for factor in varied)
        groups.setdefault((one.source, one.drive, one.machine, *levels), []).append(one)
    names = owners(members)
    bars = []
    for found in groups.values():
        first = found[0]
        drive = names[first.drive, first.machine] or first.drive
        drive = f"{drive} (published)" if first.is_reference else drive
        bars.append(Bar(point_of(found), drive, levels_words(first, rest), _series_words(first, series)))
    return _with_best(bars)


def _series_factor(members: Sequence[Measured], varied: Sequence[str]) -> str:
    """The factor whose levels stand side by side: the write cache, or else the last with few levels."""
    candidates = [CACHE, "filesystem", *reversed(varied)]
    few = [f for f in candidates if f in varied and len({level_of(one, f) for one in members}) <= SERIES_AT_MOST]
    return few[0] if few else ""


def _series_words(one: Measured, series: str) -> str:
    level = level_of(one, series) if series else ""
    if not level:
        return ""
    return level if series == WORKLOAD else f"{series.replace('_', ' ')} {level}"


def _with_best(bars: Sequence[Bar]) -> list[Bar]:
    """The bars with the one of each drive marked that is beyond doubt the best."""
    drives: dict[str, list[Bar]] = {}
    for bar in bars:
        drives.setdefault(bar.drive, []).append(bar)
    best: set[int] = set()
    for of_drive in drives.values():
        members = [bar for bar in of_drive if not bar.not_taken]
        valid = [bar for bar in members if not bar.point.invalid_trials]
        if len(members) < 2 or not valid:
            continue
        low = valid[0].first.observation.is_better_when_low
        first = min(valid, key=lambda bar: bar.point.value if low else -bar.point.value)
        others = [bar for bar in members if bar is not first]
        # without whiskers nothing is known of the noise: a published number is neither the best nor beaten for sure
        has_whiskers = all(bar.point.low is not None and bar.point.high is not None for bar in members)
        if has_whiskers and all(_are_apart(first, bar) for bar in others):
            best.add(id(first))
    ordered = sorted(bars, key=lambda bar: list(drives).index(bar.drive))
    return [Bar(bar.point, bar.drive, bar.row, bar.series, id(bar) in best) for bar in ordered]


def _are_apart(one: Bar, other: Bar) -> bool:
    """Whether two bars differ by more than the repeats behind them scatter."""
    ours, theirs = (
        Estimate(bar.point.value, bar.point.low, bar.point.high, "1", bar.point.sample_count, 0.0, "")
        for bar in (one, other)
    )
    runs = one.first.observation.run, other.first.observation.run
    return bool(are_apart(ours, theirs, (one.repeat_count, other.repeat_count), runs))


def rows_of(bars: Sequence[Bar]) -> dict[tuple[str, str], list[Bar]]:
    """The bars of each row, by its drive and its levels."""
    rows: dict[tuple[str, str], list[Bar]] = {}
    for bar in bars:
        rows.setdefault((bar.drive, bar.row), []).append(bar)
    return rows


def drawn_alike(bars: Sequence[Bar], common: Common) -> Iterator[tuple[list[Bar], bool]]:
    """Bars of one series, hollow ones last, and whether the legend has its name from them."""
    seen = {""} if all(not bar.series for bar in bars) else set()
    for is_hollow in (False, True):
        for series in common.series:
            found = [bar for bar in bars if bar.series == series and bar.is_hollow == is_hollow]
            if found:
                yield found, series not in seen
                seen.add(series)


def rows_layout(
    bars: Sequence[Bar], places: Mapping[int, float], inner: float, common: Common
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Layout of rows of such a height with their legend, and crosses over what must not be believed."""
    found = [bar for bar in bars if bar.point.invalid_trials]
    wrong = invalid_marks([(common.scale.drawn(bar.point.value), places[id(bar)]) for bar in found])
    entries = sum(is_named for _, is_named in drawn_alike(bars, common)) + (wrong is not None)
    layout = theme.layout(
        round(inner) + _MARGIN_PX + theme.LEGEND_ROW_PX * entries + _BOTTOM_PX, showlegend=entries > 0
    )
    theme.legend_rows(layout, entries)
    layout["margin"] |= {"b": _BOTTOM_PX, "l": _MARGIN_PX}
    layout["yaxis"] = theme.axis("", range=[inner, 0], tickvals=[], ticktext=[], showgrid=False, ticks="")
    return layout, [wrong] if wrong else []


def hover_text(bar: Bar, scale: Scale) -> str:
    """What a mark tells of itself."""
    levels = ", ".join(word for word in (bar.row, bar.series) if word)
    head = f"{theme.escaped(bar.drive)}<br>" + (f"{theme.escaped(levels)}<br>" if levels else "")
    text = f"{head}<b>{scale.exact(bar.point.value)}</b><br>{evidence_words(bar.point, scale)}"
    # files are no I/Os
    return text.replace("IOPS", "1/s") if bar.first.observation.operation in TREE_OPERATIONS else text


def number_of(bar: Bar, scale: Scale) -> str:
    """The number of a bar, as it stands beside its mark."""
    if scale.is_log:
        # ticks of a logarithmic axis have units of their own
        return exact_text(bar.point.value, scale.unit, SIGNIFICANT_DIGITS)
    return number_text(bar.point.value / scale.shown.scale)


def table_of(drawn: Sequence[tuple[str, Sequence[Bar]]]) -> DataTable:
    """The numbers behind drawings, by the name of each; a column for each kind of number that is there."""
    kinds = {bar.first.observation.quantity for _, bars in drawn for bar in bars}
    metrics = tuple(name for kind, name in _VALUE_COLUMNS.items() if kind in _ALWAYS or kind in kinds)
    rows: list[Sequence[Cell]] = []
    for name, bars in drawn:
        for bar in bars:
            ends = (bar.point.value, bar.point.low, bar.point.high)
            cells: list[Cell] = [None if end is None else round(end) for end in ends]
            column = _VALUE_COLUMNS[bar.first.observation.quantity]
            rows.append(
                [
                    *(bar.first.source, name, bar.drive, bar.row, bar.series, bar.first.observation.metric),
                    *(cell for metric in metrics for cell in (cells if metric == column else [None] * 3)),
                    *(bar.point.trial_count, bar.point.invalid_trials, bar.point.sample_count, int(bar.is_best)),
                ]
            )
    columns = ("results", "drawing", "drive", "levels", "series", "metric")
    values = [f"{metric}{end}" for metric in metrics for end in ("", "_low", "_high")]
    counts = ("trial_count", "invalid_trials", "operation_count", "is_best")
    return DataTable((*columns, *values, *counts), rows)
