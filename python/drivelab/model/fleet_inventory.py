"""The drives of a fleet's hosts, and in what those of one model differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FleetDrive:
    """A drive of a host.

    Attributes
    ----------
    host, name, model, firmware, serial : str
        Which one; empty where it is not told.
    may_be_erased : str
        ``yes``, or why not.
    facts : mapping of str to str
        What others of its model may differ in, by the word for it.
    health : tuple of str
        What its owner should know; nothing where all is well or nothing is told.
    """

    host: str
    name: str
    model: str
    firmware: str
    serial: str
    size_bytes: int
    may_be_erased: str
    facts: Mapping[str, str]
    health: tuple[str, ...]

    @property
    def place(self) -> str:
        """Where it is: ``host/name``."""
        return f"{self.host}/{self.name}"

    def to_json(self) -> dict[str, Any]:
        """As it is printed."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class OddFact:
    """A fact in which few drives differ from most of their model.

    Attributes
    ----------
    model, fact, usual : str
        Of which model, what, and what most have.
    count : int
        How many have that.
    others : mapping of str to list of FleetDrive
        Those that have something else, by what they have.
    """

    model: str
    fact: str
    usual: str
    count: int
    others: Mapping[str, list[FleetDrive]]

    def to_json(self) -> dict[str, Any]:
        """As it is printed: drives by their place."""
        others = {value: [drive.place for drive in drives] for value, drives in self.others.items()}
        return {"model": self.model, "fact": self.fact, "usual": self.usual, "count": self.count, "others": others}
