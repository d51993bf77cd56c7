"""What a journal that could not be undone concerns, and who keeps it from being undone."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from drivelab.inventory.mounts import read_mounts
from drivelab.inventory.sysfs import entries, read_text
from drivelab.model.errors import DrivelabError
from drivelab.model.target import TargetFacts
from drivelab.state.journal import Change
from drivelab.state.loop_device import loops_over

_PROC = Path("/proc")
_PROCESSES_NAMED_MAX = 3


@dataclass(frozen=True, slots=True)
class StuckJournal:
    """A journal that could not be undone, or not wholly.

    Attributes
    ----------
    names : frozenset of str
        Devices, serials and paths of what is still changed.
    """

    path: str
    error: DrivelabError
    names: frozenset[str] = field(default_factory=frozenset)

    def concerns(self, target: TargetFacts) -> bool:
        """Whether what it left lies on a target, or on a drive beneath it."""
        drives = [drive.identity for drive in target.drives]
        known = {target.path, *(layer.path for layer in target.devices)}
        known |= {f"/dev/{drive.name}" for drive in drives if not drive.serials and not drive.wwn}
        known |= {serial for drive in drives for serial in (*drive.serials, drive.wwn) if serial}
        inside = target.kind == "directory" and any(name.startswith(f"{target.path}/") for name in self.names)
        return inside or not known.isdisjoint(self.names)


def names_in(changes: Iterable[Change]) -> frozenset[str]:
    """Devices, serials and paths that changes concern."""
    return frozenset(name for change in changes for name in _names(change.facts))


def _names(facts: Mapping[str, Any]) -> Iterator[str]:
    reference = facts.get("drive")
    if isinstance(reference, dict):
        serials = reference.get("serials")
        lasting = [*(serials if isinstance(serials, list) else []), reference.get("wwn")]
        named = [name for name in lasting if isinstance(name, str)]
        yield from named or [f"/dev/{str(reference.get('name')).replace('!', '/')}"]
    for name in ("device", "path", "mount_point", "backing_file", "uuid"):
        if isinstance(facts.get(name), str):
            yield facts[name]
    members = facts.get("members")
    yield from (name for name in (members if isinstance(members, list) else []) if isinstance(name, str))
    if isinstance(facts.get("backing_file"), str):
        yield from (f"/dev/{loop}" for loop in loops_over(facts["backing_file"]))
    yield from (mount.source for mount in read_mounts() if mount.mount_point == facts.get("mount_point"))


def what_holds(changes: Iterable[Change]) -> str:
    """What is still mounted or attached of changes, who uses it, and the commands that end it."""
    found = [sentence for change in changes for sentence in _holding(change)]
    return "; ".join(dict.fromkeys(found))


def _holding(change: Change) -> Iterator[str]:
    mount_point, backing_file = change.facts.get("mount_point"), change.facts.get("backing_file")
    if change.kind == "mount" and isinstance(mount_point, str):
        for mount in read_mounts():
            if mount.mount_point == mount_point:
                yield f"{mount.source} is mounted there{_used_by(mount_point)}: umount {shlex.quote(mount_point)}"
    if change.kind == "loop_device" and isinstance(backing_file, str):
        for loop in loops_over(backing_file):
            node = f"/dev/{loop}"
            places = [mount.mount_point for mount in read_mounts() if mount.source == node]
            unmount = "".join(f"umount {shlex.quote(place)}; " for place in places)
            mounted = f", mounted on {', '.join(places)}" if places else ""
            yield f"{node} is attached to {backing_file}{mounted}{_used_by(node)}: {unmount}losetup --detach {node}"


def _used_by(path: str) -> str:
    users = list(_users_of(path))
    more = f" and {len(users) - _PROCESSES_NAMED_MAX} more" if len(users) > _PROCESSES_NAMED_MAX else ""
    return f", used by {', '.join(users[:_PROCESSES_NAMED_MAX])}{more}" if users else ""


def _users_of(path: str) -> Iterator[str]:
    """Processes that have a device, or something in a directory, open; of those that this user may look at."""
    for process in (_PROC / entry for entry in entries(_PROC) if entry.isdigit() and int(entry) != os.getpid()):
        links = [process / "cwd", process / "root", *(process / "fd" / name for name in entries(process / "fd"))]
        if any(_leads_to(link, path) for link in links):
            yield f"{read_text(process / 'comm') or '?'} (process {process.name})"


def _leads_to(link: Path, path: str) -> bool:
    try:
        place = os.readlink(link)
    except OSError:
        return False
    return place == path or place.startswith(f"{path}/")


def require_apart(stuck: Iterable[StuckJournal], targets: Iterable[TargetFacts]) -> None:
    """Return only if nothing that could not be put back lies on a target.

    Raises
    ------
    DrivelabError
        C213: something does.
    """
    stuck = tuple(stuck)
    for target in targets:
        for one in stuck:
            if one.concerns(target):
                what = f"{target.text} is not as it was: {one.error.what}"
                raise DrivelabError("C213", what, where=one.path, do=one.error.do)
