"""Asks drives for their SMART facts, through smartctl and, of NVMe drives, nvme-cli. Changes nothing, wakes nothing.

One drive takes tens of milliseconds, and seconds when it is busy or slow. So
nothing reads these facts unless they were asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from drivelab.inventory import smart_ata, smart_nvme, smart_scsi
from drivelab.inventory.smart_gathered import Gathered, parse_object, rows, section, whole_number
from drivelab.inventory.tools import ask_drive
from drivelab.model.drive import DriveFacts
from drivelab.model.smart import SmartFacts, nothing_known

DERIVED = "derived"
# below, rounding to whole percents alone leaves more than a fifth of uncertainty either way
PERCENTAGE_USED_MIN = 5
# NVMe base specification, Percentage Used: everything above 254 is shown as 255
PERCENTAGE_USED_MAX = 254
# a disk that is busy, or that reads several logs from its platters, takes its time
TIMEOUT_S = 20.0
_SMARTCTL = ("smartctl", "--json", "--nocheck=standby", "--info", "--health", "--attributes")
_TRANSPORTS = ("sata", "sas", "scsi", "usb", "nvme", "fc")
_GATHERERS = {"ATA": smart_ata.gather, "NVMe": smart_nvme.gather, "SCSI": smart_scsi.gather}
# the objects of which a drive that tells about its health fills at least one
_HEALTH_SECTIONS = (
    "smart_status",
    "nvme_smart_health_information_log",
    "ata_smart_attributes",
    "ata_device_statistics",
    "scsi_error_counter_log",
)
# logs of ATA and SCSI drives; options that do not fit one of them are passed over
_LOGS = ("--log=devstat", "--log=scttempsts", "--log=error", "--log=ssd")
_THREADS = 16


def read_smart(drive: DriveFacts) -> SmartFacts:
    """SMART facts of one drive; what is missing comes with the reason, and nothing is raised.

    Parameters
    ----------
    drive : DriveFacts
        The drive; a disk that sleeps is left asleep and tells nothing.
    """
    if drive.transport not in _TRANSPORTS:
        kind = drive.virtual or f"drive of the kind {drive.transport}"
        return nothing_known(drive.name, f"a {kind} tells nothing of its health")
    node = Path(drive.path)
    logs = () if drive.transport == "nvme" else _LOGS
    output = ask_drive((*_SMARTCTL, *logs, str(node)), node, timeout_s=TIMEOUT_S)
    document = parse_object(output.text)
    found, reason = _gathered_from(document)
    reason = output.reason or (reason if document else "smartctl printed no JSON (before version 7.0 it cannot)")
    if drive.transport == "nvme":
        found, reason = _with_nvme_logs(node, found, reason)
    return nothing_known(drive.name, reason) if found is None else _with_derived_endurance(found.facts(drive.name))


def read_all_smart(drives: Sequence[DriveFacts]) -> list[SmartFacts]:
    """SMART facts of several drives, asked side by side."""
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(read_smart, drives))


def _gathered_from(document: Mapping[str, Any]) -> tuple[Gathered | None, str]:
    """What smartctl's JSON tells; None and the reason when it tells nothing."""
    gatherer = _GATHERERS.get(str(section(document, "device").get("protocol")))
    if _is_asleep(document):
        return None, "the drive sleeps, and was not woken"
    if gatherer is None or not any(section(document, name) for name in _HEALTH_SECTIONS):
        messages = rows(section(document, "smartctl"), "messages")
        if section(document, "smart_support").get("available") is False or not messages:
            return None, "the drive tells nothing of its health"
        return None, f"smartctl: {messages[0].get('string')}"
    return gatherer(document), ""


def _is_asleep(document: Mapping[str, Any]) -> bool:
    """Whether smartctl left the drive alone because it was asleep."""
    messages = [str(row.get("string")) for row in rows(section(document, "smartctl"), "messages")]
    return any(message.startswith("Device is in ") and "exit(" in message for message in messages)


