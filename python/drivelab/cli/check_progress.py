"""Tells on stderr how a check goes: a live line on a terminal, one line per trial when piped."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self, TextIO

from drivelab.cli.live_line import progress_text
from drivelab.model.errors import DrivelabError
from drivelab.model.trial_summary import TrialSummary
from drivelab.plan.check import CheckPlan, CheckTrial
from drivelab.run.engine import Progress
from drivelab.run.progress import estimates_text
from drivelab.streams import for_person, make_console


class CheckLines:
    """One line for each trial that is done; used in a ``with`` block.

    Parameters
    ----------
    plan : CheckPlan
        What is going to be done.
    stream : text file, optional
        Where to; stderr by default.
    """

    def __init__(self, plan: CheckPlan, stream: TextIO | None = None) -> None:
        self._stream = for_person(stream)
        self._left_ns = plan.longest_ns
        self._place = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _where: TracebackType | None
    ) -> None:
        """Nothing is open."""

    def trial_begins(self, trial: CheckTrial, number: int, count: int) -> None:
        """A trial is about to begin."""
        self._place = f"{number:2} of {count}, {trial.label}"
        self._left_ns -= trial.workload.limits.runtime_ns + trial.workload.ramp_ns

    def trial_goes_on(self, trial: CheckTrial, progress: Progress) -> None:
        """Hear that a trial goes on: only a live line shows it."""

    def trial_done(self, trial: CheckTrial, summary: TrialSummary) -> None:  # noqa: ARG002 (named when it began)
        """A trial was measured and stored."""
        self.say(f"{self._place}: {estimates_text(summary)}")

    def trial_failed(self, trial: CheckTrial, error: DrivelabError) -> None:  # noqa: ARG002 (named when it began)
        """A trial could not be measured."""
        self.say(f"{self._place}: failed: {error.what} [{error.code}]")

    def say(self, text: str) -> None:
        """Print a line."""
        print(text, file=self._stream, flush=True)


class LiveCheck(CheckLines):
    """The trials that are done scroll by above one live line."""

    def __init__(self, plan: CheckPlan, stream: TextIO | None = None) -> None:
        super().__init__(plan, stream)
        # imported here: a piped check needs no terminal library
        from rich.live import Live
        from rich.text import Text

        self._text: Any = Text
        console = make_console(self._stream, soft_wrap=True)
        self._live = Live(console=console, transient=True, refresh_per_second=8)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _where: TracebackType | None
    ) -> None:
        """Remove the live line."""
        self._live.stop()

    def trial_begins(self, trial: CheckTrial, number: int, count: int) -> None:
        """A trial is about to begin."""
        super().trial_begins(trial, number, count)
        self._show(self._place)

    def trial_goes_on(self, trial: CheckTrial, progress: Progress) -> None:  # noqa: ARG002 (named when it began)
        """Show how far it is."""
        left = f"; at most {self._left_ns / 1e9:.0f} s after this" if self._left_ns > 0 else ""
        self._show(f"{self._place}: {progress_text(progress)}{left}")

    def say(self, text: str) -> None:
        """Print a line above the live one."""
        self._live.console.print(self._text(text))

    def _show(self, text: str) -> None:
        self._live.update(self._text(text, style="dim", no_wrap=True, overflow="ellipsis"))


def check_progress(plan: CheckPlan) -> CheckLines:
    """A live line when stderr is a terminal, lines otherwise."""
    return (LiveCheck if for_person().isatty() else CheckLines)(plan)
