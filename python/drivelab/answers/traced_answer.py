"""What the traced passes of a stored run come to, worked out once for all who show it."""

from __future__ import annotations

from functools import cached_property

from drivelab.answers.explanations import explanations_of, level_differences
from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run
from drivelab.model.run_answer import LevelEffect, RunAnswer
from drivelab.model.trace import Explanation, ExplanationDifference
from drivelab.store.read import StoredRun


class TracedAnswer:
    """Where the time of a run's operations went, and why its levels matter; read when it is first asked for.

    Parameters
    ----------
    run : StoredRun
        The run, traced or not.
    answer : RunAnswer, optional
        What its trials come to, where that is known already.
    """

    def __init__(self, run: StoredRun, answer: RunAnswer | None = None) -> None:
        self._run = run
        self._known = answer

    @cached_property
    def answer(self) -> RunAnswer:
        """What the trials come to."""
        return self._known or answer_of_run(self._run, SHOWN_METRICS)

    @cached_property
    def explanations(self) -> tuple[Explanation, ...]:
        """Of every combination that was traced; none where nothing was.

        Raises
        ------
        DrivelabError
            S506: a table of the run cannot be read.
        """
        return explanations_of(self._run)

    @cached_property
    def level_differences(self) -> tuple[tuple[LevelEffect, ExplanationDifference], ...]:
        """How the parts differ from the baseline, of each level that matters; none where nothing was traced.

        Raises
        ------
        DrivelabError
            S506: a table of the run cannot be read.
        """
        return level_differences(self._run, self.answer) if self._run.traced_trials else ()
