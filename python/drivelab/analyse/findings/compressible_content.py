"""Data that a drive or file system can shrink: what was written, and whether it makes a difference."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, hypot, log

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.run_evidence import RunEvidence
from drivelab.model.check_trials import PROBE
from drivelab.model.estimate import Estimate
from drivelab.model.finding import Finding

CODE = "compressible-content"
# methodology: a larger ratio of zeros over random data means that something compresses
RATIO_MIN = 1.05


def find(evidence: TrialEvidence) -> list[Finding]:
    """Contents that are not random, where the trial was not meant to probe just that."""
    contents = evidence.measured.workload.contents
    if evidence.is_null or not evidence.operations("write") or evidence.name.startswith(PROBE):
        return []
    if contents.kind == "random" and not contents.compressible_fraction and not contents.duplicate_fraction:
        return []
    whole = {"zeros": "zeros", "pattern": "blocks of a repeated pattern"}
    what = whole.get(contents.kind, "partly compressible or repeated data")
    text = f"{what} were written: a drive that compresses or deduplicates is faster with them than with real data"
    facts = contents.model_dump()
    return [Finding(CODE, "warning", text, evidence.name, facts, "write random data, unless this is on purpose")]


def find_in_run(evidence: RunEvidence) -> list[Finding]:
    """The answer of the probe: the same writes with zeros and with random data, in the order A B B A.

    Said only when every pass with zeros was faster than every pass with random
    data, by more than `RATIO_MIN` on geometric average, in which a steady drift
    of the drive cancels, and by more than the passes' own 95 % intervals allow.
    """
    zeros, random = (_throughputs(evidence.probes(kind)) for kind in ("zeros", "random"))
    if len(zeros) < 2 or len(random) < 2:
        return []
    fast, slow = ([value for value, _ in passes] for passes in (zeros, random))
    difference = sum(map(log, fast)) / len(fast) - sum(map(log, slow)) / len(slow)
    margin = hypot(
        hypot(*(width for _, width in zeros)) / len(zeros), hypot(*(width for _, width in random)) / len(random)
    )
    if min(fast) <= max(slow) or difference <= max(log(RATIO_MIN), margin):
        return []
    ratio = exp(difference)
    text = (
        f"writing zeros is {ratio:.2f} times as fast as writing random data: the drive, or a layer above it, "
        "compresses or skips them; every other trial here wrote random data"
    )
    facts = {"zeros_over_random_ratio": ratio, "zeros_bytes_per_s": fast, "random_bytes_per_s": slow}
    return [Finding(CODE, "note", text, "", facts, "compare this drive with others by random data only")]


def _throughputs(passes: Sequence[Estimate]) -> list[tuple[float, float]]:
    """Throughput of each pass, and half the width of its interval in the logarithm."""
    return [(rate.value, log(rate.high / rate.low) / 2) for rate in passes if rate.value and rate.low and rate.high]
