"""The command ``drivelab explain``: where the time of an operation goes, measured now or in a stored run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from drivelab.cli.conduct import conduct_for, progress_of, put_back_left_over
from drivelab.cli.explain_experiment import advice_on_writes, experiment_from
from drivelab.cli.explain_followed import explain_again, explain_both, explain_followed, is_followed
from drivelab.cli.explain_options import ExplainOptions
from drivelab.cli.explain_result import show_difference, show_explanations
from drivelab.cli.io_options import with_options_of
from drivelab.cli.plan import planned
from drivelab.cli.run_end import exit_status
from drivelab.inventory.consent import Consent
from drivelab.inventory.loop_target import resolve_measured
from drivelab.model.errors import DrivelabError
from drivelab.run.interruption import interruptible
from drivelab.run.preflight import require_possible
from drivelab.run.recorded import record_run
from drivelab.state.stuck import require_apart
from drivelab.store.find_run import find_run, stored_in
from drivelab.store.followed import holds_followed
from drivelab.store.layout import JOURNAL, RUN_JSON, TRIALS, default_parent
from drivelab.store.read import open_run


@with_options_of(ExplainOptions)
def command(**typed: Any) -> int:
    """Show where the time of an operation goes: software, queue, device, flush; and what it made the drive do.

    A TARGET is measured alternately untraced, which gives the number, and
    traced, which gives the explanation. Nothing of anybody's is overwritten:
    a block device and a file are only read, unless --erase names the device.
    A RUN that was made with --trace is explained again; of two runs, or two
    trials of one, the differences are shown. With --pid, --path or --command
    a program of yours is followed while it works, and nothing of it is changed.
    Needs root.

    Exit code 4: there is no answer, because events were lost; or fewer flushes
    were sent than durability asks for; or a finding makes the numbers invalid.
    """
    return explain(ExplainOptions(**typed))


def explain(options: ExplainOptions) -> int:
    """Exit status, after everything was measured and shown."""
    if is_followed(options):
        return explain_followed(options)
    if not options.what:
        raise DrivelabError("U021", "nothing to explain was named", where="drivelab explain")
    places = [stored_in(name) for name in options.what]
    stored = [found for found in places if found is not None]
    for name, found in zip(options.what, places, strict=True):
        if stored and found is None and not Path(name).exists():
            # beside a run stands a run, and there is none of that name
            find_run(name)
    if len(stored) == 2 and stored[0].resolve() == stored[1].resolve():
        raise DrivelabError("U021", f"{stored[0].name} is named twice", where="drivelab explain")
    programs = [directory for directory in stored if holds_followed(directory)]
    if programs and len(options.what) == 1:
        return explain_again(options, programs[0])
    if len(programs) == len(options.what) == 2:
        return explain_both(options, programs)
    if programs:
        what = f"{programs[0].name} is a program that was followed: it is explained alone, or beside another one"
        raise DrivelabError("U021", what, where="drivelab explain")
    if options.over:
        do = "drivelab explain --pid PID --over 5ms"
        raise DrivelabError("U004", "--over is for a program that is followed", where="option --over", do=do)
    if len(stored) == len(options.what) and len(stored) <= 2:
        return _explain_stored(options, stored)
    if len(options.what) > 1:
        what = f"{len(options.what)} names: explained is one target, one stored run, or two runs beside each other"
        raise DrivelabError("U021", what, where="drivelab explain")
    if options.trial:
        what = f"--trial names a trial of a stored run, and {options.what[0]} is none"
        raise DrivelabError("U021", what, where="option --trial")
    if options.what[0].isdecimal() and not Path(options.what[0]).exists():
        # no target is called so: it is the number of a run that is not there
        find_run(options.what[0])
    _require_no_cut_off_run(options.what[0])
    return _explain_target(options, options.what[0])


def _require_no_cut_off_run(target: str) -> None:
    """A run that was killed at once is no directory that anybody wants to be measured in."""
    if any((Path(target) / name).is_file() for name in (JOURNAL, TRIALS)):
        what = f"{target} is the directory of a run, without its {RUN_JSON}"
        raise DrivelabError("S504", what, where=target, do="name another run, or the directory to measure in")


def _explain_stored(options: ExplainOptions, directories: list[Path]) -> int:
    runs = [open_run(directory) for directory in directories]
    if len(runs) == 1 and len(options.trial) < 2:
        return show_explanations(
            runs[0], options.trial[0] if options.trial else "", as_json=options.as_json, details=options.details
        )
    if len(options.trial) > 2 or (len(runs) == 2 and options.trial):
        what = "--trial names two trials of one run, and no trials of two runs"
        raise DrivelabError("U021", what, where="option --trial")
    return show_difference(runs, options.trial, as_json=options.as_json)


def _explain_target(options: ExplainOptions, target: str) -> int:
    # before the target is looked at: what a killed run left on it is not its own
    stuck = put_back_left_over()
    facts = resolve_measured(target)
    if facts.simulated is not None:
        what = "explain needs a real drive: behind a simulated one there is no kernel to trace"
        raise DrivelabError("R424", what, where=target, do="name a directory, a drive, or scratch:1GiB")
    require_apart(stuck, [facts])
    asked = experiment_from(options, facts)
    advice = advice_on_writes(options, facts)
    if advice:
        print(f"note: {advice}", file=sys.stderr)
    plan, by_label = planned(
        asked,
        [target],
        seed=options.seed,
        quick=options.quick,
        skip_unavailable=False,
        labels=(),
        trace=options.source or "auto",
    )
    consent = Consent(tuple(options.erase), ())
    require_possible(plan, by_label, consent)
    with interruptible() as stop:
        conduct = conduct_for(progress_of("explain", plan), stop, consent, stops_on_error=False)
        parent = Path(options.out) if options.out else default_parent()
        directory, outcome = record_run(plan, asked, by_label, parent, conduct)
    if not outcome.completed and outcome.is_interrupted:
        return stop.exit_code
    status = exit_status(outcome)
    shown = show_explanations(
        open_run(directory), "", as_json=options.as_json, details=options.details, writes_report=True
    )
    if outcome.is_interrupted or outcome.failures:
        print(f"to go on with it: drivelab resume {directory}", file=sys.stderr)
    return stop.exit_code if outcome.is_interrupted else status or shown
