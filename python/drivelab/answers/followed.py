"""What a program that was followed comes to: its calls, the slowest of them, and where the time of each kind went."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from drivelab.analyse.explanation import TracedPass, explanation_of
from drivelab.analyse.followed_calls import CallSummary, SlowCall, at_drive, call_summaries, slowest_calls
from drivelab.analyse.operation_parts import operation_parts
from drivelab.model.trace import OPERATION_NAMES, PARTS, Explanation
from drivelab.store.followed import FollowedRecord

SLOWEST_MAX = 20
_SYNCS = ("sync", "durable_write")


@dataclass(frozen=True, slots=True)
class FollowedAnswer:
    """What was found out about a program.

    Attributes
    ----------
    record : FollowedRecord
        How it was followed.
    calls, events : pyarrow.Table
        One row per call; one row per bio and per command.
    over_ns : int
        Only calls that take longer were asked about; 0 for all.
    summaries : tuple of CallSummary
        All calls by name.
    slowest : tuple of SlowCall
        The slowest of those that were asked about.
    at_drive_ns : mapping of str to int
        By process how long its bios were on their way while the program waited for syncs.
    sync_wait_ns : int
        How long it waited for syncs in all.
    explanations : tuple of Explanation
        Where the time of each kind of operation went.
    """

    record: FollowedRecord
    calls: pa.Table
    events: pa.Table
    over_ns: int
    summaries: tuple[CallSummary, ...]
    slowest: tuple[SlowCall, ...]
    at_drive_ns: Mapping[str, int]
    sync_wait_ns: int
    explanations: tuple[Explanation, ...]

    @property
    def refusal(self) -> str:
        """Why nothing can be said of where the time went; empty where it can."""
        return next((one.refusal for one in self.explanations if one.refusal), "")


def followed_answer(record: FollowedRecord, calls: pa.Table, events: pa.Table, over_ns: int = 0) -> FollowedAnswer:
    """What a program comes to.

    Parameters
    ----------
    record : FollowedRecord
        How it was followed.
    calls, events : pyarrow.Table
        All its calls, and all bios and commands of the disk.
    over_ns : int
        Of single calls only those that take longer are told.
    """
    at_work = at_drive(calls, events, frozenset(record.threads))
    awaited = pc.is_in(calls["operation"], pa.array(map(OPERATION_NAMES.index, _SYNCS), calls["operation"].type))
    is_awaited = awaited.to_numpy()
    explanations = tuple(_explanations(record, calls))
    summaries = call_summaries(calls, record.duration_ns)
    if any(one.refusal for one in explanations):
        summaries = tuple(replace(one, parts_ns=dict.fromkeys(PARTS, 0)) for one in summaries)
    return FollowedAnswer(
        record=record,
        calls=calls,
        events=events,
        over_ns=over_ns,
        summaries=summaries,
        slowest=slowest_calls(calls, at_work, SLOWEST_MAX, over_ns),
        at_drive_ns={who: int(times[is_awaited].sum()) for who, times in at_work.items()},
        sync_wait_ns=int(calls["latency_ns"].to_numpy()[is_awaited].sum()),
        explanations=explanations,
    )


def _explanations(record: FollowedRecord, calls: pa.Table) -> Iterator[Explanation]:
    for operation in (*_SYNCS, "write", "read"):
        if pc.any(pc.equal(calls["operation"], OPERATION_NAMES.index(operation))).as_py():
            passed = TracedPass(operation, operation_parts(calls, operation), record.conduct)
            explanation = explanation_of([passed], operation, label=f"{record.program}: {operation}")
            yield replace(explanation, target=record.disk)
