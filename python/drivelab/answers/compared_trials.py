"""Reads the trials of a stored run as those that are held against trials of other runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from drivelab.analyse.command_changes import Bounds
from drivelab.analyse.comparability import TrialConduct
from drivelab.analyse.comparison import ComparedTrial
from drivelab.analyse.run_answer import RunTrial
from drivelab.answers.buckets import burst_rates
from drivelab.answers.lasting_trials import as_it_lasts
from drivelab.answers.run_answer import experiment_order, trials_of_run
from drivelab.answers.trial_conduct import StoredConduct, conduct_of_trials
from drivelab.model.check_trials import PROBE
from drivelab.model.estimate import Unit
from drivelab.model.judged_metric import LATENCY, MEAN_LATENCY, P99, RATE, RESPONSE, RESPONSE_P99, THROUGHPUT
from drivelab.model.lasting_rate import TELL_WHAT_LASTS, lasting_share
from drivelab.model.metric import COMMANDS
from drivelab.model.token_bucket import Token
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
    conducts : mapping of str to StoredConduct
        How each trial was carried out, by its name.
    lasting_shares : mapping of str to float
        Of trials whose rate is that of a cache or a burst, in a check: what lasts, over what was measured.
    has_rounds : bool
        Whether its trials are rounds of a measurement window.
    burst_shares : mapping of str to float
        Of trials that watched for the end of a burst: what they came to before it, over what was measured, which has
        their rests in it.
    """

    trials: list[RunTrial]
    units: Mapping[str, Unit]
    conducts: Mapping[str, StoredConduct]
    titles: Mapping[str, str]
    lasting_shares: Mapping[str, float] = field(default_factory=dict)
    has_rounds: bool = False
    burst_shares: Mapping[str, float] = field(default_factory=dict)


def read_run(run: StoredRun, metrics: Collection[str], *, with_others_bursts: bool = False) -> ReadRun:
    """The trials of a run with these metrics.

    Parameters
    ----------
    with_others_bursts : bool
        Whether what other runs found of burst credit tells what lasts, too.

    Raises
    ------
    DrivelabError
        S506: a table of the run cannot be read.
    """
    trials, units = trials_of_run(run, metrics)
    order = experiment_order(run.record.experiment)
    conducts = conduct_of_trials(run)
    # any other experiment tells what was measured
    tells_lasting = run.record.experiment.get("name") in TELL_WHAT_LASTS
    lasting = {
        name: one.lasting_by_others if with_others_bursts else one.lasting
        for name, one in conducts.items()
        if tells_lasting
    }
    shares = {one.name: lasting_share(lasting.get(one.name, {}), one.values) for one in trials}
    known = {name: share for name, share in shares.items() if share is not None}
    bursts = _burst_shares(trials, burst_rates(run))
    return ReadRun(trials, units, conducts, order.titles, known, order.is_in_rounds, bursts)


def _burst_shares(trials: Iterable[RunTrial], rates: Mapping[str, tuple[Token, float]]) -> dict[str, float]:
    found = {}
    for one in trials:
        token, rate = rates.get(one.name, ("I/Os", 0.0))
        value = one.values.get(RATE if token == "I/Os" else THROUGHPUT)
        if rate and value:
            found[one.name] = rate / value
    return found


def lasting_trials(sides: Iterable[Sequence[ReadRun]], *, is_drive_shared: bool = True) -> frozenset[str]:
    """Names of the trials that are compared by what lasts: on each side it is known of every such trial, or of none.

    Else what was measured stands beside what was measured, or two runs of one drive would differ by the cache.
    A trial of which nobody knows what lasts is what lasts by all that is known; but one that watched for the end of a
    burst and did not see it, which may have been too short for that. Of different drives that is all that is known.
    """
    known: set[str] = set()
    mixed: set[str] = set()
    for side in sides:
        if is_drive_shared:
            mixed |= {name for run in side for name in run.burst_shares if name not in run.lasting_shares}
        shares = {name for run in side for name in run.lasting_shares}
        known |= shares
        mixed |= shares & {one.name for run in side for one in run.trials if one.name not in run.lasting_shares}
    return frozenset(known - mixed)


def compared_trials(
    side: Sequence[ReadRun], places: Mapping[str, str], lasting: Collection[str] = ()
) -> Iterator[ComparedTrial]:
    """The trials of some runs, which are numbered from 0, but for those that only tell whether something compresses.

    Parameters
    ----------
    places : mapping of str to str
        What stands for each target, by its label; a label that is missing stands for itself.
    lasting : collection of str
        Names of the trials whose rates are to be what lasts, where that is known.
    """
    for number, run in enumerate(side):
        for measured in (one for one in run.trials if not one.name.startswith(PROBE)):
            lasts, share = measured.name in lasting, run.lasting_shares.get(measured.name)
            share = share if lasts and share is not None else run.burst_shares.get(measured.name)
            trial = as_it_lasts(measured, share) if share is not None else measured
            stored = run.conducts.get(trial.name, StoredConduct(TrialConduct()))
            commands = {name: bounds for name in COMMANDS if (bounds := _bounds(trial, name)) is not None}
            conduct = replace(stored.conduct, levels=trial.levels, achieved=trial.achieved, commands=commands)
            # a trial of no experiment is a workload of its own
            label = run.titles.get(trial.workload, trial.workload) or stored.label
            if measured.name in run.burst_shares:
                # without its rests
                label = f"{label.partition(', ')[0]}, {'in the long run' if lasts else 'at first'}"
            place = places.get(trial.target, trial.target)
            yield ComparedTrial(number, place, trial, conduct, label, lasts, run.has_rounds)


def _bounds(trial: RunTrial, metric: str) -> Bounds | None:
    value = trial.values.get(metric)
    if value is not None:
        return value, value
    low, high = trial.ends.get(metric, (None, None))
    return None if low is None or high is None else (low, high)
