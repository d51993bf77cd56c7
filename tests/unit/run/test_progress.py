"""Progress on a terminal is one live line; finished steps stay above it."""

from __future__ import annotations

import io

import pytest

from drivelab.experiments.load import load_experiment
from drivelab.model.errors import DrivelabError
from drivelab.model.estimate import Estimate
from drivelab.model.plan import Plan
from drivelab.model.target import TargetFacts
from drivelab.model.trial_summary import TrialSummary
from drivelab.plan.make import make_plan
from drivelab.run.engine import Progress
from drivelab.run.progress import RunProgress


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def plan() -> Plan:
    scratch = TargetFacts("scratch:1GiB", "scratch", "", False, None, (), (), 2**30, 512, False)
    return make_plan(load_experiment("ssd-latency"), [scratch], seed=1, quick=True)


def test_a_terminal_shows_the_step_the_rate_and_what_is_done(plan: Plan) -> None:
    terminal = Terminal()
    first, second = plan.steps[:2]
    p50 = Estimate(333_000.0, 320_000.0, 345_000.0, "ns", 1000, 900.0, "")
    flushes = Estimate(2.0, 2.0, 2.0, "1", 1000, 1000.0, "")
    summary = TrialSummary("x", "x", "write", {"total_latency_ns_p50": p50, "device_flushes_per_operation": flushes})
    with RunProgress(plan, terminal) as progress:
        progress.preparing("filling scratch:1GiB")
        progress.step_begins(first)
        assert progress.step_goes_on(Progress(2 * 10**9, False, {"write": 6000}, {"write": 6000 * 512}))
        progress.step_done(first, summary)
        progress.step_failed(second, DrivelabError("T107", "the drive went away"))
    text = terminal.getvalue()
    assert "step 1 of " in text
    assert "3 000 I/Os per s" in text
    assert "p50 333 us" in text
    assert "2 flushes" in text
    assert "the drive went away [T107]" in text


class Deaf(io.StringIO):
    """A stream whose reader has gone away."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_reader_that_has_gone_away_does_not_end_a_run(plan: Plan) -> None:
    progress = RunProgress(plan, stream=Deaf())
    progress.preparing("putting everything back")
    progress.step_failed(plan.steps[0], DrivelabError("E305", "it failed"))
