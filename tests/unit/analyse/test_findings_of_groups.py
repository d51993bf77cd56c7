"""Trials that ran beside others say so, and what cannot be told of them alone."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from simulated_trials import counted, durable_workload, evidence, latencies, measured, workload

from drivelab.analyse.findings import ran_together, trial_findings
from drivelab.model.finding import USE_DIRECT_IO
from drivelab.model.measurement import Measurement

MIB = 2**20


def beside(
    trial: Measurement, *, overlap_share: float = 1.0, seen_bytes: int = 0, issued_bytes: int = 0
) -> Measurement:
    """The trial as if another one had run at the same time, on the same drive."""
    shared = asdict(counted(reads=1)) | {"bytes_read": seen_bytes, "bytes_written": seen_bytes}
    counts = {"count": 10, "bytes": issued_bytes}
    together: dict[str, Any] = {
        "with": [{"trial": "0002-w-r1", "title": "w", "start_offset_ns": -1500, "overlap_share": overlap_share}],
        "overlap_share": overlap_share,
        "shared_devices": [shared] if issued_bytes else [],
        "issued": {shared["device"]: {"read": counts, "write": counts}} if issued_bytes else {},
    }
    trial.context.update({"together": together, "counted_device": shared["device"]})
    return trial


def test_a_trial_that_ran_alone_is_no_finding() -> None:
    assert ran_together.find(evidence(measured())) == []


def test_who_ran_beside_it_is_a_note() -> None:
    (found,) = ran_together.find(evidence(beside(measured(), issued_bytes=MIB, seen_bytes=MIB)))
    assert found.severity == "note"
    assert found.text == (
        "w ran at the same time; the kernel counts their commands together, so commands per operation are not known"
    )
    assert found.evidence == {"with": ["0002-w-r1"], "overlap_share": 1.0, "start_offset_ns": 1500}


def test_one_on_a_drive_of_its_own_has_its_commands() -> None:
    (found,) = ran_together.find(evidence(beside(measured())))
    assert found.text == "w ran at the same time"


def test_a_time_without_the_others_is_a_warning() -> None:
    (found,) = ran_together.find(evidence(beside(measured(), overlap_share=0.4)))
    assert found.severity == "warning"
    assert "for 40 % of its measured time only" in found.text
    assert "same runtime" in found.advice


@pytest.mark.parametrize(("is_direct", "seen", "count"), [(False, MIB, 2), (False, 4 * MIB, 1), (True, MIB, 1)])
def test_what_memory_answered_is_told_of_all_and_only_where_it_can_have_been_theirs(
    is_direct: bool, seen: int, count: int
) -> None:
    trial = measured(workload("read", direct=is_direct), {"read": latencies()})
    found = ran_together.find(evidence(beside(trial, issued_bytes=4 * MIB, seen_bytes=seen)))
    assert len(found) == count
    if count == 2:
        assert found[1].severity == "warning"
        assert "memory answered 3 MiB of 4 MiB of reads" in found[1].text
        assert found[1].advice == USE_DIRECT_IO


def test_without_counts_of_its_own_nothing_is_said_of_its_commands() -> None:
    writes = measured(durable_workload(), {"write": latencies()}, devices=[])
    given = evidence(beside(writes, issued_bytes=4 * MIB, seen_bytes=4 * MIB))
    codes = {finding.code for finding in trial_findings(given.measured, given.summary, given.target)}
    assert not codes & {"flushes-missing", "flush-count-unexpected", "page-cache-answered", "foreign-work"}
    assert "device_writes_per_operation" not in given.summary.estimates
