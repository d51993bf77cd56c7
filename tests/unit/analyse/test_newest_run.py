"""The newest run beside earlier ones: of drives that stay as they are it is no alarm, and a fifth is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_histories import FULL, QUICK, UNITS, Scatter, full, heavy, history, normal, run, two_modes, unequal

from drivelab.analyse.comparability import TrialConduct
from drivelab.analyse.newest_run import EARLIER_MIN, judge_newest

HISTORIES = 200


@pytest.mark.parametrize("earlier", [EARLIER_MIN, 15])
@pytest.mark.parametrize("scatter", [normal, heavy, unequal, two_modes])
def test_a_drive_that_stays_as_it_is_gives_hardly_an_alarm(earlier: int, scatter: Scatter) -> None:
    random = np.random.default_rng(earlier)
    alarms = sum(bool(full(history(random, earlier, scatter)).changed) for _ in range(HISTORIES))
    assert alarms <= 0.02 * HISTORIES


@pytest.mark.parametrize("earlier", [EARLIER_MIN, 15])
@pytest.mark.parametrize("change", [1.2, 1 / 1.2])
def test_a_fifth_is_found_in_the_number_that_it_is_in(earlier: int, change: float) -> None:
    random = np.random.default_rng(earlier)
    found = 0
    for _ in range(HISTORIES):
        changed = full(history(random, earlier, normal, change)).changed
        found += ("w3", "slower" if change > 1 else "faster") in [(row.workload, row.verdict) for row in changed]
    assert found >= 0.9 * HISTORIES


def test_too_few_runs_are_counted_and_not_judged() -> None:
    runs = [run(number, [0.01 * number]) for number in range(EARLIER_MIN)]
    alone = full(runs)
    assert (alone.earlier_count, alone.missing_count, alone.rows) == (EARLIER_MIN - 1, 1, ())
    one_more = full([*runs, run(EARLIER_MIN, [0.3])])
    assert (one_more.earlier_count, one_more.missing_count) == (EARLIER_MIN, 0)
    assert [row.verdict for row in one_more.changed] == ["slower"]


def test_each_kind_of_run_is_judged_alone_and_the_one_measured_last_is_told_first() -> None:
    runs = [run(0, [0.0]), run(1, [-1.0], QUICK), run(2, [0.0]), run(3, [0.0], left_out="busy machine")]
    found = judge_newest(runs, UNITS)
    assert [(one.run, one.kind, one.earlier_count) for one in found] == [("run2", FULL, 1), ("run1", QUICK, 0)]


def test_a_run_whose_number_means_another_thing_is_not_held_against_the_newest() -> None:
    def issued_by(number: int, backend: str) -> object:
        made = run(number, [0.0])
        return replace(made, trials=[replace(one, conduct=TrialConduct(backend=backend)) for one in made.trials])

    runs = [issued_by(number, "sync" if number < 3 else "io_uring") for number in range(EARLIER_MIN + 2)]
    assert full(runs).earlier_count == EARLIER_MIN + 1 - 3


def test_a_trial_that_does_not_describe_the_drive_is_no_number() -> None:
    made = run(0, [0.0])
    invalid = replace(made, trials=[replace(one, conduct=TrialConduct(invalid=["x"])) for one in made.trials])
    assert full([invalid, run(1, [0.0])]).earlier_count == 0
