"""Drive and kernel disagree about the volatile write cache."""

from __future__ import annotations

from drivelab.model.finding import Finding
from drivelab.model.host import HostFacts
from drivelab.model.target import TargetFacts

CODE = "write-cache-views-disagree"


def find_in_target(target: TargetFacts, _host: HostFacts | None = None) -> list[Finding]:
    """A cache that is on and never flushed loses data; one that is off and flushed costs time."""
    found = []
    for drive in target.drives:
        cache = drive.write_cache
        facts = {"drive": drive.name, "views": dict(cache.views)}
        if cache.loses_acknowledged_writes:
            text = (
                f"the write cache of {drive.name} is on ({cache.drive_source}) and the kernel sends it no flushes "
                "(write through): writes that were acknowledged as durable are lost when the power fails"
            )
            advice = f"echo 'write back' > /sys/block/{drive.name}/queue/write_cache"
            found.append(Finding(CODE, "invalid", text, "", facts, advice))
        elif cache.drive_enabled is False and cache.kernel_mode == "write back":
            text = (
                f"the write cache of {drive.name} is off ({cache.drive_source}) and the kernel flushes it all the "
                "same: durable writes may be slower than they need to be"
            )
            found.append(Finding(CODE, "note", text, "", facts, "have the kernel scan the drive again"))
    return found
