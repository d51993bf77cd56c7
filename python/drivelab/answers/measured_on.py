"""Who measured what: the machine and the drives of a stored run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from drivelab.model.errors import DrivelabError
from drivelab.model.names import names_apart
from drivelab.model.price import Price, parse_price
from drivelab.model.result_set import SIMULATED, Machine, MeasuredDrive
from drivelab.model.units import format_bytes, format_decimal_bytes
from drivelab.store.run_record import RunRecord

_LINKS = {"pcie": "PCIe", "sata": "SATA", "sas": "SAS", "usb": "USB"}
_UNKNOWN_HOST = "unknown machine"
# as many characters of a serial tell two drives of one model apart, nearly always
_SERIAL_END = 6


@dataclass(frozen=True, slots=True)
class MeasuredTarget:
    """A target of a run: the drive that it is, and what its trials find there unless they set it otherwise.

    Attributes
    ----------
    drive : MeasuredDrive
        The drive beneath it, or the target itself where no single drive is known.
    levels : mapping of str to str
        ``filesystem`` and ``write-cache`` as they were before the run, as far as they are known.
    """

    drive: MeasuredDrive
    levels: Mapping[str, str] = field(default_factory=dict)


def machine_of(record: RunRecord) -> Machine:
    """The computer that a run was made on; whatever is not known of it stays empty."""
    host = record.host
    links: dict[str, str] = {}
    for target in record.targets:
        for drive in _facts(target).get("drives") or ():
            kind, _, speed = link_text(drive.get("link") or {}).partition(" ")
            if speed:
                links.setdefault(kind, speed)
    return Machine(
        name=as_text(host.get("hostname")) or _UNKNOWN_HOST,
        kind=_machine_kind(host),
        model=" ".join(part for part in map(as_text, (host.get("machine_vendor"), host.get("machine_model"))) if part),
        distribution=as_text(host.get("distribution")),
        kernel=as_text(host.get("kernel_release")),
        cpu=as_text(host.get("cpu_model")),
        links=links,
    )


def measured_targets(record: RunRecord, labels: Sequence[str] = ()) -> dict[str, MeasuredTarget]:
    """The targets of a run by their label, their drives with names that tell them apart.

    Parameters
    ----------
    labels : sequence of str
        Labels that trials have; one that the record does not know gets a drive of which only the name is known.
    """
    machine = machine_of(record).name
    found = {as_text(target.get("label")): _measured_target(target, machine) for target in record.targets}
    for label in labels:
        found.setdefault(label, MeasuredTarget(MeasuredDrive(label or "unknown drive", machine=machine)))
    priced = {label: _priced(target, as_text(record.prices.get(label))) for label, target in found.items()}
    # one model twice: by the end of the serial, else by the label of the target
    serials = [target.drive.serial[-_SERIAL_END:] for target in priced.values()]
    words = ([f" ({end})" if end else "" for end in ends] for ends in (serials, priced))
    names = names_apart([target.drive.name for target in priced.values()], *words)
    return {
        label: replace(one, drive=replace(one.drive, name=name, label=label))
        for (label, one), name in zip(priced.items(), names, strict=True)
    }


def link_text(link: Mapping[str, Any]) -> str:
    """A link as negotiated: ``SATA 6 Gbit/s``, ``PCIe 8 GT/s x4``; empty where it is unknown."""
    rate, kind = link.get("rate_bits_per_s"), link.get("kind")
    if not isinstance(rate, int | float) or kind not in _LINKS:
        return ""
    if kind == "pcie":
        return f"PCIe {rate / 1e9:g} GT/s x{link.get('lanes') or 1}"
    return f"{_LINKS[kind]} {rate / 1e9:g} Gbit/s" if rate >= 1e9 else f"{_LINKS[kind]} {rate / 1e6:g} Mbit/s"


def as_text(value: Any) -> str:
    """The value as text; empty for what is not there."""
    return "" if value is None else str(value).strip()


def _machine_kind(host: Mapping[str, Any]) -> str:
    inside = [f"virtual machine ({host['hypervisor']})"] if host.get("hypervisor") else []
    inside += [f"container ({host['container']})"] if host.get("container") else []
    if inside:
        return ", ".join(inside)
    return "physical machine" if host.get("hypervisor") == "" else ""


def _facts(target: Mapping[str, Any]) -> Mapping[str, Any]:
    """Facts from before the run, with what only those from after it have."""
    before, after = target.get("facts_before") or {}, target.get("facts_after") or {}
    return {**after, **{key: value for key, value in before.items() if value not in (None, [], ())}}


def _measured_target(target: Mapping[str, Any], machine: str) -> MeasuredTarget:
    facts = _facts(target)
    label = as_text(target.get("label")) or as_text(facts.get("text")) or "unknown drive"
    drives = facts.get("drives") or []
    drive = drives[0] if len(drives) == 1 else {}
    capacity = drive.get("size_bytes") or facts.get("size_bytes") or None
    is_scratch = facts.get("kind") == "scratch" or label.startswith("scratch")
    model = "" if is_scratch else _model(drive)
    name = f"{model} {format_decimal_bytes(capacity)}" if model and capacity else model or label
    if facts.get("simulated"):
        # a label is what its user calls it, and another model may have the same
        name, model = label, as_text(facts.get("text")) or label
    measured = MeasuredDrive(
        name=name,
        model=model,
        firmware=as_text(drive.get("firmware")),
        serial=as_text(drive.get("serial")),
        capacity_bytes=int(capacity) if isinstance(capacity, int | float) else None,
        # an imported run may name several
        machine=as_text(facts.get("machine")) or machine,
        link=link_text(drive.get("link") or {}),
        kind=_drive_kind(facts, drive, len(drives), is_scratch=is_scratch),
    )
    return MeasuredTarget(measured, _found_levels(facts, drive))


def _priced(target: MeasuredTarget, text: str) -> MeasuredTarget:
    """The target with the price that the run was told."""
    return replace(target, drive=replace(target.drive, price=_price(text))) if text else target


def _price(text: str) -> Price | None:
    try:
        return parse_price(text)
    except DrivelabError:
        # a damaged price is none
        return None


def _model(drive: Mapping[str, Any]) -> str:
    """Maker and model, the maker once; ``ATA`` is what the kernel says where nobody told it the maker."""
    vendor, model = as_text(drive.get("vendor")), as_text(drive.get("model"))
    is_told = vendor in ("", "ATA") or model.lower().startswith(vendor.lower())
    return model if is_told or not model else f"{vendor} {model}"


def _drive_kind(facts: Mapping[str, Any], drive: Mapping[str, Any], drive_count: int, *, is_scratch: bool) -> str:
    """What it is, in a few words: ``SSD``, ``scratch drive of 1 GiB on a file``, ``directory on ext4, SSD``."""
    if facts.get("simulated"):
        return SIMULATED
    if is_scratch:
        size = facts.get("size_bytes")
        return f"scratch drive of {format_bytes(size)} on a file" if size else "scratch drive on a file"
    below = as_text(drive.get("virtual"))
    if not below and drive.get("is_rotational") is not None:
        below = "hard disk" if drive["is_rotational"] else "SSD"
    raid = facts.get("raid")
    if raid:
        members = raid.get("members") or ()
        is_on_files = all((member.get("text") or "").startswith("scratch:") for member in members)
        below = f"{raid.get('level')} of {len(members)} {'scratch drives' if is_on_files else 'drives'}"
    elif drive_count > 1:
        below = f"{drive_count} drives together"
    kind = as_text(facts.get("kind"))
    if kind not in ("directory", "file", "missing_file"):
        return below
    filesystem = as_text((facts.get("filesystem") or {}).get("type"))
    place = "directory" if kind == "directory" else "file"
    place = f"{place} on {filesystem}" if filesystem else place
    return f"{place}, {below}" if below else place


def _found_levels(facts: Mapping[str, Any], drive: Mapping[str, Any]) -> dict[str, str]:
    """What a trial that does not set them has been measured with."""
    levels = {}
    kind = facts.get("kind")
    if kind in ("block_device", "scratch", "raid", "simulated"):
        levels["filesystem"] = "raw"
    elif type_name := as_text((facts.get("filesystem") or {}).get("type")):
        levels["filesystem"] = type_name
    enabled = (drive.get("write_cache") or {}).get("drive_enabled")
    if enabled is not None:
        levels["write-cache"] = "on" if enabled else "off"
    return levels
