"""A number of a table before it has a unit: from one observation, or from several that a table brings together."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from drivelab.model.apart import are_apart
from drivelab.model.estimate import Estimate, Unit
from drivelab.model.finding import trials_of
from drivelab.model.result_set import Observation
from drivelab.report.numerals import SIGNIFICANT_DIGITS, THIN_SPACE, DisplayUnit, number_text, rate_text

WITHHELD = "a bound: too few independent I/Os for the number itself"
_DIGITS = re.compile(r"\d[\d,]*(?:\.\d+)?")
_SIGNS = ("~", "<", "about ")
_SCALES = (1.0, 1e3, 1e6, 1e9)


@dataclass(frozen=True, slots=True)
class Number:
    """A number, how sure it is, and how a page prints it.

    Attributes
    ----------
    value, low, high : float or None
        In internal units; without a value, bounds.
    printed : str
        As a page prints it; empty for a run and for what follows from several numbers.
    digits : int
        Significant digits that it is known with.
    notes : tuple of str
        What has to be known of it.
    is_valid : bool
        Whether all trials behind it describe the drive.
    trial_count : int
        Trials behind it; of one number made of several, those of the one with the fewest.
    run : str
        Which run it is of; empty for a page, and for what is made of several runs.
    """

    value: float | None
    low: float | None
    high: float | None
    unit: Unit
    printed: str = ""
    digits: int = SIGNIFICANT_DIGITS
    notes: tuple[str, ...] = ()
    is_valid: bool = True
    trial_count: int = 1
    run: str = ""

    @property
    def shown(self) -> float | None:
        """What decides the unit of a column: the value, else a bound that says something."""
        known = [each for each in (self.value, self.low, self.high) if each is not None]
        return next((each for each in known if each), known[0] if known else None)

    def text(self, unit: DisplayUnit) -> str:
        """The number in a unit: ``9.80``, ``≥ 12.3``, ``~8``."""
        if self.value is not None:
            sign = next((sign for sign in _SIGNS if self.printed.startswith(sign)), "")
            return f"{sign}{self._written(self.value, unit)}"
        if self.low and self.high is not None:
            return f"{self._written(self.low, unit)}–{self._written(self.high, unit)}"
        if self.high is not None:
            return f"<{THIN_SPACE}{self._written(self.high, unit)}"
        return "–" if self.low is None else f"≥{THIN_SPACE}{self._written(self.low, unit)}"

    def is_apart_from(self, other: Number) -> bool:
        """Whether the two differ by more than the repeats behind them scatter; not where nothing tells how much."""
        mine, theirs = (
            Estimate(one.value, one.low, one.high, one.unit, one.trial_count, float(one.trial_count), "")
            for one in (self, other)
        )
        return bool(are_apart(mine, theirs, (self.trial_count, other.trial_count), (self.run, other.run)))

    def interval(self, unit: DisplayUnit) -> str:
        """From where to where: ``8.70–9.80``; empty where nothing is known of it."""
        if self.value is None or self.low is None or self.high is None:
            return ""
        return f"{self._written(self.low, unit)}–{self._written(self.high, unit)}"

    def _written(self, value: float, unit: DisplayUnit) -> str:
        return rate_text(value) if self.unit == "1" else number_text(value / unit.scale, self.digits)


def number_of(observations: Sequence[Observation]) -> Number | None:
    """One number of observations that a table does not tell apart: their mean, and the span of all their ends.

    Returns
    -------
    Number or None
        None where there are no observations. A bound where some of them are bounds.
    """
    if not observations:
        return None
    estimates = [one.estimate for one in observations]
    values = [each.value for each in estimates if each.value is not None]
    lows = [each.low for each in estimates]
    highs = [each.high for each in estimates]
    is_known = len(values) == len(estimates)
    if not is_known:
        lows = [each.value if each.low is None else each.low for each in estimates]
        highs = [each.value if each.high is None else each.high for each in estimates]
    printed = [one.printed for one in observations]
    runs = {one.run for one in observations}
    return Number(
        value=math.fsum(values) / len(values) if is_known else None,
        low=_end(lows, min),
        high=_end(highs, max),
        unit=estimates[0].unit,
        printed=printed[0] if len(set(printed)) == 1 else "",
        digits=max((significant_digits(text) for text in printed if text), default=SIGNIFICANT_DIGITS),
        notes=tuple(dict.fromkeys(note for one in observations for note in observation_notes(one))),
        is_valid=not any(one.invalid_trials for one in observations),
        trial_count=min(one.trial_count for one in observations),
        run=runs.pop() if len(runs) == 1 else "",
    )


def observation_notes(one: Observation) -> list[str]:
    """What has to stand beside the number of an observation."""
    notes = []
    if one.invalid_trials:
        notes.append(f"{trials_of(one.invalid_trials, one.trial_count, 'do not')} describe the drive")
    if one.estimate.value is None and not one.printed:
        notes.append(WITHHELD)
    return [*notes, one.note] if one.note else notes


def ratio_of(over: Number | None, under: Number | None) -> Number | None:
    """One number over another, from the farthest ends of both; None where one of them has no value."""
    if over is None or under is None or over.value is None or not under.value:
        return None
    ends = (over.low, over.high, under.low, under.high)
    low = high = None
    if all(end is not None and end > 0 for end in ends):
        low, high = ends[0] / ends[3], ends[1] / ends[2]  # type: ignore[operator]
    notes = tuple(dict.fromkeys([*over.notes, *under.notes]))
    return Number(over.value / under.value, low, high, "1", notes=notes, is_valid=over.is_valid and under.is_valid)


def ratio_text(ratio: float) -> str:
    """A ratio as people print it: ``3.8x``, and near 1, where digits matter, ``0.98x``."""
    if 0.9 < ratio < 1.095:
        return f"{ratio:.2f}x"
    return f"{number_text(ratio, 2)}x"


def significant_digits(printed: str) -> int:
    """How many digits somebody printed: 3 of ``~3.10``, 1 of ``10ms per write``."""
    match = _DIGITS.search(printed)
    digits = match[0].replace(",", "").lstrip("0.") if match else ""
    # of 200 nobody knows whether the zeros were read; 2.00 says that they were
    return max(1, len(digits.replace(".", "") if "." in printed else digits.rstrip("0")))


def _printed_value(printed: str) -> float | None:
    """The first number in a printed text, in the unit that it is printed in; None where there is none."""
    match = _DIGITS.search(printed)
    return float(match[0].replace(",", "")) if match else None


def printed_scale(printed: str, value: float) -> float:
    """How many internal units the unit of a printed number is, found by comparing it with what is known of it."""
    number = _printed_value(printed)
    if not number or value <= 0:
        return 1.0
    return min(_SCALES, key=lambda scale: abs(math.log(value / (number * scale))))


def disagreement(printed: str, number: Number | None) -> str:
    """What a page's own numbers give instead of a cell it prints; empty where they give the same, but for rounding."""
    told = _printed_value(printed)
    if told is None or number is None or number.value is None:
        return ""
    scale = 1.0 if number.unit == "1" else printed_scale(printed, number.value)
    match = _DIGITS.search(printed)
    decimals = len(match[0].partition(".")[2]) if match else 0
    computed = number.value / scale
    # half a unit of the last digit either way, and a little for what floats lose
    if abs(computed - told) <= 0.5 * 10.0**-decimals * (1 + 1e-6):
        return ""
    unit = printed[match.end() :].partition(" ")[0] if match and number.unit == "1" else ""
    told_decimals = max(decimals, _decimals_told(computed))
    return f"the page prints {printed}; its own raw table gives {computed:.{told_decimals}f}{unit}"


def printed_number(printed: str, number: Number) -> Number:
    """The number that a page prints in place of one that follows from its others, with a note where they disagree."""
    told = _printed_value(printed)
    if told is None or number.value is None:
        return number
    scale = 1.0 if number.unit == "1" else printed_scale(printed, number.value)
    wrong = disagreement(printed, number)
    notes = (*number.notes, wrong) if wrong else number.notes
    return Number(told * scale, None, None, number.unit, printed, significant_digits(printed), notes, number.is_valid)


def _decimals_told(value: float) -> int:
    """Decimals that leave two significant digits at least."""
    return max(0, 1 - math.floor(math.log10(value))) if value > 0 else 0


def _end(ends: Sequence[float | None], farthest: object) -> float | None:
    known = [end for end in ends if end is not None]
    if len(known) < len(ends):
        return None
    return min(known) if farthest is min else max(known)
