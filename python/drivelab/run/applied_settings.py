"""The settings of a run: brought to the level that a step wants, and back to how they were found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from drivelab.model.drive import DriveFacts
from drivelab.model.errors import DrivelabError
from drivelab.model.setting import AS_FOUND
from drivelab.model.target import TargetFacts
from drivelab.run.settings_found import SettingsFound
from drivelab.state.journal import Change, Journal
from drivelab.state.settings.catalogue import SETTINGS
from drivelab.state.undo import undo

_HOST = ""
# programs are run to read these; all others are a file of the kernel
ASKED_OF_THE_DRIVE = frozenset({"write-cache", "apm"})


@dataclass(slots=True)
class _Applied:
    """One setting as this run has changed it."""

    level: str
    achieved: str
    views: dict[str, str]
    changes: tuple[Change, ...] = field(default_factory=tuple)


class AppliedSettings:
    """What this run has done to settings so far.

    Attributes
    ----------
    found : SettingsFound
        What they were before the first change.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._applied: dict[tuple[str, str], _Applied] = {}
        self.found = SettingsFound()

    def bring(self, target: TargetFacts, wanted: Mapping[str, str]) -> bool:
        """Bring every setting that is named to its level, and read it back.

        Parameters
        ----------
        target : TargetFacts
            Its drive is the one that is set.
        wanted : mapping of str to str
            Level of each setting; ``as-found`` puts it back.

        Returns
        -------
        bool
            Whether anything was changed.

        Raises
        ------
        DrivelabError
            R401 to R406: a setting was not taken, or could not be put back.
        """
        # in the order of the list: a scheduler brings its own number of requests
        levels = self._levels(target, wanted)
        stale = [name for name in levels if not self._has(target, name, levels[name])]
        if not stale:
            return False
        # what comes later in the list was set on top of it: it is put back before, and set again
        later = list(levels)[list(levels).index(stale[0]) :]
        changed = False
        for name in reversed(later):
            changed |= self._put_back(target, name)
        for name in later:
            changed |= self._set(target, name, levels[name])
        return changed

    def achieved(
        self, target: TargetFacts, wanted: Mapping[str, str]
    ) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
        """Every setting that is named, as read back: its level, and what each layer says."""
        found = {name: self._applied[self._key(_drive_for(name, target), name)] for name in wanted}
        levels = {name: applied.achieved for name, applied in found.items()}
        return levels, {name: applied.views for name, applied in found.items()}

    def ensure(self, target: TargetFacts, wanted: Mapping[str, str]) -> None:
        """Make sure, right before a trial, that every setting still is what it was brought to.

        Raises
        ------
        DrivelabError
            R404: something else on this computer keeps setting it.
        """
        if not self.changed_by_others(target, wanted, ask_drive=False):
            return
        self.put_back(target)
        self.bring(target, wanted)
        again = self.changed_by_others(target, wanted, ask_drive=False)
        if again:
            kept = "; ".join(f"{name} was set to {wanted[name]} and is {now}" for name, now in again.items())
            do = "find out who sets it (a rule of udev, tuned), and stop that while the experiment runs"
            raise DrivelabError("R404", kept, where=target.text, do=do)

    def changed_by_others(self, target: TargetFacts, wanted: Mapping[str, str], *, ask_drive: bool) -> dict[str, str]:
        """Settings that are not any more what they were read back as, and what they are now.

        Parameters
        ----------
        ask_drive : bool
            Whether to read also what only the drive itself can tell, which takes a while.
        """
        changed = {}
        for name in wanted:
            drive = _drive_for(name, target)
            before = self._applied.get(self._key(drive, name))
            if before is None or (name in ASKED_OF_THE_DRIVE and not ask_drive):
                continue
            now = SETTINGS[name].read(drive).value or "unknown"
            if now != before.achieved:
                changed[name] = now
        return changed

    def put_back(self, target: TargetFacts) -> None:
        """Put everything of a target's drive, and of the computer, back to how it was found."""
        for name in reversed(SETTINGS):
            if SETTINGS[name].is_of_host or target.drive is not None:
                self._put_back(target, name)

    def _levels(self, target: TargetFacts, wanted: Mapping[str, str]) -> dict[str, str]:
        """Levels that are wanted, and those that this target has from before, in the order of the list."""
        found = {}
        for name, setting in SETTINGS.items():
            if name in wanted:
                found[name] = wanted[name]
            elif setting.is_of_host or target.drive is not None:
                before = self._applied.get(self._key(_drive_for(name, target), name))
                found |= {name: before.level} if before else {}
        return found

    def _has(self, target: TargetFacts, name: str, level: str) -> bool:
        before = self._applied.get(self._key(_drive_for(name, target), name))
        return before is not None and before.level == level

    def _put_back(self, target: TargetFacts, name: str) -> bool:
        before = self._applied.pop(self._key(_drive_for(name, target), name), None)
        self._undo(before.changes if before else ())
        return bool(before and before.changes)

    def _set(self, target: TargetFacts, name: str, level: str) -> bool:
        drive = _drive_for(name, target)
        known = {change.number for change in self._journal.outstanding}
        achieved = ""
        try:
            if level != AS_FOUND:
                self.found.remember(name, drive, target)
                achieved = SETTINGS[name].set(drive, level, self._journal)
        except BaseException:
            # half set is neither: the steps that want it as found must find it so
            self._undo(self._since(known))
            raise
        changes = self._since(known)
        facts = SETTINGS[name].read(drive)
        self._applied[self._key(drive, name)] = _Applied(
            level, achieved or facts.value or "unknown", facts.views, changes
        )
        return bool(changes)

    def _since(self, known: set[int]) -> tuple[Change, ...]:
        return tuple(change for change in self._journal.outstanding if change.number not in known)

    def _undo(self, changes: Sequence[Change]) -> None:
        """Put some changes back; the newest comes first."""
        for change in changes:
            undo(change, self._journal)

    @staticmethod
    def _key(drive: DriveFacts | None, name: str) -> tuple[str, str]:
        return (drive.name if drive is not None else _HOST, name)


def _drive_for(name: str, target: TargetFacts) -> DriveFacts | None:
    """The drive that a setting belongs to; None for one of the computer."""
    if SETTINGS[name].is_of_host:
        return None
    if target.drive is None:
        what = f"{len(target.drives) or 'no'} drives lie beneath {target.text}: {name} cannot be set"
        raise DrivelabError("R404", what, where=target.text)
    return target.drive
