"""A rate that may be a burst is told of virtual drives that read at a published burst rate, and of nothing else."""

from __future__ import annotations

import pytest
from simulated_trials import LOOP, reads_at, target

from drivelab.analyse.findings import burst_possible
from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.verdict import touches


def test_a_published_burst_rate_of_a_virtual_drive_may_be_one() -> None:
    (found,) = burst_possible.find(reads_at(*[3000.0] * 10))
    assert found.evidence["known_after_s"] == pytest.approx(5.4e6 / (3000 - 100), rel=0.01)
    assert found.text == (
        "3 000 I/Os a second may be a burst; a published credit of 5.4 million I/Os lasts 31 min at a base rate of "
        "100 a second, longer at a higher one"
    )


def test_writes_spend_credit_too() -> None:
    (found,) = burst_possible.find(reads_at(*[3000.0] * 10, operation="write"))
    assert found.text.startswith("3 000 I/Os a second may be a burst")


@pytest.mark.parametrize(
    "seen",
    [
        reads_at(*[3000.0] * 10, on=target()),
        reads_at(*[3000.0] * 10, on=LOOP),
        reads_at(*[3000.0] * 10, queue_depth=1),
        reads_at(*[20_000.0] * 10),
        reads_at(*[500.0] * 10),
        reads_at(*[3000.0 * factor for factor in (0.4, 1.6) for _ in range(5)]),
        reads_at(3000.0, 3000.0),
    ],
    ids=["a real drive", "a loop device", "one at a time", "too fast", "too slow", "not constant", "too short"],
)
def test_it_is_told_of_nothing_else(seen: TrialEvidence) -> None:
    assert burst_possible.find(seen) == []


def test_it_limits_every_trial_of_the_volume() -> None:
    (found,) = burst_possible.find(reads_at(*[3000.0] * 10))
    assert touches(found, "sync-write-4096")
