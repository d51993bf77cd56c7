"""Findings: what a reader must know before trusting or using a number; one file per kind.

A kind judges single trials (`find`), the target (`find_in_target`), targets
beside each other (`find_in_targets`), a run as a whole (`find_in_run`), the trials
of a check (`find_between`), or what a drive said of itself before and after it (`find_in_smart`).
``docs/findings.md`` has a section for each; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drivelab.analyse.findings import (
    abandoned_io,
    arrivals_missed,
    burst_credit,
    burst_ended,
    burst_possible,
    compressible_content,
    direct_quietly_buffered,
    drift,
    drive_hot,
    file_state_not_as_asked,
    flush_count_unexpected,
    flushes_missing,
    foreign_work,
    generator_saturated,
    host_cache_answered,
    interval_reach,
    latency_implausible,
    level_moves,
    link_below_maximum,
    merged_requests,
    names_in_memory,
    network_or_memory_file_system,
    no_flush_sent,
    not_measured,
    not_steady,
    operations_failed,
    page_cache_answered,
    precision,
    queue_depth_not_reached,
    ran_together,
    reference_drift,
    run_resumed,
    same_drive,
    setting_not_kept,
    short_measurement,
    short_operations,
    smart_errors_grew,
    speed_changed,
    stall_at_end,
    throughput_cliff,
    throughput_swings,
    too_little_data,
    trace_incomplete,
    unwritten_range,
    virtual_drive,
    write_cache_views_disagree,
    writes_left_in_cache,
)
from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.run_evidence import RunEvidence
from drivelab.model.finding import VOLUME_CODES, Finding, gravity
from drivelab.model.host import HostFacts
from drivelab.model.measurement import Measurement
from drivelab.model.smart import SmartFacts
from drivelab.model.target import TargetFacts
from drivelab.model.trial_summary import TrialSummary

# the gravest first: that is the order in which they are told
TRIAL_KINDS = (
    operations_failed,
    abandoned_io,
    page_cache_answered,
    host_cache_answered,
    names_in_memory,
    unwritten_range,
    file_state_not_as_asked,
    direct_quietly_buffered,
    flushes_missing,
    latency_implausible,
    arrivals_missed,
    stall_at_end,
    setting_not_kept,
    short_operations,
    compressible_content,
    burst_credit,
    burst_ended,
    burst_possible,
    foreign_work,
    ran_together,
    generator_saturated,
    queue_depth_not_reached,
    merged_requests,
    writes_left_in_cache,
    throughput_cliff,
    throughput_swings,
    not_steady,
    drift,
    short_measurement,
    no_flush_sent,
    flush_count_unexpected,
    level_moves,
    precision,
    too_little_data,
    trace_incomplete,
)
# a trial that rests between its bursts has levels by design
_OF_ONE_COURSE = (
    throughput_cliff,
    throughput_swings,
    not_steady,
    drift,
    level_moves,
    queue_depth_not_reached,
    too_little_data,
)
TARGET_KINDS = (write_cache_views_disagree, network_or_memory_file_system, virtual_drive, link_below_maximum)
TARGETS_KINDS = (same_drive,)
RUN_KINDS = (not_measured, compressible_content, reference_drift, run_resumed, interval_reach)
CHECK_KINDS = (speed_changed,)
SMART_KINDS = (smart_errors_grew, drive_hot)
CODES = tuple(
    dict.fromkeys(
        kind.CODE for kind in (*TRIAL_KINDS, *TARGET_KINDS, *TARGETS_KINDS, *RUN_KINDS, *CHECK_KINDS, *SMART_KINDS)
    )
)

_PLACES = {kind.CODE: place for place, kind in enumerate(TRIAL_KINDS)}

# that name the rate which is left (`base_per_s`, in I/Os or bytes) when a burst has ended or a cache is full
BASE_RATE_CODES = frozenset({burst_ended.CODE, writes_left_in_cache.CODE})

# about durable writes: they say nothing against the numbers of reads
DURABILITY_CODES = frozenset({write_cache_views_disagree.CODE, flushes_missing.CODE, speed_changed.CODE})


def importance(finding: Finding) -> tuple[int, bool, int, bool]:
    """Where a finding stands among others: the gravest first.

    Of those that are alike, first what limits every trial, then what is said of the run, then in the order of
    `TRIAL_KINDS`; limits of I/Os before those of bytes, since needs are of small I/Os.
    """
    place = _PLACES.get(finding.code, len(_PLACES)) if finding.trial else -1
    is_of_bytes = finding.evidence.get("token") == "bytes"
    return gravity(finding), finding.code not in VOLUME_CODES, place, is_of_bytes


def trial_findings(
    measured: Measurement, summary: TrialSummary, target: TargetFacts, host: HostFacts | None = None
) -> list[Finding]:
    """What is to be known about one trial, the gravest first."""
    evidence = TrialEvidence(measured, summary, target, host)
    kinds = [kind for kind in TRIAL_KINDS if not (measured.workload.watches_burst and kind in _OF_ONE_COURSE)]
    found = sorted((finding for kind in kinds for finding in kind.find(evidence)), key=importance)
    is_void = any(finding.severity == "invalid" for finding in found)
    # numbers that are not the drive's tell nothing of a limit of the volume
    return [finding for finding in found if not (is_void and finding.code in VOLUME_CODES)]


def target_findings(target: TargetFacts, host: HostFacts | None = None) -> list[Finding]:
    """What is to be known about the target, whatever is measured on it."""
    return sorted((found for kind in TARGET_KINDS for found in kind.find_in_target(target, host)), key=gravity)


def findings_between_targets(targets: Mapping[str, TargetFacts]) -> list[Finding]:
    """What is to be known about targets, by their labels, that stand beside each other in one run."""
    return [found for kind in TARGETS_KINDS for found in kind.find_in_targets(targets)]


def run_findings(evidence: RunEvidence) -> list[Finding]:
    """What only several trials together can tell."""
    return sorted((finding for kind in RUN_KINDS for finding in kind.find_in_run(evidence)), key=gravity)


def smart_findings(readings: Sequence[tuple[str, SmartFacts, SmartFacts]]) -> list[Finding]:
    """What drives said of themselves that touches the numbers of a whole run, the gravest first.

    Parameters
    ----------
    readings : sequence of (str, SmartFacts, SmartFacts)
        Of each drive its name, and what it said before the run and after it.
    """
    found = (finding for reading in readings for kind in SMART_KINDS for finding in kind.find_in_smart(*reading))
    return sorted(found, key=gravity)
