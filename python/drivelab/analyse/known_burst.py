"""A burst that was measured before, held against the rates of a trial that was too short to see its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from drivelab.analyse.findings import burst_credit, burst_possible
from drivelab.analyse.token_bucket import LARGE_BYTES
from drivelab.model.finding import Finding
from drivelab.model.judged_metric import RATE
from drivelab.model.measurement import Measurement
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.units import format_rate_per_s

# a rate so much above the base one is not it
_SURELY_ABOVE = 1.05


@dataclass(frozen=True, slots=True)
class KnownBurst:
    """What small I/Os are left with when the credit of a volume is used up, what was found in words, and where."""

    base_per_s: float
    text: str
    run: str


def with_known_burst(
    findings: Sequence[Finding], known: KnownBurst | None, measured: Measurement, summary: TrialSummary
) -> list[Finding]:
    """The findings of a trial, with what is known of the burst in place of what may be.

    Parameters
    ----------
    findings : sequence of Finding
        Of the trial.
    known : KnownBurst or None
        Of the volume; None where nobody measured it.
    measured : Measurement
        The trial.
    summary : TrialSummary
        Its numbers.
    """
    if known is None:
        return list(findings)
    kept = [one for one in findings if one.code != burst_possible.CODE]
    rate, workload = summary.estimates.get(RATE), measured.workload
    if rate is None or rate.value is None or rate.value <= _SURELY_ABOVE * known.base_per_s:
        return kept
    if workload.block_sizes[0].bytes >= LARGE_BYTES:
        # several commands each, and a limit of their own
        return kept
    base = format_rate_per_s(known.base_per_s)
    text = f"on burst credit, and {base} a second without it: run {known.run} found {known.text}"
    facts = {"token": "I/Os", "base_per_s": known.base_per_s}
    return [*kept, Finding(burst_credit.CODE, "warning", text, summary.name, facts, burst_credit.ADVICE)]
