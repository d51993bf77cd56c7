"""Findings about I/O that did not do what was asked: each when it must, and not when it must not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_trials import (
    counted,
    drive,
    evidence,
    filesystem,
    latencies,
    measured,
    target,
    workload,
)

from drivelab.analyse.findings import (
    compressible_content,
    direct_quietly_buffered,
    drift,
    foreign_work,
    generator_saturated,
    host_cache_answered,
    merged_requests,
    page_cache_answered,
    queue_depth_not_reached,
    short_measurement,
    too_little_data,
    unwritten_range,
)
from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.run_evidence import RunEvidence
from drivelab.analyse.summary import summarise
from drivelab.model.contents import Contents
from drivelab.model.drive import LinkFacts
from drivelab.model.estimate import Estimate
from drivelab.model.finding import USE_DIRECT_IO
from drivelab.model.target import BlockLayer
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.workload import BlockSizeShare, Pacing
from drivelab.simulated.load import load_model

READS = [counted(reads=2000)]
NULL_BACKEND = {"name": "null", "reason": ""}


class TestPageCacheAnswered:
    def test_bytes_that_the_drive_never_saw_make_reads_invalid(self) -> None:
        (found,) = page_cache_answered.find(evidence(measured(devices=[counted(reads=1900)])))
        assert found.severity == "invalid"
        assert found.evidence["device_share"] == pytest.approx(0.95)

    def test_buffered_writes_that_stayed_in_memory_are_invalid(self) -> None:
        trial = measured(workload("write", direct=False), {"write": latencies()}, devices=[counted(writes=100)])
        (found,) = page_cache_answered.find(evidence(trial))
        assert "writes" in found.text
        assert found.advice == USE_DIRECT_IO

    def test_few_bytes_that_the_drive_never_saw_are_told_too(self) -> None:
        trial = measured(values={"read": latencies(10)}, devices=[counted(reads=0)])
        assert page_cache_answered.find(evidence(trial))[0].severity == "invalid"
        # a page or two of metadata decide nothing
        assert (
            page_cache_answered.find(evidence(measured(values={"read": latencies(10)}, devices=[counted(reads=9)])))
            == []
        )

    def test_a_drive_that_saw_every_byte_is_believed(self) -> None:
        assert page_cache_answered.find(evidence(measured(devices=READS))) == []

    def test_more_than_the_link_carries_came_from_somewhere_else(self) -> None:
        trial = measured(values={"read": latencies(200_000, 9_000)}, devices=[counted(reads=200_000)])
        slow_link = drive(link=LinkFacts("usb", 480_000_000))
        (found,) = page_cache_answered.find(evidence(trial, target(filesystem(), [slow_link])))
        assert found.evidence["link_ceiling_bytes_per_s"] == 60_000_000
        assert page_cache_answered.find(evidence(trial)) == []

    def test_without_counters_resident_pages_decide(self) -> None:
        cached = {"page_cache": {"resident_bytes_before": 1 << 20, "range_bytes": 8 << 20}}
        assert page_cache_answered.find(evidence(measured(context=cached)))[0].severity == "invalid"
        cold = {"page_cache": {"resident_bytes_before": 4096, "range_bytes": 8 << 20}}
        assert page_cache_answered.find(evidence(measured(context=cold))) == []

    def test_the_null_backend_has_no_drive_to_answer(self) -> None:
        assert page_cache_answered.find(evidence(measured(devices=[counted()], backend=NULL_BACKEND))) == []


class TestHostCacheAnswered:
    def trial(self, drive_reads: int, backing: str = "/images/a.img", operation: str = "read") -> TrialEvidence:
        loop = BlockLayer(
            "loop4", "/dev/loop4", "7:4", "loop", 10**9, 0, 512, 512, None, None, False, False, None, backing
        )
        moved = {f"{operation}s": 2000}
        devices = [counted(**{f"{operation}s": drive_reads}), replace(counted(**moved), device="loop4")]
        made = measured(
            workload(operation), {operation: latencies()}, devices=devices, context={"counted_device": "loop4"}
        )
        return evidence(made, replace(target(), devices=(loop,)))

    def test_reads_that_never_reached_the_drive_beneath_a_loop_device_are_invalid(self) -> None:
        assert page_cache_answered.find(self.trial(2)) == []
        (found,) = host_cache_answered.find(self.trial(2))
        assert found.severity == "invalid"
        assert "the page cache answered" in found.text
        assert host_cache_answered.find(self.trial(2000)) == []

    def test_a_scratch_drive_is_about_the_loop_device_and_only_warned_of(self) -> None:
        assert host_cache_answered.find(self.trial(2, "/tmp/drivelab-scratch-1-ab.img"))[0].severity == "warning"

    def test_writes_that_stayed_in_memory_are_invalid_too(self) -> None:
        assert host_cache_answered.find(self.trial(2, operation="write"))[0].severity == "invalid"


class TestDirectQuietlyBuffered:
    def cache(self, before: int, after: int) -> dict[str, object]:
        return {"page_cache": {"resident_bytes_before": before, "resident_bytes_after": after, "range_bytes": 8 << 20}}

    def test_pages_left_by_direct_io_make_it_invalid(self) -> None:
        (found,) = direct_quietly_buffered.find(evidence(measured(context=self.cache(0, 8 << 20))))
        assert found.severity == "invalid"

    def test_pages_that_were_there_before_are_no_sign(self) -> None:
        assert direct_quietly_buffered.find(evidence(measured(context=self.cache(8 << 20, 8 << 20)))) == []
        assert direct_quietly_buffered.find(evidence(measured(context=self.cache(0, 4096)))) == []

    def test_pages_of_a_drive_that_others_read_meanwhile_are_no_sign(self) -> None:
        cache = self.cache(0, 28 * 4096)
        read, unread = (
            measured(
                workload("write"), {"write": latencies()}, devices=[counted(writes=2000, reads=reads)], context=cache
            )
            for reads in (28, 0)
        )
        assert direct_quietly_buffered.find(evidence(read, target())) == []
        assert direct_quietly_buffered.find(evidence(unread, target()))
        # of a file they are its own
        assert direct_quietly_buffered.find(evidence(read, target(filesystem())))

    def test_buffered_io_may_leave_pages(self) -> None:
        trial = measured(workload(direct=False), context=self.cache(0, 8 << 20))
        assert direct_quietly_buffered.find(evidence(trial)) == []

    def test_a_refusal_is_told(self) -> None:
        refused = measured(workload(direct=False), context={"direct_reason": "tmpfs has no direct I/O"})
        assert "tmpfs" in direct_quietly_buffered.find(evidence(refused))[0].text
        by_engine = measured(achieved={"direct": False, "direct_note": "EINVAL", "job_count": 1})
        assert "EINVAL" in direct_quietly_buffered.find(evidence(by_engine))[0].text
        assert direct_quietly_buffered.find(evidence(measured())) == []


class TestUnwrittenRange:
    def extents(self, share: float) -> dict[str, object]:
        return {"extents": {"written_share": share, "unwritten_bytes": 4096, "hole_bytes": 0}}

    def test_reads_of_reserved_space_are_invalid(self) -> None:
        (found,) = unwritten_range.find(evidence(measured(context=self.extents(0.5))))
        assert found.severity == "invalid"
        assert "4 KiB reserved, never written" in found.text

    def test_a_small_hole_is_a_warning(self) -> None:
        assert unwritten_range.find(evidence(measured(context=self.extents(0.99))))[0].severity == "warning"

    def test_a_range_that_was_written_is_fine(self) -> None:
        assert unwritten_range.find(evidence(measured(context=self.extents(1.0)))) == []

    def test_without_a_map_reads_that_the_drive_never_saw_tell(self) -> None:
        (found,) = unwritten_range.find(evidence(measured(devices=[counted(reads=1000)])))
        assert found.evidence["device_reads_per_operation"] == pytest.approx(0.5)
        assert unwritten_range.find(evidence(measured(devices=READS))) == []

    def test_reads_of_a_trimmed_device_are_invalid_until_it_is_written(self) -> None:
        trim = {"trim": {"kind": "device", "discarded_bytes": 1 << 30}}
        (found,) = unwritten_range.find(evidence(measured(devices=READS, context=trim), target()))
        assert (found.severity, found.evidence["discarded_bytes"]) == ("invalid", 1 << 30)
        assert "precondition" in found.advice
        written = trim | {"precondition": {"kind": "sequential", "bytes_written": 1 << 30}}
        assert unwritten_range.find(evidence(measured(devices=READS, context=written), target())) == []
        # its file was written after the trim
        assert unwritten_range.find(evidence(measured(devices=READS, context=trim))) == []
        writes = measured(workload("write"), {"write": latencies()}, context=trim)
        assert unwritten_range.find(evidence(writes, target())) == []
        free_space = {"trim": {"kind": "fstrim", "trimmed_bytes": 1 << 30}}
        assert unwritten_range.find(evidence(measured(devices=READS, context=free_space), target())) == []

    def test_writes_may_go_anywhere(self) -> None:
        trial = measured(workload("write"), {"write": latencies()}, context=self.extents(0.0))
        assert unwritten_range.find(evidence(trial)) == []


class TestTooLittleData:
    def test_a_quantile_that_has_only_a_bound_is_named(self) -> None:
        (found,) = too_little_data.find(evidence(measured(values={"read": latencies(500)})))
        assert "p99.9 of 500" in found.text
        assert "5000 operations" in found.text
        assert found.evidence["operations_beyond"] == pytest.approx(0.5)

    def test_enough_operations_say_nothing(self) -> None:
        assert too_little_data.find(evidence(measured(values={"read": latencies(9000)}))) == []

    def test_operations_in_phases_make_intervals_wide_and_take_no_end_away(self) -> None:
        phases = latencies(9000) * np.repeat(np.exp(np.random.default_rng(4).normal(0, 1, 90)), 100)
        given = evidence(measured(values={"read": np.round(phases)}, intervals=90))
        assert too_little_data.find(given) == []
        assert given.summary.estimates["total_latency_ns_p999"].high is not None


class TestGeneratorSaturated:
    def test_a_busy_thread_is_the_limit(self) -> None:
        busy = measured(cpu={"user_ns": 1_000_000_000, "system_ns": 990_000_000})
        assert generator_saturated.find(evidence(busy))[0].evidence["busy_share"] == pytest.approx(0.995)

    def test_a_waiting_thread_is_not(self) -> None:
        assert generator_saturated.find(evidence(measured())) == []

    def test_whoever_polls_is_busy_by_design(self) -> None:
        busy = measured(workload(polled_completion=True), cpu={"user_ns": 2_000_000_000, "system_ns": 0})
        assert generator_saturated.find(evidence(busy)) == []

    def test_an_open_loop_in_time_spins_by_design(self) -> None:
        busy = {"user_ns": 1_000_000_000, "system_ns": 0, "total_ns": 2_000_000_000}
        in_time = {"scheduled": 2000, "issued": 2000, "late": 3, "missed": 0}
        assert generator_saturated.find(evidence(measured(cpu=busy, arrivals=in_time))) == []
        for trouble in ({"missed": 1}, {"late": 500}):
            assert generator_saturated.find(evidence(measured(cpu=busy, arrivals=in_time | trouble)))


class TestQueueDepthNotReached:
    def test_a_shallow_queue_is_told_with_its_cause(self) -> None:
        shallow = {"queue_depth_mean": 1.0, "direct": True, "job_count": 1}
        for backend, words in (("sync", "one at a time"), ("uring", "submitting")):
            trial = measured(workload(queue_depth=32, backend=backend), achieved=shallow)
            assert words in queue_depth_not_reached.find(evidence(trial))[0].text
        buffered = measured(workload(queue_depth=32, direct=False), achieved=shallow | {"direct": False})
        assert "buffered" in queue_depth_not_reached.find(evidence(buffered))[0].text

    def test_a_model_takes_no_time_to_submit(self) -> None:
        shallow = {"queue_depth_mean": 27.6, "direct": True, "job_count": 1}
        trial = evidence(measured(workload(queue_depth=32, backend="uring"), achieved=shallow))
        of_model = replace(trial, target=replace(target(), simulated=load_model("consumer-ssd")))
        (found,) = queue_depth_not_reached.find(of_model)
        assert found.text.endswith("much of the time the queue filled or emptied; measure for longer")

    def test_a_trial_of_a_few_turns_only_filled_and_emptied_its_queue(self) -> None:
        shallow = {"queue_depth_mean": 10.0, "direct": True, "job_count": 1}
        trial = measured(workload(queue_depth=32), {"read": latencies(100, 300e6)}, achieved=shallow)
        (found,) = queue_depth_not_reached.find(evidence(trial))
        assert "much of the time the queue filled or emptied; measure for longer" in found.text

    def test_a_full_queue_says_nothing(self) -> None:
        assert queue_depth_not_reached.find(evidence(measured(workload(queue_depth=32)))) == []

    def test_an_open_loop_need_not_fill_it(self) -> None:
        trial = measured(
            workload(queue_depth=32, pacing=Pacing(kind="poisson", rate_per_s=100)),
            achieved={"queue_depth_mean": 1.0, "direct": True, "job_count": 1},
        )
        assert queue_depth_not_reached.find(evidence(trial)) == []


class TestDrift:
    def test_a_trial_that_got_slower_is_told(self) -> None:
        values = np.round(latencies(2000) * np.linspace(1, 2, 2000))
        (found,) = drift.find(evidence(measured(values={"read": values})))
        assert "rose from" in found.text
        assert found.evidence["last_over_first_ratio"] == pytest.approx(2, rel=0.1)
        assert found.evidence["last_over_first_ratio_low"] < 2 < found.evidence["last_over_first_ratio_high"]

    def test_a_steady_trial_is_not(self) -> None:
        assert drift.find(evidence(measured())) == []

    def test_false_alarms_are_rare(self) -> None:
        alarms = sum(bool(drift.find(evidence(measured(values={"read": latencies(600, seed=s)})))) for s in range(100))
        assert alarms <= 2

    def test_few_intervals_cannot_tell(self) -> None:
        values = np.round(latencies(2000) * np.linspace(1, 2, 2000))
        assert drift.find(evidence(measured(values={"read": values}, intervals=9))) == []


class TestMergedRequests:
    def test_merged_random_io_was_not_random(self) -> None:
        (found,) = merged_requests.find(evidence(measured(devices=[counted(reads=1900, read_merges=100)])))
        assert found.evidence["merged_share"] == pytest.approx(0.05)

    def test_a_few_merges_happen(self) -> None:
        assert merged_requests.find(evidence(measured(devices=[counted(reads=1990, read_merges=10)]))) == []

    def test_merges_among_the_work_of_others_are_not_ours(self) -> None:
        assert merged_requests.find(evidence(measured(devices=[counted(reads=2200, read_merges=100)]))) == []

    def large(self, **counts: int) -> TrialEvidence:
        """8 MiB reads, which come to the drive as requests of 1 MiB."""
        block = 8 << 20
        asked = workload(block_sizes=(BlockSizeShare(bytes=block),))
        return evidence(measured(asked, {"read": latencies(300)}, devices=[counted(block=block >> 3, **counts)]))

    def test_pieces_of_one_large_io_may_be_merged_with_each_other(self) -> None:
        assert merged_requests.find(self.large(reads=2400, read_merges=2760)) == []
        assert merged_requests.find(self.large(reads=250, read_merges=50)) == []

    def test_merges_that_leave_a_request_for_every_io_are_not_among_them(self) -> None:
        """Pieces of one I/O, or a journal's blocks."""
        assert merged_requests.find(evidence(measured(devices=[counted(reads=2000, read_merges=1500)]))) == []

    def test_flushes_are_no_requests_with_data(self) -> None:
        trial = measured(
            workload("write"), {"write": latencies()}, devices=[counted(writes=2000, low=1800, write_merges=200)]
        )
        assert merged_requests.find(evidence(trial))[0].evidence["device_requests"] == 1800

    def test_sequential_io_may_be_merged(self) -> None:
        for access in (
            {"kind": "sequential"},
            {"kind": "random", "random_fraction": 0.1},
            {"kind": "zipf", "run_blocks": 8},
        ):
            trial = measured(workload(access=access), devices=[counted(reads=100, read_merges=1900)])
            assert merged_requests.find(evidence(trial)) == []


