"""A setting: one switchable piece of state of a drive, of its queue in the kernel, or of the computer.

Levels are text. A level that is a number is written without a unit, in the
unit of its setting (`UNITS`); `canonical_level` understands units too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, get_args

from drivelab.model.errors import DrivelabError
from drivelab.model.plain import Plain
from drivelab.model.units import parse_bytes, parse_duration_ns

SettingName = Literal[
    "write-cache",
    "kernel-write-cache",
    "scheduler",
    "nr-requests",
    "device-queue-depth",
    "read-ahead",
    "max-sectors",
    "write-back-throttling",
    "apm",
    "link-power",
    "apst",
    "governor",
    "cpu-dma-latency",
]
SETTING_NAMES: tuple[str, ...] = get_args(SettingName)
# the level that leaves a setting as it was before the run
AS_FOUND = "as-found"
# the unit of levels that are numbers; other settings count, or have names for their levels
UNITS = {"read-ahead": "B", "max-sectors": "B", "write-back-throttling": "ns", "cpu-dma-latency": "us"}
LINK_POWER_LEVELS = (
    "max_performance",
    "medium_power",
    "med_power_with_dipm",
    "min_power_with_partial",
    "min_power",
)
KERNEL_WRITE_CACHE_LEVELS = ("write back", "write through")
# what these settings are when they are not limited at all
_WITHOUT_LIMIT = {"write-back-throttling": "off", "cpu-dma-latency": "unlimited", "apm": "off"}
_NS_PER_US = 1000
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class SettingFacts(Plain):
    """One setting of one drive, as it is now, and what it can be.

    Attributes
    ----------
    name : str
        A name of `SETTING_NAMES`.
    value : str or None
        Level in effect; None when nobody could tell.
    views : dict of str to str
        Every layer that was asked, and its answer: the drive, the kernel's
        view of the drive, the kernel's queue.
    levels : tuple of str
        Levels that it can take; empty when it takes numbers, or when nobody knows.
    minimum, maximum : int or None
        Bounds of a setting that takes numbers, in the unit of its levels.
    reason : str
        Why it cannot be set here; empty when it can.
    """

    name: str
    value: str | None = None
    views: dict[str, str] = field(default_factory=dict)
    levels: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    reason: str = ""

    def refusal(self, level: str) -> str:
        """Why the setting cannot have that level; empty when it can as far as is known."""
        if level == AS_FOUND:
            return ""
        if self.reason:
            return self.reason
        if level in self.levels:
            return ""
        takes_numbers = self.minimum is not None or self.maximum is not None
        if takes_numbers and level.isdigit():
            return self._out_of_bounds(int(level))
        possible = [*self.levels, *(["a whole number"] if takes_numbers else [])]
        return f"it can be {', '.join(possible)}" if possible else ""

    def _out_of_bounds(self, number: int) -> str:
        if self.minimum is not None and number < self.minimum:
            return f"the least it takes is {self.minimum}"
        if self.maximum is not None and number > self.maximum:
            return f"the most it takes is {self.maximum}"
        return ""


def canonical_level(name: str, text: str) -> str:
    """The one way to write a level of a setting: ``128KiB`` of read-ahead is ``131072``.

    Parameters
    ----------
    name : str
        A name of `SETTING_NAMES`.
    text : str
        A level as people write it: numbers may have a unit.

    Raises
    ------
    ValueError
        The setting has no such level, wherever it is; whether a drive can
        have it is told by `SettingFacts.refusal`.

    Examples
    --------
    >>> canonical_level("read-ahead", "128KiB"), canonical_level("write-back-throttling", "2ms")
    ('131072', '2000000')
    >>> canonical_level("cpu-dma-latency", "10us"), canonical_level("apm", "255")
    ('10', 'off')
    """
    level = " ".join(text.split())
    if level == AS_FOUND:
        return level
    if level == _WITHOUT_LIMIT.get(name):
        return level
    return _PARSERS[name](name, level)


def _one_of(*levels: str) -> Callable[[str, str], str]:
    def parse(name: str, level: str) -> str:
        if level not in levels:
            raise ValueError(f"{name} can be {', '.join((*levels, AS_FOUND))}, not '{level}'")
        return level

    return parse


def _a_name(name: str, level: str) -> str:
    if not _NAME.fullmatch(level):
        raise ValueError(f"{name} takes a name as the kernel lists them, not '{level}'")
    return level


def _count(name: str, level: str) -> str:
    if not level.isdecimal() or not level.isascii() or int(level) < 1:
        raise ValueError(f"{name} takes a whole number of at least 1, not '{level}'")
    return str(int(level))


def _bytes(name: str, level: str) -> str:
    try:
        count = parse_bytes(level)
    except DrivelabError as error:
        raise ValueError(f"{name}: {error.what}; {error.do}") from error
    if count % 1024:
        raise ValueError(f"{name} takes whole KiB, and {count} B are none")
    return str(count)


def _throttling_ns(name: str, level: str) -> str:
    nanoseconds = _nanoseconds(name, level, "ns")
    if nanoseconds % _NS_PER_US:
        raise ValueError(f"{name} takes whole microseconds, and {nanoseconds} ns are none")
    return str(nanoseconds) if nanoseconds else "off"


def _latency_us(name: str, level: str) -> str:
    nanoseconds = _nanoseconds(name, level, "us")
    if nanoseconds % _NS_PER_US or nanoseconds >= 2**31 * _NS_PER_US:
        raise ValueError(f"{name} takes whole microseconds below 2^31, not '{level}'")
    return str(nanoseconds // _NS_PER_US)


def _nanoseconds(name: str, level: str, unit: str) -> int:
    try:
        return parse_duration_ns(f"{level}{unit}" if level.isdecimal() else level)
    except DrivelabError as error:
        without = _WITHOUT_LIMIT[name]
        raise ValueError(f"{name}: {error.what}, nor is it '{without}'; {error.do}") from error


def _apm(name: str, level: str) -> str:
    number = int(level) if level.isdecimal() and level.isascii() else 0
    if not 1 <= number <= 255:
        raise ValueError(f"{name} takes 1 (saves most) to 254 (fastest) or 'off', not '{level}'")
    return "off" if number == 255 else str(number)


_PARSERS: dict[str, Callable[[str, str], str]] = {
    "write-cache": _one_of("on", "off"),
    "kernel-write-cache": _one_of(*KERNEL_WRITE_CACHE_LEVELS),
    "scheduler": _a_name,
    "nr-requests": _count,
    "device-queue-depth": _count,
    "read-ahead": _bytes,
    "max-sectors": _bytes,
    "write-back-throttling": _throttling_ns,
    "apm": _apm,
    "link-power": _one_of(*LINK_POWER_LEVELS),
    "apst": _one_of("on", "off"),
    "governor": _a_name,
    "cpu-dma-latency": _latency_us,
}
