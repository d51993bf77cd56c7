"""Which ways there are to take a trace here, which is taken, and why the others are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from drivelab.model.errors import DrivelabError
from drivelab.run.tracing import blk_tracer_source, relay_source, tracefs_source
from drivelab.run.tracing.disk import TracedDisk
from drivelab.run.tracing.source import Source, SourceUnavailableError
from drivelab.state.journal import journal_directory
from drivelab.state.restore import put_back

# the first that works is taken: those in front disturb nobody and cost least
SOURCES: tuple[Source, ...] = (tracefs_source.SOURCE, relay_source.SOURCE, blk_tracer_source.SOURCE)
ADVICE = {
    "R430": "run it with sudo",
    "R431": "trace on another machine with blktrace, and read that: drivelab btt FILE",
    "R432": "wait until the other trace has ended",
}


@dataclass(frozen=True, slots=True)
class SourceState:
    """Whether a source can be used.

    Attributes
    ----------
    why_not : str
        In words; empty when it can.
    code : str
        Of the error that tells so.
    """

    source: Source
    why_not: str = ""
    code: str = ""


def probe_source(source: Source, disk: TracedDisk) -> SourceState:
    """Whether one source can be used for a disk; nothing is changed."""
    try:
        source.require(disk)
    except SourceUnavailableError as unavailable:
        return SourceState(source, str(unavailable), unavailable.code)
    return SourceState(source)


def choose_source(disk: TracedDisk, asked: str | None = None) -> tuple[Source, str]:
    """The source to trace a disk by, and why it is that one.

    What dead processes of drivelab left armed is put back before it is taken
    for somebody else's.

    Parameters
    ----------
    asked : str, optional
        Name of a source; otherwise the first that works is taken.

    Raises
    ------
    DrivelabError
        R430: not root. R431: no source works. R432: somebody else traces.
    """
    if asked is not None:
        return _named(disk, asked), "asked for"
    passed: list[SourceState] = []
    for source in SOURCES:
        state = _probe_cleanly(source, disk)
        if not state.why_not:
            return source, _reason(passed)
        passed.append(state)
    raise unavailable(passed)


def unavailable(states: Sequence[SourceState]) -> DrivelabError:
    """The error that tells why a disk cannot be traced by some sources."""
    codes = [state.code for state in states]
    code = next((one for one in ("R430", "R432") if one in codes), "R431")
    if set(codes) == {"R430"}:
        return DrivelabError(code, "the kernel's block layer can be traced by root only", do=ADVICE[code])
    reasons = dict.fromkeys(f"{state.source.title}: {state.why_not}" for state in states)
    return DrivelabError(code, "; ".join(reasons), do=ADVICE[code])


def _named(disk: TracedDisk, asked: str) -> Source:
    source = next((one for one in SOURCES if one.name == asked), None)
    if source is None:
        names = ", ".join(one.name for one in SOURCES)
        raise DrivelabError("R431", f"there is no source {asked}", do=f"choose one of: {names}")
    state = _probe_cleanly(source, disk)
    if state.why_not:
        refused = unavailable([state])
        do = f"leave out --source {asked}: the first source that works is taken" if state.code == "R431" else refused.do
        raise DrivelabError(refused.code, refused.what, where=f"option --source {asked}", do=do)
    return source


def _probe_cleanly(source: Source, disk: TracedDisk) -> SourceState:
    state = probe_source(source, disk)
    if state.code == "R432" and put_back(journal_directory()).restored:
        return probe_source(source, disk)
    return state


def _reason(passed: Sequence[SourceState]) -> str:
    if not passed:
        return "it disturbs nobody and costs least"
    return "; ".join(f"not {state.source.title}: {state.why_not}" for state in passed)
