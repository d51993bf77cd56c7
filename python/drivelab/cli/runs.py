"""The command ``drivelab runs``: the runs that are kept, the newest first."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from drivelab.answers.drive_of_run import is_on
from drivelab.cli.run_in_short import record_of, row_of, run_lines
from drivelab.model.errors import DrivelabError
from drivelab.store.find_run import all_kept, kept_followed, kept_runs
from drivelab.store.followed import StoredFollowed, open_followed
from drivelab.store.layout import HISTOGRAMS, TRIALS
from drivelab.store.read import StoredRun, open_run
from drivelab.store.remote.address import is_address
from drivelab.store.remote.bring import bring
from drivelab.streams import make_console

SCHEMA = 1
SHOWN_MAX = 10
_Stored = TypeVar("_Stored")


def command(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[TARGET]",
            help="Only runs on this directory or drive, or of this label; the runs in this directory, such as that of "
            "a fleet, or store (s3://BUCKET/PREFIX).",
        ),
    ] = None,
    all_runs: Annotated[bool, typer.Option("--all", help=f"All of them, and not only the newest {SHOWN_MAX}.")] = False,
    has_tags: Annotated[bool, typer.Option("--tags", help="What was said of each run with --tag.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the runs that are kept, the newest first.

    The number of a run works wherever RUN is asked for, until another run is
    made; of runs in a directory or store with DRIVELAB_RUNS set to that. So do its
    name, which --json tells, or the time with which that begins, and LAST, which is
    number 1.
    """
    place = _place_of_runs(target or "")
    # what was measured on a directory is meant before what lies in it
    found = [] if is_address(place) else [one for one in _kept() if target is None or is_on(target, record_of(one))]
    if found and place:
        print(f"of those that lie in it: DRIVELAB_RUNS={shlex.quote(place)} drivelab runs", file=sys.stderr)
        place = ""
    found = found or (_kept(place) if place else [])
    numbers = {directory: number for number, directory in enumerate(all_kept(place), start=1)}
    told = found if all_runs or as_json else found[:SHOWN_MAX]
    # all at once: each by itself would wait for the network
    bring((one.directory for one in told if not record_of(one).verdict), TRIALS, HISTOGRAMS)
    shown = [row_of(one, numbers[one.directory]) for one in told]
    if as_json:
        print(json.dumps({"schema": SCHEMA, "runs": shown}, indent=2))
        return
    if not shown:
        print("no run is kept" if target is None else f"no run of {target} is kept")
        return
    console = make_console(soft_wrap=True)
    plain = not console.encoding.startswith("utf")
    for line in run_lines(shown, max(console.width, 40), plain, has_tags=has_tags):
        print(line)
    # where other runs are kept, their numbers mean those
    there = f"DRIVELAB_RUNS={shlex.quote(place)} " if place else ""
    print(f"to see one: {there}drivelab report {shown[0]['number']}")
    if len(shown) < len(found):
        print(f"{len(found) - len(shown)} older: --all")


def _place_of_runs(target: str) -> str:
    """What was typed, where it is a store or a directory with runs in it; empty where it is neither."""
    if is_address(target):
        return target
    try:
        return target if target and all_kept(target) else ""
    except PermissionError as error:
        print(f"left out: {error.filename}: {error.strerror}", file=sys.stderr)
        return ""


def _kept(place: str = "") -> list[StoredRun | StoredFollowed]:
    """What is kept there and can be read, the newest first."""
    kept: list[StoredRun | StoredFollowed] = [*readable_runs(place), *_readable(kept_followed(place), open_followed)]
    return sorted(kept, key=lambda one: one.directory.name, reverse=True)


def readable_runs(store: str = "") -> Iterator[StoredRun]:
    """The runs that are kept, the oldest first; one that cannot be read is named, and left out.

    Those of another store where its address is given.
    """
    yield from _readable(kept_runs(store), open_run)


def _readable(directories: Sequence[Path], opened: Callable[[Path], _Stored]) -> Iterator[_Stored]:
    for directory in directories:
        try:
            yield opened(directory)
        except DrivelabError as error:
            print(f"left out: {directory.name}: {error.what}", file=sys.stderr)
