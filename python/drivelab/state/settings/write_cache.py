"""The drive's own volatile write cache, on or off, with the kernel's view brought along."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType

from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.model.drive import DriveFacts
from drivelab.model.errors import DrivelabError
from drivelab.model.setting import SettingFacts
from drivelab.state.journal import Journal
from drivelab.state.programs import require_root
from drivelab.state.settings.attribute import KIND, set_attribute, undo_attribute
from drivelab.state.settings.cache_switch import KERNEL_VIEW, CacheSwitch
from drivelab.state.settings.drive_reference import Reference, find_drive, reference_to, require_same_drive
from drivelab.state.settings.kernel_attribute import write_attribute
from drivelab.state.settings.queue_values import Goals, goals_of, queue_values
from drivelab.state.undo_context import NO_CONTEXT, UndoContext

_KIND = "drive_write_cache"
_LEVELS = {True: "on", False: "off"}


class WriteCache:
    """Levels are on and off; the journal gets the drive's state and the kernel's, each before it changes."""

    name = "write-cache"
    is_of_host = False

    def __init__(self, paths: SystemPaths = SYSTEM) -> None:
        self._paths = paths
        self.undo: dict[str, Callable[..., str]] = {
            KIND: partial(undo_attribute, paths=paths),
            _KIND: partial(undo_write_cache, paths=paths),
        }

    def read(self, drive: DriveFacts) -> SettingFacts:
        """What drive, kernel, and everything between them and a file say."""
        switch = CacheSwitch(drive.name, self._paths)
        facts, unanswered = switch.ask()
        reason = unanswered or switch.refusal()
        above = {f"{name} {KERNEL_VIEW}": mode for name, mode in switch.layers()}
        return SettingFacts(
            name=self.name,
            value=None if facts.drive_enabled is None else _LEVELS[facts.drive_enabled],
            views=facts.views | above,
            levels=() if reason else tuple(_LEVELS.values()),
            reason=reason,
        )

    def set(self, drive: DriveFacts, level: str, journal: Journal) -> str:
        """Switch the cache, and bring the kernel's view along; the level as the drive reads back."""
        require_root(f"setting {self.name}")
        require_same_drive(drive, self._paths)
        found = self.read(drive)
        refusal = found.refusal(level)
        if refusal and found.value != level:
            raise DrivelabError("R404", f"{self.name} cannot be {level}: {refusal}", where=drive.path)
        if refusal:
            return level
        switch = CacheSwitch(drive.name, self._paths)
        if level == "on":
            self._turn_on(drive, switch, found.value, journal)
        else:
            self._turn_off(drive, switch, found.value, journal)
        achieved = self.read(drive).value
        if achieved != level:
            raise DrivelabError("R404", f"{self.name} was set to {level} and is {achieved}", where=drive.path)
        return level

    def _turn_off(self, drive: DriveFacts, switch: CacheSwitch, value: str | None, journal: Journal) -> None:
        if value != "off":
            with self._written_down(switch, value, "off", journal):
                switch.turn_off(journal)
        if self._drive_is(switch, "off") and switch.kernel_mode is not None:
            set_attribute(drive.name, KERNEL_VIEW, "write through", journal, self._paths)

    def _turn_on(self, drive: DriveFacts, switch: CacheSwitch, value: str | None, journal: Journal) -> None:
        silent = switch.silent_layers()
        if silent and value != "on":
            what = f"{' and '.join(silent)} would send no flushes to the cache: it was made while the cache was off"
            raise DrivelabError("R404", what, where=drive.path, do="take it down, and make it again with the cache on")
        if not switch.learns_by_itself and switch.kernel_mode is not None:
            set_attribute(drive.name, KERNEL_VIEW, "write back", journal, self._paths)
        if value != "on":
            with self._written_down(switch, value, "on", journal):
                switch.turn_on(journal)
        if switch.kernel_mode is not None:
            set_attribute(drive.name, KERNEL_VIEW, "write back", journal, self._paths)

    @contextmanager
    def _written_down(self, switch: CacheSwitch, old: str | None, new: str, journal: Journal) -> Iterator[None]:
        """Write a switch down before it is made; afterwards put back what the kernel changed when it looked again."""
        reference, before = reference_to(switch.name, self._paths), queue_values(switch.name, self._paths)
        change = journal.will_change(_KIND, drive=reference, old=old, new=new, kernel=switch.kernel_mode, others=before)
        yield
        Goals(before).bring(switch.name, self._paths)
        journal.note(change, is_settled=True)

    @staticmethod
    def _drive_is(switch: CacheSwitch, level: str) -> bool:
        return switch.ask()[0].drive_enabled is (level == "on")


def undo_write_cache(
    drive: Reference,
    old: str | None,
    new: str,
    kernel: str | None,
    others: Mapping[str, str] = MappingProxyType({}),
    is_settled: bool = False,
    *,
    context: UndoContext = NO_CONTEXT,
    paths: SystemPaths = SYSTEM,
) -> str:
    """Switch a drive's cache back, and the kernel's view with it; what was done, in words, or nothing.

    `others` is the rest of the queue right before; where the change is not
    settled, the kernel may have changed it when it looked at the drive again.

    Raises
    ------
    DrivelabError
        R402, R403, R404: the drive or the kernel refuses. R406: the drive is
        not connected, or does not tell how it is set.
    """
    name = find_drive(drive, paths)
    if name is None or old is None:
        return ""
    switch = CacheSwitch(name, paths)
    goals = goals_of(others, queue_values(name, paths), {}, is_cut_off=not is_settled)
    present, reason = switch.ask()
    if present.drive_enabled is None:
        what = f"the write cache may still be {new}: {reason}"
        raise DrivelabError("R406", what, where=str(switch.node), do="see to that, then run: drivelab restore")
    if _LEVELS[present.drive_enabled] != new:
        if switch.kernel_mode != kernel:
            # interrupted between the kernel and the drive
            switch.let_kernel_look()
        if not is_settled and _LEVELS[present.drive_enabled] == old:
            goals.bring(name, paths)
        return ""
    context.note(is_settled=False)
    if old == "on":
        switch.turn_on(kernel_flushes=kernel != "write through")
    else:
        switch.turn_off()
    if kernel is not None and switch.kernel_mode != kernel:
        write_attribute(name, KERNEL_VIEW, kernel, paths)
    goals.bring(name, paths)
    now = switch.ask()[0].drive_enabled
    if now is None or _LEVELS[now] != old:
        raise DrivelabError("R404", f"the write cache was switched back {old} and is not", where=str(switch.node))
    return f"switched the write cache of {switch.node} back {old}"
