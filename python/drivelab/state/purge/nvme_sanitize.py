"""Purges an NVMe drive by a sanitize, which reaches every block that it ever held, spare ones too.

The drive answers no read or write until it has ended, and goes on with it after
a loss of power.
"""

from __future__ import annotations

import time
from pathlib import Path

from drivelab.inventory import nvme
from drivelab.inventory.block_devices import device_node
from drivelab.inventory.link import nvme_controller
from drivelab.inventory.nvme_controllers import namespaces_beside
from drivelab.inventory.system_paths import SystemPaths
from drivelab.model.drive import DriveFacts
from drivelab.model.errors import DrivelabError
from drivelab.state.journal import Journal
from drivelab.state.programs import run_program
from drivelab.state.purge.method import PurgeProgress
from drivelab.state.purge.nvme_format import ask_abilities

_EXIT_FAILURE, _ERASE_BLOCKS, _OVERWRITE, _ERASE_KEYS = 1, 2, 3, 4
# an overwrite of a large drive takes hours
_TIMEOUT_S = 24 * 3600.0
_POLL_S = 1.0


class NvmeSanitize:
    """Erases blocks where the drive can, else its keys, else overwrites everything.

    Parameters
    ----------
    timeout_s : float
        How long to wait for the end.
    poll_s : float
        How long to wait between two looks.
    """

    name = "nvme-sanitize"

    def __init__(self, *, timeout_s: float = _TIMEOUT_S, poll_s: float = _POLL_S) -> None:
        self._timeout_s = timeout_s
        self._poll_s = poll_s

    def reason(self, drive: DriveFacts, paths: SystemPaths) -> str:
        """Why the drive cannot be purged that way; empty when it can."""
        abilities, reason = ask_abilities(drive, paths)
        if abilities is None:
            return reason
        if _action(abilities) is None:
            return "its controller has no Sanitize command"
        others = namespaces_beside(drive.name, paths)
        return f"it would erase {', '.join(others)} as well" if others else ""

    def purge(self, name: str, journal: Journal, progress: PurgeProgress, paths: SystemPaths) -> None:
        """Sanitize the drive, and return when it is done."""
        controller = device_node(nvme_controller(name, paths) or name, paths)
        abilities = nvme.parse_abilities(run_program(nvme.abilities_command(controller), journal))
        action = _action(abilities) if abilities else None
        if action is None:
            raise DrivelabError("R411", "its controller has no Sanitize command any more", where=str(controller))
        # --ause: a drive that fails can be used again, instead of being stuck until a sanitize succeeds
        run_program(["nvme", "sanitize", f"--sanact={action}", "--ause", str(controller)], journal)
        self._await_end(controller, journal, progress)

    def _await_end(self, controller: Path, journal: Journal, progress: PurgeProgress) -> None:
        deadline = time.monotonic() + self._timeout_s
        while True:
            status = nvme.parse_sanitize_status(run_program(nvme.sanitize_status_command(controller), journal))
            if status is None:
                raise DrivelabError("R411", "the drive does not say how far it is", where=str(controller))
            if status.has_failed:
                run_program(["nvme", "sanitize", f"--sanact={_EXIT_FAILURE}", str(controller)], journal)
                raise DrivelabError("R411", "the drive says that its sanitize failed", where=str(controller))
            progress(status.fraction)
            if not status.is_running:
                return
            if time.monotonic() > deadline:
                what = (
                    f"the sanitize has not ended within {self._timeout_s:g} s; it goes on ({status.fraction:.0%} done)"
                )
                do = f"wait until it has ended: nvme sanitize-log {controller}"
                raise DrivelabError("R411", what, where=str(controller), do=do)
            time.sleep(self._poll_s)


def _action(abilities: nvme.ControllerAbilities) -> int | None:
    if abilities.can_erase_blocks:
        return _ERASE_BLOCKS
    if abilities.can_erase_keys:
        return _ERASE_KEYS
    return _OVERWRITE if abilities.can_overwrite else None
