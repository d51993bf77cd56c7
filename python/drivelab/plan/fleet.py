"""Which targets of which hosts are measured: from the rules of the hosts and the drives that they have."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from drivelab.model.fleet_hosts import DriveRule, HostEntry
from drivelab.model.fleet_plan import FleetItem

# in a target: a file of its own for each host on what they share
HOST_PLACE = "{host}"
# a drive as 'drivelab drives --json --all' has it
Drive = Mapping[str, Any]
# what of a drive's consent its owner typed: host, drive
Consent = Callable[[str, Drive], tuple[str, ...]]


def items_of_host(name: str, entry: HostEntry, drives: Sequence[Drive], consent: Consent) -> list[FleetItem]:
    """One item for each drive and target that a host's entry means.

    Parameters
    ----------
    name, entry
        The host.
    drives : sequence of Drive
        What it has.
    consent : callable
        What may be erased.
    """
    meant = [drive for drive in drives if any(not rule.mismatch(drive) for rule in entry.drives or ())]
    items = [_item_of_drive(name, drive, consent(name, drive)) for drive in meant]
    for target in entry.targets or ():
        own = target.replace(HOST_PLACE, name)
        items.append(FleetItem(f"{name}/{_slug(own)}", name, own, f"target:{own}"))
    return items


def unmet_rules(entry: HostEntry, drives: Sequence[Drive]) -> list[str]:
    """Why rules of a host mean no drive of it, one text for each such rule."""
    found: list[str] = []
    for rule in entry.drives or ():
        if all(rule.mismatch(drive) for drive in drives):
            nearest = _nearest(rule, drives)
            found.append(f"no drive meets {rule_text(rule)}" + (f": {nearest}" if nearest else ""))
    return found


def rule_text(rule: DriveRule) -> str:
    """A rule as one would say it: ``serial S1``, ``transport nvme, model Samsung*``."""
    told = [f"{key} {value}" for key, value in rule.model_dump(exclude_defaults=True).items()]
    return ", ".join(told) or "any drive that is not in use"


def serial_of(drive: Drive) -> str:
    """The serial of a drive; its name where it tells none."""
    return str(drive["serials"][0]) if drive["serials"] else str(drive["name"])


def _item_of_drive(host: str, drive: Drive, erase: tuple[str, ...]) -> FleetItem:
    serial = serial_of(drive)
    own = serial if drive["serials"] and not drive["virtual"] else None
    facts = {"model": drive["model"], "firmware": drive["firmware"], "serial": own}
    known = {key: str(value) for key, value in facts.items() if value}
    return FleetItem(f"{host}/{_slug(serial)}", host, drive["path"], f"drive:{serial}", erase, known)


def _nearest(rule: DriveRule, drives: Sequence[Drive]) -> str:
    """Of a rule that names one drive, what is against it."""
    for drive in drives:
        if rule.serial in drive["serials"] or (rule.name is not None and rule.name == drive["name"]):
            return f"{drive['name']}: {rule.mismatch(drive)}"
    return ""


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.") or "target"