class TestShortMeasurement:
    @pytest.mark.parametrize(("window_ns", "severity"), [(50_000_000, "warning"), (500_000_000, "note")])
    def test_a_short_window_is_told(self, window_ns: int, severity: str) -> None:
        trial = measured(intervals=-(-window_ns // 100_000_000), measured_ns=window_ns)
        assert short_measurement.find(evidence(trial))[0].severity == severity

    def test_of_an_explained_trial_it_is_no_alarm(self) -> None:
        trial = measured(intervals=1, measured_ns=50_000_000)
        explained = replace(trial, context=trial.context | {"trace": {"lost_events": 0}})
        assert [one.severity for one in short_measurement.find(evidence(explained))] == ["note"]

    def test_two_seconds_are_long_enough(self) -> None:
        assert short_measurement.find(evidence(measured())) == []


class TestCompressibleContent:
    def test_zeros_are_told(self) -> None:
        trial = measured(workload("write", contents=Contents(kind="zeros")), {"write": latencies()})
        assert "zeros" in compressible_content.find(evidence(trial))[0].text
        assert compressible_content.find(evidence(replace(trial, name="compression-zeros-1"))) == []

    def test_random_data_are_not(self) -> None:
        assert compressible_content.find(evidence(measured(workload("write"), {"write": latencies()}))) == []

    def probe(self, rates: dict[str, float], spread: float = 0.05) -> list[TrialSummary]:
        def rate(value: float) -> Estimate:
            return Estimate(value, value * (1 - spread), value * (1 + spread), "B/s", 4, 4.0, "")

        return [
            TrialSummary(name, name, "write", {"throughput_bytes_per_s": rate(value)}) for name, value in rates.items()
        ]

    def test_the_probe_finds_a_drive_that_compresses(self) -> None:
        rates = {
            "compression-random-1": 200e6,
            "compression-zeros-1": 300e6,
            "compression-zeros-2": 310e6,
            "compression-random-2": 205e6,
        }
        (found,) = compressible_content.find_in_run(RunEvidence.of(self.probe(rates)))
        assert found.evidence["zeros_over_random_ratio"] == pytest.approx(1.506, abs=0.01)

    def test_the_probe_is_not_fooled_by_noise(self) -> None:
        rates = {
            "compression-random-1": 200e6,
            "compression-zeros-1": 230e6,
            "compression-zeros-2": 235e6,
            "compression-random-2": 205e6,
        }
        assert compressible_content.find_in_run(RunEvidence.of(self.probe(rates, spread=0.3))) == []
        assert len(compressible_content.find_in_run(RunEvidence.of(self.probe(rates, spread=0.03)))) == 1

    def test_the_probe_is_not_fooled_by_drift(self) -> None:
        rates = {
            "compression-random-1": 300e6,
            "compression-zeros-1": 270e6,
            "compression-zeros-2": 240e6,
            "compression-random-2": 210e6,
        }
        assert compressible_content.find_in_run(RunEvidence.of(self.probe(rates))) == []
        assert compressible_content.find_in_run(RunEvidence()) == []


def test_a_null_trial_has_no_findings_about_a_drive() -> None:
    trial = measured(workload(queue_depth=32), backend=NULL_BACKEND, measured_ns=50_000_000)
    given = evidence(trial)
    for kind in (direct_quietly_buffered, unwritten_range, foreign_work, short_measurement, merged_requests):
        assert kind.find(given) == []
    assert summarise(trial).estimates["iops"].value is not None
