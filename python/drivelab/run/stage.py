"""A target while a plan runs: what a step needs is made, and taken away again when it is not needed any more."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from drivelab.held_directory import HeldDirectory
from drivelab.inventory.consent import Consent, require_same_identity
from drivelab.inventory.loop_target import resolve_measured
from drivelab.inventory.target import resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.model.measurement import Measurement
from drivelab.model.plan import PlannedStep, PlannedTarget
from drivelab.model.target import MADE_KINDS, TargetFacts
from drivelab.model.workload import TargetRange
from drivelab.run.actions import purge_target, settle, trim_device, trim_filesystem
from drivelab.run.applied_settings import AppliedSettings
from drivelab.run.engine import StopRequest
from drivelab.run.filesystem_on_target import FileSystemOnTarget
from drivelab.run.preconditioning import FILLING, precondition_device, reservations
from drivelab.run.prepared_trial import PreparedTrial, Stage, StoppedError
from drivelab.run.progress import RunProgress
from drivelab.run.raid_on_target import look_at_raid, make_raid_target
from drivelab.run.tree_cache import warm_cached, write_out_log
from drivelab.run.trial_files import TrialFiles
from drivelab.run.trial_tree import TrialTrees
from drivelab.run.user_files import UserFiles
from drivelab.state.data_directory import exchanged, make_data_directory
from drivelab.state.filesystem import MountedFileSystem
from drivelab.state.held_device import HeldDevice
from drivelab.state.journal import Journal
from drivelab.state.raid import require_whole
from drivelab.state.scratch import make_scratch


class TargetStage(Stage):
    """One target, from its first step to its last.

    Parameters
    ----------
    planned : PlannedTarget
        The target in the plan.
    settings : AppliedSettings
        Of the whole run: some settings belong to all targets.
    consent : Consent
        What the owner typed after ``--erase`` and ``--purge``.
    """

    def __init__(
        self,
        planned: PlannedTarget,
        facts: TargetFacts,
        journal: Journal,
        *,
        settings: AppliedSettings,
        consent: Consent,
        progress: RunProgress,
        stop: StopRequest,
    ) -> None:
        super().__init__(facts)
        self.planned = planned
        self._journal = journal
        self._settings = settings
        self._consent = consent
        self._progress = progress
        self._stop = stop
        self._drives = None if facts.kind in MADE_KINDS else [drive.identity for drive in facts.drives]
        self._is_ready = False
        self._held: HeldDevice | None = None
        self._filesystem = FileSystemOnTarget(journal)
        # where the files of trials lie: a directory of our own, or a file system that was made
        self._directory: HeldDirectory | None = None
        self._files: TrialFiles | None = None
        self._trees: TrialTrees | None = None
        self._place: TargetFacts | None = None
        self._block = 0
        # of steps at the same time, and the place of the last one of them on this target
        self._group = self._place_in_group = 0
        self._is_claimed = False
        self._done_for_group: dict[str, Any] = {}
        # scratch drives are filled when they are made
        self._written_as = "sequential" if planned.is_filled else ""
        self._cannot_be_made: DrivelabError | None = None

    def prepare(self, step: PlannedStep) -> PreparedTrial:
        """Make everything that a step needs.

        Raises
        ------
        DrivelabError
            C201 to C210: the target may not be written to. R401 to R406: a scratch
            drive, a file system or a directory could not be made, a setting was not taken.
            R450 to R457: a RAID set could not be made, or is not whole any more.
        StoppedError
            The user asked for the end meanwhile.
        """
        if not self._is_ready:
            self._make_ready()
        self._require_whole()
        self._place_in_group = self._place_in_group + 1 if step.together and step.together == self._group else 0
        self._group = step.together
        if step.block != self._block or not self._filesystem.can_stay(step.filesystem):
            self.clear()
            self._block = step.block
        # a purge resets what was set in the drive: it comes before the settings, and they come before the file system
        is_first = not self._place_in_group
        # what is done to the target is done once for all that run at the same time
        context = self._cleared(step) if is_first else self._done_for_group
        if self._settings.bring(self.facts, step.settings):
            self._look_again()
        context |= self._preconditioned(step)
        place = self._brought(step)
        if step.actions.get("trim") == "fstrim" and is_first:
            context |= {"trim": trim_filesystem(place)}
        self._done_for_group = context
        trial = self._on_device(step, place) if place.kind == "block_device" else self._in_file(step, place)
        # making a file system may have changed a setting: a rule of udev answers to every device that was written
        self._settings.ensure(self.facts, step.settings)
        if step.actions.get("page-cache") == "warm":
            context |= warm_cached(trial.workload)
        levels, views = self._settings.achieved(self.facts, step.settings)
        return replace(
            trial,
            achieved=trial.achieved | levels | dict(step.actions),
            context=context | ({"settings": views} if views else {}),
            drops_page_cache=step.actions.get("page-cache") == "drop",
        )

    def changed_settings(self, step: PlannedStep, ask_drive: bool, /) -> dict[str, str]:
        """Settings that are not any more what they were brought to, and what they are.

        Raises
        ------
        DrivelabError
            R457: the target is a RAID set that has lost a member meanwhile.
        """
        self._require_whole()
        return self._settings.changed_by_others(self.facts, step.settings, ask_drive=ask_drive)

    def tidy(self, trial: PreparedTrial, _measured: Measurement | None, /) -> None:
        """Remove the trial's file, and let the file system finish with it."""
        if self._files is None or trial.facts.kind != "missing_file":
            return
        self._files.tidy(trial.workload.target.path, was_written=trial.workload.writes)
        if trial.facts.filesystem is not None and "discard" in trial.facts.filesystem.options:
            settle([layer.name for layer in trial.facts.devices[-1:]])

    def release(self) -> tuple[str, ...]:
        """Let go of the device: nothing follows. What of files that stay could not be left, in words."""
        left = self._files.leave() if self._files is not None else ()
        # a directory is removed by the journal, more slowly; a file system goes with all that is in it
        if self.facts.kind == "directory":
            self._remove_what_is_kept()
        self._let_go()
        if self._held is not None:
            self._held.release()
            self._held = None
        return left

    def clear(self) -> None:
        """Take away the file system that was made, if one was."""
        if self._files is not None:
            self._files.forget_named()
        if self._trees is not None:
            self._trees.remove()
        self._place = None
        self._let_go()
        self._filesystem.take_away()

    def _remove_what_is_kept(self) -> None:
        """Files and trees that stay for the next trial which reads them."""
        for kept in (self._trees, self._files):
            if kept is not None:
                kept.remove()

    def _let_go(self) -> None:
        """Close what is held of a file system that drivelab made, which can be unmounted then; a directory stays."""
        if self.facts.kind == "directory":
            return
        if self._files is not None:
            self._files.close()
        if self._trees is not None:
            self._trees.close()
        self._files = self._trees = None
        if self._directory is not None:
            self._directory.close()
            self._directory = None

    def _make_ready(self) -> None:
        if self.facts.kind == "scratch":
            self._progress.preparing(f"filling {self.planned.text} with random data")
            scratch = make_scratch(self.facts.size_bytes, self._journal, self._filled)
            self.notes = scratch.notes
            self.facts = replace(resolve_measured(scratch.path), text=self.facts.text)
        elif self.facts.kind == "raid":
            self._make_raid()
        elif self.facts.kind == "directory":
            self._directory = make_data_directory(Path(self.facts.path), self._journal)
            self.facts = replace(self._resolved(str(self._directory.path)), text=self.facts.text)
        self._require_same_drives(self.facts)
        if self.planned.kind in ("block_device", "raid"):
            self._held = HeldDevice(self.facts)
        if self.planned.kind == "raid" and self._held is not None:
            # its members were given up
            self._held.take_as_made()
        self._is_ready = True

    def _make_raid(self) -> None:
        if self._cannot_be_made is not None:
            # neither can it for the next step, and scratch drives would be filled for nothing
            raise self._cannot_be_made
        self._progress.preparing(f"making {self.planned.label}")
        try:
            self.facts, self.notes = make_raid_target(self.facts, self._journal, self._consent, self._filled)
        except DrivelabError as error:
            self._cannot_be_made = error
            raise

    def _require_whole(self) -> None:
        """Return only if nothing has failed in a RAID set, and our own directory is the one that was made."""
        if self.facts.raid is not None:
            require_whole(self.facts.path)
        if self.facts.kind == "directory" and self._directory is not None and not self._directory.is_in_place:
            raise exchanged(self._directory.path)

    def _filled(self, filled_bytes: int, size_bytes: int) -> None:
        """Some more of the target's scratch drives is filled."""
        if self._stop.is_set():
            raise StoppedError
        self._progress.filling_goes_on(filled_bytes / size_bytes)

    def _brought(self, step: PlannedStep) -> TargetFacts:
        """Where the step's I/O goes: the target itself, or a file system made on it."""
        level = step.filesystem
        if level is None or level.type == "raw":
            self._place = self.facts
            return self.facts
        if self._filesystem.mounted is None:
            self._require_consent()
            self._progress.doing(f"making {level.name}")
            self._written_as = ""
        if not self._filesystem.is_mounted_as(level):
            # what is held below a mount point keeps it from being unmounted, and a file system that stays begins empty
            self._remove_what_is_kept()
            self._let_go()
            self._place = None
        mounted = self._filesystem.bring(self.facts.path, level)
        if self._place is None:
            self._place = self._in_mounted(mounted)
        return self._place

    def _cleared(self, step: PlannedStep) -> dict[str, Any]:
        """What was purged and trimmed of the whole device; a file system that was on it is gone then."""
        purges, trims = step.actions.get("purge", "none") != "none", step.actions.get("trim") == "device"
        if not (purges or trims):
            return {}
        self.clear()
        self._require_consent()
        self._written_as = ""
        done: dict[str, Any] = {}
        if purges:
            self._settings.put_back(self.facts)
            self._progress.preparing(f"purging {self.planned.label}: {step.actions['purge']}")
            method, goes_on = step.actions["purge"], self._progress.preparing_goes_on
            done["purge"] = purge_target(self.facts, method, self._consent, self._journal, goes_on)
        if trims:
            done["trim"] = trim_device(self.facts, self._journal)
        return done

    def _preconditioned(self, step: PlannedStep) -> dict[str, Any]:
        """What was written so that the device is as the step wants it; nothing when it is already."""
        kind = step.actions.get("precondition", "none")
        if kind in ("none", self._written_as) or self.facts.kind != "block_device":
            return {}
        if step.filesystem is not None and step.filesystem.type != "raw":
            # the files of a file system are written before they are read
            return {}
        self._require_consent()
        self._progress.preparing(FILLING[kind].format(self.planned.label))
        drive, goes_on = self.facts.drive, self._progress.preparing_goes_on
        can_trim = drive is not None and drive.discard.is_supported and self.facts.raid is None
        trim = partial(trim_device, self.facts, self._journal) if can_trim else None
        told = precondition_device(kind, self.facts, seed=step.seed, stop=self._stop, progress=goes_on, trim=trim)
        self.notes += reservations(told)
        self._written_as = kind
        return {"precondition": told}

    def _look_again(self) -> None:
        """A setting was changed: the kernel's view of the drive may be another now."""
        self.facts = self._looked_at(self.facts)
        if self._filesystem.mounted is not None:
            self._place = self._in_mounted(self._filesystem.mounted)

    def _looked_at(self, facts: TargetFacts) -> TargetFacts:
        """The target as it is now; its identity stays what it was, so that another drive in its place is noticed."""
        if facts.kind == "block_device":
            require_same_identity(facts)
        if facts.raid is not None:
            now = look_at_raid(facts.path, facts, facts.identity)
        else:
            now = replace(self._resolved(facts.path), text=facts.text, identity=facts.identity)
        self._require_same_drives(now)
        return now

    def _resolved(self, path: str) -> TargetFacts:
        """What a path leads to now; of a directory of ours only that very directory."""
        found = resolve_measured(path)
        if self.facts.kind == "directory" and self._directory is not None:
            is_ours = found.kind == "directory" and found.inode == os.fstat(self._directory.descriptor).st_ino
            if not is_ours or not self._directory.is_in_place:
                raise exchanged(self._directory.path)
        return found

    def _require_same_drives(self, facts: TargetFacts) -> None:
        """Return only if the drives beneath are those that the plan was made for; what was made is new."""
        if self.planned.kind in MADE_KINDS and self._drives is None:
            self._drives = [drive.identity for drive in facts.drives]
        now = [drive.identity for drive in facts.drives]
        if now != self._drives:
            names = [", ".join(identity.name for identity in found) or "none" for found in (self._drives or [], now)]
            what = (
                f"{self.planned.text} does not lie on the drive that it lay on: {names[0]} was beneath, now {names[1]}"
            )
            raise DrivelabError("C207", what, where=self.planned.text)

    def _in_mounted(self, mounted: MountedFileSystem) -> TargetFacts:
        place = replace(resolve_target(str(mounted.mount_point)), text=self.facts.text)
        return replace(place, drives=self.facts.drives, raid=self.facts.raid)

    def _require_consent(self) -> None:
        """Before data are destroyed for the first time; before each write whoever writes looks again."""
        if self._held is not None and not self._held.is_given_up:
            self._held.give_up(self._consent.erase)

    def _on_device(self, step: PlannedStep, place: TargetFacts) -> PreparedTrial:
        if step.pattern.writes:
            self._require_consent()
        else:
            require_same_identity(place)
        size = step.pattern.used_bytes(place.size_bytes, place.logical_block_size_bytes)
        # of several at the same time only one can claim the device, and does so for all
        claims = step.pattern.writes and not (self._place_in_group and self._is_claimed)
        self._is_claimed = claims or (self._is_claimed and self._place_in_group > 0)
        target = TargetRange(path=place.path, size_bytes=size, exclusive=claims)
        achieved = {"filesystem": "raw"} if step.filesystem is not None else {}
        return PreparedTrial(step.pattern.on(target, seed=step.seed), place, achieved)

    def _in_file(self, step: PlannedStep, place: TargetFacts) -> PreparedTrial:
        mounted = self._filesystem.mounted
        achieved = {"filesystem": mounted.text} if mounted else {}
        if mounted and "mount" in step.levels:
            achieved["mount"] = ",".join(mounted.options)
        size = step.pattern.used_bytes(step.pattern.file_size, place.logical_block_size_bytes)
        if step.pattern.uses_tree:
            return self._in_tree(step, place, achieved)
        # trees of those that run at the same time stay
        if self._trees is not None and not self._place_in_group:
            self._trees.remove()
        if self.planned.kind == "file":
            target = TargetRange(path=place.path, size_bytes=size)
            return PreparedTrial(step.pattern.on(target, seed=step.seed), place, achieved)
        if self._files is None:
            directory = self._directory_for_files(place)
            users = UserFiles(directory, self._consent) if self.planned.kind == "directory" else None
            self._files = TrialFiles(directory, self._progress, self._stop, users)
        path = str(self._files.path(step, self._place_in_group))
        target = TargetRange(path=path, size_bytes=size, create=True)
        target = self._files.make_ready(step, self._place_in_group, target)
        facts = replace(place, kind="missing_file", path=target.path, exists=False, size_bytes=0)
        return PreparedTrial(step.pattern.on(target, seed=step.seed), facts, achieved)

    def _directory_for_files(self, place: TargetFacts) -> HeldDirectory:
        """The directory for the files of trials, opened once; names in it are looked up below it."""
        if self._directory is None:
            try:
                self._directory = HeldDirectory.open(Path(place.path))
            except OSError as error:
                raise DrivelabError("E314", f"cannot be opened: {error.strerror}", where=place.path) from error
        return self._directory

    def _in_tree(self, step: PlannedStep, place: TargetFacts, achieved: dict[str, str]) -> PreparedTrial:
        if self._trees is None:
            self._trees = TrialTrees(self._directory_for_files(place), self._progress, self._stop)
        path = str(self._trees.path(self._place_in_group))
        workload = self._trees.make_ready(step.pattern.on(TargetRange(path=path), seed=step.seed))
        if step.actions.get("page-cache") == "drop" and self._filesystem.mounted is not None:
            write_out_log(str(self._filesystem.mounted.mount_point))
        return PreparedTrial(workload, replace(place, path=path), achieved)
