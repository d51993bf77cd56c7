"""The command ``drivelab fleet run``: one experiment on drives of many hosts."""

from __future__ import annotations

from pathlib import Path

from drivelab.cli.fleet_options import (
    EraseListOption,
    FleetOutOption,
    HostsOption,
    JsonOption,
    NoGatherOption,
    OnlyHostOption,
    Reach,
    chosen_seed,
    reaching,
)
from drivelab.cli.fleet_sitting import ForeseeOption, begin, show_fleet, show_foreseen
from drivelab.cli.job_file import is_job_file
from drivelab.cli.run_options import (
    ExperimentArgument,
    OnErrorOption,
    OnlyOption,
    QuickOption,
    RepeatsOption,
    SeedOption,
    SkipOption,
    TraceOption,
)
from drivelab.experiments.load import load_experiment, looks_like_path, text_of
from drivelab.fleet.erase_list import load_erase_list, name_to_type_again
from drivelab.fleet.hosts import load_hosts, measured_hosts
from drivelab.model.fleet_plan import FleetWork
from drivelab.plan.narrow import narrowed


@reaching
def command(
    reach: Reach,
    experiment: ExperimentArgument,
    hosts: HostsOption,
    host: OnlyHostOption = None,
    erase_list: EraseListOption = None,
    quick: QuickOption = False,
    skip_unavailable: SkipOption = False,
    only: OnlyOption = None,
    repeats: RepeatsOption = None,
    on_error: OnErrorOption = "continue",
    seed: SeedOption = None,
    trace: TraceOption = False,
    out: FleetOutOption = None,
    no_gather: NoGatherOption = False,
    dry_run: ForeseeOption = False,
    as_json: JsonOption = False,
) -> int:
    """Run one experiment on drives of many hosts, one drive at a time on each, and bring the runs here.

    Hosts are started over ssh with your own configuration and agent, and must
    have the same drivelab. What each does is an ordinary 'drivelab run': kept
    there, put back there when the connection is lost, and gone on with by
    'drivelab fleet resume'. No drive is erased that is not in --erase-list, and
    what is going to be erased is told before the first host begins.

    Raises
    ------
    DrivelabError
        F901 to F905, F909: hosts, lists, keys and addresses. P701 to P703: the experiment.
    """
    from drivelab.fleet.book import FleetBook
    from drivelab.fleet.record import FleetRecord, HostRecord, new_fleet

    every = load_hosts(hosts)
    known = measured_hosts(every, host or (), where=str(hosts))
    erasable = load_erase_list(erase_list, every, chosen=known)
    if not is_job_file(experiment):
        # what is wrong for every host is told before one is asked
        narrowed(load_experiment(experiment), repeats=repeats, only=only or ())
    options = ["--seed", str(chosen_seed(seed)), "--on-error", on_error]
    options += [name for name, is_on in _switches(quick, skip_unavailable, trace) if is_on]
    options += [word for level in only or () for word in ("--only", level)]
    options += ["--repeats", str(repeats)] if repeats else []
    work = FleetWork("run", tuple(options), *experiment_of(experiment))
    if dry_run:
        planned = FleetRecord(Path(), "dry-run", work, {name: HostRecord(entry) for name, entry in known.items()})
        return show_foreseen(planned, reach, erasable, as_json=as_json)
    is_part, to_go_on = len(known) < len(every), reach.to_go_on(no_gather)
    listed = name_to_type_again(erase_list)
    book = FleetBook(
        new_fleet(work, known, out, is_part=is_part, erase_list=listed, options=to_go_on, hosts_file=hosts)
    )
    is_whole = begin(book, reach, lambda one: one.measure(), erasable, gathers=not no_gather, as_json=as_json)
    return show_fleet(book.fleet, as_json=as_json, was_interrupted=not is_whole)


def _switches(quick: bool, skip_unavailable: bool, trace: bool) -> tuple[tuple[str, bool], ...]:
    return ("--quick", quick), ("--skip-unavailable", skip_unavailable), ("--trace", trace)


def experiment_of(typed: str) -> tuple[str, str]:
    """The name of an experiment and, of a user's own, what its file holds: hosts don't have it.

    Raises
    ------
    DrivelabError
        P701: it cannot be read.
    """
    text = text_of(typed, code="P701") if looks_like_path(typed) or is_job_file(typed) else ""
    return typed.rpartition("/")[2], text
