"""One workload with one combination of settings on several drives: who is first, and whether beyond noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from drivelab.model.apart import MAY_DIFFER, are_apart, chance_apart, scatter_of, surely_apart, too_few_runs
from drivelab.model.estimate import Estimate
from drivelab.model.result_set import Observation

Subject = tuple[str, str]
# a difference of less is none that matters, however sure it is
DIFFERS_FROM = 1.03
# what a comparison says of the same runs
ONE_RUN_EACH = f"{too_few_runs((1, 1))}, so {MAY_DIFFER}"
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
    identities : mapping of subject to tuple of str
        The same for subjects that are one drive in several runs; a subject without one is a drive of its own.
    is_chance : bool
        Whether it is one of so many that some lie as far apart by chance (`without_chance`).
    is_last_behind : bool
        Whether the last of three or more is apart from all others by more than chance (`without_chance`).
    """

    title: str
    metric: str
    levels: Levels
    ranked: tuple[tuple[Subject, Observation], ...]
    left_out: tuple[Subject, ...] = ()
    identities: Mapping[Subject, tuple[str, ...]] = field(default_factory=dict)
    is_chance: bool = False
    is_last_behind: bool = False

    @property
    def of_best_drive(self) -> tuple[tuple[Subject, Observation], ...]:
        """What the best drive gave in each of its runs, the best first."""
        return tuple(item for item in self.ranked if self._is_best_drive(item[0]))

    @property
    def of_other_drives(self) -> tuple[tuple[Subject, Observation], ...]:
        """What all other drives gave, the best first; empty where several runs measured one drive."""
        return tuple(item for item in self.ranked if not self._is_best_drive(item[0]))

    @property
    def is_alike(self) -> bool:
        """Whether the best of the other drives, or runs of the only drive, is as good as the best to a few per cent."""
        (_, best), (_, other) = self.ranked[0], (self.of_other_drives or self.ranked[1:])[0]
        return ratio_of(best, other) < DIFFERS_FROM

    @property
    def is_best_drive_first(self) -> bool:
        """Whether the best drive is ahead of all others in each of its runs."""
        own = self.of_best_drive
        return self.ranked[: len(own)] == own

    @property
    def is_beyond_noise(self) -> bool | None:
        """Whether the best is apart from all others by more than they scatter; None where nothing tells how much.

        A drive that several runs measured is the best in all of them, or not beyond
        noise. Where there is no other drive, its best run is held against the others.
        """
        if self.is_chance:
            return False
        if not self.of_other_drives:
            return self.are_runs_apart
        if not self.is_best_drive_first:
            return False
        return _all_apart([(own, other) for _, own in self.of_best_drive for _, other in self.of_other_drives])

    @property
    def is_of_one_run(self) -> bool:
        """Whether one run measured all of it."""
        return len({one.run for _, one in self.ranked}) == 1

    @property
    def are_runs_apart(self) -> bool | None:
        """Whether the best run of the best drive is apart from its other runs; None where nothing tells."""
        (_, best), *others = self.of_best_drive
        return _all_apart([(best, other) for _, other in others])

    def _is_best_drive(self, subject: Subject) -> bool:
        best = self.ranked[0][0]
        identity = self.identities.get(subject)
        return subject == best or (identity is not None and identity == self.identities.get(best))


# its title as it stands within a sentence, and its combinations
Workload = tuple[str, Sequence[Contest]]


def durable_first(groups: Sequence[Workload]) -> list[Workload]:
    """The workloads, before the others those that survive a power cut."""
    return sorted(groups, key=lambda one: not one[1][0].ranked[0][1].is_durable)


def without_chance(contests: Sequence[Contest]) -> list[Contest]:
    """The contests of one run; those that lie apart and are no more than what so many give by chance are marked."""
    rankings = [[(one.estimate, one.trial_count) for _, one in contest.ranked] for contest in contests]
    found, lasts = firsts_apart(rankings), firsts_apart([ranking[::-1] for ranking in rankings])
    return [
        replace(
            contest,
            is_chance=is_first is False and bool(contest.is_beyond_noise),
            # of two the last is behind where the first is ahead
            is_last_behind=bool(is_last) and len(contest.ranked) > 2,
        )
        for contest, is_first, is_last in zip(contests, found, lasts, strict=True)
    ]


def firsts_apart(rankings: Sequence[Sequence[tuple[Estimate, int]]]) -> list[bool | None]:
    """Of several rankings of one run, in which the first is ahead of all others by more than chance.

    Parameters
    ----------
    rankings : sequence of sequence of (Estimate, int)
        Numbers with how many repeats each has, the best first.

    Returns
    -------
    list of bool or None
        None where nothing tells how far they scatter. How many are looked at is corrected for (`surely_apart`).
    """
    scatter = scatter_of([number for ranking in rankings for number in ranking])
    alone, together = ([_chance(ranking, each) for ranking in rankings] for each in (None, scatter))
    known = [(one, both) for one, both in zip(alone, together, strict=True) if one is not None and both is not None]
    sure = iter(surely_apart([one for one, _ in known], [both for _, both in known]))
    return [None if chance is None else next(sure) for chance in alone]


def _chance(ranking: Sequence[tuple[Estimate, int]], scatter: tuple[float, int] | None) -> float | None:
    """How often chance puts the first so far ahead of all others; None where nothing tells."""
    (best, count), *others = ranking
    found = [chance_apart(best, one, (count, its_count), scatter=scatter) for one, its_count in others]
    known = [chance for chance in found if chance is not None]
    return max(known, default=1.0) if len(known) == len(found) else None


def _all_apart(pairs: Sequence[tuple[Observation, Observation]]) -> bool | None:
    found = [observations_apart(one, other) for one, other in pairs]
    # what overlaps can't be told apart, whatever else is not known
    return False if False in found else None if None in found else True


def ratio_of(best: Observation, other: Observation) -> float:
    """How many times the larger of two numbers is the smaller one."""
    return times_apart(best.estimate.value or 1.0, other.estimate.value or 1.0)


def times_apart(one: float, other: float) -> float:
    """How many times the larger of two values is the smaller one."""
    return max(one, other) / max(min(one, other), 1e-12)


def observations_apart(best: Observation, other: Observation) -> bool | None:
    """Whether two numbers differ by more than chance; None where nothing tells how far they, or runs, scatter."""
    return are_apart(best.estimate, other.estimate, (best.trial_count, other.trial_count), (best.run, other.run))
