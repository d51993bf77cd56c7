"""A burst that ends while it is read from is told of virtual drives, and of nothing that slows in another way."""

from __future__ import annotations

from dataclasses import replace
from itertools import repeat

import numpy as np
import pytest
from simulated_trials import LOOP, counted, evidence, reads_at, target

from bursting_drives import limited, read_for, unlimited
from drivelab.analyse.findings import burst_ended, burst_possible, throughput_cliff, trial_findings
from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.finding import VOLUME_CODES
from drivelab.model.simulated import SimulatedModel

BURST = [*repeat(3000.0, 8), *repeat(300.0, 22)]


def test_a_burst_that_ended_is_told_with_both_rates_and_its_length() -> None:
    seen = reads_at(*BURST)
    (found,) = burst_ended.find(seen)
    assert "3 000 IOPS for 8 s, then 300 IOPS" in found.text
    assert found.evidence["base_per_s"] == pytest.approx(300, rel=0.01)
    assert found.evidence["lasts_s"] == pytest.approx(8, rel=0.02)
    # what it was is said once
    assert throughput_cliff.find(seen) == burst_possible.find(seen) == []


def test_numbers_that_are_not_the_drives_tell_nothing_of_a_limit() -> None:
    seen = reads_at(*BURST)
    codes = {one.code for one in trial_findings(seen.measured, seen.summary, seen.target)}
    assert "burst-ended" in codes
    empty = replace(
        seen.measured, context={**seen.measured.context, "extents": {"written_share": 0.0, "hole_bytes": 1}}
    )
    codes = {one.code for one in trial_findings(empty, seen.summary, seen.target)}
    assert "unwritten-range" in codes
    assert not codes & VOLUME_CODES


@pytest.mark.parametrize(
    "seen",
    [
        reads_at(*BURST, on=target()),
        reads_at(*BURST, on=LOOP),
        reads_at(*BURST, operation="write"),
        reads_at(*repeat(3000.0, 30)),
        reads_at(*np.geomspace(3000, 300, 30)),
        reads_at(*repeat(3000.0, 8), *(300.0 * factor for factor in (0.2, 1.8) for _ in range(11))),
        reads_at(*reversed(BURST)),
    ],
    ids=["a real drive", "a loop device", "writes", "no fall", "falls slowly", "not constant after it", "rises"],
)
def test_it_is_told_of_nothing_else(seen: TrialEvidence) -> None:
    assert burst_ended.find(seen) == []


def test_beside_others_it_is_told_of_a_model_only() -> None:
    others = {"count": 2, "busy": 1.9, "own": 0.2, "kernel_threads": 0.0, "duration_ns": 10**10}
    seen = reads_at(*BURST)
    busy = replace(seen, measured=replace(seen.measured, context={**seen.measured.context, "processors": others}))
    assert burst_ended.find(busy) == []
    idle = {**others, "busy": 0.2}
    quiet = replace(seen, measured=replace(seen.measured, context={**seen.measured.context, "processors": idle}))
    assert len(burst_ended.find(quiet)) == 1


@pytest.mark.parametrize(("others", "count"), [(0, 1), (200, 1), (200_000, 0)])
def test_where_another_program_began_to_write_nothing_is_said_of_a_limit(others: int, count: int) -> None:
    """Two thousand pages of a journal halve no rate; seven times the trial's own bytes do."""
    asked = reads_at(*BURST)
    reads = round(sum(BURST))
    seen = replace(asked, measured=replace(asked.measured, devices=(counted(reads=reads, writes=others),)))
    assert len(burst_ended.find(seen)) == count


def reads_of(model: SimulatedModel, seed: int) -> TrialEvidence:
    """Five seconds of small reads of a simulated drive."""
    return evidence(*read_for(model, seed, 5.0))


@pytest.mark.parametrize("seed", [0, 3, 10, 17])
def test_a_bucket_that_empties_in_time_is_found(seed: int) -> None:
    model = limited("I/Os", seed)
    assert model.io_limit is not None
    (found,) = burst_ended.find(reads_of(model, seed))
    assert found.evidence["base_per_s"] == pytest.approx(model.io_limit.rate, rel=0.05)


def test_drives_without_a_bucket_have_none() -> None:
    # every third becomes hot and cold again; when that begins once, it looks alike
    seeds = [seed for seed in range(30) if seed % 3 != 2]
    assert [seed for seed in seeds if burst_ended.find(reads_of(unlimited(seed), seed))] == []
