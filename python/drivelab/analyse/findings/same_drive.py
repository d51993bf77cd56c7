"""Targets of one run that are on the same drive: beside each other they are no two drives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drivelab.model.finding import Finding
from drivelab.model.names import names_in_words
from drivelab.model.target import TargetFacts

CODE = "same-drive"


def find_in_targets(targets: Mapping[str, TargetFacts]) -> list[Finding]:
    """Directories, files and parts, by their labels, that have their drives in common; a finding for each group."""
    groups: dict[tuple[str, ...], dict[str, TargetFacts]] = {}
    for label, target in targets.items():
        if target.raid is None and target.simulated is None and target.drives:
            groups.setdefault(tuple(sorted(drive.name for drive in target.drives)), {})[label] = target
    return [_found(drives, members) for drives, members in groups.items() if len(members) > 1]


def _found(drives: Sequence[str], members: Mapping[str, TargetFacts]) -> Finding:
    mounted = {target.filesystem.device_number if target.filesystem else "" for target in members.values()}
    is_one_filesystem = len(mounted) == 1 and "" not in mounted
    where = "in one file system on" if is_one_filesystem else "on"
    text = (
        f"{names_in_words(list(members))} are {where} the same {'drive' if len(drives) == 1 else 'drives'} "
        f"({names_in_words(list(drives))}): what differs between them is chance, or where on it they lie"
    )
    return Finding(CODE, "warning", text, "", {"targets": list(members), "drives": list(drives)})
