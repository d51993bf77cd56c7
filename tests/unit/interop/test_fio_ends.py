"""What ends a job of fio by its own numbers, decided again and again while it runs."""

from __future__ import annotations

import errno

import numpy as np
import pytest

from drivelab.interop.fio.ends import Counted, EndWatch, steady_goal
from drivelab.interop.fio.sizes import ValueMistake

LOOKS_PER_S = 10


def ended_after(watch: EndWatch, iops: list[float], *, size: int = 4096, slowest_ns: int = 0) -> float | None:
    """After how many seconds a job ends that does so many I/Os in each of them; None where it does not."""
    done = 0.0
    for second, rate in enumerate(iops):
        for look in range(1, LOOKS_PER_S + 1):
            done += rate / LOOKS_PER_S
            elapsed = second + look / LOOKS_PER_S
            counts = {"read": round(done)}
            now = Counted(elapsed, elapsed, counts, {"read": round(done) * size}, {"read": slowest_ns})
            if not watch.goes_on(now):
                return elapsed
    return None


def test_a_job_without_such_options_needs_no_watch() -> None:
    assert not EndWatch({"rw": "randread", "runtime": "10"}).is_needed
    assert not EndWatch({"steadystate": "iops:1%"}).is_needed, "without a duration fio looks for none"


@pytest.mark.parametrize(("text", "limit_ns"), [("60", 60_000), ("60us", 60_000), ("2ms,1ms", 2_000_000)])
def test_a_slow_io_ends_the_job_with_the_error_of_fio(text: str, limit_ns: int) -> None:
    watch = EndWatch({"max_latency": text})
    assert ended_after(watch, [1000], slowest_ns=limit_ns) is None
    assert ended_after(watch, [1000], slowest_ns=limit_ns + 1) == 0.1
    assert watch.ended_by is not None
    assert (watch.ended_by.option, watch.ended_by.errno) == ("max_latency", errno.ETIMEDOUT)


def test_a_low_rate_ends_the_job_in_the_first_cycle_after_two_seconds() -> None:
    watch = EndWatch({"rate_iops_min": "1000"})
    assert ended_after(watch, [500, 500, 500, 500]) == 3.0
    assert watch.ended_by is not None
    assert watch.ended_by.errno == errno.EIO
    assert "got 500 IOPS" in watch.ended_by.why


def test_a_rate_that_sinks_later_ends_the_job_then() -> None:
    assert ended_after(EndWatch({"rate_min": "4m"}), [2000, 2000, 2000, 2000, 500, 500]) == 5.0
    assert ended_after(EndWatch({"rate_min": "4m"}), [500, 500, 2000, 2000, 2000]) is None, "the first 2 s count not"
    assert ended_after(EndWatch({"rate_min": "4m", "rate_cycle": "2000"}), [2000, 2000, 2000, 500, 500, 500]) == 6.0


def test_the_least_rate_is_that_of_one_job() -> None:
    assert ended_after(EndWatch({"rate_iops_min": "1000"}, job_count=4), [3999] * 5) == 3.0
    assert ended_after(EndWatch({"rate_iops_min": "1000"}, job_count=4), [4001] * 5) is None


def test_a_steady_job_ends_when_its_window_is_full() -> None:
    options = {"steadystate": "iops:10%", "steadystate_duration": "3", "steadystate_ramp_time": "1s"}
    watch = EndWatch(options)
    # the ramp, and then three seconds of which none is 10 % off their mean
    assert ended_after(watch, [5000, 4000, 2000, 1000, 1050, 980, 1000]) == 6.0
    assert watch.ended_by is not None
    assert watch.ended_by.errno == 0
    found = watch.steady_state()
    assert found is not None
    assert found["attained"] == 1
    assert found["data"]["iops"] == [1000, 1050, 980]
    assert found["data"]["bw"] == [value * 4096 for value in (1000, 1050, 980)]
    mean = (1000 + 1050 + 980) / 3
    assert found["criterion"] == f"{100 * (1050 - mean) / mean:f}%"
    assert found["max_deviation"] == pytest.approx(1050 - mean)


def test_one_that_never_is_steady_goes_on_and_says_so() -> None:
    watch = EndWatch({"steadystate": "bw_slope:1%", "steadystate_duration": "3"})
    falling = [1000.0 * 0.8**second for second in range(10)]
    assert ended_after(watch, falling) is None
    found = watch.steady_state()
    assert found is not None
    assert found["attained"] == 0
    last = np.array(found["data"]["bw"], dtype=float)
    slope = np.linalg.lstsq(np.vstack([[0, 1, 2], [1, 1, 1]]).T, last, rcond=None)[0][0]
    assert found["slope"] == pytest.approx(slope, rel=1e-4)
    assert float(found["criterion"].rstrip("%")) == pytest.approx(100 * abs(found["slope"]) / last.mean(), rel=1e-4)


def test_a_limit_may_be_a_number_of_bytes() -> None:
    goal = steady_goal({"steadystate": "bw:10m", "steadystate_duration": "60"})
    assert goal is not None
    assert (goal.metric, goal.limit, goal.is_percent, goal.seconds) == ("bw", 10 * 2**20, False, 60)


@pytest.mark.parametrize("text", ["foo:3%", "iops", "iops_mean:1%", "iops:", "bw:x", "iops:x%"])
def test_what_is_no_steady_state_is_refused(text: str) -> None:
    with pytest.raises(ValueMistake):
        steady_goal({"steadystate": text, "steadystate_duration": "10"})
