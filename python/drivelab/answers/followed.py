"""What a program that was followed comes to: its calls, the slowest of them, and where the time of each kind went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from drivelab.analyse.explanation import TracedPass, explanation_of, whole_passes
from drivelab.analyse.explanation_difference import explanation_difference
from drivelab.analyse.followed_calls import (
    CallSummary,
    ReadsOutside,
    SlowCall,
    at_drive,
    call_summaries,
    others_alone,
    reads_outside,
    slowest_calls,
)
from drivelab.analyse.operation_parts import operation_parts
from drivelab.model.names import some_in_words
from drivelab.model.trace import OPERATION_NAMES, PARTS, Explanation, ExplanationDifference, Part
from drivelab.store.followed import FollowedRecord, StoredFollowed, named_by_durability

SLOWEST_MAX = 20
_SYNCS = ("sync", "durable_write")
# of all calls' time; less than that explains no difference
_TIME_TOLD_FROM = 0.02
# of the name of a thread
_KERNEL_NAME_LETTERS = 15
_KINDS = (*_SYNCS, "write", "read")


@dataclass(frozen=True, slots=True)
class AllCalls:
    """How many calls there were, those of which nothing was asked among them.

    Attributes
    ----------
    parts_ns : mapping of Part to int
        Where the time of all of them together went; of layers nothing.
    slowest : (str, int)
        The slowest of them, and how long it took, in ns.
    """

    count: int
    time_ns: int
    parts_ns: Mapping[Part, int]
    slowest: tuple[str, int]


@dataclass(frozen=True, slots=True)
class FollowedAnswer:
    """What was found out about a program.

    Attributes
    ----------
    record : FollowedRecord
        How it was followed.
    calls, events : pyarrow.Table
        One row per call that was asked about, those of durable writes with a name of their own; one row per bio and
        per command.
    over_ns : int
        Only calls that take longer were asked about; 0 for all.
    every : AllCalls
        All calls, whether asked about or not.
    summaries : tuple of CallSummary
        Those that were asked about by name.
    slowest : tuple of SlowCall
        The slowest of them.
    at_drive_ns : mapping of str to int
        By process how long its bios were on their way while the program waited for syncs.
    sync_wait_ns : int
        How long it waited for syncs in all.
    explanations : tuple of Explanation
        Where the time of each kind of operation went.
    outside : ReadsOutside
        Reads that its threads sent outside of all its calls.
    """

    record: FollowedRecord
    calls: pa.Table
    events: pa.Table
    over_ns: int
    every: AllCalls
    summaries: tuple[CallSummary, ...]
    slowest: tuple[SlowCall, ...]
    at_drive_ns: Mapping[str, int]
    sync_wait_ns: int
    explanations: tuple[Explanation, ...]
    outside: ReadsOutside

    @property
    def refusal(self) -> str:
        """Why nothing can be said of where the time went; empty where it can."""
        return next((one.refusal for one in self.explanations if one.refusal), "")

    @property
    def recorded_share(self) -> float:
        """Which part of the program's calls was recorded, as far as is known; 1 where none was lost."""
        trace = self.record.calls_trace
        # BPF loses calls whole, and a trace of events loses entries and returns
        lost = self.record.lost_events if trace.get("source") == "BPF" else (self.record.lost_events + 1) // 2
        recorded = trace.get("recorded", self.every.count + sum(self.record.left_out.values()))
        return float(recorded / max(1, recorded + lost)) if lost else 1.0

    @property
    def recorded_until_ns(self) -> int:
        """For how long calls were recorded: until memory was full, otherwise for all the time of following."""
        return _recorded_until_ns(self.record)

    @property
    def by_program(self) -> Mapping[str, Sequence[CallSummary]]:
        """The same calls by each of several programs that were asked for; empty where it was one."""
        record = self.record
        programs = record.program.split("+")
        if len(programs) < 2 or not set(programs) <= set(record.names.values()):
            return {}
        processes = pc.unique(self.calls["process"])
        names = pa.array([_program_of(process, record, programs) for process in processes.to_pylist()])
        found = {}
        for program in programs:
            is_of = pc.is_in(self.calls["process"], processes.filter(pc.equal(names, program)))
            found[program] = call_summaries(self.calls.filter(is_of), self.recorded_until_ns)
        return found

    @property
    def callers(self) -> Sequence[str]:
        """Programs that made the calls that took most time in all, the one that made most of them first."""
        if not self.summaries:
            return ()
        rows = self.calls.filter(pc.equal(self.calls["call"], self.summaries[0].call))
        counts: Counter[str] = Counter()
        for one in pc.value_counts(rows["process"]).to_pylist():
            counts[self._name_of(one["values"])] += one["counts"]
        return [name for name, _ in counts.most_common()]

    def _name_of(self, process: int) -> str:
        """What a process is called, as it was asked for where the kernel keeps no more than a beginning of that."""
        program = self.record.program
        name = self.record.names.get(process, program)
        return program if name == program[:_KERNEL_NAME_LETTERS] else name

    def explanation_of_call(self, call: str) -> Explanation:
        """Where the time of the calls of one name went, and what they made the drive do."""
        rows = self.calls.filter(pc.equal(self.calls["call"], call))
        return next(_explanations(self.record, rows))


