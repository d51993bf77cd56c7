"""Findings about writes that were to be durable: each when it must, and not when it must not."""

from __future__ import annotations

import pytest
from simulated_trials import (
    counted,
    drive,
    durable_values,
    durable_workload,
    evidence,
    filesystem,
    latencies,
    measured,
    target,
    workload,
)

from drivelab.analyse.findings import (
    flush_count_unexpected,
    flushes_missing,
    latency_implausible,
    no_flush_sent,
)
from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.drive import WriteCacheFacts
from drivelab.model.measurement import Measurement
from drivelab.model.target import TargetFacts
from drivelab.model.workload import Durability

OPERATIONS = 1000
WRITE_THROUGH = WriteCacheFacts(None, "", "write through", False)
WITH_FUA = WriteCacheFacts(True, "nvme", "write back", True)


def durable_trial(
    flushes_per_operation: float,
    method: str = "fdatasync",
    median_ns: float = 500_000.0,
    traced: dict[str, float] | None = None,
    **changes: object,
) -> Measurement:
    counts = counted(writes=3 * OPERATIONS, flushes=round(flushes_per_operation * OPERATIONS))
    asked = durable_workload(method, **changes)
    context = {"command_counts": traced}
    return measured(asked, durable_values(OPERATIONS, median_ns), devices=[counts], context=context)


def with_cache(cache: WriteCacheFacts, kind: str = "ext4") -> TargetFacts:
    return target(filesystem(kind), [drive(write_cache=cache)])


def traced(fua: float, flushes: float) -> dict[str, float]:
    return {
        "operations": 200,
        "data_writes_per_operation": 3.0,
        "metadata_writes_per_operation": 2.0,
        "fua_writes_per_operation": fua,
        "flushes_per_operation": flushes,
        "flushes_per_operation_timed": flushes,
    }


class TestFlushesMissing:
    def test_a_volatile_cache_that_is_not_flushed_is_an_alarm(self) -> None:
        (found,) = flushes_missing.find(evidence(durable_trial(0.1)))
        assert found.severity == "invalid"
        assert found.evidence["durable_commands_per_operation"] == pytest.approx(0.1)

    @pytest.mark.parametrize("flushes", [1.0, 2.0])
    def test_one_flush_for_each_is_enough(self, flushes: float) -> None:
        assert flushes_missing.find(evidence(durable_trial(flushes))) == []

    def test_a_write_through_drive_needs_none(self) -> None:
        assert flushes_missing.find(evidence(durable_trial(0), with_cache(WRITE_THROUGH))) == []

    def test_a_fua_write_is_as_good_as_a_flush(self) -> None:
        trial = durable_trial(0, "o_dsync", traced=traced(fua=1.0, flushes=0.0))
        assert flushes_missing.find(evidence(trial, with_cache(WITH_FUA))) == []
        lost = durable_trial(0, "o_dsync", traced=traced(fua=0.1, flushes=0.0))
        assert flushes_missing.find(evidence(lost, with_cache(WITH_FUA)))[0].severity == "invalid"

    def test_without_a_trace_fua_writes_cannot_be_seen(self) -> None:
        assert flushes_missing.find(evidence(durable_trial(0, "o_dsync"), with_cache(WITH_FUA))) == []

    def test_flushes_of_many_threads_merge(self) -> None:
        assert flushes_missing.find(evidence(durable_trial(0.3, job_count=8))) == []
        assert flushes_missing.find(evidence(durable_trial(0.0, job_count=8)))[0].severity == "invalid"

    def test_a_sync_call_for_several_writes_counts_once(self) -> None:
        trial = durable_trial(1.0, durability=Durability(method="fdatasync", every_writes=10))
        trial.engine["all_phases"]["write"]["count"] = 10 * OPERATIONS
        assert flushes_missing.find(evidence(trial)) == []

    def test_sync_file_range_is_never_durable(self) -> None:
        trial = measured(durable_workload("sync_file_range"), {"write": latencies()})
        assert "not durable" in flushes_missing.find(evidence(trial))[0].text

    def test_plain_writes_need_no_flush(self) -> None:
        trial = measured(workload("write"), {"write": latencies()}, devices=[counted(writes=2000)])
        assert flushes_missing.find(evidence(trial)) == []


class TestNoFlushSent:
    def test_a_latency_without_a_flush_says_so(self) -> None:
        (found,) = no_flush_sent.find(evidence(durable_trial(0), with_cache(WRITE_THROUGH)))
        assert found.severity == "note"
        assert "contains no flush" in found.text

    @pytest.mark.parametrize(("view", "words"), [(False, "says the same"), (True, "says that its cache is on")])
    def test_the_drives_own_view_is_told(self, view: bool, words: str) -> None:
        cache = WriteCacheFacts(view, "hdparm", "write through", False)
        assert words in no_flush_sent.find(evidence(durable_trial(0), with_cache(cache)))[0].text

    def test_a_flushed_drive_says_nothing(self) -> None:
        assert no_flush_sent.find(evidence(durable_trial(2))) == []
        assert no_flush_sent.find(evidence(measured(), with_cache(WRITE_THROUGH))) == []


class TestFlushCountUnexpected:
    def test_an_extra_layer_shows_in_the_flushes(self) -> None:
        (found,) = flush_count_unexpected.find(evidence(durable_trial(4)))
        assert "4.00 flushes instead of 1 to 2" in found.text

    @pytest.mark.parametrize("flushes", [1.0, 1.4, 2.0, 2.03])
    def test_what_ext4_sends_is_expected(self, flushes: float) -> None:
        assert flush_count_unexpected.find(evidence(durable_trial(flushes))) == []

    def test_fua_writes_are_compared_where_they_were_traced(self) -> None:
        trial = durable_trial(1, traced=traced(fua=0.0, flushes=1.0))
        found = flush_count_unexpected.find(evidence(trial, with_cache(WITH_FUA, "xfs")))
        assert "0.00 fua writes instead of 1" in found[0].text

    def test_an_unknown_file_system_is_not_judged(self) -> None:
        assert flush_count_unexpected.find(evidence(durable_trial(9), target(filesystem("f2fs")))) == []


class TestLatencyImplausible:
    def judged(self, median_ns: float, **changes: object) -> list[object]:
        given: TrialEvidence = evidence(durable_trial(2, median_ns=median_ns), target(filesystem(), [drive(**changes)]))
        return list(latency_implausible.find(given))

    def test_flash_is_not_programmed_in_fifty_microseconds(self) -> None:
        assert len(self.judged(50_000)) == 1

    def test_a_slow_median_is_plausible(self) -> None:
        assert self.judged(400_000) == []

    def test_a_platter_needs_a_turn(self) -> None:
        assert len(self.judged(400_000, is_rotational=True)) == 1
        assert self.judged(8_000_000, is_rotational=True) == []

    def test_a_virtual_drive_is_another_matter(self) -> None:
        assert self.judged(50_000, virtual="loop device") == []

    def test_an_nvme_drive_without_a_volatile_cache_protects_its_memory(self) -> None:
        protected = WriteCacheFacts(False, "nvme", "write through", True)
        assert self.judged(20_000, transport="nvme", write_cache=protected) == []

    def test_a_sata_drive_with_its_cache_off_is_still_too_fast(self) -> None:
        off = WriteCacheFacts(False, "hdparm", "write through", False)
        assert len(self.judged(48_000, write_cache=off)) == 1
