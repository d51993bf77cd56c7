"""A number with its uncertainty: the only form in which a result is published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from drivelab.model.plain import Plain
from drivelab.model.units import format_quantity

Unit = Literal["ns", "B/s", "1/s", "B", "1"]


@dataclass(frozen=True, slots=True)
class Estimate(Plain):
    """A value with its 95 % interval.

    Attributes
    ----------
    value : float or None
        The estimate; None when the data carry only a bound.
    low, high : float or None
        Ends of the 95 % interval; None where the data give no end. Where only
        one of them is known it is a one-sided 95 % bound.
    unit : str
        ns, B/s, 1/s, B or 1.
    sample_count : int
        Observations behind the value.
    effective_sample_count : float
        The independent observations they are worth (autocorrelation removed).
    method : str
        How the interval was made, in a few words.
    observed : float or None
        The sample's own value where `value` is withheld because the data carry
        only a bound; it says what was seen, and nothing about what will be.

    Notes
    -----
    A quantile with less than one observation expected beyond it has ``value``
    None and ``low`` set: it is published as "at least low". A count that is only known to lie
    between bounds has ``value`` None and both ends.
    """

    value: float | None
    low: float | None
    high: float | None
    unit: Unit
    sample_count: int
    effective_sample_count: float
    method: str
    observed: float | None = None

    def __str__(self) -> str:
        if self.value is None and self.low is not None and self.high is not None:
            return f"{format_quantity(self.low, self.unit)} to {format_quantity(self.high, self.unit)}"
        if self.value is None and self.low is not None:
            return f"at least {format_quantity(self.low, self.unit)}"
        if self.value is None:
            return "too few data" if self.sample_count else "no data"
        return format_quantity(self.value, self.unit)

    def interval_text(self) -> str:
        """The interval for people: ``320 us to 345 us``, ``at least 320 us``; empty when there is none.

        Nor is there one where both ends are written as the number is.
        """
        if self.value is None or (self.low is None and self.high is None):
            return ""
        if self.high is None:
            return f"at least {format_quantity(self.low or 0.0, self.unit)}"
        if self.low is None:
            return f"at most {format_quantity(self.high, self.unit)}"
        low, value, high = (format_quantity(one, self.unit) for one in (self.low, self.value, self.high))
        return "" if low == value == high else f"{low} to {high}"
