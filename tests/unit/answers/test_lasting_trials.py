"""Checks are compared by the rates that they told: what lasts, where that is known of every trial of a side."""

from __future__ import annotations

from drivelab.analyse.comparability import TrialConduct
from drivelab.analyse.judged_metric import TrialKind
from drivelab.analyse.run_answer import RunTrial
from drivelab.answers.compared_trials import ReadRun, compared_trials
from drivelab.answers.trial_conduct import StoredConduct
from drivelab.model.judged_metric import LATENCY, RATE, THROUGHPUT

WRITE = "sequential-write-qd8"
KIND = TrialKind(2**20, 8, is_durable=False)


def run(share: float | None) -> ReadRun:
    values = {THROUGHPUT: 800e6, RATE: 763.0, LATENCY: 10e6}
    trial = RunTrial(WRITE, "sda", "", 1, {}, {}, KIND, values, {THROUGHPUT: (700e6, 900e6), LATENCY: (9e6, 11e6)})
    conducts = {WRITE: StoredConduct(TrialConduct())}
    return ReadRun([trial], {}, conducts, {}, {} if share is None else {WRITE: share})


def test_of_a_side_whose_trials_all_name_it_what_lasts_is_compared() -> None:
    first, second = compared_trials([run(0.5), run(0.25)], {})
    assert (first.trial.values[THROUGHPUT], second.trial.values[RATE]) == (400e6, 763.0 / 4)
    assert first.is_lasting
    # no interval is known of it
    assert list(first.trial.ends) == [LATENCY]


def test_measured_rates_stand_beside_measured_ones() -> None:
    for one in compared_trials([run(0.5), run(None)], {}):
        assert (one.trial.values[THROUGHPUT], one.is_lasting) == (800e6, False)
