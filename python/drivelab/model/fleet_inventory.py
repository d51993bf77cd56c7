"""The drives of a fleet's hosts, and in what those of one model differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


def identity_facts(drive: Mapping[str, Any]) -> dict[str, str]:
    """What no other drive has, as far as it is known: ``serial`` and ``wwn``, or without either ``device``.

    Parameters
    ----------
    drive : mapping of str to Any
        One of ``drivelab drives --json --all``, with the ``kernel`` that knows it.

    Returns
    -------
    dict of str to str
        Serials and WWNs of virtual machines are often shared, and are none then. ``device`` is what its kernel calls
        it, and which kernel that is: containers share it.
    """
    own = {} if drive.get("virtual") else {"serial": next(iter(drive["serials"]), None), "wwn": drive.get("wwn")}
    known = {key: str(value) for key, value in own.items() if value}
    if known or not (named := drive.get("identity")):
        return known
    return {"device": f"{named['device_number']} {named['diskseq']} of {drive['kernel']}"}


def identity_in(facts: Mapping[str, str]) -> str:
    """The first of `identity_facts`; empty where there is none."""
    return next((facts[name] for name in ("serial", "wwn", "device") if name in facts), "")


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
    known_as : mapping of str to str
        Its `identity_facts`.
    is_meant : bool
        Whether the entry of its host means it.
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
    known_as: Mapping[str, str] = field(default_factory=dict)
    is_meant: bool = False

    @property
    def identity(self) -> str:
        """What no other drive has, whichever host sees it; empty where nothing is known of that kind."""
        return identity_in(self.known_as)

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