def _program_of(process: int, record: FollowedRecord, programs: Collection[str]) -> str:
    """Which of some programs a process is, or was started by; empty for none of them."""
    line = [process]
    # a number may have been given twice
    while (parent := record.parents.get(line[-1], process)) not in line:
        line.append(parent)
    return next((name for one in line if (name := record.names.get(one, "")) in programs), "")


def _recorded_until_ns(record: FollowedRecord) -> int:
    return record.calls_trace.get("recorded_until_ns") or record.duration_ns


def _layer_above(record: FollowedRecord) -> Mapping[str, str]:
    """What lies below which layer; an older drivelab kept only what the layers and the drives are."""
    conduct = record.conduct
    return record.layer_above or {drive: conduct.layers[-1] for drive in conduct.drives if conduct.layers}


def followed_answer(record: FollowedRecord, calls: pa.Table, events: pa.Table, over_ns: int = 0) -> FollowedAnswer:
    """What a program comes to.

    Parameters
    ----------
    record : FollowedRecord
        How it was followed.
    calls, events : pyarrow.Table
        All its calls, and all bios and commands of the disk.
    over_ns : int
        Only of calls that take longer is anything told, but how many there are of all.
    """
    parts_ns = {part: _sum(calls, f"{part}_ns") for part in PARTS}
    calls = named_by_durability(calls)
    every = AllCalls(calls.num_rows, _sum(calls, "latency_ns"), parts_ns, _slowest(calls))
    calls = calls.filter(pc.greater(calls["latency_ns"], over_ns)) if over_ns else calls
    threads, layer_above = frozenset(record.threads), _layer_above(record)
    at_work = at_drive(calls, events, threads, layer_above)
    awaited = pc.is_in(calls["operation"], pa.array(map(OPERATION_NAMES.index, _SYNCS), calls["operation"].type))
    is_awaited = awaited.to_numpy()
    explanations = tuple(_explanations(record, calls))
    layers = record.conduct.layers
    summaries = call_summaries(calls, _recorded_until_ns(record), record.of_unknown_files, layers)
    if any(one.refusal for one in explanations):
        summaries = tuple(replace(one, parts_ns=dict.fromkeys(PARTS, 0), layers_ns={}) for one in summaries)
    return FollowedAnswer(
        record=record,
        calls=calls,
        events=events,
        over_ns=over_ns,
        every=every,
        summaries=summaries,
        slowest=slowest_calls(calls, at_work, others_alone(calls, events, threads, layer_above), SLOWEST_MAX, layers),
        at_drive_ns={who: int(times[is_awaited].sum()) for who, times in at_work.items()},
        sync_wait_ns=int(calls["latency_ns"].to_numpy()[is_awaited].sum()),
        explanations=explanations,
        outside=reads_outside(events, threads, layer_above),
    )


