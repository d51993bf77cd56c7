"""Loads published pages: one TOML file each, whose numbers stand in it once, as the page prints them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from importlib import resources
from typing import Any

from drivelab.model.errors import DrivelabError
from drivelab.model.estimate import Estimate, Unit
from drivelab.model.names import did_you_mean
from drivelab.model.result_set import (
    Machine,
    MeasuredDrive,
    Observation,
    PageForm,
    PublishedCell,
    PublishedTable,
    ResultSet,
)
from drivelab.model.units import parse_bytes

_FACTORS: dict[str, tuple[int, Unit]] = {
    "ns": (1, "ns"),
    "us": (10**3, "ns"),
    "µs": (10**3, "ns"),
    "ms": (10**6, "ns"),
    "s": (10**9, "ns"),
    "MB/s": (10**6, "B/s"),
    "GB/s": (10**9, "B/s"),
    "/s": (1, "1/s"),
    "/second": (1, "1/s"),
}
_NUMBER = r"\d[\d,]*(?:\.\d+)?"
_PRINTED = re.compile(
    rf"(?P<sign>~|<|about |between )?\s*(?P<first>{_NUMBER})(?:\s*(?:-|to|and)\s*(?P<last>{_NUMBER}))?"
    r"\s*(?P<unit>[µa-zA-Z]*(?:/s(?:econd)?)?)(?: per write)?"
)
# begins the name of a page where a run could be meant
PREFIX = "reference:"
_OBSERVED = {field.name for field in fields(Observation)}


def reference_names() -> tuple[str, ...]:
    """Names of the published pages, sorted."""
    folder = resources.files("drivelab.reference")
    return tuple(sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml")))


def load_reference(name: str) -> ResultSet:
    """The numbers of a published page.

    Parameters
    ----------
    name : str
        As `reference_names` has it: ``ssd-latency``.

    Returns
    -------
    ResultSet
        Times in ns and rates in B/s or 1/s; every number also as the page prints it.
        Its key is ``reference:NAME``.

    Raises
    ------
    DrivelabError
        U005: there is no page of that name.
    """
    names = reference_names()
    if name not in names:
        do = f"{did_you_mean(name, names)} choose one of: {', '.join(names)}".lstrip()
        raise DrivelabError("U005", f"'{name}' is not a published page that drivelab holds", do=do)
    text = (resources.files("drivelab.reference") / f"{name}.toml").read_text(encoding="utf-8")
    return _result_set(name, tomllib.loads(text))


def _result_set(name: str, page: Mapping[str, Any]) -> ResultSet:
    drives = tuple(_drive(drive) for drive in page["drives"])
    machine_of = {drive.name: drive.machine for drive in drives}
    printed = [group for group in page["observations"] if not group.get("is_read_off")]
    read_off = [group for group in page["observations"] if group.get("is_read_off")]
    return ResultSet(
        key=f"{PREFIX}{name}",
        title=page["title"],
        question=page["question"],
        source=_source(page),
        measured=page["published"],
        is_reference=True,
        machines=tuple(Machine(**machine) for machine in page["machines"]),
        drives=drives,
        observations=tuple(one for group in printed for one in _observations(group, machine_of)),
        read_off=tuple(one for group in read_off for one in _observations(group, machine_of)),
        tables=tuple(_table(table) for table in page["tables"]),
        cells=tuple(cell for group in page.get("cells", ()) for cell in _cells(group)),
        answer=tuple(_one_line(sentence) for sentence in page["answer"]),
        notes=tuple(_one_line(note) for note in page["notes"]),
        forms=tuple(PageForm(form["table"], form["title"], tuple(form["columns"])) for form in page.get("forms", ())),
    )


def _source(page: Mapping[str, Any]) -> str:
    """Author, title and address, as far as the page tells them; that it tells no date is said, too."""
    told = [page["address"], "" if page["published"] else "no date"]
    place = "; ".join(filter(None, told))
    return f'{page["author"] or "author not named"}, "{page["title"]}"{f" ({place})" if place else ""}'


def _drive(drive: Mapping[str, Any]) -> MeasuredDrive:
    known = {key: value for key, value in drive.items() if key != "capacity"}
    # "1TB" and "1 TB" are both printed; a page that prints none leaves it unknown
    capacity = parse_bytes(drive["capacity"]) if "capacity" in drive else None
    return MeasuredDrive(**known, capacity_bytes=capacity)


def _observations(group: Mapping[str, Any], machine_of: Mapping[str, str]) -> Iterator[Observation]:
    """The numbers of a group: what they share, and one row each.

    A column that is no field of `Observation` is a factor; where its cell is empty the factor does not apply.
    """
    shared = {key: group[key] for key in _OBSERVED & set(group) - {"levels", "note"}}
    for row in group["rows"]:
        cells = {"note": group.get("note", "")} | dict(zip(group["columns"], row, strict=True))
        levels = {factor: level for factor, level in cells.items() if factor not in _OBSERVED and level}
        for size, printed in _sized(group, cells["printed"]):
            sizes = {"block_size": size} if "block_sizes" in group else {}
            yield Observation(
                **shared,
                drive=cells["drive"],
                machine=cells.get("machine") or machine_of[cells["drive"]],
                estimate=_estimate(printed, group),
                levels=dict(group.get("levels", {})) | levels | sizes,
                block_size_bytes=parse_bytes(size) if size else None,
                printed=printed,
                note=_one_line(cells["note"]),
            )


def _sized(group: Mapping[str, Any], printed: str | list[str]) -> list[tuple[str, str]]:
    """The numbers of a row with their block sizes: one, or one for each of the group's; an empty one is missing."""
    if isinstance(printed, str):
        return [(group.get("block_size", ""), printed)]
    return [(size, text) for size, text in zip(group["block_sizes"], printed, strict=True) if text]


