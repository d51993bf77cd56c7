"""What the factors of a full design do together: share of each term, and where one factor changes another's effect."""

from __future__ import annotations

from dataclasses import dataclass

from drivelab.model.estimate import Estimate
from drivelab.model.metric import metric_of
from drivelab.model.plain import Plain


@dataclass(frozen=True, slots=True)
class FactorialTerm:
    """A factor, or two of them together, as a whole.

    Attributes
    ----------
    factors : tuple of str
        One for a main effect, two for an interaction.
    degrees_of_freedom : int
        As many as there are independent effects; 0 where none can be estimated.
    share : float
        Of all variance within blocks that this term accounts for, from 0 to 1.
    """

    factors: tuple[str, ...]
    degrees_of_freedom: int
    share: float

    @property
    def name(self) -> str:
        """``write-cache``, or ``filesystem x write-cache``."""
        return " x ".join(self.factors)


@dataclass(frozen=True, slots=True)
class Interaction:
    """How much a level's effect differs between two levels of another factor.

    Attributes
    ----------
    factor, level, baseline : str
        The effect that differs: of the level over the baseline.
    other_factor, other_level, other_baseline : str
        Between what it differs.
    ratio : Estimate
        The effect at `other_level` over that at `other_baseline`; 1 where there is no interaction.
    at_other_baseline, at_other_level : Estimate
        The effect itself, level over baseline, at each of the two.
    p_value, adjusted_p_value : float or None
        Of no interaction; adjusted for all interactions on the target (Holm).
    verdict : str
        matters, differs, no effect, not settled: as of a `LevelEffect`, of `ratio`.
    """

    factor: str
    level: str
    baseline: str
    other_factor: str
    other_level: str
    other_baseline: str
    ratio: Estimate
    at_other_baseline: Estimate
    at_other_level: Estimate
    p_value: float | None = None
    adjusted_p_value: float | None = None
    verdict: str = "not settled"

    @property
    def name(self) -> str:
        """``write-cache off at filesystem ext4``."""
        return f"{self.factor} {self.level} at {self.other_factor} {self.other_level}"


@dataclass(frozen=True, slots=True)
class Factorial(Plain):
    """Shares of the variance and interactions of two factors of one workload on one target.

    Attributes
    ----------
    target, workload, metric : str
        Where, and what was analysed: the logarithm of a latency or of a throughput.
    block_count, cell_count : int
        The complete blocks behind it, and the combinations of levels in each.
    terms : tuple of FactorialTerm
        Factors first, then pairs of them.
    interactions : tuple of Interaction
        Of every pair of levels that can be estimated.
    higher_order_share, scatter_share : float
        Share of the variance that lies in interactions of three and more factors, and between repeats.
    notes : tuple of str
        What was left out, and what cannot be estimated.
    """

    target: str
    workload: str
    metric: str
    block_count: int
    cell_count: int
    terms: tuple[FactorialTerm, ...] = ()
    interactions: tuple[Interaction, ...] = ()
    higher_order_share: float = 0.0
    scatter_share: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def is_more_slower(self) -> bool:
        """Whether a ratio above 1 is the worse one."""
        return metric_of(self.metric).better == "low"
