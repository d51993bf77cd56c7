"""What a drive says of itself (SMART): its health, its wear, what it has counted; and what a run changed of that.

A fact that the drive does not tell is None, and ``SmartFacts.unknown`` says why.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from drivelab.model.plain import Plain

# the key of ``SmartFacts.unknown`` under which it stands why nothing at all could be read
EVERYTHING = "everything"
NOT_REPORTED = "the drive does not report it"


@dataclass(frozen=True, slots=True)
class SmartFacts(Plain):
    """Health, wear and counters of one drive at one moment.

    Attributes
    ----------
    drive : str
        Kernel name of the drive.
    protocol : str
        ``nvme``, ``ata`` or ``scsi``; empty when nothing could be read.
    health_passed : bool or None
        The drive's own verdict.
    critical_warning : int or None
        Bits of the NVMe critical warning; 0 is good.
    temperature_celsius : int or None
        Temperature now.
    temperature_warning_celsius, temperature_critical_celsius : int or None
        From where on the drive calls itself hot, and too hot.
    over_warning_temperature_min, over_critical_temperature_min : int or None
        Minutes spent there so far.
    throttle_count, throttled_s : int or None
        How often, and for how many seconds, the drive made itself slower because of heat.
    power_on_hours, power_cycles, unsafe_shutdowns : int or None
        Its life so far.
    host_bytes_written, host_bytes_read : int or None
        What hosts wrote and read.
    media_bytes_written : int or None
        What the drive wrote to its flash for that.
    percentage_used : int or None
        Share of its endurance that is used up, by the drive's own estimate; may exceed 100.
    available_spare_percent : int or None
        Spare capacity that is left.
    media_errors : int or None
        Data that could not be read back, or not without an error.
    reallocated_sectors, pending_sectors : int or None
        Sectors (of some flash drives: blocks) that were replaced, and that wait for it.
    crc_errors : int or None
        Transfers over the link that arrived damaged.
    error_log_entries : int or None
        Errors in the drive's log; commands that it refused are among them.
    error_log_entries_when_done : int or None
        The same after our own questions, where the drive refused one of them.
    endurance_bytes : int or None
        How much may be written over its life.
    endurance_low_bytes, endurance_high_bytes : int or None
        Between what it lies, where it is derived.
    endurance_source : str
        Who says so; empty when nobody does.
    attributes : dict of str to int
        Every counter as the drive names it, as it is.
    resolution_bytes : dict of str to int
        How many bytes one step of a byte counter stands for, by field.
    sources : dict of str to str
        Where a fact comes from, by field.
    unknown : dict of str to str
        Why a fact is missing, by field; `EVERYTHING` when nothing could be read.
    """

    drive: str = ""
    protocol: str = ""
    health_passed: bool | None = None
    critical_warning: int | None = None
    temperature_celsius: int | None = None
    temperature_warning_celsius: int | None = None
    temperature_critical_celsius: int | None = None
    over_warning_temperature_min: int | None = None
    over_critical_temperature_min: int | None = None
    throttle_count: int | None = None
    throttled_s: int | None = None
    power_on_hours: int | None = None
    power_cycles: int | None = None
    unsafe_shutdowns: int | None = None
    host_bytes_written: int | None = None
    host_bytes_read: int | None = None
    media_bytes_written: int | None = None
    percentage_used: int | None = None
    available_spare_percent: int | None = None
    media_errors: int | None = None
    reallocated_sectors: int | None = None
    pending_sectors: int | None = None
    crc_errors: int | None = None
    error_log_entries: int | None = None
    error_log_entries_when_done: int | None = None
    endurance_bytes: int | None = None
    endurance_low_bytes: int | None = None
    endurance_high_bytes: int | None = None
    endurance_source: str = ""
    attributes: dict[str, int] = field(default_factory=dict)
    resolution_bytes: dict[str, int] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)

    @property
    def is_known(self) -> bool:
        """Whether anything could be read."""
        return EVERYTHING not in self.unknown

    def why_unknown(self, name: str) -> str:
        """Why a fact is missing; empty when it is there."""
        if getattr(self, name) not in (None, ""):
            return ""
        return self.unknown.get(name) or self.unknown.get(EVERYTHING) or NOT_REPORTED

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> SmartFacts:
        """The facts that `to_json` wrote; names that are not known here are left out."""
        known = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in document.items() if name in known})


def nothing_known(drive: str, reason: str) -> SmartFacts:
    """Facts of a drive that tells nothing, with the reason."""
    return SmartFacts(drive=drive, unknown={EVERYTHING: reason})


@dataclass(frozen=True, slots=True)
class CounterChange:
    """By how much a byte counter moved, and between what the truth lies.

    A counter moves in steps, so two readings tell a difference to one step
    either way.

    Attributes
    ----------
    value_bytes, low_bytes, high_bytes : int
        Difference of the readings, and its bounds.
    resolution_bytes : int
        One step.
    """

    value_bytes: int
    low_bytes: int
    high_bytes: int
    resolution_bytes: int


@dataclass(frozen=True, slots=True)
class RatioChange:
    """A ratio of two changes, with the bounds that their resolutions leave.

    Attributes
    ----------
    value, low, high : float
        The ratio and its bounds.
    source : str
        Which counters it was made from.
    """

    value: float
    low: float
    high: float
    source: str


@dataclass(frozen=True, slots=True)
class SmartDifference(Plain):
    """What changed of a drive's SMART facts between two readings.

    Everything that wrote to the drive meanwhile is in it, not the run alone.

    Attributes
    ----------
    host_bytes_written, host_bytes_read, media_bytes_written : CounterChange or None
        What was moved.
    write_amplification : RatioChange or None
        Bytes written to the flash per byte that hosts wrote.
    temperature_rise_celsius : int or None
        Temperature after minus before.
    percentage_used_rise, available_spare_rise_percent : int or None
        In points of a percent.
    media_errors, reallocated_sectors, pending_sectors, crc_errors, error_log_entries : int or None
        New ones; a negative number of pending sectors means that they were dealt with.
    unsafe_shutdowns, power_cycles, throttle_count, throttled_s : int or None
        New ones.
    over_warning_temperature_min, over_critical_temperature_min : int or None
        Minutes that were added.
    attributes : dict of str to int
        Every counter that changed, as the drive names it: after minus before.
    unknown : dict of str to str
        Why a difference is missing, by field.
    """

    host_bytes_written: CounterChange | None = None
    host_bytes_read: CounterChange | None = None
    media_bytes_written: CounterChange | None = None
    write_amplification: RatioChange | None = None
    temperature_rise_celsius: int | None = None
    percentage_used_rise: int | None = None
    available_spare_rise_percent: int | None = None
    media_errors: int | None = None
    reallocated_sectors: int | None = None
    pending_sectors: int | None = None
    crc_errors: int | None = None
    error_log_entries: int | None = None
    unsafe_shutdowns: int | None = None
    power_cycles: int | None = None
    throttle_count: int | None = None
    throttled_s: int | None = None
    over_warning_temperature_min: int | None = None
    over_critical_temperature_min: int | None = None
    attributes: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
