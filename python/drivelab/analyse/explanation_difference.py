"""Which part of the latency differs between two traced workloads, by how much, and whether that is more than chance.

Parts sum to the latency in every operation, and means are linear: the
differences of the parts sum to the difference of the latency exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.command_changes import COMMANDS_CHANGE_MIN
from drivelab.analyse.effects import SIGNIFICANCE
from drivelab.analyse.explanation import ratio_error
from drivelab.analyse.long_run_variance import add_up_groups, group_size, long_run_variance
from drivelab.analyse.operation_parts import OperationParts, joined_parts, layers_together
from drivelab.analyse.repeated_number import REPEATS_MIN
from drivelab.model.distributions import student_t, two_sided_p
from drivelab.model.estimate import Estimate
from drivelab.model.holm import holm, holm_levels
from drivelab.model.trace import DEVICE_WORK, LAYERS, PARTS, ExplanationDifference, PartDifference

Units = Literal["repeats", "operations"]
# fewer operations a side say nothing of how they scatter
OPERATIONS_MIN = 10
# no time is known better than the tick of the clock that it was read from
_CLOCK_ERROR_NS = 0.5
TOTAL = "total"


@dataclass(frozen=True, slots=True)
class _Mean:
    """Mean of one part on one side, with its standard error and the degrees of freedom behind that."""

    value: float
    error: float
    freedom: float


def explanation_difference(
    base: Sequence[OperationParts], new: Sequence[OperationParts], *, names: tuple[str, str] = ("BASE", "NEW")
) -> ExplanationDifference:
    """How the parts of NEW differ from those of BASE, per operation.

    Parameters
    ----------
    base, new : sequence of OperationParts
        The traced pass of each repeat, at least one a side with an operation in it.

    Notes
    -----
    With `REPEATS_MIN` repeats a side or more the repeat is the unit: Welch's t
    of the means over repeats, each weighted by its operations. Otherwise the operations
    are, their autocorrelation taken into account (`long_run_variance`); of a
    side with several repeats these count where they lie farther apart, with
    their degrees of freedom in any case. What another repeat would change is
    not in an interval from one repeat a side. Beyond noise is what is refused at 5 % after Holm's correction
    for the latency and its parts, and each interval is as wide as that makes it: 0 lies outside of it
    where the difference is beyond noise, and nowhere else. A part that neither side has is not counted.
    """
    units: Units = "repeats" if min(len(base), len(new)) >= REPEATS_MIN else "operations"
    has_layers = any(one.parts_ns.shape[1] > len(PARTS) for one in (*base, *new))
    ours, theirs = (_means([_comparable(one, has_layers=has_layers) for one in side], units) for side in (base, new))
    names_of_parts = (TOTAL, *PARTS, *([LAYERS] if has_layers else []))
    drafts = [_difference(part, ours[place], theirs[place], units) for place, part in enumerate(names_of_parts)]
    tested = [place for place, draft in enumerate(drafts) if draft.p_value is not None]
    p_values = [drafts[place].p_value or 0.0 for place in tested]
    adjusted = dict(zip(tested, holm(p_values), strict=True))
    levels = dict(zip(tested, holm_levels(p_values, SIGNIFICANCE), strict=True))
    parts = tuple(
        replace(
            _difference(part, ours[place], theirs[place], units, levels.get(place, SIGNIFICANCE)),
            adjusted_p_value=adjusted.get(place),
            is_beyond_noise=adjusted.get(place, 1.0) <= SIGNIFICANCE,
        )
        for place, part in enumerate(names_of_parts)
    )
    counts = sum(one.count for one in base), sum(one.count for one in new)
    return ExplanationDifference(*names, parts, _changed_work(base, new), units, operations=counts)


def _comparable(one: OperationParts, *, has_layers: bool) -> OperationParts:
    """With all layers as one part: the sides may have different ones, or one of them none."""
    parts = layers_together(one.parts_ns)
    if has_layers and parts.shape[1] == len(PARTS):
        parts = np.pad(parts, ((0, 0), (0, 1)))
    return replace(one, parts_ns=parts)


def _means(side: Sequence[OperationParts], units: Units) -> list[_Mean]:
    """Of the latency, then of each part."""
    between = _between_repeats(side) if len(side) > 1 else []
    if units == "repeats":
        return between
    joined = joined_parts(side)
    within = [_of_series(joined.latency_ns), *(_of_series(values) for values in joined.parts_ns.T)]
    if not between:
        return within
    # how far repeats lie apart is known from few: the larger error counts, and no more certainty than they give
    return [
        replace(alone, error=max(alone.error, apart.error), freedom=min(alone.freedom, apart.freedom))
        for alone, apart in zip(within, between, strict=True)
    ]


def _between_repeats(side: Sequence[OperationParts]) -> list[_Mean]:
    counts = np.array([one.count for one in side], np.float64)
    sums = np.array([[one.latency_ns.sum(), *one.parts_ns.sum(axis=0)] for one in side], np.float64)
    return [_Mean(*ratio_error(sums[:, place], counts), len(side) - 1.0) for place in range(sums.shape[1])]


def _of_series(values: NDArray[np.int64]) -> _Mean:
    count = values.size
    middle = int(values.sum()) / count
    if count < OPERATIONS_MIN:
        return _Mean(middle, math.nan, 0.0)
    size = group_size(count)
    variance = long_run_variance(add_up_groups(values.astype(np.float64), size))
    return _Mean(middle, math.sqrt(max(0.0, variance.per_element / size) / count), variance.degrees_of_freedom)


def _difference(part: str, base: _Mean, new: _Mean, units: Units, significance: float = SIGNIFICANCE) -> PartDifference:
    value = new.value - base.value
    square = base.error**2 + new.error**2
    if math.isnan(square):
        few = Estimate(value, None, None, "ns", 0, 0.0, f"fewer than {OPERATIONS_MIN} operations: no interval")
        return PartDifference(part, base.value, new.value, few, False)
    error = max(math.sqrt(square), _CLOCK_ERROR_NS)
    freedom = _freedom(base, new)
    half = student_t(freedom, significance / 2) * error
    method = f"difference of means over {units}, Welch's t with {freedom:.1f} degrees of freedom"
    estimate = Estimate(value, value - half, value + half, "ns", 0, freedom + 2, method)
    # a part that neither side has is no question
    p_value = two_sided_p(value, error, freedom) if base.value or new.value else None
    return PartDifference(part, base.value, new.value, estimate, False, p_value)


def _freedom(base: _Mean, new: _Mean) -> float:
    """Welch and Satterthwaite's degrees of freedom, at most twice those of the side that has fewer."""
    parts = [(one.error**4, one.freedom) for one in (base, new) if one.error > 0]
    least = min(base.freedom, new.freedom)
    if not parts:
        return max(1.0, 2 * least)
    found = (base.error**2 + new.error**2) ** 2 / sum(fourth / freedom for fourth, freedom in parts)
    # a small side that happens to scatter little must not borrow the certainty of a large one
    return max(1.0, min(found, 2 * least))


def _changed_work(base: Sequence[OperationParts], new: Sequence[OperationParts]) -> dict[str, tuple[float, float]]:
    """Device work per operation that differs by more than `COMMANDS_CHANGE_MIN`, and as a share."""
    ours, theirs = joined_parts(base), joined_parts(new)
    pairs = {name: (ours.work[name] / ours.count, theirs.work[name] / theirs.count) for name in DEVICE_WORK}
    return {
        name: (before, after)
        for name, (before, after) in pairs.items()
        if abs(after - before) > COMMANDS_CHANGE_MIN * max(1.0, before)
    }
