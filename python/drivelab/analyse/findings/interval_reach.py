"""What the intervals of a run know nothing of: whatever is slower than a tenth of the window."""

from __future__ import annotations

from drivelab.analyse.run_evidence import RunEvidence
from drivelab.model.finding import Finding
from drivelab.model.units import format_duration_ns

CODE = "interval-reach"
# an interval is worth its 95 % for what comes and goes ten times within the window (tests/prove/quantiles.py)
TIMES_IN_WINDOW = 10


def find_in_run(evidence: RunEvidence) -> list[Finding]:
    """The lengths of the measured windows, and what is too slow for the intervals; once for the run."""
    if not evidence.windows_ns:
        return []
    shortest, longest = evidence.windows_ns
    window, reach = _span(shortest, longest), _span(shortest / TIMES_IN_WINDOW, longest / TIMES_IN_WINDOW)
    text = f"window {window}: nothing slower than {reach} is in the intervals"
    facts = {
        "window_ns": shortest,
        "window_ns_longest": longest,
        "slowest_in_intervals_ns": shortest // TIMES_IN_WINDOW,
        "slowest_in_intervals_ns_longest": longest // TIMES_IN_WINDOW,
    }
    return [Finding(CODE, "note", text, "", facts)]


def _span(shortest: float, longest: float) -> str:
    """One length, or from the shortest to the longest; windows that end with their last I/O differ a little."""
    low, high = (format_duration_ns(float(f"{length:.2g}")) for length in (shortest, longest))
    return low if low == high else f"{low} to {high}"
