"""Durable writes faster than flash can be programmed or a platter can turn."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.finding import Finding
from drivelab.model.judged_metric import LATENCY
from drivelab.model.units import format_duration_ns

CODE = "latency-implausible"
# Programming a page takes 200 to 300 us in SLC, 600 and more in MLC and TLC (planar NAND, HP white
# paper), about 100 us in the fastest low-latency flash.
FLASH_NS_MIN = 100_000
# Writing the next sector once the last one has passed takes a full turn: 4 ms at 15,000 rpm.
PLATTER_NS_MIN = 1_000_000


def find(evidence: TrialEvidence) -> list[Finding]:
    """A median that only protected memory, or a drive that ignores flushes, can explain."""
    drive = evidence.target.drive
    median = evidence.summary.estimates.get(LATENCY)
    if not evidence.is_durable or evidence.is_null or drive is None or drive.virtual or median is None:
        return []
    if evidence.measured.workload.durability.covers_several_writes or median.high is None:
        return []
    if drive.transport == "nvme" and drive.write_cache.drive_enabled is False:
        # an NVMe drive without a volatile cache says with it that its memory is protected
        return []
    least = PLATTER_NS_MIN if drive.is_rotational else FLASH_NS_MIN
    if median.high >= least:
        return []
    medium = "a turning platter" if drive.is_rotational else "programming flash"
    text = (
        f"half of the durable writes took less than {format_duration_ns(median.high)}, and {medium} takes longer: "
        "either memory protected against power loss takes them, or flushes are ignored; only cutting the power tells"
    )
    facts = {"total_latency_ns_p50_high": median.high, "plausible_ns_min": least}
    advice = "look in the data sheet for power-loss protection"
    return [Finding(CODE, "warning", text, evidence.name, facts, advice)]
