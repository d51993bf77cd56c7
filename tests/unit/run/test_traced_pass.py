"""The traced pass of a trial: shorter than the timed one, on a target as it was, and never at the cost of the trial."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from drivelab.inventory.target import resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.model.measurement import Measurement
from drivelab.model.target import BlockLayer, TargetFacts
from drivelab.model.trace import TraceConduct
from drivelab.model.workload import Access, Durability, Limits, OperationShare, TargetRange, Workload
from drivelab.run import traced_pass as module
from drivelab.run.engine import EngineRun, prepare_target
from drivelab.run.measure import measure
from drivelab.run.prepared_trial import PreparedTrial
from drivelab.run.traced_pass import TraceTools, traced_device, traced_pass, traced_workload
from drivelab.run.tracing.disk import TracedDisk
from drivelab.store.read import open_run
from drivelab.store.write import RunWriter, create_run
from unit.store.made_traces import events, operations

TRIAL = "0001-x-r1"
DRIVE = BlockLayer("loop7", "/dev/loop7", "7:7", "loop", 10**9, 0, 512, 512, None, None, False, False, None)


@dataclass
class MadeUpTrace:
    """Stands in for the kernel's trace and the join: remembers what it was asked for, and fails where told to."""

    source: str = "tracefs"
    reason: str = "it was free"
    clock: str = "mono"
    files: tuple[Path, ...] = ()
    disk: TracedDisk = field(default_factory=lambda: TracedDisk("loop7", 7 << 20 | 7, ()))
    lost_events: int = 0
    fails_at: str = ""
    failure: BaseException | None = None
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    joined: list[tuple[Workload, EngineRun]] = field(default_factory=list)
    size_before: int = -1
    path: Path | None = None
    scheduler: Iterator[str] = field(default_factory=lambda: iter(["none", "none"]))

    def tools(self) -> TraceTools:
        return TraceTools(collect=self.collect, join=self.join, environment=self.environment)

    @contextmanager
    def collect(self, device: str, into: Path, source: str | None, top: str | None) -> Iterator[MadeUpTrace]:
        assert top == device
        self.asked.append((device, source))
        self._fail("collect")
        self.size_before = self.path.stat().st_size if self.path else -1
        yield self
        (into / f"{device}.blktrace.0").write_bytes(b"recorded")
        self.files = (into / f"{device}.blktrace.0",)

    def join(self, files: Sequence[Path], run: EngineRun, workload: Workload, facts: TargetFacts) -> Any:
        self._fail("join")
        assert [path.read_bytes() for path in files] == [b"recorded"]
        self.joined.append((workload, run))
        count = int(run.summary["all_phases"]["write"]["count"])
        thread = run.summary["threads"][0]["thread_id"]
        return Joined(
            operations(count), events(count, thread=thread), TraceConduct(source="", reason="", foreign_bios=3)
        )

    def environment(self, device: str) -> Mapping[str, Any]:
        return {"scheduler": next(self.scheduler)}

    def _fail(self, place: str) -> None:
        if self.fails_at == place and self.failure is not None:
            raise self.failure


@dataclass
class Joined:
    operations: pa.Table
    events: pa.Table
    conduct: TraceConduct


class Bench:
    """A file in a directory, timed once, and everything to trace it with."""

    def __init__(self, folder: Path) -> None:
        self.trace = MadeUpTrace()
        self.writer: RunWriter = create_run(folder / "runs", "x", "x", datetime.now(UTC))
        self.writer.write_run_json({})
        path = folder / "trial.data"
        self.facts = replace(resolve_target(str(path)), kind="missing_file", devices=(DRIVE,), drives=())
        self.workload = Workload(
            target=TargetRange(path=str(path), create=True),
            backend="sync",
            operations=(OperationShare(operation="write"),),
            access=Access(kind="sequential"),
            durability=Durability(method="fdatasync"),
            file_state="append",
            limits=Limits(count=30),
            ramp_ns=0,
        )
        self.trace.path = path

    def run(self, *, source: str | None = None, **changes: Any) -> dict[str, Any]:
        workload = self.workload.model_copy(update=changes)
        trial = PreparedTrial(workload, self.facts, {})
        measured: Measurement = measure(TRIAL, workload, self.facts)
        sink = self.writer.trace_sink(TRIAL)
        return traced_pass(trial, measured, sink, self.trace.tools(), source=source, stop=threading.Event())

    def stored(self) -> pa.Table | None:
        return open_run(self.writer.directory).operations(TRIAL)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_the_same_workload_runs_again_with_a_row_for_every_io_on_a_new_file(bench: Bench) -> None:
    found = bench.run(source="relay")
    ((workload, run),) = bench.trace.joined
    assert bench.trace.asked == [("loop7", "relay")]
    assert bench.trace.size_before == 0, "what the timed pass appended is gone before the second one begins"
    assert run.records is not None
    assert run.records.num_rows == 60, "30 writes and their sync calls"
    assert len(run.summary["threads"]) == 1
    assert workload.target == bench.workload.target
    stored = bench.stored()
    assert stored is not None
    assert stored.num_rows == 30
    assert found["trace_reason"] == ""
    assert TraceConduct.from_json(found["trace"]) == TraceConduct(
        source="tracefs", reason="it was free", device="loop7", foreign_bios=3, environment={"scheduler": "none"}
    )


