"""Values of options, read by their kind."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from drivelab.interop.fio.asked_logs import LOG_OPTIONS
from drivelab.interop.fio.option import Option
from drivelab.interop.fio.sizes import Amount, ValueMistake, parse_amount, parse_time_us, parse_zones

_LIST_MAX = 256

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Choice:
    """A word, and what follows it after a colon."""

    word: str
    rest: str = ""


@dataclass(frozen=True, slots=True)
class PerDirection(Generic[T]):
    """Values for reads, writes and trims; None where nothing was written."""

    read: T | None = None
    write: T | None = None
    trim: T | None = None

    def over(self, earlier: PerDirection[Any]) -> PerDirection[Any]:
        """These, and the earlier ones where nothing was written."""
        pairs = ((self.read, earlier.read), (self.write, earlier.write), (self.trim, earlier.trim))
        read, write, trim = (before if now is None else now for now, before in pairs)
        return PerDirection(read, write, trim)

    def of(self, direction: str) -> T | None:
        """The value of a direction: read, write or trim."""
        return {"read": self.read, "write": self.write, "trim": self.trim}[direction]


@dataclass(frozen=True, slots=True)
class SizeRange:
    """Block sizes from one to another, in bytes."""

    least: int
    most: int


@dataclass(frozen=True, slots=True)
class SplitPart:
    """A block size in bytes and its share in per cent; None shares what is left."""

    size: int
    percent: int | None


Value = (
    str
    | bool
    | Choice
    | Amount
    | tuple[Amount, Amount]
    | tuple[float, ...]
    | PerDirection[Amount]
    | PerDirection[SizeRange]
    | PerDirection[tuple[SplitPart, ...]]
)


def parse_value(option: Option, text: str | None, *, kb_base: int = 1024) -> tuple[Value, list[str]]:
    """The value of an option, and what a reader would not expect of it.

    Parameters
    ----------
    text : str or None
        What stands after the equals sign; None where there is none.
    kb_base : int
        What a k is.

    Raises
    ------
    ValueMistake
        fio would refuse it, or read something that nobody means.
    """
    surprises: list[str] = []
    if text is not None and option.kind == "choice" and text != text.lstrip():
        raise ValueMistake(f"fio 3.33 refuses the blank before {text.strip()}: write {option.name}={text.strip()}")
    if option.kind in ("flag", "boolean"):
        return _truth(option, text if text is None else text.strip()), surprises
    if option.kind == "text":
        if not (text or "").strip() and not _stands_alone(option):
            raise ValueMistake("it needs a value")
        return (text or "").strip(), surprises
    if text is None:
        raise ValueMistake("it needs a value")
    # a blank in front of a number means something to fio
    text = text.strip() if option.kind == "choice" else text.rstrip()
    return _READERS[option.kind](option, text, kb_base, surprises), surprises


def _stands_alone(option: Option) -> bool:
    """Whether a text may be left out: a log is then called as its job."""
    return option.effect == "noted" or option.name in LOG_OPTIONS


def _truth(option: Option, text: str | None) -> bool:
    if text is None:
        if option.kind == "flag":
            return True
        raise ValueMistake("it needs a value: 0 or 1")
    match = re.match(r"[+-]?(0[xX][0-9a-fA-F]+|\d+)", text, re.ASCII)
    if match is None:
        alone = f"{option.name} alone, or " if option.kind == "flag" else ""
        raise ValueMistake(f"fio takes 0 or 1 here, no words: write {alone}{option.name}={_meant_by(text)}")
    number = int(match[1][:20], 16 if match[1][:2] in ("0x", "0X") else 10)
    if option.kind == "boolean" and number > 1:
        raise ValueMistake("it is 0 or 1")
    return number != 0


def _meant_by(text: str) -> int:
    return 0 if text.lower() in ("false", "no", "off", "n", "f", "") else 1


def _choice(option: Option, text: str, _kb_base: int, _surprises: list[str]) -> Choice:
    if not text:
        raise ValueMistake("it needs a value")
    end = min((text.find(mark) for mark in ",:" if mark in text), default=len(text))
    choice = Choice(text[:end].strip(), text[end + 1 :].strip())
    if option.choices and choice.word not in option.choices:
        raise ValueMistake(f"it is one of {', '.join(option.choices)}")
    return choice


def _first_of_list(text: str) -> str:
    return re.split(r"[,:]", text)[0] if not text.startswith("(") else text


def _number(option: Option, text: str, kb_base: int, surprises: list[str]) -> Amount:
    first = _first_of_list(text)
    if option.name == "flow" and first.lstrip().startswith("-"):
        raise ValueMistake("a weight is 0 or more: with another a job of fio's 3.33 never begins")
    if option.name in ("nice", "prio") and first.lstrip().startswith("-"):
        # the sign changes nothing that drivelab does
        first = first.replace("-", "", 1)
    return _bounded(option, parse_amount(first, kb_base=kb_base), surprises)


def _size(option: Option, text: str, kb_base: int, surprises: list[str]) -> Amount:
    zones = parse_zones(text)
    if zones is not None:
        return zones
    amount = _bounded(option, parse_amount(_first_of_list(text), kb_base=kb_base), surprises)
    if amount.measure == "percent" and amount.value > 100:
        raise ValueMistake("there are no more than 100 %")
    return amount


def _extent(option: Option, text: str, kb_base: int, surprises: list[str]) -> tuple[Amount, Amount]:
    parts = re.split(r"[,:-]", text) if not text.startswith("(") else [text]
    if len(parts) > 2:
        raise ValueMistake("it is one size, or two with a dash")
    amounts = [_bounded(option, parse_amount(part, kb_base=kb_base), surprises) for part in parts]
    least, most = sorted(amounts, key=lambda amount: amount.value)[0], amounts[-1]
    return (least, most if most.value >= least.value else amounts[0])


def _per_direction(option: Option, text: str, kb_base: int, surprises: list[str]) -> PerDirection[Amount]:
    def read(part: str) -> Amount:
        return _bounded(option, parse_amount(part, kb_base=kb_base), surprises)

    return _directions(text, read, marks=",:-")


def _ranges(option: Option, text: str, kb_base: int, surprises: list[str]) -> PerDirection[SizeRange]:
    def read(part: str) -> SizeRange:
        ends = re.split(r"[-:]", part, maxsplit=1)
        if len(ends) != 2:
            raise ValueMistake("it is two sizes with a dash: 4k-16k")
        low, high = sorted(_bounded(option, parse_amount(end, kb_base=kb_base), surprises).value for end in ends)
        return SizeRange(low, high)

    return _directions(text, read, marks=",")


def _directions(text: str, read: Callable[[str], T], *, marks: str) -> PerDirection[T]:
    """Up to three values; a missing first one is left as it was, the last one holds for those after it."""
    if text.startswith("("):
        parts = [text]
    else:
        mark = next((mark for mark in marks if mark in text), "")
        parts = text.split(mark) if mark else [text]
    # a mark at the end only says that the others stay as they were
    stays = len(parts) > 1 and not parts[-1].strip()
    found: list[T | None] = [read(part) if part.strip() else None for part in parts[:3]]
    if all(value is None for value in found):
        raise ValueMistake("a number is missing")
    last = None if stays else found[-1]
    found += [last] * (3 - len(found))
    return PerDirection(found[0], found[1], found[2])


def _split(option: Option, text: str, kb_base: int, surprises: list[str]) -> PerDirection[tuple[SplitPart, ...]]:
    def read(part: str) -> tuple[SplitPart, ...]:
        found = []
        for each in part.split(":")[:_LIST_MAX]:
            if not each:
                break
            size, slash, share = each.partition("/")
            percent = _whole_number(share) if slash else None
            amount = _bounded(option, parse_amount(size, kb_base=kb_base), surprises)
            if amount.value < 1:
                raise ValueMistake("a block has at least 1 byte")
            # a share of 0 counts as one that is missing
            found.append(SplitPart(amount.value, min(percent, 100) if percent else None))
        if sum(part.percent or 0 for part in found) > 100:
            raise ValueMistake("the shares come to more than 100 %")
        return tuple(found)

    parts = text.split(",")[:3]
    found = [read(part) or None for part in parts]
    if not any(found):
        raise ValueMistake("a size is missing")
    return PerDirection(found[0], found[1 if len(found) > 1 else 0], found[-1])


def _whole_number(text: str) -> int:
    match = re.match(r"\s*(\d{1,9})", text, re.ASCII)
    return int(match[1]) if match else 0


def _floats(_option: Option, text: str, _kb_base: int, _surprises: list[str]) -> tuple[float, ...]:
    found = []
    for part in text.split(":")[:_LIST_MAX]:
        try:
            found.append(float(part))
        except ValueError:
            raise ValueMistake(f"'{part}' is no number") from None
    if not all(math.isfinite(number) for number in found):
        raise ValueMistake("it is not finite")
    return tuple(found)


def _duration(option: Option, text: str, _kb_base: int, surprises: list[str]) -> Amount:
    first = re.split(r"[,:-]", text)[0] if not text.startswith("(") else text
    return _bounded(option, parse_time_us(first, in_seconds=option.unit == "s"), surprises)


def _durations(option: Option, text: str, _kb_base: int, surprises: list[str]) -> PerDirection[Amount]:
    def read(part: str) -> Amount:
        return _bounded(option, parse_time_us(part, in_seconds=option.unit == "s"), surprises)

    return _directions(text, read, marks=",:-")


def _bounded(option: Option, amount: Amount, surprises: list[str]) -> Amount:
    if option.minimum is not None and amount.value < option.minimum:
        raise ValueMistake(f"it is at least {option.minimum}")
    if option.maximum is not None and amount.value > option.maximum:
        raise ValueMistake(f"it is at most {option.maximum}")
    if amount.surprise:
        surprises.append(amount.surprise)
    return replace(amount, surprise="")


_READERS: dict[str, Callable[[Option, str, int, list[str]], Value]] = {
    "choice": _choice,
    "number": _number,
    "numbers": _per_direction,
    "size": _size,
    "sizes": _per_direction,
    "extent": _extent,
    "duration": _duration,
    "durations": _durations,
    "floats": _floats,
    "ranges": _ranges,
    "split": _split,
}
