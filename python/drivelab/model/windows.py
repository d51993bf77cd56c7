"""The windows in which a trial was measured: one, or several with other trials between them."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from drivelab.model.measurement import Measurement


@dataclass(frozen=True, slots=True)
class Window:
    """One stretch of time in which operations of a trial are counted.

    Attributes
    ----------
    begun_after_ns : int
        Time since the first window of the trial began.
    ended_issuing_ns : int
        Time since its own begin at which the clock ended issuing; 0 where something else did.
    """

    begun_after_ns: int
    measured_ns: int
    ended_issuing_ns: int

    def to_json(self) -> dict[str, int]:
        """Plain data for JSON."""
        return asdict(self)


def windows_of(measured: Measurement) -> tuple[Window, ...]:
    """The windows of a trial in order of time."""
    told = measured.engine.get("windows")
    if told:
        return tuple(Window(**one) for one in told)
    runtime_ns = measured.workload.limits.runtime_ns
    is_by_clock = measured.engine.get("stopped_by") == "runtime" and not measured.workload.watches_burst
    return (Window(0, int(measured.engine["measured_ns"]), runtime_ns if is_by_clock else 0),)