def followed_differences(base: StoredFollowed, new: StoredFollowed) -> tuple[ExplanationDifference, ...]:
    """How the parts differ between two programs that were followed, or one that was followed twice.

    Parameters
    ----------
    base, new : StoredFollowed
        What was recorded of them.

    Returns
    -------
    tuple of ExplanationDifference
        Syncs first. Left out are kinds of operations that one of them has not, that take hardly any time, or whose
        trace is not whole.

    Raises
    ------
    DrivelabError
        S506: a table cannot be read.
    """
    calls = base.calls(), new.calls()
    names = base.directory.resolve().name, new.directory.resolve().name
    found = []
    for operation in _KINDS:
        passes = [_pass_of(side.record, rows, operation) for side, rows in zip((base, new), calls, strict=True)]
        whole = [[one.operations for one in whole_passes(side)] for side in passes]
        if all(whole) and max(_share_of_time(rows, operation) for rows in calls) >= _TIME_TOLD_FROM:
            difference = explanation_difference(*whole, names=names)
            label = f"{new.record.program}: {operation}"
            found.append(replace(difference, operation=operation, label=label, units="calls"))
    return tuple(found)


def why_no_difference(base: StoredFollowed, new: StoredFollowed) -> str:
    """Why `followed_differences` finds nothing: which calls each of them has, where they share no kind.

    Raises
    ------
    DrivelabError
        S506: a table cannot be read.
    """
    calls = [named_by_durability(stored.calls()) for stored in (base, new)]
    names = [stored.directory.resolve().name for stored in (base, new)]
    kinds = [set(pc.unique(rows["operation"]).to_pylist()) for rows in calls]
    shared = [operation for operation in _KINDS if OPERATION_NAMES.index(operation) in kinds[0] & kinds[1]]
    if not shared:
        told = [f"{name} has {_calls_in_words(rows)}" for name, rows in zip(names, calls, strict=True)]
        return f"{' and '.join(told)}: no kind of call is in both"
    is_whole = any(
        all(whole_passes(_pass_of(one.record, rows, operation)) for one, rows in zip((base, new), calls, strict=True))
        for operation in shared
    )
    what = "that takes a noticeable share of their time" if is_whole else "whose traces are whole"
    return f"{' and '.join(names)} have no kind of call in common {what}"


def _calls_in_words(calls: pa.Table) -> str:
    counts = {one["values"]: one["counts"] for one in pc.value_counts(calls["call"]).to_pylist()}
    return f"{some_in_words(sorted(counts, key=lambda call: -counts[call]))} calls" if counts else "no calls"


def _share_of_time(calls: pa.Table, operation: str) -> float:
    """Which part of the time of all calls those of a kind took."""
    of_kind = calls.filter(pc.equal(calls["operation"], OPERATION_NAMES.index(operation)))
    return _sum(of_kind, "latency_ns") / max(1, _sum(calls, "latency_ns"))


def _sum(calls: pa.Table, name: str) -> int:
    return pc.sum(calls[name]).as_py() or 0


def _slowest(calls: pa.Table) -> tuple[str, int]:
    slowest_ns = pc.max(calls["latency_ns"]).as_py() or 0
    names = calls.filter(pc.equal(calls["latency_ns"], slowest_ns))["call"].to_pylist()
    return (names[0] if names else "", slowest_ns)


def _pass_of(record: FollowedRecord, calls: pa.Table, operation: str) -> list[TracedPass]:
    """The calls of a kind, as a traced pass has them; none where there are none."""
    if not pc.any(pc.equal(calls["operation"], OPERATION_NAMES.index(operation))).as_py():
        return []
    return [TracedPass(operation, operation_parts(calls, operation), record.conduct)]


def _explanations(record: FollowedRecord, calls: pa.Table) -> Iterator[Explanation]:
    for operation in _KINDS:
        if passes := _pass_of(record, calls, operation):
            explanation = explanation_of(passes, operation, label=f"{record.program}: {operation}")
            yield replace(explanation, target=record.disk)
