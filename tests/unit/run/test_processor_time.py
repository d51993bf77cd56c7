"""Whose time the processors spend: arithmetic on made-up counters, and this computer read twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.run import processor_time
from drivelab.run.processor_time import ProcessorReading, processors_between, read_processors

SECOND_NS = 1_000_000_000


def reading(at_s: float, user_s: float, system_s: float, own_user_s: float, own_s: float, kernel) -> ProcessorReading:
    seconds = (at_s, user_s, system_s, own_user_s, own_s)
    at, user, system, own_user, own = (round(value * SECOND_NS) for value in seconds)
    return ProcessorReading(at, 4, user, system, own_user, own, kernel)


def test_everything_is_told_in_processors() -> None:
    before = reading(10, 100, 50, 3, 5, {11: SECOND_NS, 12: 7 * SECOND_NS, 13: 9 * SECOND_NS})
    # thread 13 has ended, 99 is new
    after = reading(12, 102, 52, 3.2, 5.8, {11: SECOND_NS, 12: 8 * SECOND_NS, 99: SECOND_NS // 5})
    found = processors_between(before, after)
    assert found == {
        "count": 4,
        "duration_ns": 2 * SECOND_NS,
        "busy": pytest.approx(2.0),
        "own": pytest.approx(0.4),
        "kernel_threads": pytest.approx(0.6),
    }


def test_where_kernel_threads_are_not_seen_only_time_outside_the_kernel_counts() -> None:
    found = processors_between(reading(0, 0, 0, 0, 0, None), reading(2, 2, 1.5, 0.2, 1.5, None))
    assert found is not None
    assert found["kernel_threads"] is None
    assert (found["busy"], found["own"]) == (pytest.approx(1.0), pytest.approx(0.1))


def test_no_time_and_no_reading_tell_nothing() -> None:
    one = reading(5, 0, 0, 0, 0, None)
    assert processors_between(one, one) is None
    assert processors_between(None, one) is None


def test_this_computer_can_be_read() -> None:
    before = read_processors()
    assert sum(range(300_000))
    after = read_processors()
    assert after.count >= 1
    assert after.own_ns > before.own_ns
    found = processors_between(before, after)
    assert found is not None
    assert (found["own"] or 0) > 0


def test_a_container_has_no_kernel_threads_to_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor_time, "PROC", tmp_path)
    (tmp_path / "stat").write_text("cpu  10 2 30 400 5 6 7 8 0 0\ncpu0 5 1 15 200 0 0 0 0\ncpu1 5 1 15 200\nintr 1\n")
    assert read_processors().kernel_thread_ns is None
    (tmp_path / "2" / "task" / "2").mkdir(parents=True)
    (tmp_path / "2" / "comm").write_text("bash\n")
    assert read_processors().kernel_thread_ns is None
    (tmp_path / "2" / "comm").write_text("kthreadd\n")
    (tmp_path / "2" / "task" / "2" / "children").write_text("3 4 5")
    for thread, text in ((3, "1000 20 3\n"), (4, "")):
        (tmp_path / str(thread)).mkdir()
        (tmp_path / str(thread) / "schedstat").write_text(text)
    found = read_processors()
    assert found.kernel_thread_ns == {3: 1000}
    assert (found.count, found.user_ns, found.system_ns) == (2, 120_000_000, 300_000_000)