def test_its_commands_are_those_of_a_counting_pass(bench: Bench) -> None:
    found = bench.run()
    counts = found["command_counts"]
    assert (found["command_counts_reason"], found["command_counts_trial"]) == ("", TRIAL)
    assert (counts["operations"], counts["data_writes"], counts["flushes"]) == (30, 30, 30)
    assert counts["flushes_per_operation"] == 1
    assert (counts["foreign_requests"], counts["device"]) == (0, "loop7")


def test_reads_and_writes_that_nobody_waits_for_count_no_commands(bench: Bench) -> None:
    assert "command_counts" not in bench.run(durability=Durability(method="none"))


def test_what_changed_meanwhile_is_told_as_before_and_after(bench: Bench) -> None:
    bench.trace.scheduler = iter(["none", "bfq"])
    assert bench.run()["trace"]["environment"] == {"scheduler": {"before": "none", "after": "bfq"}}


def test_lost_events_are_kept_with_their_number_and_count_no_commands(bench: Bench) -> None:
    bench.trace.lost_events = 12
    found = bench.run()
    assert found["trace"]["lost_events"] == 12
    assert (found["command_counts"], found["command_counts_reason"]) == (None, "12 trace events were lost")
    assert bench.stored() is not None


@pytest.mark.parametrize("place", ["collect", "join"])
@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (DrivelabError("R407", "the tracer is busy"), "the tracer is busy [R407]"),
        (OSError(28, "No space left on device"), "the trace could not be kept: No space left on device"),
    ],
)
def test_a_pass_that_fails_says_why_and_leaves_nothing(
    bench: Bench, place: str, failure: BaseException, reason: str
) -> None:
    bench.trace.fails_at, bench.trace.failure = place, failure
    found = bench.run()
    assert (found["trace"], found["trace_reason"]) == (None, reason)
    assert (found["command_counts"], found["command_counts_reason"]) == (None, reason)
    assert bench.stored() is None
    assert not list((bench.writer.directory / "recordings").iterdir())


@pytest.mark.parametrize("failure", [DrivelabError("C207", "another drive"), KeyboardInterrupt()])
def test_what_ends_the_run_is_no_note(bench: Bench, failure: BaseException) -> None:
    bench.trace.fails_at, bench.trace.failure = "collect", failure
    with pytest.raises(type(failure)):
        bench.run()


def test_an_io_that_fails_ends_the_pass_and_is_told_of(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    real = module.run_workload

    def failing(workload: Workload, **more: Any) -> EngineRun:
        run = real(workload, **more)
        error = {"operation": "write", "errno": 5, "name": "EIO", "count": 1, "first_offset_bytes": 0}
        return replace(run, summary=run.summary | {"stopped_by": "error", "errors": [error]})

    monkeypatch.setattr(module, "run_workload", failing)
    assert bench.run()["trace_reason"] == "the traced pass ended early: write failed with EIO"


def test_a_file_of_somebody_else_is_left_as_it_is(bench: Bench, tmp_path: Path) -> None:
    reading = bench.workload.model_copy(
        update={
            "operations": (OperationShare(operation="read"),),
            "durability": Durability(),
            "limits": Limits(count=9),
        }
    )
    path = tmp_path / "mine"
    path.write_bytes(bytes(10 * 4096))
    facts = replace(resolve_target(str(path)), devices=(DRIVE,), drives=())
    reading = reading.model_copy(update={"target": TargetRange(path=str(path)), "file_state": "overwrite"})
    prepare_target(reading)
    measured = measure(TRIAL, reading, facts)
    sink = bench.writer.trace_sink(TRIAL)
    bench.trace.fails_at, bench.trace.failure = "join", DrivelabError("R407", "enough")
    traced_pass(
        PreparedTrial(reading, facts, {}), measured, sink, bench.trace.tools(), source=None, stop=threading.Event()
    )
    assert path.read_bytes() == bytes(10 * 4096)


@pytest.mark.parametrize(("timed", "expected"), [(500, 500), (10**6, module.OPERATIONS), (0, module.OPERATIONS)])
def test_a_traced_pass_is_never_longer_than_the_timed_one(bench: Bench, timed: int, expected: int) -> None:
    found = traced_workload(bench.workload, timed)
    assert (found.limits.count, found.limits.runtime_ns, found.ramp_ns) == (expected, module.LONGEST_NS, 0)
    assert found.seed != bench.workload.seed


def test_one_sync_call_at_the_end_stays_one_at_the_end(bench: Bench) -> None:
    at_end = bench.workload.model_copy(update={"durability": Durability(method="fdatasync", every_writes=10**5)})
    assert traced_workload(at_end, 10**5).durability.every_writes == module.OPERATIONS


@pytest.mark.provokes("R440")
def test_without_one_drive_beneath_nothing_can_be_traced(bench: Bench) -> None:
    with pytest.raises(DrivelabError, match="no drive is known beneath") as caught:
        traced_device(replace(bench.facts, devices=()))
    assert caught.value.code == "R440"
