"""What else a drive's queue is set to when one attribute is written, and bringing all of that back.

Writing some attributes makes the kernel change others as well: another
scheduler resets ``nr_requests``, and new limits raise a lowered
``read_ahead_kb``. So a change writes down all of them, and undoing it brings
all of them back, in an order in which the kernel takes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from drivelab.inventory.system_paths import SystemPaths
from drivelab.model.errors import DrivelabError
from drivelab.state.settings.kernel_attribute import drive_node, read_attribute, write_attribute

# each moves only such that come after it
QUEUE = (
    "queue/scheduler",
    "queue/nr_requests",
    "queue/max_sectors_kb",
    "queue/read_ahead_kb",
    "queue/wbt_lat_usec",
)
# what the kernel is known to change by itself when another attribute is written
MOVED_ALONG = ("queue/nr_requests", "queue/read_ahead_kb", "queue/wbt_lat_usec")
# what belongs to a level: a scheduler brings its own number of requests
CONSEQUENCES = {"queue/scheduler": ("queue/nr_requests", "queue/wbt_lat_usec")}


@dataclass(frozen=True, slots=True)
class Goals:
    """What a queue is to be brought to.

    Attributes
    ----------
    required : dict of str to str
        Values as they were found, by attribute.
    tried : dict of str to str
        What somebody else has set since, and stays where the kernel lets it;
        and what another change answers for.
    fallback : mapping of str to str
        As found, for those of `tried` that the kernel does not take any more.
    """

    required: dict[str, str]
    tried: dict[str, str] = field(default_factory=dict)
    fallback: Mapping[str, str] = field(default_factory=dict)

    def leave_to_others(self, attribute: str, *, but: str) -> None:
        """Bring an attribute back if that is possible, and say nothing otherwise; never for the one named `but`."""
        if attribute in self.required and attribute != but:
            self.tried[attribute] = self.required.pop(attribute)

    def bring(self, name: str, paths: SystemPaths) -> None:
        """Write what differs, in an order that the kernel takes, and read all of it back.

        Raises
        ------
        DrivelabError
            R406: something is not as it was found.
        """
        refusals = []
        for attribute in in_order({**self.required, **self.tried}):
            goal = self.required[attribute] if attribute in self.required else self.tried[attribute]
            if read_attribute(name, attribute, paths) == goal:
                continue
            try:
                write_attribute(name, attribute, goal, paths)
            except DrivelabError as error:
                if attribute in self.required:
                    refusals.append(error.what)
                else:
                    self._fall_back(name, attribute, paths)
        now = {attribute: read_attribute(name, attribute, paths) for attribute in in_order(self.required)}
        differing = {one: text for one, text in now.items() if text != self.required[one]}
        if differing:
            wrong = [f"{one} was {self.required[one]} before, and is {text}" for one, text in differing.items()]
            raise DrivelabError("R406", "; ".join([*wrong, *refusals]), where=drive_node(name))

    def _fall_back(self, name: str, attribute: str, paths: SystemPaths) -> None:
        if attribute in self.fallback:
            with suppress(DrivelabError):
                write_attribute(name, attribute, self.fallback[attribute], paths)


def queue_values(name: str, paths: SystemPaths, *, but: str = "") -> dict[str, str]:
    """What every attribute of a queue is now that can be told, but for one."""
    found = {other: read_attribute(name, other, paths) for other in QUEUE if other != but}
    return {other: text for other, text in found.items() if text is not None}


def in_order(attributes: Iterable[str]) -> list[str]:
    """Attributes in the order in which they are to be written; those that move no others come first."""
    places = {attribute: place for place, attribute in enumerate(QUEUE)}
    return sorted(attributes, key=lambda attribute: places.get(attribute, -1))


def goals_of(
    before: Mapping[str, str], now: Mapping[str, str], ours: Mapping[str, set[str]], *, is_cut_off: bool
) -> Goals:
    """What the other attributes are to be when a change is undone.

    Parameters
    ----------
    before : mapping of str to str
        As they were right before the change.
    now : mapping of str to str
        As they are.
    ours : mapping of str to set of str
        Values that drivelab, or the kernel because of it, has given them.
    is_cut_off : bool
        Whether the change, or an earlier undo of it, was cut off, so that
        nobody knows what the kernel moved.
    """
    goals = Goals(required={}, fallback=before)
    for attribute, text in before.items():
        present = now.get(attribute)
        is_moved = is_cut_off and attribute in MOVED_ALONG
        if present is None or present == text or is_moved or present in ours.get(attribute, ()):
            goals.required[attribute] = text
        else:
            goals.tried[attribute] = present
    return goals


def known_values(changes: Iterable[Mapping[str, Any]]) -> dict[str, set[str]]:
    """Every value of every attribute that changes of one drive know of, by attribute."""
    known: dict[str, set[str]] = {}
    for facts in changes:
        values = [(facts["attribute"], facts["old"]), (facts["attribute"], facts["new"])]
        for some in (facts.get("others"), facts.get("moved")):
            values += (some or {}).items()
        for attribute, text in values:
            known.setdefault(attribute, set()).add(text)
    return known
