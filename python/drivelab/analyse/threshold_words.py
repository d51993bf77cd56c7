"""What a limit asks for and what was measured, in words."""

from __future__ import annotations

from dataclasses import replace

from drivelab.analyse.forecast import FORECAST_RANGE
from drivelab.model.estimate import Estimate
from drivelab.model.metric import WINDOW_SPAN
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.units import format_quantity, quantity_in_words
from drivelab.model.verdict import COMMITS, Check, Threshold


def limit_text(threshold: Threshold) -> str:
    """The limit in words: ``limit 10 ms``, ``at least 500``."""
    limit = limit_words(threshold)
    return f"limit {limit}" if threshold.direction == "at_most" else f"at least {limit} wanted"


def limit_words(threshold: Threshold) -> str:
    """The limit as a number: ``10 ms``, ``500 a second``."""
    return quantity_in_words(threshold.limit, threshold.unit)


def told_with_interval(threshold: Threshold, estimate: Estimate) -> str:
    """What was measured, in words, with its interval."""
    text = threshold.text.format(value=value_text(threshold, estimate))
    interval = interval_words(estimate, threshold.metric)
    return f"{text} ({interval})" if interval else text


def interval_words(estimate: Estimate, metric: str) -> str:
    """Between which two numbers it lies; of one whose other end nobody knows at least or at most what. Else empty.

    A forecast's range is over the computers that the program was tried on, too.
    """
    interval = estimate.interval_text()
    if not interval:
        return ""
    if metric == COMMITS:
        return f"{FORECAST_RANGE}: {interval}"
    has_both = estimate.low is not None and estimate.high is not None
    return f"95 % interval {interval}" if has_both else f"{interval} with 95 % confidence"


def deciding_number(check: Check) -> str:
    """What was measured, for the sentence."""
    estimate, limit = check.estimate, limit_text(check.threshold)
    if estimate is None:
        return check.text
    seen = estimate.observed if estimate.value is None else estimate.value
    if check.lasting_per_s is not None:
        return slowed_down(check.threshold, estimate, check.lasting_per_s)
    if check.reach and seen is not None:
        about = f"about {format_quantity(seen, estimate.unit)}"
        within = "; ".join(filter(None, (limit, check.windows)))
        return f"{check.threshold.text.format(value=about)}, and {check.reach} ({within})"
    within = "; ".join(filter(None, (limit, interval_words(estimate, check.threshold.metric), check.windows)))
    return f"{check.threshold.text.format(value=value_text(check.threshold, estimate))} ({within})"


def with_windows(check: Check, summary: TrialSummary | None) -> Check:
    """The same check, told with the windows of its trial, and the time that they span, where it had several."""
    span = summary.estimates.get(WINDOW_SPAN) if summary else None
    if span is None or span.value is None:
        return check
    windows = f"in {span.sample_count} windows within {format_quantity(span.value, 'ns')}"
    return replace(check, text=f"{check.text}; {windows}", windows=windows)


def slowed_down(threshold: Threshold, estimate: Estimate, lasting_per_s: float) -> str:
    """A rate that fell: ``209 MB/s of writes in the long run, 303 MB/s over the whole trial (at least ...)``."""
    left = threshold.text.format(value=format_quantity(lasting_per_s, threshold.unit))
    return f"{left} in the long run, {value_text(threshold, estimate)} over the whole trial ({limit_text(threshold)})"


def value_text(threshold: Threshold, estimate: Estimate) -> str:
    """The number as it stands in the middle of a sentence."""
    if estimate.value is None and estimate.low is not None and estimate.high is None:
        bound = format_quantity(estimate.low, threshold.unit)
        if estimate.observed is None:
            return f"no less than {bound}"
        return f"{format_quantity(estimate.observed, threshold.unit)} as seen, at least {bound} with 95 % confidence"
    return str(estimate)
