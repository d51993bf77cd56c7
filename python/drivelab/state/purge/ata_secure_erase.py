"""Purges an ATA drive by its secure erase.

The drive wants a password to be set first, and takes it away when the erase has
ended. A drive that was interrupted would keep the password and lock itself with
the next power cycle, so the password goes to the journal before it is set, and
is always the same.
"""

from __future__ import annotations

from pathlib import Path

from drivelab.inventory import hdparm
from drivelab.inventory.block_devices import device_node
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.inventory.tools import ask_drive
from drivelab.model.drive import DriveFacts
from drivelab.model.errors import DrivelabError
from drivelab.state.journal import Journal
from drivelab.state.programs import run_program
from drivelab.state.purge.method import PurgeProgress
from drivelab.state.settings.drive_kind import kind_of_drive
from drivelab.state.settings.drive_reference import Reference, find_drive, reference_to

KIND = "ata_password"
_PASSWORD = "drivelab"
_TIMEOUT_MIN_S = 2 * 3600.0
# drives estimate in rough steps
_TIMEOUT_FACTOR = 2
_THAW = (
    "suspend the computer and wake it (systemctl suspend), or unplug the drive's power and plug it in again while "
    "the computer runs"
)


class AtaSecureErase:
    """The drive overwrites or erases all that it holds; how, is the drive's own affair."""

    name = "ata-secure-erase"

    def reason(self, drive: DriveFacts, paths: SystemPaths) -> str:
        """Why the drive cannot be purged that way; empty when it can."""
        if drive.transport != "sata":
            # bridges are known to set the password and then to lose the erase
            return f"{kind_of_drive(drive)} has no ATA secure erase"
        security, reason = _ask(device_node(drive.name, paths))
        if security is None:
            return reason
        if not security.is_supported:
            return "the drive has no secure erase"
        if security.is_enabled or security.is_locked:
            return "somebody has set a password in the drive"
        return f"the computer's firmware has frozen it: {_THAW}" if security.is_frozen else ""

    def purge(self, name: str, journal: Journal, progress: PurgeProgress, paths: SystemPaths) -> None:
        """Erase the drive, and return when it is done; it has no password then."""
        node = device_node(name, paths)
        before, reason = _ask(node)
        if before is None:
            raise DrivelabError("R411", f"the drive does not tell its state: {reason}", where=str(node))
        reference = reference_to(name, paths)
        change = journal.will_change(KIND, drive=reference)
        try:
            _tell(node, "--security-set-pass", journal)
            after, _ = _ask(node)
            if after is None or not after.is_enabled:
                raise DrivelabError("R411", "the drive took no password, and so erases nothing", where=str(node))
            timeout_s = max(_TIMEOUT_MIN_S, 60.0 * before.erase_minutes * _TIMEOUT_FACTOR)
            _tell(node, "--security-erase", journal, timeout_s)
        finally:
            # also after success: a drive that keeps the password would lock itself
            undo_ata_password(reference, paths=paths)
            journal.was_undone(change)
        progress(1.0)


def undo_ata_password(drive: Reference, *, paths: SystemPaths = SYSTEM) -> str:
    """Take the password of an interrupted erase away; what was done, in words, or nothing.

    Raises
    ------
    DrivelabError
        R402, R403: hdparm is not installed, or failed. R406: the drive is not
        connected, does not answer, or takes no commands now.
    """
    name = find_drive(drive, paths)
    if name is None:
        return ""
    node = device_node(name, paths)
    found, reason = _ask(node)
    if found is None:
        raise _still_locked(node, reason)
    if not found.is_enabled:
        return ""
    if found.is_frozen:
        raise _still_locked(node, "the computer's firmware has frozen it", f"{_THAW}; then run: drivelab restore")
    if found.is_locked:
        _tell(node, "--security-unlock")
    _tell(node, "--security-disable")
    now, reason = _ask(node)
    if now is None or now.is_enabled:
        raise _still_locked(node, reason or "it did not let it go")
    return f"took the password of an interrupted erase from {node}"


def _still_locked(node: Path, why: str, do: str = "") -> DrivelabError:
    what = f"the drive may have kept the password '{_PASSWORD}' of an interrupted erase: {why}"
    by_hand = f"hdparm --user-master u --security-disable {_PASSWORD} {node}"
    return DrivelabError("R406", what, where=str(node), do=do or f"run: drivelab restore; or by hand: {by_hand}")


def _ask(node: Path) -> tuple[hdparm.AtaSecurity | None, str]:
    """The password protection, and why it is not known."""
    answer = ask_drive(hdparm.identify_command(node), node)
    if answer.reason:
        return None, answer.reason
    security = hdparm.parse_security(answer.text)
    return security, "" if security else "the drive has no secure erase"


def _tell(node: Path, command: str, journal: Journal | None = None, timeout_s: float = _TIMEOUT_MIN_S) -> None:
    run_program(["hdparm", "--user-master", "u", command, _PASSWORD, str(node)], journal, timeout_s=timeout_s)
