"""Findings about I/O that failed, was not issued, fell short or came late: each when it must, and only then."""

from __future__ import annotations

import numpy as np
from simulated_trials import evidence, latencies, measured, workload

from drivelab.analyse.findings import abandoned_io, arrivals_missed, operations_failed, short_operations, stall_at_end
from drivelab.model.workload import Limits


class TestOperationsFailed:
    def test_errors_are_told(self) -> None:
        error = {"operation": "read", "errno": 5, "name": "EIO", "count": 1, "first_offset_bytes": 8192}
        (found,) = operations_failed.find(evidence(measured(errors=[error])))
        assert found.severity == "warning"
        assert "EIO" in found.text

    def test_success_is_not(self) -> None:
        assert operations_failed.find(evidence(measured())) == []


class TestAbandonedIo:
    def test_jobs_that_never_came_back_make_the_numbers_invalid(self) -> None:
        (found,) = abandoned_io.find(evidence(measured(abandoned_jobs=2)))
        assert (found.severity, found.evidence) == ("invalid", {"abandoned_jobs": 2})

    def test_jobs_that_all_came_back_do_not(self) -> None:
        assert abandoned_io.find(evidence(measured(abandoned_jobs=0))) == []
        assert abandoned_io.find(evidence(measured())) == []


class TestArrivalsMissed:
    def test_arrivals_that_were_never_issued_are_told(self) -> None:
        arrivals = {"scheduled": 2500, "issued": 2000, "late": 30, "missed": 500}
        (found,) = arrivals_missed.find(evidence(measured(arrivals=arrivals)))
        assert found.severity == "warning"
        assert "500 of 2500 arrivals were never issued" in found.text
        assert "lower bounds" in found.text

    def test_a_schedule_that_was_kept_is_not(self) -> None:
        kept = {"scheduled": 2000, "issued": 2000, "late": 30, "missed": 0}
        assert arrivals_missed.find(evidence(measured(arrivals=kept))) == []
        assert arrivals_missed.find(evidence(measured(arrivals=None))) == []


class TestShortOperations:
    def operations(self, short: int) -> dict[str, object]:
        return {"write": {"count": 2000, "bytes": 2000 * 4096 - short, "errors": 0, "short": short}}

    def test_writes_that_moved_less_are_told(self) -> None:
        trial = measured(workload("write"), {"write": latencies()}, operations=self.operations(3))
        (found,) = short_operations.find(evidence(trial))
        assert found.severity == "warning"
        assert "3 of 2000 write operations" in found.text

    def test_writes_that_moved_everything_are_not(self) -> None:
        trial = measured(workload("write"), {"write": latencies()}, operations=self.operations(0))
        assert short_operations.find(evidence(trial)) == []


class TestStallAtEnd:
    timed = workload(limits=Limits(runtime_ns=2_000_000_000))

    def test_an_io_that_outlasted_the_window_is_told(self) -> None:
        values = np.append(latencies(1999), 3e9)
        (found,) = stall_at_end.find(evidence(measured(self.timed, {"read": values}, measured_ns=4_500_000_000)))
        assert found.severity == "warning"
        assert found.evidence["waited_after_end_ns"] == 2_500_000_000
        assert found.evidence["total_latency_ns_p99_of_others"] < 2_000_000
        assert "2.5 s" in found.text

    def test_the_drain_counts_too(self) -> None:
        assert stall_at_end.find(evidence(measured(drain_ns=1_500_000_000, stopped_by="count")))

    def test_the_stalled_io_does_not_hide_itself_among_few(self) -> None:
        values = np.append(latencies(20), 3e9)
        assert stall_at_end.find(evidence(measured(self.timed, {"read": values}, measured_ns=5_000_000_000)))

    def test_a_usual_wait_is_not(self) -> None:
        assert stall_at_end.find(evidence(measured(self.timed, measured_ns=2_000_600_000))) == []
        slow = {"read": latencies(2000, 400_000_000.0)}
        assert stall_at_end.find(evidence(measured(self.timed, slow, measured_ns=3_500_000_000))) == []

    def test_a_window_without_a_runtime_may_be_long(self) -> None:
        assert stall_at_end.find(evidence(measured(measured_ns=60_000_000_000, stopped_by="count"))) == []

    def test_a_trial_that_rests_to_watch_a_burst_has_no_end_by_the_clock(self) -> None:
        watching = self.timed.model_copy(update={"watches_burst": True})
        assert stall_at_end.find(evidence(measured(watching, measured_ns=9_000_000_000))) == []
        assert stall_at_end.find(evidence(measured(watching, measured_ns=9_000_000_000, drain_ns=1_500_000_000)))
