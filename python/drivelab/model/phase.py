"""A phase of an experiment: workloads in the order of the file, again and again until what is tracked is steady."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from drivelab.model.factor import Name
from drivelab.model.frozen import FrozenModel

TrackedMetric = Literal["iops", "throughput_bytes_per_s", "total_latency_ns_mean"]
WhichPoint = Literal["max", "mid"]
# rounds that are judged together
WINDOW_ROUNDS = 5
POINT_LATENCY_BELOW_NS = 5_000_000


class Tracked(FrozenModel):
    """What tells whether a phase is steady: a number of one combination.

    Factors that are not named stand at their only level.
    """

    workload: Name
    levels: Mapping[str, bool | int | float | str] = Field(default_factory=dict)
    metric: TrackedMetric = "iops"

    def is_of(self, workload: str, levels: Mapping[str, str]) -> bool:
        """Whether a combination is the one that is tracked: of a plan, whose levels are text.

        A factor that the target cannot have at all, or that has one level, tells nothing.
        """
        return workload == self.workload and all(
            levels[name] == level for name, level in self.levels.items() if name in levels
        )


class Phase(FrozenModel):
    """Workloads that are measured one after the other, for so many rounds at most.

    Where something is tracked the phase ends with the round in which all of it
    has been steady for `WINDOW_ROUNDS` rounds; where there are `capacities` no
    other round begins once so many times the size of the target were written.
    A plan has the same with the rounds of its scale and levels as text.
    """

    name: Name
    workloads: tuple[Name, ...] = Field(min_length=1)
    rounds: int = Field(default=1, ge=1, le=10_000)
    quick_rounds: int | None = Field(default=None, ge=1, le=10_000)
    track: tuple[Tracked, ...] = ()
    capacities: float = Field(default=0.0, ge=0, le=1000)

    def rounds_at(self, *, quick: bool) -> int:
        """The rounds at most at full size, or scaled down."""
        return self.quick_rounds or self.rounds if quick else self.rounds


class Point(FrozenModel):
    """A combination of another workload that is chosen once that was measured: its levels are taken over.

    ``max`` is the one of the last round with most IOPS among those whose mean
    latency is below `POINT_LATENCY_BELOW_NS`, ``mid`` the one nearest to the middle
    between the most and the fewest IOPS among them.
    """

    of: Name
    which: WhichPoint
