"""The command ``drivelab fleet report``: what the runs of many drives tell together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from drivelab.cli.report_output import chosen_format
from drivelab.fleet.record import FLEET_JSON, open_fleet
from drivelab.model.drive_values import FleetNumbers
from drivelab.model.errors import DrivelabError
from drivelab.model.names import counted
from drivelab.store.find_run import kept_place, kept_runs, runs_at
from drivelab.store.layout import HISTOGRAMS, TRIALS
from drivelab.store.remote.bring import bring, host_of
from drivelab.streams import make_console

SCHEMA = 1
PAGE = "fleet.html"


def command(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN_OR_DIR",
            help="Runs, or directories or stores (s3://BUCKET/PREFIX) of runs; all that are kept here by default.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help=f"Write a page there, {PAGE}; or a file: .html, .md, .csv, .json."),
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Print the answer here, also with --out.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Tell what the runs of many drives come to: which drives stand apart, and what explains the differences.

    Drives are compared in every number that at least two of them have, each
    with the others of its model; it takes four. Model, firmware, host and each
    tag (drivelab run --tag rack=r07) are held against chance. One run of each
    drive is enough; several tell what changes from run to run.

    Raises
    ------
    DrivelabError
        U004: --text and --json. U009: there are no runs. U052: no number is shared. S504: not a run.
        O801, O802: the page cannot be written.
    """
    if text and as_json:
        raise DrivelabError("U004", "--text and --json exclude each other", where="drivelab fleet report")
    # imported here: the help needs no arithmetic
    from drivelab.analyse.drive_comparison import compare_drives
    from drivelab.analyse.drive_spread import drive_medians
    from drivelab.answers.drive_values import fleet_numbers
    from drivelab.report.fleet_joint import joint_of_fleet

    directories = run_directories(runs or ())
    # all at once: each by itself would wait for the network
    bring(directories, TRIALS, HISTOGRAMS)
    found = fleet_numbers(directories, hosts_of(directories))
    if not found.numbers:
        raise _nothing_shared(found)
    answer = compare_drives(found)
    joint = joint_of_fleet(answer, {number.key: drive_medians(number) for number in found.numbers})
    if as_json:
        print(json.dumps({"schema": SCHEMA, "answer": joint.sentences[0]} | answer.to_json(), indent=2))
    elif text or out is None:
        from drivelab.report.terminal.fleet_runs import fleet_run_lines

        print("\n".join(fleet_run_lines(joint, plain=not make_console().encoding.startswith("utf"))))
    if out is not None:
        from drivelab.report.formats import write_report_files
        from drivelab.store.durable import typed_file

        place = _place(out)
        written = write_report_files(joint, chosen_format(None, place, has_option=False), typed_file(place))
        if not as_json:
            print("\n".join(map(str, written)))


def run_directories(names: Sequence[str]) -> list[Path]:
    """The directories of the runs that are named, each once; without a name those that are kept.

    Raises
    ------
    DrivelabError
        U009: there are none. S504: one name means nothing.
    """
    found = [one for name in names for one in runs_at(name)] if names else kept_runs()
    if not found:
        where = ", ".join(names) or kept_place()
        raise DrivelabError("U009", "there are no runs to compare", where=where)
    return list(dict.fromkeys(found))


def hosts_of(directories: Sequence[Path]) -> dict[Path, str]:
    """What their fleets call the hosts of runs, as far as runs lie in the directories of fleets, or in stores."""
    parents = dict.fromkeys(directory.parent for directory in directories)
    stored = {directory: host for directory in directories if (host := host_of(directory))}
    return stored | {
        parent / item.gathered: item.host
        for parent in parents
        if (parent / FLEET_JSON).exists()
        for item in open_fleet(str(parent)).items.values()
        if item.gathered
    }


def _nothing_shared(found: FleetNumbers) -> DrivelabError:
    """Why drives cannot be compared: the cause first, and what helps against it."""
    alone, without = found.alone_count - len(found.numberless), len(found.numberless)
    kinds = {"numbers that no other drive has": alone, "no number": without}
    told = [f"{counted(count, 'drive')} with {kind}" for kind, count in kinds.items() if count]
    # what is to be done stands in a line of its own
    notes = [note.removesuffix(f": {found.remedy}") for note in found.notes]
    why = "; ".join([*notes, *told] if without else [*told, *notes])
    what = f"there is no number that two drives share: {why}"
    return DrivelabError("U052", what, where="drivelab fleet report", do=found.remedy if without else "")


def _place(out: Path) -> Path:
    """The file that is meant: a name without an ending, or a directory that is there, holds the page."""
    return out / PAGE if out.is_dir() or not out.suffix else out
