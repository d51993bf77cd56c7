"""The trials of a run with what lasts of their rates in place of what a cache gave them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from drivelab.analyse.run_answer import RunTrial
from drivelab.answers.trial_conduct import conduct_of_trials
from drivelab.model.judged_metric import RATE, THROUGHPUT
from drivelab.model.lasting_rate import ASKS_WHAT_LASTS, LESS_BY, lasting_share
from drivelab.store.read import StoredRun


def as_they_last(run: StoredRun, trials: Iterable[RunTrial]) -> Iterator[RunTrial]:
    """The trials as they are, or with what lasts where the experiment asks for that and it is known.

    Raises
    ------
    DrivelabError
        S506: the trials cannot be read.
    """
    conducts = conduct_of_trials(run) if run.record.experiment.get("name") == ASKS_WHAT_LASTS else {}
    for one in trials:
        conduct = conducts.get(one.name)
        share = lasting_share(conduct.lasting, one.values) if conduct else None
        if conduct is None or share is None:
            yield one
            continue
        before = lasting_share(conduct.at_first, one.values) or 1.0
        at_first = {name: value * before for name in (THROUGHPUT, RATE) if (value := one.values.get(name)) is not None}
        # what was in the cache is hardly more
        yield replace(as_it_lasts(one, share), at_first=at_first if before >= LESS_BY * share else {})


def as_it_lasts(trial: RunTrial, share: float) -> RunTrial:
    """The trial with this share of its rates, which have no interval then."""
    rates = {name: value * share for name in (THROUGHPUT, RATE) if (value := trial.values.get(name)) is not None}
    ends = {name: found for name, found in trial.ends.items() if name not in rates}
    return replace(trial, values={**trial.values, **rates}, ends=ends)
