"""The page cache, or some other memory, answered instead of the drive."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.findings.unwritten_range import is_empty
from drivelab.analyse.reached_share import waiting_bytes
from drivelab.model.finding import USE_DIRECT_IO, Finding
from drivelab.model.units import format_bytes, format_rate_bytes_per_s

CODE = "page-cache-answered"
# methodology: below this share of the issued bytes something else than the drive answered
DEVICE_SHARE_MIN = 0.98
# no protocol leaves more than this of the line code's payload to data
LINK_SHARE_MAX = 0.95
# below this a page or two of metadata count, and only a device that saw less than half is plain
ISSUED_BYTES_MIN = 1 << 20
DEVICE_SHARE_MIN_OF_FEW = 0.5
RESIDENT_SHARE_MAX = 0.02
# a load that reads some places twice has so many reads from memory at most; more of them are a file that was known
FEW_SHARE_MAX = 0.1
WARMED = (
    "it was read into the page cache first, as asked: the numbers are those of memory and of the calls, and tell "
    "nothing of the drive"
)
AS_RECORDED = (
    "memory answers a program's calls here as it did where they were recorded: the numbers are those of the calls, and "
    "tell of the drive what the calls wait for"
)
NOT_THE_DRIVES = "and the numbers are not the drive's"
FEW_READS = "which moves no number by more than its interval"
SAME_PLACE = (
    "one place was written again and again and made durable once, as asked: memory took all writes but the last, and "
    "the numbers are mostly its own"
)


def find(evidence: TrialEvidence) -> list[Finding]:
    """Bytes that the drive never saw, or came faster than its link can carry them."""
    if evidence.is_null:
        return []
    if evidence.measured.context.get("warmed_page_cache") and not evidence.issued("write"):
        return [Finding(CODE, "note", WARMED, evidence.name)]
    if _is_one_place_in_memory(evidence):
        return [Finding(CODE, "note", SAME_PLACE, evidence.name)]
    if is_empty(evidence):
        return []
    if evidence.counts is None:
        found = _from_residency(evidence)
    else:
        found = _from_device_bytes(evidence) or _from_link(evidence)
    return [Finding(CODE, "note", AS_RECORDED, evidence.name)] if found and evidence.replays_calls else found


def _is_one_place_in_memory(evidence: TrialEvidence) -> bool:
    """Whether writes to one and the same place through the page cache had no sync call between them."""
    workload = evidence.measured.workload
    is_synced = workload.durability.method != "none" and not workload.durability.at_end
    return workload.access.kind == "same" and workload.writes and not (evidence.is_direct or is_synced)


def answered_elsewhere(issued: int, moved: int) -> bool:
    """Whether a device moved so much less than was issued that something above it answered."""
    return moved < (DEVICE_SHARE_MIN if issued >= ISSUED_BYTES_MIN else DEVICE_SHARE_MIN_OF_FEW) * issued


def reads_stand(evidence: TrialEvidence, issued: int, moved: int) -> bool:
    """Whether so few reads came from memory that the numbers told are those of the drive all the same.

    Those from memory are the fastest at worst. Without them median and p99 lie as much farther up, and where no I/O
    has a moment at which it begins the rate is as much lower: all of them must be within the intervals that are told.
    """
    share = 1 - moved / issued
    if share > FEW_SHARE_MAX:
        return False
    estimates, is_open = evidence.summary.estimates, evidence.measured.workload.is_open_loop
    prefix = "" if evidence.summary.operation == "read" else "read_"
    for latency in ("total", "response") if is_open else ("total",):
        histogram = evidence.measured.histograms.get(("read", latency))
        for name, at in (("p50", 0.5), ("p99", 0.99)):
            told = estimates.get(f"{prefix}{latency}_latency_ns_{name}")
            if histogram is None or told is None or told.low is None:
                return False
            # of a p99 that is told as a bound from below there is no upper end to go beyond
            if told.high is not None and histogram.quantile_ns(at + (1 - at) * share) > told.high:
                return False
    if is_open:
        return True
    rate = estimates.get("read_iops", estimates.get("iops"))
    if rate is None or rate.value is None or rate.low is None:
        return False
    return (1 - share) * rate.value >= rate.low


def _from_device_bytes(evidence: TrialEvidence) -> list[Finding]:
    counts = evidence.given
    assert counts is not None
    found = []
    for operation, seen in (("read", evidence.own_reads(counts.bytes_read)), ("write", counts.bytes_written)):
        issued = evidence.issued(operation)
        if not answered_elsewhere(issued, seen):
            continue
        facts = {"operation": operation, "issued_bytes": issued, "device_bytes": seen, "device_share": seen / issued}
        if operation == "write":
            text = _writes_text(evidence, issued, seen)
            facts |= {"waiting_bytes_after": waiting_bytes(evidence.measured)}
        elif reads_stand(evidence, issued, seen):
            found.append(Finding(CODE, "note", _reads_text(issued, seen, FEW_READS), evidence.name, facts))
            continue
        else:
            text = _reads_text(issued, seen, NOT_THE_DRIVES)
        found.append(Finding(CODE, "invalid", text, evidence.name, facts, _advice(evidence)))
    return found


def _reads_text(issued: int, seen: int, what: str) -> str:
    return (
        f"{format_bytes(issued)} of reads were issued and the drive delivered {format_bytes(seen)} "
        f"({_percent(seen / issued)}): memory answered the rest, {what}"
    )


def _writes_text(evidence: TrialEvidence, issued: int, seen: int) -> str:
    waiting = waiting_bytes(evidence.measured)
    later = f" ({format_bytes(waiting)} still waited in the page cache)" if waiting else ""
    return (
        f"{_percent(seen / issued)} of {format_bytes(issued)} of writes reached the drive while it was timed; "
        f"the rest was memory{later}, and the numbers are not the drive's"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.005 or share == 0 else "less than 1 %"


def _from_link(evidence: TrialEvidence) -> list[Finding]:
    drive = evidence.target.drive
    rate = evidence.summary.estimates.get("throughput_bytes_per_s")
    if drive is None or drive.link is None or rate is None or rate.low is None:
        return []
    ceiling = drive.link.ceiling_bytes_per_s
    if rate.low <= LINK_SHARE_MAX * ceiling:
        return []
    text = (
        f"{format_rate_bytes_per_s(rate.low)} is more than the drive's link can carry "
        f"({format_rate_bytes_per_s(ceiling)} before protocol overhead): a cache on this side of it answered"
    )
    facts = {"throughput_bytes_per_s_low": rate.low, "link_ceiling_bytes_per_s": ceiling}
    return [Finding(CODE, "invalid", text, evidence.name, facts, _advice(evidence))]


def _from_residency(evidence: TrialEvidence) -> list[Finding]:
    """Where the kernel counts no device bytes, pages in memory before a read are all there is to go by."""
    resident = evidence.page_cache.get("resident_bytes_before")
    whole = evidence.page_cache.get("range_bytes") or 0
    if not evidence.operations("read") or not resident or not whole or resident < RESIDENT_SHARE_MAX * whole:
        return []
    text = (
        f"{format_bytes(resident)} of the {format_bytes(whole)} read were in the page cache beforehand, and "
        "no device counters tell how much came from the drive"
    )
    facts = {"operation": "read", "resident_bytes_before": resident, "range_bytes": whole}
    return [Finding(CODE, "invalid", text, evidence.name, facts, _advice(evidence))]


def _advice(evidence: TrialEvidence) -> str:
    return "" if evidence.measured.workload.direct else USE_DIRECT_IO
