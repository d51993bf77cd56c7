"""One workload with one combination of settings on several drives: who is first, and whether beyond noise."""

from __future__ import annotations

from dataclasses import dataclass

from drivelab.model.apart import are_apart
from drivelab.model.result_set import Observation

Subject = tuple[str, str]
Levels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Contest:
    """One workload with one combination of settings, measured on several drives.

    Attributes
    ----------
    title, metric : str
        The workload for people, and what it is judged by.
    levels : tuple of (factor, level)
        The combination.
    ranked : tuple of (subject, Observation)
        The best first; without those that do not describe their drive.
    left_out : tuple of subjects
        Whose trials do not describe the drive.
    """

    title: str
    metric: str
    levels: Levels
    ranked: tuple[tuple[Subject, Observation], ...]
    left_out: tuple[Subject, ...] = ()

    @property
    def is_beyond_noise(self) -> bool | None:
        """Whether the best is apart from all others by more than they scatter; None where nothing tells how much."""
        found = [observations_apart(self.ranked[0][1], other) for _, other in self.ranked[1:]]
        return None if None in found else all(found)


def observations_apart(best: Observation, other: Observation) -> bool | None:
    """Whether two numbers differ by more than chance; None where nothing tells how much one of them scatters."""
    return are_apart(best.estimate, other.estimate, (best.trial_count, other.trial_count))
