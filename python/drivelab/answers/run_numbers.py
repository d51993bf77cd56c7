"""Reads the numbers of a stored run for comparisons with any other one: those of each of its targets."""

from __future__ import annotations

from drivelab.analyse.run_numbers import CombinationNumbers, numbers_of
from drivelab.answers.compared_trials import COMPARED_METRICS, compared_trials, lasting_trials, read_run
from drivelab.answers.comparison import METRICS_APART, by_operation
from drivelab.store.read import StoredRun


def numbers_of_run(run: StoredRun) -> dict[str, list[CombinationNumbers]]:
    """What each target of a run gave, by its label.

    Raises
    ------
    DrivelabError
        S506: a table of the run cannot be read.
    """
    read = read_run(run, {*COMPARED_METRICS, *METRICS_APART})
    trials = list(compared_trials([read], {}, lasting_trials([[read]])))
    # operations of a mix stand apart where both sides have them
    apart, _ = by_operation(trials, trials)
    targets = dict.fromkeys(one.trial.target for one in apart)
    return {
        target: numbers_of(
            [one for one in apart if one.trial.target == target and not one.trial.is_reference], read.units
        )
        for target in targets
    }
