"""How the reference combination of a run changed while the run went on."""

from __future__ import annotations

from dataclasses import dataclass

from drivelab.model.estimate import Estimate, Unit
from drivelab.model.finding import trials_of
from drivelab.model.metric import metric_of
from drivelab.model.plain import Plain
from drivelab.model.units import format_quantity

# so far apart the same load seldom lies on a drive that stays the same
WIDE_FROM = 2.0


def percent_change(ratio: float) -> str:
    """A ratio as a change: ``+3 %``."""
    return f"{100 * (ratio - 1):+.0f} %".replace("-0 %", "+0 %")


@dataclass(frozen=True, slots=True)
class ReferenceStep:
    """A moment from which on the reference was at another level.

    Attributes
    ----------
    first : int
        Which measurement is the first of the new level, from 1.
    ratio : float
        The new level over the old one, each a geometric mean.
    """

    first: int
    ratio: float


@dataclass(frozen=True, slots=True)
class ReferenceDrift(Plain):
    """How the reference combination changed on one target while a run went on.

    Attributes
    ----------
    target, workload, metric : str
        Where, and what was measured again and again.
    values : tuple of float
        In the order in which they were measured.
    unit : str
        Of the values.
    ratio : Estimate
        Last over first: along the trend from five values on, otherwise of the two themselves.
    spread_ratio : float
        Highest over lowest value.
    is_beyond_noise : bool or None
        Whether there is more to it than chance; None when too little is known to tell.
    is_large : bool
        Whether it is also so large that the run's numbers must not be compared as if nothing had happened.
    invalid_trials : int
        How many of the values do not describe the drive; with any, nothing is told of a drift.
    step : ReferenceStep or None
        Where a step is more than chance, and explains the values better than the trend.
    """

    TOLD = ("text",)

    target: str
    workload: str
    metric: str
    values: tuple[float, ...]
    unit: Unit
    ratio: Estimate
    spread_ratio: float
    is_beyond_noise: bool | None
    is_large: bool
    invalid_trials: int = 0
    step: ReferenceStep | None = None

    @property
    def is_wide(self) -> bool:
        """Whether it ended so far from where it began that this is told, though few values don't rule out chance."""
        ratio = self.ratio.value if self.is_beyond_noise is None and not self.invalid_trials else None
        return ratio is not None and not 1 / WIDE_FROM < ratio < WIDE_FROM

    @property
    def text(self) -> str:
        """One line: ``the reference drifted: median latency +28 % over 6 repeats (more than chance)``."""
        count, words = len(self.values), metric_of(self.metric).words
        if self.ratio.value is None:
            return "the reference was measured once: a drift would not show"
        if self.invalid_trials:
            unfit = trials_of(self.invalid_trials, count, "do not")
            return f"the reference: {words} not judged, {unfit} describe the drive"
        change = percent_change(self.ratio.value)
        if self.is_beyond_noise is None:
            first, last = (format_quantity(value, self.unit) for value in (self.values[0], self.values[-1]))
            few = f"{count} repeats are too few to rule out chance"
            return f"the reference: {words} {first}, then {last} ({change}; {few})"
        if self.step is not None:
            change = percent_change(self.step.ratio)
            return (
                f"the reference moved: {words} {change} from repeat {self.step.first} of {count} on (more than chance)"
            )
        if self.is_beyond_noise:
            return f"the reference drifted: {words} {change} over {count} repeats (more than chance)"
        return f"the reference: {words} {change} over {count} repeats (no more than chance)"
