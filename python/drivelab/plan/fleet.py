"""Which targets of which hosts are measured: from the rules of the hosts and the drives that they have."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from drivelab.model.fleet_hosts import DriveRule, HostEntry
from drivelab.model.fleet_inventory import identity_facts
from drivelab.model.fleet_plan import NO_DRIVE_MEETS, NOT_LISTED, FleetItem, FleetWork, ItemPlan
from drivelab.model.names import free_name
from drivelab.model.units import format_bytes
from drivelab.plan.check import WRITTEN_BYTES_MAX

# in a target: a file of its own for each host on what they share
HOST_PLACE = "{host}"
# how long a check takes, as its help says
_CHECK_NS, _QUICK_CHECK_NS = 45 * 10**9, 10 * 10**9
_ALL = ("everything on it",)
# a drive as 'drivelab drives --json --all' has it, and what tells its kernel from any other
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
    meant = [drive for drive in drives if entry.means(drive)]
    # namespaces of one drive, and its ways to it, have one serial
    shared = {serial for serial, times in Counter(map(serial_of, drives)).items() if times > 1}
    items = [_item_of_drive(name, drive, consent(name, drive), shared) for drive in meant]
    taken = {item.key for item in items}
    for target in dict.fromkeys(one.replace(HOST_PLACE, name) for one in entry.targets or ()):
        key = free_name(f"{name}/{_slug(target)}", taken)
        taken.add(key)
        items.append(FleetItem(key, name, target))
    return [replace(item, tags=dict(entry.tags)) for item in items]


def plan_unasked(item: FleetItem, work: FleetWork) -> ItemPlan | None:
    """What work does to a target whose host cannot tell before; of a check that erases nothing, None."""
    erases = _ALL if item.erase else ()
    if work.begins_together:
        return ItemPlan(erases, item.erase)
    if item.erase:
        expected_ns = _QUICK_CHECK_NS if "--quick" in work.words else _CHECK_NS
        return ItemPlan(erases, item.erase, "", expected_ns, WRITTEN_BYTES_MAX)
    if item.plan is not None and item.plan.erases:
        # to read it alone is another check than the one that was begun
        return replace(item.plan, refused=f"{NOT_LISTED}: it was to be erased, and is not listed any more")
    return None


def unmet_rules(entry: HostEntry, drives: Sequence[Drive]) -> list[str]:
    """Why rules of a host mean no drive of it, one text for each such rule."""
    found: list[str] = []
    for rule in entry.drives or ():
        if all(rule.mismatch(drive) for drive in drives):
            nearest = _nearest(rule, drives)
            found.append(f"{NO_DRIVE_MEETS} {rule_text(rule)}" + (f": {nearest}" if nearest else ""))
    return found


def rule_text(rule: DriveRule) -> str:
    """A rule as one would say it: ``serial S1``, ``transport nvme, model Samsung*``."""
    said = rule.model_dump(exclude_defaults=True)
    if "min_size" in said:
        said["min_size"] = format_bytes(said["min_size"])
    told = [f"{key} {value}" for key, value in said.items()]
    return ", ".join(told) or "any drive that is not in use"


def serial_of(drive: Drive) -> str:
    """The serial of a drive; its name where it tells none."""
    return str(drive["serials"][0]) if drive["serials"] else str(drive["name"])


def _item_of_drive(host: str, drive: Drive, erase: tuple[str, ...], shared: Collection[str]) -> FleetItem:
    serial = serial_of(drive)
    name = f"{serial}-{drive['name']}" if serial in shared else serial
    known = {key: str(drive[key]) for key in ("model", "firmware") if drive[key]} | identity_facts(drive)
    return FleetItem(f"{host}/{_slug(name)}", host, drive["path"], erase, known)


def _nearest(rule: DriveRule, drives: Sequence[Drive]) -> str:
    """Of a rule that names one drive, what is against it."""
    for drive in drives:
        if rule.serial in drive["serials"] or (rule.name is not None and rule.name == drive["name"]):
            reason, name = rule.mismatch(drive), str(drive["name"])
            return reason if reason.startswith(name) else f"{name}: {reason}"
    return ""


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.") or "target"
