"""Tells on stderr how a check goes: one line per trial, and on a terminal a live one."""

from __future__ import annotations

from typing import TextIO

from drivelab.model.errors import DrivelabError
from drivelab.model.trial_summary import TrialSummary
from drivelab.plan.check import CheckPlan, CheckTrial
from drivelab.run.engine import Progress
from drivelab.run.progress import estimates_text
from drivelab.run.shown_lines import ShownLines, progress_text


class CheckProgress(ShownLines):
    """Progress of one check; used in a ``with`` block.

    Parameters
    ----------
    plan : CheckPlan
        What is going to be done.
    stream : text file, optional
        Where to; stderr by default.
    """

    def __init__(self, plan: CheckPlan, stream: TextIO | None = None) -> None:
        super().__init__(stream)
        self._left_ns = plan.longest_ns
        self._place = ""

    def trial_begins(self, trial: CheckTrial, number: int, count: int) -> None:
        """A trial is about to begin."""
        self._place = f"{number:2} of {count}, {trial.label}"
        self._left_ns -= trial.workload.limits.runtime_ns + trial.workload.ramp_ns
        self.show(self._place)

    def trial_goes_on(self, progress: Progress) -> None:
        """Show how far it is."""
        left = f"; at most {self._left_ns / 1e9:.0f} s after this" if self._left_ns > 0 else ""
        self.show(f"{self._place}: {progress_text(progress)}{left}")

    def trial_done(self, summary: TrialSummary) -> None:
        """The trial was measured and stored."""
        self.say(f"{self._place}: {estimates_text(summary)}")

    def trial_failed(self, error: DrivelabError) -> None:
        """The trial could not be measured."""
        self.say(f"{self._place}: failed: {error.what} [{error.code}]")
