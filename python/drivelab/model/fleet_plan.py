"""What a fleet is going to measure: one item for each drive, each an ordinary local run."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal

from pydantic import TypeAdapter

from drivelab.model.fleet_inventory import identity_in
from drivelab.model.verdict import Outcome

# cut off: its host went away, or the fleet was ended; what is stored there goes on with resume
ItemState = Literal["planned", "measuring", "complete", "failed", "cut_off"]
# what hosts say that were to begin with another, which could not
NOT_TOGETHER = "all were to begin together"
# the error of a target that was ready, and was never told to begin
NOT_TOLD = "U050"
# the error of a drive that its owner has not listed
NOT_LISTED = "C201"
# what is noted of a host that has no drive that is meant
NO_DRIVE_MEETS = "no drive meets"
# of a run that was brought here
NOT_HERE = "its run is not here any more as it came"
ENDED: tuple[ItemState, ...] = ("complete", "failed")


@dataclass(frozen=True, slots=True)
class ItemPlan:
    """What measuring a target is going to do, as its host says before anything is touched.

    Attributes
    ----------
    erases : tuple of str
        What is lost, in words; nothing where the target is only read, or no drive.
    consents : tuple of str
        What the owners of these drives have to list.
    refused : str
        Why it cannot be done as it was asked for: a consent that is missing, a drive that is used.
    expected_ns : int
        How long it takes, about.
    bytes_written : int
        How much it writes, about.
    """

    erases: tuple[str, ...] = ()
    consents: tuple[str, ...] = ()
    refused: str = ""
    expected_ns: int = 0
    bytes_written: int = 0

    @property
    def is_not_listed(self) -> bool:
        """Whether the consent of its owner is what is missing."""
        return self.refused.startswith(NOT_LISTED)

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> ItemPlan:
        """From what a host tells; ValueError where it is something else."""
        return _ITEM_PLAN.validate_python(told)


@dataclass(frozen=True, slots=True)
class FleetItem:
    """One target of one host.

    Attributes
    ----------
    key : str
        Its name in this fleet: ``host/drive``.
    host, target : str
        Where it is, and what the command there is given.
    erase : tuple of str
        What its owner typed.
    drive : mapping of str to str
        Model, firmware, serial and WWN, as far as they are known; those of virtual machines often share a serial,
        which is none then. With neither serial nor WWN, as ``device`` what its kernel calls it, and which kernel that
        is: containers share it.
    tags : mapping of str to str
        What the user says of its host; kept with its run.
    state : {'planned', 'measuring', 'complete', 'failed', 'cut_off'}
        What became of it.
    reason : str
        Why it is not complete, or not here.
    run : str
        The directory of its run, on its host.
    gathered : str
        The name of the same directory here, once it is here whole.
    answer : str
        What it says, in short.
    doubt : str
        Why what was measured does not describe the drive, or not all of it; empty where it does.
    is_void : bool
        Whether none of it does.
    outcome : {'pass', 'fail', 'undecided', 'no_limit', ''}
        Of a check for a need whether it is fit.
    why : str
        Why that is undecided.
    now : str
        What it is doing, or said last.
    plan : ItemPlan or None
        What it is going to do; None where its host was not asked for that.
    """

    key: str
    host: str
    target: str
    erase: tuple[str, ...] = ()
    drive: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    state: ItemState = "planned"
    reason: str = ""
    run: str = ""
    gathered: str = ""
    answer: str = ""
    doubt: str = ""
    is_void: bool = False
    outcome: Outcome | Literal[""] = ""
    why: str = ""
    now: str = ""
    plan: ItemPlan | None = None

    @property
    def identity(self) -> str:
        """What no other drive has, whichever host sees it; empty where nothing is known of that kind."""
        return identity_in(self.drive)

    def to_json(self) -> dict[str, Any]:
        """As it is stored: without the consent, which is typed anew each time."""
        known = {name: getattr(self, name) for name in self.__slots__}
        plan = {name: getattr(self.plan, name) for name in self.plan.__slots__} if self.plan else None
        return {**known, "erase": [], "plan": plan}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> FleetItem:
        """From what `to_json` made; ValueError where it is something else."""
        return _FLEET_ITEM.validate_python(stored)


def seen_by_several(items: Iterable[FleetItem]) -> dict[str, list[str]]:
    """Drives that several hosts see: the keys of their items, by what `FleetItem.identity` tells."""
    found: dict[str, dict[str, str]] = {}
    for item in items:
        if item.identity:
            found.setdefault(item.identity, {}).setdefault(item.host, item.key)
    return {identity: list(keys.values()) for identity, keys in found.items() if len(keys) > 1}


def is_done(reasons: Mapping[str, str], items: Mapping[str, FleetItem]) -> bool:
    """Whether there is something to measure, all of it is measured and not lost here, and every host answered.

    Parameters
    ----------
    reasons : mapping of str to str
        Why hosts could not be asked, by name; empty where they answered.
    items : mapping of str to FleetItem
        By key.
    """
    is_all = all(item.state == "complete" and not item.reason for item in items.values())
    return bool(items) and is_all and not any(reasons.values())


@dataclass(frozen=True, slots=True)
class FleetWork:
    """What each item does: the words of a local command.

    Attributes
    ----------
    command : {'run', 'check', 'io'}
        Which; workloads of ``io`` begin together on all hosts.
    words : tuple of str
        Its arguments and options, without the target and what is the item's own.
    experiment, experiment_text : str
        Of ``run`` the name of the experiment; of a file of the user's its name and what it holds.
    """

    command: Literal["run", "check", "io"]
    words: tuple[str, ...] = ()
    experiment: str = ""
    experiment_text: str = ""

    @property
    def begins_together(self) -> bool:
        """Whether all targets begin at one moment."""
        return self.command == "io"

    @property
    def title(self) -> str:
        """What is measured, for names and lines: as an experiment calls itself, else as its file is called."""
        file = self.experiment.rpartition("/")[2]
        return _name_in(self.experiment_text) or file.rpartition(".")[0] or self.experiment or self.command

    @property
    def need(self) -> str:
        """What drives are checked for; empty where it is no check, or one for all needs."""
        return next((need for option, need in pairwise(self.words) if option == "--for"), "")

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> FleetWork:
        """From what `to_json` made; ValueError where it is something else."""
        return _FLEET_WORK.validate_python(stored)


@lru_cache(maxsize=8)
def _name_in(text: str) -> str:
    """The name that stands in the text of an experiment; empty where there is none, or it cannot be read."""
    try:
        name = tomllib.loads(text).get("name")
    except tomllib.TOMLDecodeError:
        return ""
    return name if isinstance(name, str) else ""


_ITEM_PLAN = TypeAdapter(ItemPlan)
_FLEET_ITEM, _FLEET_WORK = TypeAdapter(FleetItem), TypeAdapter(FleetWork)
