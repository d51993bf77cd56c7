"""Whether operations can be traced here at all: found out before a run changes anything."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from drivelab.model.errors import DrivelabError
from drivelab.model.plan import TraceChoice
from drivelab.model.target import MADE_KINDS, TargetFacts
from drivelab.run.trace_counts import has_kernel_ids
from drivelab.run.traced_pass import top_device, traced_device
from drivelab.run.tracing.disk import traced_disk
from drivelab.run.tracing.sources import choose_source
from drivelab.run.tracing.tracefs import TraceUnavailableError, remove_stale_instances, tracefs

_DISKS = Path("/sys/block")


def require_traceable(targets: Sequence[TargetFacts], source: TraceChoice) -> None:
    """Return only if operations on each of the targets can be traced, as far as can be told.

    Parameters
    ----------
    source : str
        How they are traced: auto is the first source that works.

    Raises
    ------
    DrivelabError
        R430 to R433: the kernel does not let us trace, or somebody else does.
        R440: a target has no drive, or several; or ids of threads are not the kernel's here.
    """
    asked = None if source == "auto" else source
    for facts in targets:
        if facts.simulated is not None:
            what = f"{facts.text} is simulated: the kernel sees nothing of it"
            raise DrivelabError("R440", what, where=facts.text, do="leave out --trace")
        name = _any_disk() if facts.kind in MADE_KINDS else traced_device(facts)
        if name:
            top = None if facts.kind in MADE_KINDS else top_device(facts)
            choose_source(traced_disk(name, top), asked)
    if not has_kernel_ids():
        what = "threads have other ids here than in the kernel's trace: this is a container with its own processes"
        do = "run it outside of the container, or with the host's processes (--pid=host)"
        raise DrivelabError("R440", what, do=do)


def remove_left_over_traces() -> list[str]:
    """Names of the trace instances that killed processes of drivelab had left behind, now removed."""
    with suppress(TraceUnavailableError), tracefs() as root:
        return remove_stale_instances(root)
    return []


def _any_disk() -> str:
    """A disk to try with, in place of what is not made yet: a loop device where there is one."""
    names = sorted((path.name for path in _DISKS.iterdir()), key=lambda name: (not name.startswith("loop"), name))
    return names[0] if names else ""
