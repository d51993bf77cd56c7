"""The rounds of a run that is under way: which steps are still needed, and what is chosen by what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from drivelab.analyse.commands import issued_count
from drivelab.analyse.rounds import NEEDED, WINDOW_NS, RoundsOfPlan
from drivelab.model.errors import DrivelabError
from drivelab.model.level_words import levels_phrase
from drivelab.model.measurement import Measurement
from drivelab.model.plan import Plan, PlannedStep
from drivelab.model.trial_summary import TrialSummary


class RoundsUnderWay:
    """Knows what was measured of the plan's trials, and decides by it.

    Parameters
    ----------
    plan : Plan
        With or without phases.
    stored : mapping of str to mapping of str to float
        The numbers of trials that are stored already, by trial and metric.
    """

    def __init__(self, plan: Plan, stored: Mapping[str, Mapping[str, float]]) -> None:
        self._rounds = RoundsOfPlan(plan)
        self._patterns = {step.trial: step.pattern for step in plan.steps} if plan.phases else {}
        self._values = dict(stored)
        self._written: dict[str, int] = {}

    def are_needed(self, steps: Sequence[PlannedStep]) -> bool:
        """Whether steps are to be done: their phase has not ended before their round."""
        return all(self._rounds.is_needed(step, self._values) for step in steps)

    def note(self, step: PlannedStep, measured: Measurement, summary: TrialSummary) -> list[int]:
        """A trial was measured and stored; the numbers of the steps that are not needed any more for that."""
        known = {name: one.value for name in NEEDED if (one := summary.estimates.get(name)) is not None}
        known[WINDOW_NS] = float(measured.engine.get("measured_ns", 0))
        self._written[summary.name] = issued_count(measured, "write")
        self._values[summary.name] = {name: value for name, value in known.items() if value is not None}
        return [one.number for one in self._rounds.needless_after(step, self._values)]

    def taking_over(self, step: PlannedStep) -> PlannedStep:
        """The step with what it takes over from trials before it: the levels of a combination, or how much was written.

        Raises
        ------
        DrivelabError
            R425: there is nothing that could be taken.
        """
        if step.reads_back:
            return self._reading_back(step)
        if step.point is None:
            return step
        chosen = self._rounds.chosen(step, self._values)
        if chosen is None:
            what = f"no combination of {step.point.of} had a mean latency below 5 ms, so there is none to choose"
            raise DrivelabError("R425", what, where=step.label)
        taken = self._patterns[chosen.trial]
        levels = {name: getattr(taken, name) for name in chosen.levels if name in type(taken).model_fields}
        label = f"{step.label}: {levels_phrase(chosen.levels)}"
        return replace(step, pattern=step.pattern.changed(**levels), label=label)

    def _reading_back(self, step: PlannedStep) -> PlannedStep:
        count = self._written.get(step.reads_back)
        if not count:
            what = f"how many blocks {step.reads_back} wrote is not known: nothing is read back"
            raise DrivelabError("R425", what, where=step.label, do="run it again, from its beginning")
        return replace(step, pattern=step.pattern.changed(count=count, bytes=0, runtime="0s"))