def _estimate(printed: str, group: Mapping[str, Any]) -> Estimate:
    number = read_printed(printed, group.get("unit", ""))
    count = group.get("sample_count", 0)
    return Estimate(
        value=number.value,
        low=number.low,
        high=number.high,
        unit=number.unit,
        sample_count=count,
        # a page tells one number and nothing of its scatter
        effective_sample_count=1.0,
        method="as printed" if number.value is not None else "bounds, as printed",
    )


def _cells(group: Mapping[str, Any]) -> Iterator[PublishedCell]:
    """The cells of a table: each row begins with its name here, which no page prints."""
    for name, *printed in group["rows"]:
        for column, text in zip(group["columns"], printed, strict=True):
            yield PublishedCell(group["table"], name, column, text)


def _table(table: Mapping[str, Any]) -> PublishedTable:
    rows = tuple(tuple(row) for row in table["rows"])
    note = _one_line(table.get("note", ""))
    return PublishedTable(table["key"], table["title"], tuple(table["columns"]), rows, note)


def _one_line(text: str) -> str:
    """A text without the line breaks that it has in the file."""
    return " ".join(text.split())


@dataclass(frozen=True, slots=True)
class PrintedNumber:
    """What a printed number says, in a unit of ours.

    Attributes
    ----------
    value : float or None
        The number; None where only its bounds are printed.
    low, high : float or None
        Bounds, where they are all that is printed: ``<1ms`` lies between 0 and 1 ms.
    unit : str
        ns, B/s or 1/s.
    is_approximate : bool
        Whether the page says "about".
    """

    value: float | None
    low: float | None
    high: float | None
    unit: Unit
    is_approximate: bool


def read_printed(text: str, unit: str = "") -> PrintedNumber:
    """The number in a text.

    Parameters
    ----------
    text : str
        As printed; a trailing "per write" is left out.
    unit : str
        The unit of a text that has none, because the head of its column tells: ns, us, ms, s, MB/s, GB/s, /s.

    Raises
    ------
    ValueError
        No number, or a unit that is not known.

    Examples
    --------
    >>> read_printed("~8", "ms").value, read_printed("<1ms per write").high
    (8000000.0, 1000000.0)
    """
    match = _PRINTED.fullmatch(text.strip())
    if match is None or (match["unit"] or unit) not in _FACTORS:
        raise ValueError(f"'{text}' is not a number in a known unit")
    factor, own_unit = _FACTORS[match["unit"] or unit]
    first = _scaled(match["first"], factor)
    if match["last"]:
        return PrintedNumber(None, first, _scaled(match["last"], factor), own_unit, is_approximate=False)
    if match["sign"] == "<":
        return PrintedNumber(None, 0.0, first, own_unit, is_approximate=False)
    return PrintedNumber(first, None, None, own_unit, is_approximate=match["sign"] in ("~", "about "))


def _scaled(digits: str, factor: int) -> float:
    # in decimals, so that 0.048 ms is 48000 ns and not 48000.000000000007
    return float(Decimal(digits.replace(",", "")) * factor)
