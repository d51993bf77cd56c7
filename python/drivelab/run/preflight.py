"""Looks whether a plan can be carried out, before anything is changed."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

from drivelab.inventory.consent import Consent, require_erase_consent, require_purge_consent
from drivelab.inventory.target import require_writable
from drivelab.model.errors import DrivelabError
from drivelab.model.factor import FileSystemLevel
from drivelab.model.plan import Plan, PlannedTarget
from drivelab.model.setting import AS_FOUND
from drivelab.model.target import TargetFacts
from drivelab.model.workload import TargetRange
from drivelab.run.engine import require_backend
from drivelab.run.filesystem_on_target import FileSystemOnTarget
from drivelab.run.traceable import require_traceable
from drivelab.run.user_files import require_files_given_up
from drivelab.simulated.load import PREFIX
from drivelab.state.begun_journal import begun_journal
from drivelab.state.filesystem import require_filesystem_programs
from drivelab.state.journal import Journal
from drivelab.state.programs import require_program, require_root
from drivelab.state.raid import require_raid
from drivelab.state.scratch import choose_directory, make_sparse_scratch

# sparse: only what mkfs writes takes room; the smallest that every mkfs takes, xfs included
_SIZE_BYTES = 512 * 2**20
_ROOM_BYTES = 64 * 2**20


def require_possible(plan: Plan, targets: Mapping[str, TargetFacts], consent: Consent) -> None:
    """Return only if the plan can be carried out as far as can be told.

    Raises
    ------
    DrivelabError
        C201 to C210, C220: a target, or a file in it, may not be written to. C212: a setting would put
        data of others at risk. R401: root is needed.
        R402: a program is not installed. R403: mkfs or mount do not take an
        option. R405: no room for a scratch drive. T102, T103: a directory does
        not take files. R430 to R440: trials are to be traced, and cannot be.
        R450: this kernel has no RAID. E301, E310, E311, E313: the engine cannot
        issue a workload.
    """
    types = {step.filesystem.type for step in plan.steps if step.filesystem is not None} - {"raw"}
    if any(target.scratch_bytes for target in plan.targets):
        require_root("a scratch drive")
        require_program("losetup")
    if types:
        require_root(f"making {' and '.join(sorted(types))}")
        require_filesystem_programs(types)
    if any(level != AS_FOUND for step in plan.steps for level in step.settings.values()):
        require_root("changing settings")
    require_issuable(plan)
    writes = any(step.pattern.writes for step in plan.steps)
    for target in plan.targets:
        facts = targets[target.label]
        if target.scratch_bytes:
            choose_directory(target.scratch_bytes)
        if facts.raid is not None:
            require_raid(facts.raid.level)
            for member in facts.raid.erased_members:
                require_writable(member)
        require_consent(target, facts, consent)
        if facts.kind in ("directory", "block_device") and writes:
            require_writable(facts)
        _refuse_risk(plan, target, facts)
    require_files_given_up(plan.steps, targets, may_overwrite=consent.overwrite_files)
    if plan.trace:
        require_traceable([targets[target.label] for target in plan.targets], plan.trace)
    # consent first: whoever may not touch the drive need not know more
    _try_file_systems(dict.fromkeys(step.filesystem for step in plan.steps if step.filesystem is not None))


def require_issuable(plan: Plan) -> None:
    """Return only if the engine can issue every workload of the plan here, as far as that is no matter of the target.

    Raises
    ------
    DrivelabError
        E301: a workload contradicts itself. E310, E311, E313: its backend cannot do it, or not here. R424: a
        simulated drive has none to choose.
    """
    simulated = {target.label: target.text for target in plan.targets if target.text.startswith(PREFIX)}
    for step in plan.steps:
        # what runs together is refused as a whole
        if step.target in simulated and not step.together and step.pattern.backend != "auto":
            what = f"{step.label}: a simulated drive has no kernel for backend {step.pattern.backend} to call"
            check = shlex.join(["drivelab", "check", simulated[step.target]])
            do = f"{check} measures small synced writes; queue-depth and fill-level run on it too"
            raise DrivelabError("R424", what, where=step.target, do=do)
    labels = {step.pattern: step.label for step in plan.steps}
    for pattern, label in labels.items():
        try:
            require_backend(pattern.on(TargetRange(path=""), seed=0))
        except DrivelabError as error:
            raise DrivelabError(error.code, f"{label}: {error.what}", where=error.where, do=error.do) from None


def require_consent(target: PlannedTarget, facts: TargetFacts, consent: Consent) -> None:
    """Return only if what the plan erases of a target was given up by its owner, and nothing uses it.

    Raises
    ------
    DrivelabError
        C201 to C210: it was not, or is used.
    """
    for member in facts.raid.erased_members if facts.raid else ():
        require_erase_consent(member, consent.erase)
    if facts.kind == "block_device" and target.erase_argument:
        require_erase_consent(facts, consent.erase)
        if target.purge_argument:
            require_purge_consent(facts, consent.purge)


def _refuse_risk(plan: Plan, target: PlannedTarget, facts: TargetFacts) -> None:
    """Refuse to keep flushes from a drive that holds anything but what its owner has given up."""
    levels = {step.settings.get("kernel-write-cache") for step in plan.steps if step.target == target.label}
    is_whole = bool(facts.devices) and facts.devices[-1].kind in ("disk", "loop")
    is_given_up = facts.kind == "scratch" or (facts.kind == "block_device" and is_whole and target.erase_argument != "")
    if "write through" in levels and not is_given_up:
        what = "kernel-write-cache write through keeps flushes from the drive: a loss of power would harm what is on it"
        raise DrivelabError("C212", what, where=target.text)


def _try_file_systems(levels: Iterable[FileSystemLevel]) -> None:
    """Return only if every file system can be made and mounted with its options, tried on a small loop device.

    Which options a kernel takes depends on its version and on how it was built, so each combination is tried.
    """
    wanted = [level for level in levels if level.type != "raw"]
    if not wanted:
        return
    with begun_journal("trying file systems and their options") as journal:
        device = make_sparse_scratch(_SIZE_BYTES, _ROOM_BYTES, journal)
        for level in wanted:
            _try(device, level, journal)


def _try(device: str, level: FileSystemLevel, journal: Journal) -> None:
    filesystem = FileSystemOnTarget(journal)
    try:
        filesystem.bring(device, level)
    except DrivelabError as error:
        if error.code != "R403":
            raise
        do = f"correct the options of level {level.name} in the experiment; nothing was changed"
        if "unknown filesystem type" in error.what:
            do = f"this kernel has no {level.type}: take {level.name} out, or keep others: --only filesystem=LEVEL"
        raise DrivelabError("R403", f"{level.name}: {error.what}", where=error.where, do=do) from error
    filesystem.take_away()
