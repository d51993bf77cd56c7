"""Callbacks, stop flags and Ctrl-C: each ends a run of an hour, and no thread is left behind."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from typing import Any

import pytest

from drivelab import _engine

FOREVER: dict[str, Any] = {"limits": {"runtime_ns": 3_600_000_000_000}, "target": {"size_bytes": 4 * 2**20}}


class Surprise(Exception):
    pass


def test_on_interval_hears_how_far_the_run_is(backend, data_file, run_engine):
    heard: list[dict[str, Any]] = []

    def go_on(text: str) -> bool:
        heard.append(json.loads(text))
        return len(heard) < 20 or not heard[-1]["operations"].get("read", {}).get("count")

    answer = run_engine(backend, data_file, ramp_ns=300_000_000, on_interval=go_on, **FOREVER)
    assert heard[0]["ramping"]
    assert all(told["interval_ns"] == 10_000_000 for told in heard)
    elapsed = [told["elapsed_ns"] for told in heard]
    assert elapsed == sorted(elapsed)
    # about once an interval
    assert len(heard) <= elapsed[-1] / 10_000_000 + 10
    assert all(told["ramping"] == (told["elapsed_ns"] < 300_000_000) for told in heard)
    counts = [told["operations"].get("read", {}).get("count", 0) for told in heard]
    assert counts == sorted(counts)
    assert 0 < counts[-1] <= answer.count("read")
    last = heard[-1]["operations"]["read"]
    assert 0 < last["typical_ns"] <= last["slowest_ns"]


def test_on_interval_ends_the_run_by_returning_false(backend, data_file, run_engine, job_threads):
    stop = _engine.StopFlag()
    answer = run_engine(backend, data_file, stop=stop, on_interval=lambda text: "read" not in text, **FOREVER)
    assert answer.summary["stopped_by"] == "caller"
    assert answer.count("read") > 0
    assert not stop.is_set()
    assert job_threads() == []


@pytest.mark.parametrize("reply", [None, True])
def test_other_answers_let_it_go_on(reply, data_file, run_engine):
    answer = run_engine("sync", data_file, limits={"runtime_ns": 60_000_000}, on_interval=lambda text: reply)
    assert answer.summary["stopped_by"] == "runtime"


def test_an_answer_that_is_no_answer_is_an_error(data_file, run_engine, job_threads):
    with pytest.raises(TypeError):
        run_engine("sync", data_file, on_interval=lambda text: "yes", **FOREVER)
    assert job_threads() == []


def test_an_exception_in_on_interval_is_raised_once_the_threads_have_ended(backend, data_file, run_engine, job_threads):
    calls = 0

    def fail(text: str) -> bool:
        nonlocal calls
        calls += 1
        raise Surprise("in the callback")

    with pytest.raises(Surprise, match="in the callback"):
        run_engine(backend, data_file, on_interval=fail, job_count=3, **FOREVER)
    assert calls == 1
    assert job_threads() == []


def test_an_exception_in_on_records_is_raised_once_the_threads_have_ended(backend, data_file, run_engine, job_threads):
    calls = 0

    def fail(table: Any) -> None:
        nonlocal calls
        calls += 1
        raise Surprise("disk full")

    with pytest.raises(Surprise, match="disk full"):
        run_engine(backend, data_file, on_records=fail, record_ios=True, job_count=2, **FOREVER)
    assert calls == 1
    assert job_threads() == []


def test_a_stop_flag_set_by_another_thread_ends_the_run(backend, data_file, run_engine):
    stop, has_read = _engine.StopFlag(), threading.Event()
    stopper = threading.Thread(target=lambda: has_read.wait() and stop.set())

    def tell(text: str) -> None:
        if "read" in text:
            has_read.set()

    stopper.start()
    answer = run_engine(backend, data_file, stop=stop, on_interval=tell, **FOREVER)
    stopper.join()
    assert answer.summary["stopped_by"] == "caller"
    assert answer.count("read") == answer.histogram("read").total_count > 0


CTRL_C = """
told = False
def tell(text):
    global told
    if not told:
        told = True
        print("running", flush=True)
try:
    _engine.run(sys.argv[1], _engine.StopFlag(), tell, None)
except KeyboardInterrupt:
    from contract.conftest import threads_of_jobs
    print(len(threads_of_jobs(of_library=False)), flush=True)
    written = next(line for line in open("/proc/self/io") if line.startswith("wchar"))
    print(written.split()[1], flush=True)
"""


def interrupt(child: subprocess.Popen[str]) -> list[int]:
    """How many of its threads are left, and how many bytes it has written."""
    assert child.stdout is not None
    assert child.stdout.readline() == "running\n", child.stderr and child.stderr.read()
    time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    output, complaint = child.communicate()
    assert child.returncode == 0, complaint
    return [int(line) for line in output.splitlines()]


def test_ctrl_c_raises_keyboard_interrupt_and_leaves_no_thread(backend, data_file, start_child, workload_text):
    text = workload_text(backend, data_file, job_count=3, **FOREVER)
    threads, _written_bytes = interrupt(start_child(CTRL_C, text))
    assert threads == 0


def test_ctrl_c_also_ends_the_preparation_of_a_file(tmp_path, start_child, workload_text):
    path = tmp_path / "new"
    text = workload_text(
        "sync", path, operation="write", target={"create": True, "size_bytes": 20 * 2**30}, limits={"count": 1}
    )
    threads, written_bytes = interrupt(start_child(CTRL_C, text))
    assert threads == 0
    assert 0 < written_bytes < 20 * 2**30, "it was prepared to its end"
    assert not path.exists()
