"""What a target is fit for: the verdicts on all needs, and one sentence and outcome for them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from collections.abc import Set as AbstractSet

from drivelab.analyse.verdict import judge_need
from drivelab.model.finding import Finding
from drivelab.model.names import names_in_words
from drivelab.model.need import Need
from drivelab.model.programs import POSTGRESQL, PROGRAMS
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.verdict import Fitness, FitnessOutcome, Outcome


def judge_fitness(needs: Iterable[Need], summaries: Sequence[TrialSummary], findings: Sequence[Finding]) -> Fitness:
    """What a target is fit for: every need judged, and one sentence for all.

    Notes
    -----
    Needs without a published limit have a verdict each, and no part in the outcome. Programs
    whose writes are only issued when they are asked for are left out.
    """
    measured = {summary.name for summary in summaries}
    verdicts = tuple(judge_need(need, summaries, findings) for need in needs if _is_for_all(need, measured))
    limited = [verdict for verdict in verdicts if verdict.checks]
    titles: dict[Outcome, list[str]] = {"pass": [], "fail": [], "undecided": [], "no_limit": []}
    for verdict in limited:
        titles[verdict.outcome].append(verdict.title)
    parts = []
    if titles["pass"]:
        parts.append(f"fit for {names_in_words(titles['pass'])}")
    if titles["fail"]:
        parts.append(f"not fit for {names_in_words(titles['fail'])}")
    if titles["undecided"]:
        parts.append(f"undecided for {names_in_words(titles['undecided'])}")
    text = "; ".join(parts)
    return Fitness(f"{text[0].upper()}{text[1:]}.", _of_all({one.outcome for one in limited}), verdicts)


def _is_for_all(need: Need, measured: Container[str]) -> bool:
    """Whether a need is judged where none is named: not if few have it, nor if its writes were not issued."""
    if need.only_by_name:
        return False
    if need.thresholds or need.capability or need.program == POSTGRESQL.need:
        return True
    return PROGRAMS[need.program].write.trial in measured


def _of_all(outcomes: AbstractSet[Outcome]) -> FitnessOutcome:
    """The outcome of several needs: a program that nobody here runs must not make a drive fail."""
    for only in ("pass", "fail", "undecided"):
        if outcomes == {only}:
            return only
    return "mixed"
