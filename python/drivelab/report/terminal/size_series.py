"""The lines of a curve over sizes: what differs in nothing but the size of an I/O, from trials or combinations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from drivelab.model.metric import metric_of
from drivelab.model.run_answer import CombinationResult, RepeatedMetric, RunAnswer
from drivelab.report.combination_labels import level_words
from drivelab.report.content import TrialContent
from drivelab.report.figures.measured import BLOCK_SIZE

SERIES_PER_PANEL = 4
# more of a panel's lines than this, and drawings are divided by the factors that are named first
_PANEL_FACTORS = ("filesystem", "mount")
_NO_FACTORS = ("asked_backend", "asked_direct", "asked_queue_depth", "asked_job_count", "asked_block_size")


@dataclass(frozen=True, slots=True)
class SizePoint:
    """One size of a series.

    Attributes
    ----------
    size_bytes : int
        Size of one I/O.
    value_ns, low_ns, high_ns : float
        Median latency with its 95 % interval, or the median of several trials with their range.
    """

    size_bytes: int
    value_ns: float
    low_ns: float | None
    high_ns: float | None


@dataclass(frozen=True, slots=True)
class SizeSeries:
    """A line whose points differ in nothing but size."""

    label: str
    points: Sequence[SizePoint]


@dataclass(frozen=True, slots=True)
class Panel:
    """Series that are drawn together: what they have in common in words, and the name among several drawings."""

    series: tuple[SizeSeries, ...]
    common: str
    name: str = ""


def panels_of_trials(trials: Sequence[TrialContent]) -> list[Panel]:
    """One drawing of all durable trials, each a point with its interval; empty when no series has two sizes."""
    found: dict[tuple[str, str], list[TrialContent]] = {}
    for trial in trials:
        if trial.is_durable and trial.block_size_bytes and _value(trial, "p50"):
            found.setdefault((_common(trial), trial.row.get("workload") or ""), []).append(trial)
    kept = {key: members for key, members in found.items() if len({t.block_size_bytes for t in members}) > 1}
    series = []
    for (label, workload), members in kept.items():
        ordered = sorted(members, key=lambda trial: trial.block_size_bytes or 0)
        named = f"{workload} · {label}" if len({name for _, name in kept}) > 1 else label
        series.append(SizeSeries(named, _trial_points(ordered)))
    return [Panel(tuple(series), series[0].label if len(series) == 1 else "")] if series else []


def _trial_points(trials: Sequence[TrialContent]) -> list[SizePoint]:
    points = []
    for trial in trials:
        estimate = trial.estimate("p50")
        if estimate is not None and estimate.value is not None:
            points.append(SizePoint(trial.block_size_bytes or 0, estimate.value, estimate.low, estimate.high))
    return points


def _common(trial: TrialContent) -> str:
    """Everything set but the size, in words."""
    workload, row = trial.workload, trial.row
    method = workload.get("durability", {}).get("method", "none")
    levels = [str(v) for k, v in row.items() if k.startswith("asked_") and k not in _NO_FACTORS and v is not None]
    parts = [str(row.get("target") or ""), *levels, str(workload.get("file_state", "")), method]
    parts += ["direct"] if workload.get("direct") else []
    return " · ".join(part for part in parts if part and part != "none")


def _value(trial: TrialContent, name: str) -> float | None:
    estimate = trial.estimate(name)
    return estimate.value if estimate else None


def panels_of_answer(answer: RunAnswer) -> list[Panel]:
    """Drawings of the combinations that are judged by their latency: over all repeats of a size.

    Returns
    -------
    list of Panel
        One for each target and workload, divided further where it would have
        more than `SERIES_PER_PANEL` lines; empty when no series has two sizes.
    """
    places: dict[tuple[str, str], list[CombinationResult]] = {}
    for one in answer.combinations:
        if (
            metric_of(one.judged_metric).quantity == "latency"
            and one.block_size_bytes
            and one.judged_metric in one.metrics
        ):
            places.setdefault((one.target, one.workload), []).append(one)
    panels = []
    for members in places.values():
        names = list(dict.fromkeys(name for one in members for name in one.levels if name != BLOCK_SIZE))
        varying = [name for name in names if len({one.levels.get(name, "") for one in members}) > 1]
        dividing = _dividing(members, varying)
        pieces: dict[tuple[str, ...], list[CombinationResult]] = {}
        for one in members:
            pieces.setdefault(tuple(_words(one, name) for name in dividing), []).append(one)
        panels += [
            panel
            for key, piece in pieces.items()
            if (panel := _panel(piece, key, [name for name in varying if name not in dividing], names))
        ]
    return panels


def _dividing(members: Sequence[CombinationResult], varying: Sequence[str]) -> list[str]:
    """Factors that tell drawings apart, so that few lines are left in each."""
    first = [name for name in _PANEL_FACTORS if name in varying]
    candidates = [*first, *(name for name in varying if name not in first)]
    dividing: list[str] = []
    while candidates:
        left = [name for name in varying if name not in dividing]
        if len({tuple(one.levels.get(name, "") for name in left) for one in members}) <= SERIES_PER_PANEL:
            break
        dividing.append(candidates.pop(0))
    return dividing


def _panel(
    members: Sequence[CombinationResult], key: Sequence[str], varying: Sequence[str], names: Sequence[str]
) -> Panel | None:
    by_label: dict[str, list[CombinationResult]] = {}
    for one in members:
        label = ", ".join(_words(one, name) for name in varying if name in one.levels)
        by_label.setdefault(label, []).append(one)
    series = [SizeSeries(label, points) for label, group in by_label.items() if len(points := _points(group)) > 1]
    if not series:
        return None
    first = members[0]
    constant = [_words(first, name) for name in names if name not in varying and name in first.levels]
    common = _joined(first.label, first.target, *constant)
    return Panel(tuple(series), common, _joined(first.label, first.target, *key) if key else common)


def _points(members: Sequence[CombinationResult]) -> list[SizePoint]:
    sizes: dict[int, list[RepeatedMetric]] = {}
    for one in members:
        sizes.setdefault(one.block_size_bytes or 0, []).append(one.metrics[one.judged_metric])
    return [
        SizePoint(
            size,
            median(metric.median for metric in metrics),
            min(metric.lowest for metric in metrics),
            max(metric.highest for metric in metrics),
        )
        for size, metrics in sorted(sizes.items())
    ]


def _joined(*parts: str) -> str:
    """What there is of them: a factor that does not apply has no words."""
    return " · ".join(part for part in parts if part)


def _words(combination: CombinationResult, name: str) -> str:
    return f"{name} {level_words(combination, name)}" if name in combination.levels else ""
