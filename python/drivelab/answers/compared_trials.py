"""Reads the trials of a stored run as those that are held against trials of other runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from drivelab.analyse.command_changes import Bounds
from drivelab.analyse.comparability import TrialConduct
from drivelab.analyse.comparison import ComparedTrial
from drivelab.analyse.run_answer import RunTrial
from drivelab.answers.run_answer import experiment_order, trials_of_run
from drivelab.answers.trial_conduct import StoredConduct, conduct_of_trials
from drivelab.model.check_trials import PROBE
from drivelab.model.estimate import Unit
from drivelab.model.judged_metric import LATENCY, MEAN_LATENCY, P99, RESPONSE, RESPONSE_P99, THROUGHPUT
from drivelab.model.metric import COMMANDS
from drivelab.store.read import StoredRun

# those that workloads are judged by, and what is told beside them
COMPARED_METRICS = (LATENCY, MEAN_LATENCY, RESPONSE, THROUGHPUT, P99, RESPONSE_P99, "iops")


@dataclass(frozen=True, slots=True)
class ReadRun:
    """What is read of a run.

    Attributes
    ----------
    trials : list of RunTrial
        In the order in which they ran.
    units : mapping of str to str
        Unit of every metric.
    conducts : mapping of str to StoredConduct
        How each trial was carried out, by its name.
    titles : mapping of str to str
        What each workload is for people.
    """

    trials: list[RunTrial]
    units: Mapping[str, Unit]
    conducts: Mapping[str, StoredConduct]
    titles: Mapping[str, str]


def read_run(run: StoredRun, metrics: Collection[str]) -> ReadRun:
    """The trials of a run with these metrics.

    Raises
    ------
    DrivelabError
        S506: a table of the run cannot be read.
    """
    trials, units = trials_of_run(run, metrics)
    titles = experiment_order(run.record.experiment).titles
    return ReadRun(trials, units, conduct_of_trials(run), titles)


def compared_trials(side: Sequence[ReadRun], places: Mapping[str, str]) -> Iterator[ComparedTrial]:
    """The trials of some runs, which are numbered from 0, but for those that only tell whether something compresses.

    Parameters
    ----------
    side : sequence of ReadRun
        The runs.
    places : mapping of str to str
        What stands for each target, by its label; a label that is missing stands for itself.
    """
    for number, run in enumerate(side):
        for trial in (one for one in run.trials if not one.name.startswith(PROBE)):
            stored = run.conducts.get(trial.name, StoredConduct(TrialConduct()))
            commands = {name: bounds for name in COMMANDS if (bounds := _bounds(trial, name)) is not None}
            conduct = replace(stored.conduct, levels=trial.levels, achieved=trial.achieved, commands=commands)
            # a trial of no experiment is a workload of its own
            label = run.titles.get(trial.workload, trial.workload) or stored.label
            yield ComparedTrial(number, places.get(trial.target, trial.target), trial, conduct, label)


def _bounds(trial: RunTrial, metric: str) -> Bounds | None:
    value = trial.values.get(metric)
    if value is not None:
        return value, value
    low, high = trial.ends.get(metric, (None, None))
    return None if low is None or high is None else (low, high)
