"""Whether a target carries a need: yes, no, or undecided and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from drivelab.model.estimate import Estimate, Unit
from drivelab.model.plain import Plain
from drivelab.model.program import RateBand

# no_limit: no limit is published, and what was measured is told instead
Outcome = Literal["pass", "fail", "undecided", "no_limit"]
# of several needs: what is met by all, by none, or only by some
FitnessOutcome = Literal["pass", "fail", "undecided", "mixed"]
Direction = Literal["at_most", "at_least"]
Force = Literal["required", "recommended"]
# what a rate of commits that is asked for is held against
COMMITS = "commits_per_s"
# why nothing is known of writes where none was allowed
ONLY_READ = "only read"


@dataclass(frozen=True, slots=True)
class Threshold(Plain):
    """One number that a need asks for, as it is judged and stored.

    Attributes
    ----------
    trial : str
        Name of the trial that measures it (``sync-write-2300``).
    metric : str
        Key of `TrialSummary.estimates` (``total_latency_ns_p99``).
    direction : str
        ``at_most`` or ``at_least`` `limit`.
    limit : float
        In `unit`.
    text : str
        What was measured, in words, with ``{value}`` where the number goes.
    force : str
        ``required`` decides between yes and no; missing a ``recommended`` one
        leaves a yes, and is told beside it.
    asked_less : str
        What is really asked for where the trial is harder; then missing the
        limit proves nothing. Empty where the trial is what is asked.
    easier_trial : str
        A trial that is no harder than what is really asked for: missing the limit there, too, decides.
    """

    trial: str
    metric: str
    direction: Direction
    limit: float
    unit: Unit
    text: str
    force: Force
    source: str
    asked_less: str = ""
    easier_trial: str = ""


@dataclass(frozen=True, slots=True)
class Check(Plain):
    """One threshold held against what was measured.

    Attributes
    ----------
    threshold : Threshold
        What is asked for.
    estimate : Estimate or None
        What was measured; None when the trial did not run.
    outcome : str
        pass, fail or undecided.
    margin_ratio : float or None
        How many times better than the limit the worse end of the interval is:
        above 1 is met with certainty, below 1 is not. Where a limit is passed
        because it is out of all reach, how far the tenfold rarer operations
        stay below it. None without either, where nothing is decided, and where what was measured may not last.
    text : str
        The check in a sentence, with the measured value, its interval and the limit.
    why : str
        Why it is undecided; empty otherwise.
    reach : str
        What shows that a limit is out of all reach where the interval does not:
        ``99.9 % of 2698 took at most 2.13 ms``.
    may_not_last : str
        Why a rate that meets the limit now may not last, or does not; empty otherwise.
    lasting_per_s : float or None
        What is left of a rate when a cache is full or a burst over, in the threshold's unit; None where nothing fell.
    windows : str
        In how many windows of which time it was measured, ``in 5 windows within 38.2 s``: so long the drive was seen,
        and how fast it is at other times nobody knows. Empty where it was one window.
    """

    threshold: Threshold
    estimate: Estimate | None
    outcome: Outcome
    margin_ratio: float | None
    text: str
    why: str = ""
    reach: str = ""
    may_not_last: str = ""
    lasting_per_s: float | None = None
    windows: str = ""


@dataclass(frozen=True, slots=True)
class Forecast(Plain):
    """How often a program would commit.

    Attributes
    ----------
    commits_per_s : Estimate
        Of one client.
    bands : tuple of RateBand
        Of more clients, where they share syncs.
    log_latency : Estimate
        Time of the log writes of one commit, in ns.
    own_time_ns : float
        What the program and its client take beside them.
    lasting_commits_per_s : float or None
        Of one client, what is left when burst credit is used up; None where none is known. `bands` are of that, too.
    own_time_range_ns : (float, float)
        Between what the program's own time lies.
    """

    commits_per_s: Estimate
    bands: tuple[RateBand, ...]
    log_latency: Estimate
    own_time_ns: float
    own_time_range_ns: tuple[float, float]
    lasting_commits_per_s: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Verdict(Plain):
    """The judgement of one need.

    Attributes
    ----------
    outcome : str
        pass, fail, undecided, or no_limit where no limit is published and there is a number.
    sentence : str
        What decided it, to stand behind the outcome: "etcd: 99 % of log writes were durable within ...".
    why : str
        Why it is undecided; empty otherwise.
    checks : tuple of Check
        Every threshold, required ones first.
    caveats : tuple of str
        What limits a yes: recommended values missed, findings to know about.
    forecast : Forecast or None
        How often the program would commit here, where what it issues was measured.
    """

    need: str
    title: str
    outcome: Outcome
    sentence: str
    why: str
    checks: tuple[Check, ...]
    caveats: tuple[str, ...] = ()
    forecast: Forecast | None = None


@dataclass(frozen=True, slots=True)
class Fitness(Plain):
    """What a target is fit for: every need judged.

    Attributes
    ----------
    sentence : str
        The answer in words, for a reader who reads one sentence.
    outcome : str
        pass when every need is met, fail when none is, undecided when none
        could be decided, otherwise mixed.
    verdicts : tuple of Verdict
        One per need.
    """

    sentence: str
    outcome: FitnessOutcome
    verdicts: tuple[Verdict, ...]


def easier_words(asked_less: str) -> str:
    """Why a miss proves nothing where less is asked for than was measured."""
    return f"{asked_less} are asked for, which are easier"


def verdicts_in(stored: Mapping[str, Any] | None) -> Sequence[Mapping[str, Any]]:
    """The verdict of each need in what a run stores: of several needs, of one, or none where nothing was judged."""
    if not stored:
        return ()
    several: Sequence[Mapping[str, Any]] | None = stored.get("verdicts")
    return (stored,) if several is None else several
