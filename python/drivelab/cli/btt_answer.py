"""Where the time of a block trace went, in at most two sentences for each device."""

from __future__ import annotations

from collections.abc import Iterator

from drivelab.model.names import names_in_words
from drivelab.model.units import format_duration_ns
from drivelab.report.numerals import count_text, percent_text
from drivelab.trace.phases import BlockPhases, Phases

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
# bios, those that carry data and those that only flush
_WHOLE = ("Q2C", "flush_Q2C")
FLUSHES_HIDDEN = "flushes_hidden"


def told_devices(found: BlockPhases, *, all_of_them: bool = False) -> dict[str, Phases]:
    """The phases of each device that is told of, those whose bios took longest in all first; of one device that of all.

    Notes
    -----
    Nothing in a recording tells whether one device lies on another, whose times hold its own
    then: they are never added.
    """
    if len(found.devices) <= 1:
        return {"": found.phases}
    ordered = sorted(found.devices.items(), key=lambda one: -sum(_sum_ns(one[1], name) for name in _WHOLE))
    return dict(ordered if all_of_them else ordered[:_TOLD_MAX])


def block_trace_sentences(found: BlockPhases) -> Iterator[str]:
    """What flushes took, which btt shows in no row, and in which phases the life of a bio went by, by device.

    Parameters
    ----------
    found : BlockPhases
        Of a recording with records.
    """
    devices = told_devices(found)
    hidden = ", which btt does not show" if any(trap.key == FLUSHES_HIDDEN for trap in found.traps) else ""
    for device, phases in devices.items():
        flush, duration_ns = phases.get("flush"), found.recording.duration_ns
        if flush is not None and duration_ns:
            flushes = "cache flush" if flush.n == 1 else "cache flushes"
            each = f" of {format_duration_ns(round(flush.mean_ns))} each" if flush.n > 1 else ""
            where = f"On {device}, " if device else ""
            yield (
                f"{where}{count_text(flush.n)} {flushes}{each} took {format_duration_ns(flush.sum_ns)} of "
                f"{format_duration_ns(duration_ns)} ({percent_text(flush.sum_ns / duration_ns)}){hidden}."
            )
            hidden = ""
    yield from (told for device, phases in devices.items() if (told := _bio_words(device, phases)))


def _bio_words(device: str, phases: Phases) -> str:
    """How long a bio of a device took, and in which phases; empty where none came to its end."""
    whole = phases.get("Q2C")
    if whole is None or not whole.sum_ns:
        return ""
    shares = {name: times.sum_ns / whole.sum_ns for name, times in phases.items() if name in _WAITS}
    largest = sorted((name for name in shares if shares[name] >= _SHARE_MIN), key=shares.__getitem__, reverse=True)
    parts = [f"{percent_text(shares[name])} of it {_WAITS[name]}" for name in largest[:_TOLD_MAX]]
    # bios that only flush carry none
    data = " with data" if "flush_Q2C" in phases else ""
    who = f"{'The' if whole.n == 1 else 'A'} bio{data}{f' on {device}' if device else ''}"
    mean = " on average" if whole.n > 1 else ""
    told = f": {names_in_words(parts)}" if parts else ""
    return f"{who} took {format_duration_ns(round(whole.mean_ns))}{mean} (Q2C){told}."


def _sum_ns(phases: Phases, name: str) -> int:
    return phases[name].sum_ns if name in phases else 0
