"""Where the time of a block trace went, in at most two sentences."""

from __future__ import annotations

from collections.abc import Iterator

from drivelab.model.names import names_in_words
from drivelab.model.units import format_duration_ns
from drivelab.report.numerals import count_text, percent_text
from drivelab.trace.phases import BlockPhases

# what a bio waits for in each phase that is a part of its life
_WAITS = {
    "Q2G": "waiting for a request",
    "preflush_wait": "waiting for a cache flush",
    "G2I": "on the way to the scheduler",
    "G2D": "on the way to the driver",
    "Q2M": "until it joined another",
    "I2D": "in the scheduler",
    "M2D": "joined to another and queued",
    "D2C": "at the device",
}
_TOLD_MAX, _SHARE_MIN = 2, 0.1
FLUSHES_HIDDEN = "flushes_hidden"


def block_trace_sentences(found: BlockPhases) -> Iterator[str]:
    """What flushes took, which btt shows in no row, and in which phases the life of a bio went by.

    Parameters
    ----------
    found : BlockPhases
        Of a recording with records.
    """
    flush, duration_ns = found.phases.get("flush"), found.recording.duration_ns
    if flush is not None and duration_ns:
        flushes = "cache flush" if flush.n == 1 else "cache flushes"
        hidden = ", which btt does not show" if any(trap.key == FLUSHES_HIDDEN for trap in found.traps) else ""
        each = f" of {format_duration_ns(round(flush.mean_ns))} each" if flush.n > 1 else ""
        yield (
            f"{count_text(flush.n)} {flushes}{each} took {format_duration_ns(flush.sum_ns)} of "
            f"{format_duration_ns(duration_ns)} ({percent_text(flush.sum_ns / duration_ns)}){hidden}."
        )
    whole = found.phases.get("Q2C")
    if whole is None or not whole.sum_ns:
        return
    shares = {name: times.sum_ns / whole.sum_ns for name, times in found.phases.items() if name in _WAITS}
    largest = sorted((name for name in shares if shares[name] >= _SHARE_MIN), key=shares.__getitem__, reverse=True)
    parts = [f"{percent_text(shares[name])} of it {_WAITS[name]}" for name in largest[:_TOLD_MAX]]
    # bios that only flush carry none
    data = " with data" if "flush_Q2C" in found.phases else ""
    who = f"The bio{data}" if whole.n == 1 else f"A bio{data}"
    mean = " on average" if whole.n > 1 else ""
    told = f": {names_in_words(parts)}" if parts else ""
    yield f"{who} took {format_duration_ns(round(whole.mean_ns))}{mean} (Q2C){told}."
