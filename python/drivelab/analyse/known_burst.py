"""A burst that was measured before, held against the rates of a trial that was too short to see its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from drivelab.analyse.findings import burst_credit, burst_possible
from drivelab.analyse.token_bucket import LARGE_BYTES
from drivelab.model.finding import Finding
from drivelab.model.judged_metric import RATE, THROUGHPUT
from drivelab.model.lasting_rate import KNOWN_FROM, TOKEN_UNITS
from drivelab.model.measurement import Measurement
from drivelab.model.token_bucket import Token
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.units import quantity_in_words

# a rate so much above the base one is not it
_SURELY_ABOVE = 1.05


@dataclass(frozen=True, slots=True)
class KnownBurst:
    """What is left when the credit of a volume is used up, of I/Os or bytes a second; in words; and who found it."""

    token: Token
    base_per_s: float
    text: str
    run: str

    def is_about(self, measured: Measurement) -> bool:
        """Whether it limits I/Os of that size: large ones are several commands each, and bytes are counted."""
        return (measured.workload.block_sizes[0].bytes >= LARGE_BYTES) == (self.token == "bytes")


def with_known_bursts(
    findings: Sequence[Finding], known: Sequence[KnownBurst], measured: Measurement, summary: TrialSummary
) -> list[Finding]:
    """The findings of a trial, with what is known of bursts in place of what may be."""
    counts_ios = any(one.token == "I/Os" for one in known)
    kept = [one for one in findings if not counts_ios or one.code != burst_possible.CODE]
    return [*kept, *(_finding(one, summary) for one in known if one.is_about(measured) and _is_above(one, summary))]


def _is_above(known: KnownBurst, summary: TrialSummary) -> bool:
    rate = summary.estimates.get(RATE if known.token == "I/Os" else THROUGHPUT)
    return rate is not None and (rate.value or 0.0) > _SURELY_ABOVE * known.base_per_s


def _finding(known: KnownBurst, summary: TrialSummary) -> Finding:
    left = quantity_in_words(known.base_per_s, TOKEN_UNITS[known.token])
    text = f"on burst credit, and {left} without it: run {known.run} found {known.text}"
    facts = {"token": known.token, "base_per_s": known.base_per_s, KNOWN_FROM: known.run}
    return Finding(burst_credit.CODE, "warning", text, summary.name, facts, burst_credit.ADVICE)
