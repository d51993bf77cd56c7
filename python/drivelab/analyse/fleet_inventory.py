"""What differs between drives of one model in many hosts, and what they say of their health."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from drivelab.model.fleet_inventory import FleetDrive, OddFact, identity_facts

# what drives of one model may differ in though nobody meant it, with its words
_FACTS = {
    "firmware": "firmware",
    "write_cache": "write cache",
    "scheduler": "scheduler",
    "queue_requests": "requests that the kernel queues",
    "link": "link",
    "logical_block_size_bytes": "logical block size",
}
_WORN_PERCENT = 90


def fleet_drive(host: str, drive: Mapping[str, Any], *, is_meant: bool = False) -> FleetDrive:
    """A drive as ``drivelab drives --json --all --smart`` tells it, and whether the entry of its host means it."""
    touch = drive["touch"]
    erasable = "yes" if touch["may_be_erased"] else "; ".join(touch["reasons"])
    return FleetDrive(
        host,
        _one_line(drive["name"]),
        _one_line(drive["model"]),
        _one_line(drive["firmware"]),
        _one_line(drive["serials"][0]) if drive["serials"] else "",
        int(drive["size_bytes"]),
        erasable,
        {words: text for key, words in _FACTS.items() if (text := _text(key, drive))},
        tuple(_health(drive.get("smart") or {})),
        {key: _one_line(told) for key, told in identity_facts(drive).items()},
        is_meant,
    )


def odd_facts(drives: Sequence[FleetDrive]) -> list[OddFact]:
    """What drives of one model differ in, the fact with the fewest odd ones first.

    Parameters
    ----------
    drives : sequence of FleetDrive
        Of all hosts; those that tell no model have no peers.
    """
    found: list[OddFact] = []
    models: dict[str, list[FleetDrive]] = {}
    for drive in drives:
        models.setdefault(drive.model, []).append(drive)
    models.pop("", None)
    for model, peers in models.items():
        for fact in _FACTS.values():
            by_value: dict[str, list[FleetDrive]] = {}
            for drive in peers:
                if fact in drive.facts:
                    by_value.setdefault(drive.facts[fact], []).append(drive)
            if len(by_value) > 1:
                usual, same = max(by_value.items(), key=lambda item: len(item[1]))
                others = {value: of_it for value, of_it in by_value.items() if value != usual}
                found.append(OddFact(model, fact, usual, len(same), others))
    return sorted(found, key=lambda odd: sum(map(len, odd.others.values())))


def shared_drives(drives: Sequence[FleetDrive]) -> dict[str, list[FleetDrive]]:
    """Drives that several hosts see, by their identity: each as it is called in each of these hosts, once."""
    found: dict[str, dict[str, FleetDrive]] = {}
    for drive in sorted(drives, key=lambda one: one.host):
        if drive.identity:
            found.setdefault(drive.identity, {}).setdefault(drive.host, drive)
    return {identity: list(of_hosts.values()) for identity, of_hosts in found.items() if len(of_hosts) > 1}


def _one_line(told: object) -> str:
    """What a drive, or a host, tells, without line ends: each drive is one line."""
    return " ".join(str(told or "").split())


def _text(key: str, drive: Mapping[str, Any]) -> str:
    """A fact in few words; empty where it is not known."""
    value = drive[key]
    if value is None:
        return ""
    if key == "write_cache":
        state = {True: "on", False: "off"}.get(value["drive_enabled"])
        told = [f"{state} in the drive" if state else "", f"{value['kernel_mode']} in the kernel"]
        return ", ".join(filter(None, told))
    if key == "link":
        return f"{value['kind']} {value['rate_bits_per_s'] / 1e9:g} Gbit/s x{value['lanes']}"
    return str(value)


def _health(smart: Mapping[str, Any]) -> Iterator[str]:
    """What of a drive's own report its owner should know."""
    if smart.get("health_passed") is False:
        yield "says itself that it fails"
    if smart.get("critical_warning"):
        yield f"warns (bits {smart['critical_warning']:#x})"
    if (used := smart.get("percentage_used")) is not None and used >= _WORN_PERCENT:
        yield f"{used} % of its endurance is used up"
    for key, words in (("media_errors", "media errors"), ("pending_sectors", "pending sectors")):
        if smart.get(key):
            yield f"{smart[key]} {words}"
