"""Every drive of this computer, with all that can be known about it without writing to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from drivelab.inventory import smartctl, write_cache
from drivelab.inventory.block_devices import SECTOR_BYTES, device_node, directory_of
from drivelab.inventory.contents import ask_lsblk, contents_of
from drivelab.inventory.drive_notes import notes_on
from drivelab.inventory.identity import KernelIdentity, kernel_identity, normal_wwn, read_identity, usable_serials
from drivelab.inventory.link import link_of, nvme_controller, transport_of
from drivelab.inventory.lsblk import LsblkDevice
from drivelab.inventory.smartctl import SmartctlFacts
from drivelab.inventory.sysfs import chosen, entries, read_flag, read_int, read_text
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.inventory.tools import ask_drive
from drivelab.inventory.touch import judge
from drivelab.inventory.usage import Users, read_users, usage_of
from drivelab.model.drive import DiscardFacts, DriveFacts, LinkFacts

_BY_TRANSPORT = {
    "loop": "loop device",
    "zram": "compressed memory (zram)",
    "ram": "memory (brd)",
    "virtio": "virtio drive of a virtual machine",
    "xen": "Xen virtual drive",
    "nbd": "network block device",
    "null_blk": "null block device, made by the kernel",
    "scsi_debug": "scsi_debug drive, made by the kernel",
    "rbd": "Ceph block device",
    "drbd": "replicated block device (drbd)",
    "iscsi": "iSCSI drive of another machine",
    "nvme-tcp": "NVMe drive of another machine (tcp)",
    "nvme-rdma": "NVMe drive of another machine (rdma)",
    "nvme-fc": "NVMe drive of another machine (fc)",
    "nvme-loop": "NVMe drive made by the kernel (nvmet)",
}
# the names that hypervisors and clouds give their drives, lower case, anywhere in vendor or model
_BY_NAME = (
    ("qemu", "QEMU"),
    ("vmware", "VMware"),
    ("vbox", "VirtualBox"),
    ("msft virtual", "Hyper-V"),
    ("virtual disk", "Hyper-V"),
    ("google persistentdisk", "Google Cloud"),
    ("nvme_card-pd", "Google Cloud"),
    ("amazon elastic block store", "Amazon EBS"),
    ("msft nvme accelerator", "Azure"),
    ("scsi_debug", "scsi_debug"),
)
# devices that lie on drives, not drives
_STACKED_PREFIXES = ("dm-", "md", "bcache")
_SMARTCTL_TRANSPORTS = ("sata", "sas", "scsi", "usb", "nvme", "fc")
_TOOL_THREADS = 16
NOT_ASKED = "no tool was asked"


@dataclass(frozen=True, slots=True)
class ToolAnswers:
    """What the tools that open a drive said about it."""

    smartctl: SmartctlFacts
    cache_asked: str = ""
    cache_enabled: bool | None = None
    cache_reason: str = ""


def list_drives(paths: SystemPaths = SYSTEM, *, show_all: bool = False, ask_tools: bool = True) -> list[DriveFacts]:
    """Every drive, in the order of their names.

    Parameters
    ----------
    show_all : bool
        Also memory drives (zram, brd), loop devices without a file and drives without a medium.
    ask_tools : bool
        Whether to ask lsblk, smartctl and the like; without them only sysfs is read.
    """
    names = [name for name in drive_names(paths) if show_all or _is_of_interest(name, paths)]
    return read_drives(names, paths, ask_tools=ask_tools)


def read_drives(names: list[str], paths: SystemPaths = SYSTEM, *, ask_tools: bool = True) -> list[DriveFacts]:
    """Facts about the drives of these kernel names.

    All tools run side by side, so that one slow drive delays nothing but itself.
    """
    with ThreadPoolExecutor(_TOOL_THREADS) as pool:
        answers = {name: pool.submit(_ask_tools, name, paths) for name in names} if ask_tools else {}
        listed, lsblk_reason = ask_lsblk() if ask_tools else ({}, NOT_ASKED)
        users = read_users(paths)
        drives = []
        for name in names:
            told = answers[name].result() if ask_tools else ToolAnswers(SmartctlFacts(reason=NOT_ASKED))
            drives.append(_drive(name, told, listed, lsblk_reason, users, paths))
    return [_finished(drive, drives) for drive in drives]


def drive_names(paths: SystemPaths = SYSTEM) -> list[str]:
    """Kernel names of all drives; not of partitions, volumes and arrays, nor of hidden paths to a drive."""
    found = []
    for name in entries(paths.sys / "block"):
        hidden = read_flag(directory_of(name, paths) / "hidden")
        if not hidden and not name.startswith(_STACKED_PREFIXES):
            found.append(name)
    return found


def _is_of_interest(name: str, paths: SystemPaths = SYSTEM) -> bool:
    """Whether a drive is listed without being asked for: it has a medium and is not mere memory."""
    return read_int(directory_of(name, paths) / "size") > 0 and transport_of(name, paths) not in ("zram", "ram")


def _ask_tools(name: str, paths: SystemPaths) -> ToolAnswers:
    transport = transport_of(name, paths)
    node = device_node(name, paths)
    controller = nvme_controller(name, paths)
    asked, enabled, reason = write_cache.ask(transport, node, device_node(controller, paths) if controller else None)
    if transport not in _SMARTCTL_TRANSPORTS:
        return ToolAnswers(SmartctlFacts(reason=""), asked, enabled, reason)
    output = ask_drive(smartctl.command(node), node)
    facts = SmartctlFacts(reason=output.reason) if output.reason else smartctl.parse(output.text)
    return ToolAnswers(facts, asked, enabled, reason)


def _drive(
    name: str,
    told: ToolAnswers,
    listed: Mapping[str, LsblkDevice],
    lsblk_reason: str,
    users: Users,
    paths: SystemPaths,
) -> DriveFacts:
    block, queue = directory_of(name, paths), directory_of(name, paths) / "queue"
    kernel, row = kernel_identity(name, paths), listed.get(name)
    transport = transport_of(name, paths)
    cache = write_cache.write_cache_facts(
        name, {told.cache_asked: told.cache_enabled, "smartctl": told.smartctl.write_cache_enabled}, paths
    )
    model = kernel.model or told.smartctl.model or (row.model if row else None) or None
    drive = DriveFacts(
        name=name,
        path=str(device_node(name, paths)),
        vendor=kernel.vendor,
        model=model,
        firmware=kernel.firmware or told.smartctl.firmware or (row.revision if row else None) or None,
        serials=usable_serials((*kernel.serials, told.smartctl.serial, row.serial if row else None)),
        wwn=kernel.wwn or normal_wwn(told.smartctl.wwn) or normal_wwn(row.wwn if row else None),
        size_bytes=read_int(block / "size") * SECTOR_BYTES,
        is_rotational=read_flag(queue / "rotational"),
        transport=transport,
        virtual=_virtual_kind(transport, kernel.vendor, model),
        link=_link(name, kernel, told.smartctl, paths),
        logical_block_size_bytes=read_int(queue / "logical_block_size", 512),
        physical_block_size_bytes=read_int(queue / "physical_block_size", 512),
        optimal_io_size_bytes=read_int(queue / "optimal_io_size"),
        write_cache=cache,
        scheduler=chosen(read_text(queue / "scheduler")),
        queue_requests=read_int(queue / "nr_requests") or None,
        discard=DiscardFacts(read_int(queue / "discard_granularity"), read_int(queue / "discard_max_bytes")),
        is_read_only=bool(read_flag(block / "ro")),
        is_removable=bool(read_flag(block / "removable")),
        use=usage_of(name, listed, users, paths),
        identity=read_identity(name, paths),
    )
    return replace(drive, unknown=dict(_unknown(drive, told, lsblk_reason, listed, paths)))


def _link(name: str, kernel: KernelIdentity, told: SmartctlFacts, paths: SystemPaths) -> LinkFacts | None:
    link = link_of(name, kernel.ata, paths)
    if link is None and told.link_rate_bits_per_s:
        return LinkFacts("sata", told.link_rate_bits_per_s, told.link_rate_bits_per_s_max)
    return link


def _unknown(
    drive: DriveFacts,
    told: ToolAnswers,
    lsblk_reason: str,
    listed: Mapping[str, LsblkDevice],
    paths: SystemPaths,
) -> Iterator[tuple[str, str]]:
    """Why a fact is missing, by the name of its field."""
    is_made_by_kernel = drive.transport in ("loop", "zram", "ram", "null_blk")
    nobody = "the kernel made this device: there is none" if is_made_by_kernel else "the drive reports none"
    asked = told.smartctl.reason
    for field in ("model", "firmware", "serials", "wwn"):
        if not getattr(drive, field):
            yield field, f"not in sysfs; {asked}" if asked else nobody
    if drive.link is None:
        yield "link", "a virtual drive has none" if drive.virtual else "sysfs does not show it for this transport"
    if told.cache_enabled is None and told.smartctl.write_cache_enabled is None:
        yield "write_cache", told.cache_reason or asked
    unread = next((layer for layer in drive.use.walk() if layer.contents is None), None)
    if unread is not None:
        reason = contents_of(unread.name, listed, paths).reason
        yield "use", f"{unread.name}: {reason}" + (f"; {lsblk_reason}" if lsblk_reason else "")


def _finished(drive: DriveFacts, all_drives: list[DriveFacts]) -> DriveFacts:
    return replace(drive, notes=tuple(notes_on(drive, all_drives)), touch=judge(drive))


def _virtual_kind(transport: str, vendor: str | None, model: str | None) -> str:
    """What kind of virtual drive it is, in a few words; empty for one that looks physical."""
    named = f"{vendor or ''} {model or ''}".lower()
    maker = next((maker for text, maker in _BY_NAME if text in named), "")
    kind = _BY_TRANSPORT.get(transport, "")
    if kind:
        return f"{kind} ({maker})" if maker else kind
    return f"virtual drive of {maker}" if maker else ""
