"""Counted commands of an operation beside what this kind of kernel and drive should issue.

Whoever counts, the kernel's counters, the counting pass or a traced pass, the
judgement is this one: fewer durable commands than operations on a volatile
cache are a durability alarm; otherwise what was counted is held against the
table of expected commands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from drivelab.analyse.expected_commands import (
    CacheKind,
    Commands,
    Range,
    concurrency,
    expected_commands_on,
)
from drivelab.model.names import names_in_words
from drivelab.model.trace import CommandCheck
from drivelab.model.workload import DURABLE_METHODS, Workload

# methodology: counts that differ by more per operation mean something
SLACK = 0.05
# a layer that nobody knows of adds whole commands to most operations; a twentieth more are a neighbour's commits
EXTRA_SLACK = 0.2
# so many operations carry the alarm, and so many a comparison with the table
ALARM_OPERATIONS_MIN = 20
TABLE_OPERATIONS_MIN = 100
# what a file system does now and then beside the operations: a checkpoint, an inode table
_OCCASIONAL = 5
UNKNOWN_CAUSE = "a layer between file system and drive, other writers, or a kernel that works differently"
_CACHES: Mapping[CacheKind, str] = {
    "write_back": "a volatile cache",
    "write_back_fua": "a volatile cache and FUA",
    "write_through": "what the kernel takes for no volatile cache",
}


@dataclass(frozen=True, slots=True)
class Stack:
    """What operations go through on their way to the drive.

    Attributes
    ----------
    backend : str
        What issued it: sync, uring or aio.
    filesystem : str
        Its type, or ``raw`` for a block device.
    cache : str or None
        What the kernel believes about the drive's cache; None when that is not known.
    layers : tuple of str
        What lies between the file system and the drives at which commands are counted.
    """

    workload: Workload
    backend: str
    is_direct: bool
    filesystem: str
    cache: CacheKind | None
    layers: tuple[str, ...] = ()
    drives: int = 1


@dataclass(frozen=True, slots=True)
class CountedCommands:
    """What was counted for one operation.

    Attributes
    ----------
    operations : int
        Operations that it was counted over.
    flushes : float or None
        Cache flushes per operation; None when they were not counted.
    fua_writes, writes : float or None
        Writes with Force Unit Access, and all writes with data.
    journal_writes : float
        Writes by the journal of the file system; 0 where nobody told them apart.
    """

    operations: int
    flushes: float | None
    fua_writes: float | None = None
    writes: float | None = None
    journal_writes: float = 0.0


def is_too_little_durable(durable_commands: float, workload: Workload, backend: str) -> bool:
    """Whether a volatile cache was told less often than once per operation to make things durable.

    Parameters
    ----------
    durable_commands : float
        Flushes and FUA writes together, per durable operation.

    Notes
    -----
    Flushes of operations that wait together merge. But an operation waits for a flush that began after
    it did, so one flush serves no more operations than may be outstanding at once.
    """
    return durable_commands < (1 - SLACK) / concurrency(workload, backend)


def missing_flushes_text(operations: int, durable_commands: float) -> str:
    """The durability alarm in words."""
    return (
        f"{operations} operations were to be durable, and the drive was told so {durable_commands:.2f} times for each: "
        "its cache is volatile, so acknowledged writes can be lost when the power fails"
    )


def differing_commands(counted: CountedCommands, expected: Commands) -> dict[str, tuple[float, Range]]:
    """Kinds of commands outside the range that was counted on the same kind of stack.

    Returns
    -------
    dict of str to (float, (float, float))
        ``flushes``, ``fua writes``, ``writes`` with what was counted and what
        is expected. Fewer writes than expected are none: they were merged.
    """
    occasional = _OCCASIONAL / max(1, counted.operations)
    found: dict[str, tuple[float, Range]] = {}
    for kind, value, known in (
        ("flushes", counted.flushes, expected.flushes),
        ("fua writes", counted.fua_writes, expected.fua_writes),
        ("writes", counted.writes, (0.0, expected.writes[1])),
    ):
        if value is not None and not known[0] - SLACK - occasional <= value <= known[1] + EXTRA_SLACK + occasional:
            found[kind] = (value, expected.writes if kind == "writes" else known)
    return found


def differing_text(differing: Mapping[str, tuple[float, Range]], filesystem: str, cause: str = UNKNOWN_CAUSE) -> str:
    """Commands that nobody expected, in words, with what may have sent them."""
    parts = [f"{value:.2f} {kind} instead of {_range_text(expected)}" for kind, (value, expected) in differing.items()]
    return f"each durable write cost {' and '.join(parts)}, which {filesystem} is known to send: {cause}"


def _range_text(expected: Range) -> str:
    """A range of counts: ``1``, ``1 to 2``."""
    low, high = expected
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def command_check(counted: CountedCommands, stack: Stack | None) -> CommandCheck:
    """The self-check of the commands of an operation.

    Parameters
    ----------
    stack : Stack or None
        What the operations went through; None when that is not known.

    Returns
    -------
    CommandCheck
        *too_few_flushes*: a durability alarm. *too_many*: a layer that nobody
        knows of. *unknown*: no row of the table is about such operations, or
        there are too few of them.
    """
    if stack is None:
        return CommandCheck("unknown", "what the operations went through is not known")
    if stack.workload.writes and stack.workload.durability.method == "sync_file_range":
        return CommandCheck(
            "unknown", "sync_file_range sends no flush and commits no metadata: nothing was made durable"
        )
    if not stack.workload.writes or stack.workload.durability.method not in DURABLE_METHODS:
        return CommandCheck("unknown", "nobody asked for durable writes, so no flush is due")
    durable = (counted.flushes or 0.0) + (counted.fua_writes or 0.0)
    if counted.operations < ALARM_OPERATIONS_MIN:
        return CommandCheck("unknown", f"{counted.operations} operations are too few to judge their commands")
    is_volatile = stack.cache in ("write_back", "write_back_fua") and counted.flushes is not None
    if is_volatile and is_too_little_durable(durable, stack.workload, stack.backend):
        return CommandCheck("too_few_flushes", missing_flushes_text(counted.operations, durable))
    return _against_table(counted, stack)


def _against_table(counted: CountedCommands, stack: Stack) -> CommandCheck:
    known = expected_commands_on(stack.workload, stack.backend, stack.is_direct, stack.filesystem, stack.cache)
    if known is None:
        what = f"{stack.workload.durability.method} on {_place(stack)}"
        return CommandCheck("unknown", f"nobody has counted what {what} should cost in such operations")
    if counted.operations < TABLE_OPERATIONS_MIN:
        return CommandCheck("unknown", f"{counted.operations} operations are too few to judge their commands")
    expected, _ = known
    differing = differing_commands(counted, expected)
    if not differing and counted.writes is not None and counted.writes < SLACK < expected.writes[0]:
        # merging leaves a write of several, but never none
        text = f"{_counted_at(counted, stack)}, where {_place(stack)} should send {_expected_text(expected)}"
        return CommandCheck("unknown", f"{text}: the writes went another way than was counted")
    if not differing:
        sent, added = ("should send", "; nothing is added below") if stack.layers else ("should", "")
        text = f"{_counted_at(counted, stack)}, as {_place(stack)} {sent}: {_expected_text(expected)}{added}"
        return CommandCheck("ok", text)
    if _lacks_durability(differing):
        parts = [f"{value:.2f} {kind} instead of {_range_text(due)}" for kind, (value, due) in differing.items()]
        text = (
            f"each durable write cost {' and '.join(parts)}, which {_place(stack)} should get: "
            "what was acknowledged may not have been durable"
        )
        return CommandCheck("too_few_flushes", text)
    if stack.layers:
        # what a layer makes of them is its own matter: copies, parity, metadata, what a file is written by
        text = f"{_counted_at(counted, stack)}, where {_place(stack)} should send {_expected_text(expected)}"
        return CommandCheck("unknown", f"{text}: the rest is added by {names_in_words(stack.layers)}")
    # where one write is due, none of them is the journal's
    is_journal = counted.journal_writes > SLACK and expected.writes[1] <= 1
    seen = f"most likely for commits of its journal, which wrote {counted.journal_writes:.2f} times per operation"
    return CommandCheck("too_many", differing_text(differing, stack.filesystem, seen if is_journal else UNKNOWN_CAUSE))


def _lacks_durability(differing: Mapping[str, tuple[float, Range]]) -> bool:
    """Whether there are fewer flushes and FUA writes than expected; a flush does all that a FUA write does."""
    missing = {kind: max(0.0, low - value) for kind, (value, (low, _)) in differing.items() if kind != "writes"}
    value, (_, high) = differing.get("flushes", (0.0, (0.0, 0.0)))
    return missing.get("flushes", 0.0) > 0 or missing.get("fua writes", 0.0) > max(0.0, value - high) + SLACK


def _counted_at(counted: CountedCommands, stack: Stack) -> str:
    """What was counted; and where, if that is not where it was sent to."""
    if not stack.layers:
        return _counted_text(counted)
    place = "the drive" if stack.drives == 1 else f"the {stack.drives} drives"
    return f"{_counted_text(counted)} at {place} below {names_in_words(stack.layers)}"


def _place(stack: Stack) -> str:
    name = "the bare drive" if stack.filesystem == "raw" else stack.filesystem
    return f"{name} on {_CACHES[stack.cache]}" if stack.cache else name


def _counted_text(counted: CountedCommands) -> str:
    told = [("writes", counted.writes), ("flushes", counted.flushes), ("FUA", counted.fua_writes)]
    # FUA writes are told of where there are any
    return ", ".join(
        f"{value:.2f} {name}" for name, value in told if value is not None and (name != "FUA" or value >= SLACK)
    )


def _expected_text(expected: Commands) -> str:
    kinds = [(expected.writes, "write", "writes"), (expected.flushes, "flush", "flushes")]
    told = [f"{_range_text(due)} {one if due == (1, 1) else several}" for due, one, several in kinds]
    return ", ".join([*told, *([f"{_range_text(expected.fua_writes)} FUA"] if expected.fua_writes[1] else [])])
