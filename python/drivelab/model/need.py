"""What a program needs from the storage beneath it, in numbers that somebody published."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from drivelab.model.estimate import Unit

Direction = Literal["at_most", "at_least"]
Force = Literal["required", "recommended"]


@dataclass(frozen=True, slots=True)
class Threshold:
    """One number that a need asks for.

    Attributes
    ----------
    trial : str
        Name of the trial that measures it (``sync-write-2300``).
    metric : str
        Key of `TrialSummary.estimates` (``total_latency_ns_p99``).
    direction : str
        ``at_most`` or ``at_least`` `limit`.
    limit : float
        In `unit`.
    unit : str
        ns, B/s, 1/s, B or 1.
    text : str
        What was measured, in words that go before "within 1.2 ms".
    force : str
        ``required`` decides between yes and no; missing a ``recommended`` one
        leaves a yes, and is told beside it.
    source : str
        Who says so, and where.
    """

    trial: str
    metric: str
    direction: Direction
    limit: float
    unit: Unit
    text: str
    force: Force
    source: str

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Need:
    """A program, or a kind of load, with what it asks of the storage.

    Attributes
    ----------
    name : str
        What ``--for`` takes (``etcd``).
    title : str
        The name as its makers write it.
    text : str
        What it does to the storage, in a sentence.
    thresholds : tuple of Threshold
        What it asks for; empty when nobody published a number.
    must_be_durable : bool
        Whether it relies on acknowledged writes surviving a power failure, so
        that a drive that may lose them is no good however fast it is.
    remark : str
        What a reader must know beside the verdict; may be empty.
    """

    name: str
    title: str
    text: str
    thresholds: tuple[Threshold, ...]
    must_be_durable: bool = True
    remark: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)
