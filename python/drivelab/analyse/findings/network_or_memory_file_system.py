"""A file system without a drive of its own beneath it."""

from __future__ import annotations

from drivelab.model.finding import Finding
from drivelab.model.host import HostFacts
from drivelab.model.target import TargetFacts

CODE = "network-or-memory-file-system"


def find_in_target(target: TargetFacts, _host: HostFacts | None = None) -> list[Finding]:
    """Memory, another machine, or a program in between."""
    filesystem = target.filesystem
    if filesystem is None:
        return []
    facts = {"type": filesystem.type, "source": filesystem.source, "mount_point": filesystem.mount_point}
    if filesystem.is_memory:
        text = f"{filesystem.mount_point} ({filesystem.type}) is memory: nothing here is about a drive"
        return [Finding(CODE, "invalid", text, "", facts, "choose a directory on a drive")]
    if filesystem.is_network:
        text = (
            f"{filesystem.mount_point} ({filesystem.type}) is on another machine: the numbers are those of network and "
            "server together, and what the server does with flushes cannot be seen from here"
        )
        return [Finding(CODE, "warning", text, "", facts, "measure on the server, too")]
    if filesystem.is_fuse:
        text = (
            f"{filesystem.mount_point} ({filesystem.type}) is run by a program: the numbers are those of the program "
            "and of whatever it stores to"
        )
        return [Finding(CODE, "warning", text, "", facts)]
    return []
