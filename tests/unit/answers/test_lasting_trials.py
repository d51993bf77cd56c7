"""Checks are compared by what lasts, where that is known of all trials of a side, or of none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drivelab.analyse.comparability import TrialConduct
from drivelab.analyse.compared_metrics import shown_metrics
from drivelab.analyse.judged_metric import TrialKind
from drivelab.analyse.run_answer import RunTrial
from drivelab.answers.compared_trials import ReadRun, compared_trials, lasting_trials
from drivelab.answers.comparison import ends_seen_once
from drivelab.answers.trial_conduct import StoredConduct
from drivelab.model.finding import Finding
from drivelab.model.judged_metric import LATENCY, RATE, THROUGHPUT
from drivelab.model.lasting_rate import KNOWN_FROM, lasting_rates, seen_here

WRITE = "sequential-write-qd8"
KIND = TrialKind(2**20, 8, is_durable=False)


def run(share: float | None) -> ReadRun:
    values = {THROUGHPUT: 800e6, RATE: 763.0, LATENCY: 10e6}
    trial = RunTrial(WRITE, "sda", "", 1, {}, {}, KIND, values, {THROUGHPUT: (700e6, 900e6), LATENCY: (9e6, 11e6)})
    conducts = {WRITE: StoredConduct(TrialConduct(), lasting={RATE: 300.0})}
    return ReadRun([trial], {}, conducts, {}, {} if share is None else {WRITE: share})


def test_what_lasts_is_compared_where_each_side_knows_it_of_all_its_trials_or_of_none() -> None:
    falls, stays = [run(0.5), run(0.25)], [run(None), run(None)]
    assert lasting_trials([falls, falls]) == lasting_trials([falls, stays]) == {WRITE}
    first, second = compared_trials(falls, {}, {WRITE})
    assert (first.trial.values[THROUGHPUT], second.trial.values[RATE]) == (400e6, 763.0 / 4)
    assert first.is_lasting
    # no interval is known of it
    assert list(first.trial.ends) == [LATENCY]
    # where nobody saw it fall, what was measured is what lasts by all that is known
    (one, _) = compared_trials(stays, {}, {WRITE})
    assert (one.trial.values[THROUGHPUT], one.is_lasting) == (800e6, True)
    assert one.trial.ends[THROUGHPUT] == (700e6, 900e6)


def test_of_what_lasts_rates_are_compared_and_not_the_latencies_of_a_cache() -> None:
    waited = TrialKind(4096, 1, is_durable=False)
    trials = [replace(one, trial=replace(one.trial, kind=waited)) for one in compared_trials([run(0.5)], {}, {WRITE})]
    assert shown_metrics(trials) == [RATE]
    assert shown_metrics([replace(one, is_lasting=False) for one in trials])[0] == LATENCY


def test_what_another_run_found_of_a_burst_is_no_difference_between_two() -> None:
    own = Finding("throughput-cliff", "warning", "it fell", WRITE, {"token": "bytes", "base_per_s": 4e8})
    known = Finding("burst-credit", "warning", "x", WRITE, {"token": "I/Os", "base_per_s": 300.0, KNOWN_FROM: "burst"})
    assert seen_here([own, known]) == [own]
    assert lasting_rates(seen_here([known])) == {}


def test_two_runs_of_one_drive_do_not_differ_by_its_cache() -> None:
    # seen in one run and not in the next: what was measured stands beside what was measured
    assert lasting_trials([[run(0.5), run(0.5)], [run(0.5), run(None)]]) == set()
    assert lasting_trials([[run(None)], [run(0.5), run(None)]]) == set()
    (one,) = compared_trials([run(0.5)], {})
    assert (one.trial.values[THROUGHPUT], one.is_lasting) == (800e6, False)


def test_a_burst_that_ended_stands_by_what_lasts_beside_another_drive_that_showed_no_end() -> None:
    ended, other = (replace(run(share), burst_shares={WRITE: 1.1}) for share in (0.1, None))
    # a run of the same drive may have been too short
    assert lasting_trials([[ended], [other]]) == set()
    assert lasting_trials([[ended], [other]], is_drive_shared=False) == {WRITE}
    (one,) = compared_trials([ended], {}, {WRITE})
    (two,) = compared_trials([other], {}, {WRITE})
    assert (one.trial.values[RATE], two.trial.values[RATE]) == pytest.approx((76.3, 1.1 * 763))
    assert one.label.endswith(", in the long run")
    (note,) = ends_seen_once([[other], [ended]])
    assert (
        note == f"NEW saw the end of its burst at {WRITE}: 300 I/Os a second are left. BASE was too short to see one."
    )
    assert list(ends_seen_once([[ended], [ended]])) == []
