"""When trials end because their number is known, and what is told of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from simulated_trials import evidence, latencies, measured, workload

from drivelab.analyse.collecting import collects_since
from drivelab.analyse.findings import precision
from drivelab.analyse.precision import WIDENED, half_width, looks_ns, precise_metric
from drivelab.analyse.summary import summarise
from drivelab.analyse.trial import is_enough
from drivelab.model.measurement import Measurement
from drivelab.model.workload import Limits, Pacing
from simulated_drives import hits_at_least
from stopping import WITHIN_REACH, stopped

SECOND_NS = 10**9
TRIALS = 100


def asked(precision: float, runtime_s: int = 60) -> Limits:
    return Limits(runtime_ns=runtime_s * SECOND_NS, precision=precision)


def ended(stopped_by: str, precision: float = 0.02, spread: float = 0.1) -> Measurement:
    random = np.random.default_rng(1)
    values = latencies(4000) * np.exp(spread * random.standard_normal(4000))
    found = measured(workload(limits=asked(precision)), {"read": values})
    return replace(found, engine=found.engine | {"stopped_by": stopped_by})


@pytest.mark.parametrize(("name", "precision"), [("independent, 10 %", 0.05), ("wanders within 0.5 s", 0.05)])
def test_intervals_of_trials_that_may_end_early_hold_the_truth(name: str, precision: float) -> None:
    found = stopped(WITHIN_REACH[name], precision, TRIALS, seed=3)
    assert found.early >= 0.5
    assert found.covered * TRIALS >= hits_at_least(0.94, TRIALS)


def test_the_first_look_is_after_a_sixth_of_the_time_and_later_ones_are_farther_apart() -> None:
    looks = looks_ns(workload(limits=asked(0.02)))
    assert looks[0] == 10 * SECOND_NS
    assert all(later == pytest.approx(1.25 * look) for look, later in pairwise(looks))
    assert looks[-1] < 60 * SECOND_NS
    # twenty intervals at least
    assert looks_ns(workload(limits=asked(0.02, runtime_s=6)))[0] == 2 * SECOND_NS
    assert looks_ns(workload(limits=Limits(runtime_ns=60 * SECOND_NS))) == []


def test_the_number_that_counts_is_the_one_that_the_workload_is_judged_by() -> None:
    assert precise_metric(workload()) == "total_latency_ns_p50"
    assert precise_metric(workload(queue_depth=32)) == "throughput_bytes_per_s"
    open_loop = workload(queue_depth=32, pacing=Pacing(kind="fixed", rate_per_s=100))
    assert precise_metric(open_loop) == "response_latency_ns_p50"


def test_a_look_decides_by_the_interval_that_the_whole_trial_would_have() -> None:
    trial = ended("runtime")
    width = half_width(summarise(trial).estimates[precise_metric(trial.workload)])
    assert width is not None
    for share, is_known in ((1.01, True), (0.99, False)):
        enough = trial.workload.model_copy(update={"limits": asked(WIDENED * width * share)})
        assert is_enough(enough, trial.intervals, trial.engine["measured_ns"]) == is_known


def test_the_interval_of_a_trial_that_ended_early_is_wider_and_says_so() -> None:
    whole, early = (summarise(ended(by)).estimates["total_latency_ns_p50"] for by in ("runtime", "precision"))
    assert half_width(early) == pytest.approx(WIDENED * (half_width(whole) or 0.0))
    assert early.value == whole.value
    assert "ending early" in early.method
    others = [summarise(ended(by)).estimates["total_latency_ns_p99"] for by in ("runtime", "precision")]
    assert others[0] == others[1]


class TestPrecisionAsked:
    def test_a_trial_that_ended_early_says_so_and_by_how_much(self) -> None:
        (found,) = precision.find(evidence(ended("precision")))
        assert found.severity == "note"
        assert "times sooner" in found.text
        assert "2 % was asked for" in found.text
        sooner = 60 * SECOND_NS / found.evidence["measured_ns"]
        assert found.evidence["times_sooner"] == pytest.approx(sooner)

    def test_a_trial_that_took_all_its_time_says_what_was_reached(self) -> None:
        (found,) = precision.find(evidence(ended("runtime", precision=0.0001)))
        assert found.severity == "warning"
        assert f"known to within {100 * found.evidence['reached']:.2g} %, and 0.01 % was asked for" in found.text

    def test_a_trial_of_a_fixed_length_says_nothing(self) -> None:
        assert precision.find(evidence(measured())) == []


def test_a_drive_collects_once_it_stays_slower() -> None:
    before = [10.0, 11, 9, 10, 10]
    assert collects_since([*before, 5, 6]) == 5
    assert collects_since([*before, 5, 10, 5]) is None
    assert collects_since([*before, 8.5, 8.5]) is None
    assert collects_since([10.0, 5, 5]) is None