def _with_nvme_logs(node: Path, found: Gathered | None, reason: str) -> tuple[Gathered | None, str]:
    """The facts with what only nvme-cli reads: endurance, writes to the flash, thermal management."""
    health, why_not = _ask_nvme(node, "smart-log")
    if found is None and not health:
        return None, reason if reason == why_not else f"{reason}; {why_not}"
    is_only_source = found is None
    found = found or smart_nvme.begin()
    if not health:
        for name in ("throttle_count", "throttled_s", "media_bytes_written", "endurance_bytes"):
            found.explain(name, why_not)
        return found, ""
    controller, _ = _ask_nvme(node, "id-ctrl")
    ocp, why_no_ocp = _ask_nvme(node, "ocp", "smart-add-log")
    smart_nvme.add_ocp_log(ocp, found)
    smart_nvme.add_health_log(health, found, is_only_source=is_only_source)
    smart_nvme.add_limits(controller, found)
    found.explain("endurance_bytes", _add_endurance(node, controller, found))
    if not ocp:
        found.explain("media_bytes_written", f"the drive gave no OCP log ({why_no_ocp})")
        # drives count a log that they refuse as an error: here it is known which errors are ours
        again, _ = _ask_nvme(node, "smart-log")
        entries = whole_number(again.get("num_err_log_entries"))
        found.put("error_log_entries_when_done", entries, f"{smart_nvme.HEALTH_LOG}, read again")
    return found, ""


def _add_endurance(node: Path, controller: Mapping[str, Any], found: Gathered) -> str:
    """Add the endurance group log; why there is none, if there is none."""
    if not smart_nvme.has_endurance_groups(controller):
        return "the drive has no endurance group log"
    namespace, reason = _ask_nvme(node, "id-ns")
    group = whole_number(namespace.get("endgid"))
    if not group:
        return reason or "the drive belongs to no endurance group"
    log, reason = _ask_nvme(node, "endurance-log", f"--group-id={group}")
    if log:
        smart_nvme.add_endurance_log(log, found)
    return reason or "the endurance group log gives no estimate"


def _ask_nvme(node: Path, *words: str) -> tuple[dict[str, Any], str]:
    """The JSON of a subcommand of nvme-cli; empty with the reason when there is none."""
    options = [word for word in words if word.startswith("--")]
    names = [word for word in words if not word.startswith("--")]
    output = ask_drive(("nvme", *names, str(node), *options, "--output-format=json"), node, timeout_s=TIMEOUT_S)
    document = parse_object(output.text)
    if document or output.reason:
        return document, output.reason
    return {}, f"nvme {' '.join(names)} printed no JSON"


def _with_derived_endurance(facts: SmartFacts) -> SmartFacts:
    """The facts with an endurance: bytes written by hosts over the share of life that this used up.

    The drive's estimate of its wear is in whole percents, and no standard says
    which way they are rounded, so the truth lies within one percent either way.
    Wear comes from writes to the flash: the figure holds for writes that are
    amplified as those so far were.
    """
    used, written = facts.percentage_used, facts.host_bytes_written
    if facts.endurance_bytes is not None:
        return facts
    why = _why_not(facts)
    if why or used is None or written is None:
        stated = facts.unknown.get("endurance_bytes", "the drive does not state it")
        return replace(facts, unknown={**facts.unknown, "endurance_bytes": f"{stated}; {why}"})
    return replace(
        facts,
        endurance_bytes=round(written * 100 / used),
        endurance_low_bytes=round(written * 100 / (used + 1)),
        endurance_high_bytes=round(written * 100 / (used - 1)),
        endurance_source=DERIVED,
        unknown={name: reason for name, reason in facts.unknown.items() if name != "endurance_bytes"},
    )


def _why_not(facts: SmartFacts) -> str:
    """Why it cannot be derived; empty when it can."""
    for name, words in (("percentage_used", "how much of it is used"), ("host_bytes_written", "how much was written")):
        if getattr(facts, name) is None:
            return f"it cannot be derived without knowing {words}"
    used = facts.percentage_used or 0
    if used < PERCENTAGE_USED_MIN:
        return f"it cannot be derived yet: {used} % of it is used, and it takes {PERCENTAGE_USED_MIN} %"
    if used > PERCENTAGE_USED_MAX:
        return "it cannot be derived: the drive's estimate of its wear has reached the end of its scale"
    return "" if facts.host_bytes_written else "it cannot be derived: the drive counts no writes"
