"""Workloads at the same time: they begin at one moment, end by their own limits, and tell what they share."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from drivelab.inventory.target import resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.model.measurement import Measurement
from drivelab.model.target import TargetFacts
from drivelab.model.workload import Limits, OperationShare, TargetRange, Workload
from drivelab.run.engine import EngineRun, Progress
from drivelab.run.measure_together import at_work_ns, measure_together, measured_window_ns, overlap_share
from drivelab.run.together import Member, SummedProgress, run_together

MS = 1_000_000
KIB = 1024
HOUR_MS = 3_600_000


@pytest.fixture
def facts(tmp_path: Path) -> TargetFacts:
    return resolve_target(str(tmp_path))


def writer(folder: Path, name: str, *, runtime_ms: int = 0, count: int = 0, backend: str = "sync") -> Workload:
    return Workload(
        target=TargetRange(path=str(folder / name), size_bytes=256 * KIB, create=True),
        backend=backend,
        operations=(OperationShare(operation="write"),),
        limits=Limits(runtime_ns=runtime_ms * MS, count=count),
        interval_ns=10 * MS,
    )


def measured(found: list[Measurement | DrivelabError]) -> list[Measurement]:
    assert all(isinstance(one, Measurement) for one in found), found
    return [one for one in found if isinstance(one, Measurement)]


def test_they_begin_at_one_moment_and_each_meets_its_own_limit(tmp_path: Path, facts: TargetFacts) -> None:
    # a drive may hold up the last write of the short one, and memory does not
    workloads = {name: writer(tmp_path, name, runtime_ms=ms, backend="null") for name, ms in (("a", 100), ("b", 200))}
    members = [Member(name, workload, facts) for name, workload in workloads.items()]
    short, long = measured(measure_together(members, stop=threading.Event()))
    assert short.engine["started_monotonic_ns"] == long.engine["started_monotonic_ns"]
    offset = short.context["together"]["with"][0]["start_offset_ns"]
    assert offset == -long.context["together"]["with"][0]["start_offset_ns"]
    for one, other, runtime_ms in ((short, long, 100), (long, short, 200)):
        # for how long they were at work together depends on the processors
        share = overlap_share(measured_window_ns(one.engine), [at_work_ns(other.engine)])
        assert one.context["together"]["overlap_share"] == share > 0
        assert one.engine["measured_ns"] >= runtime_ms * MS
    assert [one.engine["stopped_by"] for one in (short, long)] == ["runtime", "runtime"]


def test_each_empties_the_write_cache_that_it_leaves(tmp_path: Path, facts: TargetFacts) -> None:
    direct = writer(tmp_path, "a", count=4).model_copy(update={"direct": True})
    members = [Member("a", direct, facts), Member("b", writer(tmp_path, "b", count=4), facts)]
    told = [
        one.context.get("write_cache_emptied_ns") for one in measured(measure_together(members, stop=threading.Event()))
    ]
    assert told[0] > 0
    assert told[1] is None


def test_one_begins_later_and_its_end_is_that_of_all(tmp_path: Path, facts: TargetFacts) -> None:
    endless = writer(tmp_path, "a", runtime_ms=HOUR_MS, backend="null")
    late = writer(tmp_path, "b", count=1, backend="null")
    late = late.model_copy(update={"start_delay_ns": 50 * MS, "ends_others": True})
    members = [Member("a", endless, facts), Member("b", late, facts)]
    first, last = measured(measure_together(members, stop=threading.Event()))
    offset_ns = first.context["together"]["with"][0]["start_offset_ns"]
    # from the first I/O of one to that of the other: on a busy machine the first job may begin a little late
    late_ns = min(job["begun_monotonic_ns"] for job in first.engine["threads"]) - first.engine["started_monotonic_ns"]
    # the delay is counted by another clock than starts are told by
    assert offset_ns + late_ns >= 50 * MS * (1 - 1e-6)
    assert last.engine["started_monotonic_ns"] - first.engine["started_monotonic_ns"] == pytest.approx(
        50 * MS, rel=1e-6
    )
    assert [one.engine["stopped_by"] for one in (first, last)] == ["caller", "count"]


def test_one_that_waits_for_its_turn_is_ended_like_others(tmp_path: Path, facts: TargetFacts) -> None:
    short = writer(tmp_path, "a", count=1, backend="null").model_copy(update={"ends_others": True})
    late = writer(tmp_path, "b", count=1, backend="null").model_copy(update={"start_delay_ns": HOUR_MS * MS})
    members = [Member("a", short, facts), Member("b", late, facts)]
    first, last = measured(measure_together(members, stop=threading.Event()))
    assert first.engine["stopped_by"] == "count"
    assert (last.engine["stopped_by"], last.engine["measured_ns"]) == ("caller", 0)


def test_what_the_kernel_counts_of_a_shared_drive_belongs_to_none_of_them(tmp_path: Path, facts: TargetFacts) -> None:
    if not facts.devices:
        facts = resolve_target(str(Path(__file__).parent))
    members = [
        # by count: within so many milliseconds a busy machine may write nothing
        Member("a", writer(tmp_path, "a", count=30), facts, title="one"),
        Member("b", writer(tmp_path, "b", count=30), facts),
    ]
    first, second = measured(measure_together(members, stop=threading.Event()))
    assert first.devices == second.devices == ()
    assert "b" in first.context["device_counters_reason"]
    assert "one" in second.context["device_counters_reason"]
    drive = first.context["counted_device"]
    issued = first.context["together"]["issued"][drive]["write"]["count"]
    assert issued == sum(one.engine["all_phases"]["write"]["count"] for one in (first, second))
    assert drive in [counts["device"] for counts in first.context["together"]["shared_devices"]]


def test_a_drive_of_its_own_keeps_its_counts(tmp_path: Path) -> None:
    here = resolve_target(str(Path(__file__).parent))
    null = writer(tmp_path, "b", runtime_ms=20).model_copy(update={"backend": "null"})
    members = [Member("a", writer(tmp_path, "a", count=30), here), Member("b", null, here)]
    first, second = measured(measure_together(members, stop=threading.Event()))
    if here.devices:
        assert first.devices
    assert second.devices == ()
    assert second.context["device_counters_reason"] == "null backend"


def test_when_one_cannot_begin_none_is_measured(tmp_path: Path, facts: TargetFacts) -> None:
    missing = writer(tmp_path / "no", "a", runtime_ms=HOUR_MS)
    other = writer(tmp_path, "b", runtime_ms=HOUR_MS)
    members = [Member("a", missing, facts, title="reader"), Member("b", other, facts)]
    # an hour of each would not go unnoticed
    for found in (measure_together(members, stop=threading.Event()), run_together(members, threading.Event())):
        first, second = found
        assert isinstance(first, DrivelabError)
        assert isinstance(second, DrivelabError)
        assert first.code == second.code == "E302"
        assert "together with reader, which could not begin" in second.what


def test_a_wish_to_stop_ends_all_and_keeps_what_was_measured(tmp_path: Path, facts: TargetFacts) -> None:
    stop = threading.Event()

    def tell(progress: Progress) -> bool:
        if progress.elapsed_ns > 50 * MS:
            stop.set()
        return True

    members = [
        Member("a", writer(tmp_path, "a", runtime_ms=HOUR_MS), facts, progress=tell),
        Member("b", writer(tmp_path, "b", runtime_ms=HOUR_MS), facts),
    ]
    found = run_together(members, stop)
    for run in found:
        assert isinstance(run, EngineRun)
        assert run.summary["stopped_by"] == "caller"
        assert run.summary["operations"]["write"]["count"] > 0


def test_a_failure_of_a_listener_ends_all_and_is_raised(tmp_path: Path, facts: TargetFacts) -> None:
    def fail(_progress: Progress) -> bool:
        raise ZeroDivisionError

    members = [
        Member("a", writer(tmp_path, "a", runtime_ms=HOUR_MS), facts, progress=fail),
        Member("b", writer(tmp_path, "b", runtime_ms=HOUR_MS), facts),
    ]
    with pytest.raises(ZeroDivisionError):
        run_together(members, threading.Event())


def test_progress_is_told_as_a_sum() -> None:
    told: list[Progress] = []
    progress = SummedProgress(lambda one: bool(told.append(one)) or True)
    progress.of(0)(Progress(10, True, {"read": 3}, {"read": 30}))
    progress.of(1)(Progress(20, False, {"read": 1, "write": 2}, {"write": 20}))
    progress.of(0)(Progress(30, False, {"read": 4}, {"read": 40}))
    assert told[-1] == Progress(30, False, {"read": 5, "write": 2}, {"read": 40, "write": 20})
    assert told[0].is_ramping
    assert not told[1].is_ramping


def test_shares_and_spans_are_those_of_the_clock() -> None:
    assert overlap_share((100, 200), [(0, 150)]) == 0.5
    assert overlap_share((100, 200), [(0, 150), (120, 300)]) == pytest.approx(0.3)
    assert overlap_share((100, 200), [(0, 50)]) == 0
    assert overlap_share((100, 200), [(50, 300)]) == 1
    assert overlap_share((100, 100), [(50, 300)]) == 0
    summary = {
        "started_monotonic_ns": 1000,
        "measured_ns": 500,
        "drain_ns": 20,
        "threads": [{"begun_monotonic_ns": 905}, {"begun_monotonic_ns": 900}],
    }
    assert measured_window_ns(summary) == (1000, 1500)
    assert at_work_ns(summary) == (900, 1520)
