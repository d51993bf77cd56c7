"""Judges whether a drive may be written to; reads nothing, decides from the facts alone."""

from __future__ import annotations

from collections.abc import Iterator

from drivelab.model.drive import BlockUse, DriveFacts, Touchability

CONTENTS_SUFFIX = "+contents"


def judge(drive: DriveFacts) -> Touchability:
    """Whether drivelab may write to the drive, and why.

    Parameters
    ----------
    drive : DriveFacts
        With everything but its own judgement.

    Returns
    -------
    Touchability
        Before anything is written, `require_erase_consent` looks again, and closer.
    """
    uses = tuple(_uses_in(drive.use))
    if uses:
        return Touchability("in_use", uses)
    if drive.size_bytes == 0:
        return Touchability("unusable", ("it has no medium",))
    if drive.is_read_only:
        return Touchability("unusable", ("the kernel holds it read-only",))
    held = tuple(contents_in(drive.use))
    if held:
        return Touchability("holds_data", held, drive.erase_name + CONTENTS_SUFFIX)
    if any(layer.contents is None for layer in drive.use.walk()):
        return Touchability("unknown", (f"what it holds could not be read: {drive.unknown.get('use', 'needs root')}",))
    return Touchability("free", ("nothing was recognised on it",), drive.erase_name)


def _uses_in(use: BlockUse) -> Iterator[str]:
    """Every present use of a device and of what lies on it, in words."""
    for layer in use.walk():
        for place in layer.mount_points:
            yield f"{layer.name} is mounted on {place}"
        for user in layer.used_by:
            yield f"{layer.name} is used as {user}"
        for child in layer.children:
            if child.kind != "part":
                yield f"{layer.name} is held by {child.name}{_in_brackets(child.detail)}"


def contents_in(use: BlockUse) -> Iterator[str]:
    """Everything recognised on a device and on its partitions, in words."""
    for layer in use.walk():
        if layer.contents:
            label = f" '{layer.label}'" if layer.label else ""
            yield f"{layer.name} holds {layer.contents}{label}"
        elif layer.kind == "part":
            yield f"{layer.name} is a partition"


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""
