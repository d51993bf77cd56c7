"""Checks are compared by what lasts, where that is known of all trials of a side, or of none."""

from __future__ import annotations

from drivelab.analyse.comparability import TrialConduct
from drivelab.analyse.judged_metric import TrialKind
from drivelab.analyse.run_answer import RunTrial
from drivelab.answers.compared_trials import ReadRun, compared_trials, lasting_trials
from drivelab.answers.trial_conduct import StoredConduct
from drivelab.model.judged_metric import LATENCY, RATE, THROUGHPUT

WRITE = "sequential-write-qd8"
KIND = TrialKind(2**20, 8, is_durable=False)


def run(share: float | None) -> ReadRun:
    values = {THROUGHPUT: 800e6, RATE: 763.0, LATENCY: 10e6}
    trial = RunTrial(WRITE, "sda", "", 1, {}, {}, KIND, values, {THROUGHPUT: (700e6, 900e6), LATENCY: (9e6, 11e6)})
    conducts = {WRITE: StoredConduct(TrialConduct())}
    return ReadRun([trial], {}, conducts, {}, {} if share is None else {WRITE: share})


def test_what_lasts_is_compared_where_each_side_knows_it_of_all_its_trials_or_of_none() -> None:
    falls, stays = [run(0.5), run(0.25)], [run(None), run(None)]
    assert lasting_trials([falls, falls]) == lasting_trials([falls, stays]) == {WRITE}
    first, second = compared_trials(falls, {}, {WRITE})
    assert (first.trial.values[THROUGHPUT], second.trial.values[RATE]) == (400e6, 763.0 / 4)
    assert first.is_lasting
    # no interval is known of it
    assert list(first.trial.ends) == [LATENCY]
    (one, _) = compared_trials(stays, {}, {WRITE})
    assert (one.trial.values[THROUGHPUT], one.is_lasting) == (800e6, False)


def test_two_runs_of_one_drive_do_not_differ_by_its_cache() -> None:
    # seen in one run and not in the next: what was measured stands beside what was measured
    assert lasting_trials([[run(0.5), run(0.5)], [run(0.5), run(None)]]) == set()
    assert lasting_trials([[run(None)], [run(0.5), run(None)]]) == set()
    (one,) = compared_trials([run(0.5)], {})
    assert (one.trial.values[THROUGHPUT], one.is_lasting) == (800e6, False)
