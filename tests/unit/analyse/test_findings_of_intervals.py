"""Findings about what intervals know: a level that moved within the window, and what is slower than all windows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from simulated_trials import evidence, latencies, measured

from drivelab.analyse.findings import interval_reach, level_moves, not_measured, run_findings
from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.run_evidence import RunEvidence
from drivelab.analyse.summary import summarise


def trial(levels: NDArray[np.float64]) -> TrialEvidence:
    """40 intervals of 500 reads with these levels."""
    values = np.round(latencies(20_000) * np.repeat(levels, 20_000 // levels.shape[0]))
    return evidence(measured(values={"read": values}, intervals=40))


class TestLevelMoves:
    def test_a_level_that_falls_once_is_told_with_its_size(self) -> None:
        (found,) = level_moves.find(trial(np.array([2.1, 1.0])))
        assert (found.code, found.severity) == ("level-moves", "note")
        assert found.text.startswith("level moves: x2.")
        assert 1.9 < found.evidence["highest_over_lowest_ratio"] < 2.4

    def test_a_steady_one_says_nothing(self) -> None:
        assert level_moves.find(trial(np.ones(1))) == []

    def test_what_moves_fast_is_no_moving_level(self) -> None:
        assert level_moves.find(trial(np.tile([2.0, 1.0], 5000))) == []

    def test_a_level_that_goes_there_and_back_and_there_again_is_told(self) -> None:
        (found,) = level_moves.find(trial(np.array([1.0, 2.0, 1.0, 2.0])))
        assert found.evidence["highest_over_lowest_ratio"] > 1.9

    def test_a_level_that_jumps_all_the_time_is_told_once_in_fifty_at_most(self) -> None:
        told = 0
        for seed in range(60):
            random = np.random.default_rng(seed)
            jumps = np.sort(random.choice(1000, int(random.integers(20, 60)), replace=False))
            is_slow = np.searchsorted(jumps, np.arange(1000), side="right") % 2
            told += len(level_moves.find(trial(2.0**is_slow)))
        assert told <= 1

    def test_a_movement_that_matters_to_nobody_is_not_told(self) -> None:
        assert level_moves.find(trial(np.array([1.03, 1.0]))) == []


class TestIntervalReach:
    def test_it_is_said_once_what_is_slower_than_all_windows(self) -> None:
        run = RunEvidence()
        for number in range(3):
            run.add(f"trial-{number}", window_ns=2_000_000_000 + number)
        (found,) = interval_reach.find_in_run(run)
        assert found.text == "window 2 s: nothing slower than 200 ms is in the intervals"
        assert (found.trial, found.severity) == ("", "note")
        assert found.evidence["slowest_in_intervals_ns"] == 200_000_000

    def test_windows_of_several_lengths_have_a_range(self) -> None:
        run = RunEvidence()
        run.add("short", window_ns=400_000_000)
        run.add("long", window_ns=5_012_345_678)
        # the passes that only look for compression publish no latency
        run.add("compression-zeros-1", window_ns=150_000_000)
        (found,) = interval_reach.find_in_run(run)
        assert found.text == "window 400 ms to 5 s: nothing slower than 40 ms to 500 ms is in the intervals"

    def test_a_run_without_a_window_says_nothing(self) -> None:
        assert interval_reach.find_in_run(RunEvidence()) == []

    def test_it_stands_once_among_the_findings_of_a_run(self) -> None:
        made = [summarise(measured(values={"read": latencies(9000)})) for _ in range(2)]
        found = run_findings(RunEvidence.of(made, [10**9] * 2))
        assert [one.code for one in found].count("interval-reach") == 1


class TestNotMeasured:
    MISSING = "filesystem xfs for scratch-1GiB: mkfs.xfs is not installed: apt-get install xfsprogs"

    def test_what_a_missing_program_would_have_measured_is_said(self) -> None:
        left_out = ["write-cache on, off for scratch-1GiB: a loop device has none of its own", self.MISSING]
        found = run_findings(RunEvidence(left_out))
        assert [(one.code, one.severity, one.text) for one in found] == [
            ("not-measured", "warning", f"not measured: {self.MISSING}"),
            ("not-measured", "note", f"not measured: {left_out[0]}"),
        ]

    def test_what_a_target_cannot_have_is_one_note(self) -> None:
        left_out = ["trim device on data: a file cannot be trimmed", "apm 1 on data: a file has none"]
        (found,) = not_measured.find_in_run(RunEvidence(left_out))
        assert (found.severity, found.text) == ("note", f"not measured: {'; '.join(left_out)}")
        assert not_measured.find_in_run(RunEvidence()) == []
