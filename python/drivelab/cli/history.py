"""The command ``drivelab history``: what one drive or directory gave over time."""

from __future__ import annotations

import itertools
import json
import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from drivelab.answers.history import history_of
from drivelab.cli.run_in_short import row_of, run_lines
from drivelab.cli.runs import readable_runs
from drivelab.model.errors import DrivelabError
from drivelab.model.history import History, HistoryRow, with_changes
from drivelab.report.history_joint import (
    CAPTION,
    HEADS,
    cell_text,
    conduct,
    joint_of_history,
    judged_sentences,
    outcome,
    when,
)
from drivelab.report.joint import Joint
from drivelab.report.terminal.wrapped import GAP, WIDTH, fitted, table_lines, wrapped
from drivelab.store.find_run import all_kept
from drivelab.store.read import StoredRun
from drivelab.streams import make_console

SCHEMA = 1
LINES_MAX = 25
_OUTCOME_WIDTH_MIN = 12


def command(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[TARGET]",
            help="A directory, file or drive (vda), its serial, or a label of runs; HOST:TARGET on a host. "
            "With --all-drives a directory of runs, or a fleet.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with a figure: .html, .md, .csv or .json.")
    ] = None,
    all_drives: Annotated[
        bool,
        typer.Option(
            "--all-drives", help="All drives that have runs, or those of a directory or a fleet: which changed?"
        ),
    ] = False,
    all_runs: Annotated[
        bool, typer.Option("--all", help=f"All runs, of other kinds too, and not what fits {LINES_MAX} lines.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what one drive gave over dates, whether its newest run is an exception, and what else changed meanwhile.

    The newest run is held against earlier ones of its kind: the same
    experiment, as long, on the same file system, by themselves on the machine.
    A change is told only where it is larger than these scatter, and that takes
    six of them.

    Rows are checks; where there is none, all runs with what each came to.

    Runs are of the same drive where its serial or WWN is the same, whatever
    path it had; without either where the path is the same. Another host,
    kernel, firmware, file system, version of drivelab or wear is told below the
    run that was the first to have it. The numbers are those of 'drivelab check'.
    Where several hosts have such a drive, this one is meant.

    With --all-drives every drive has a line: which became slower, corrected for
    the numbers of all of them, which got another firmware, and how they wore.
    """
    if all_drives:
        from drivelab.cli.fleet_history import tell_fleet_history

        tell_fleet_history([target] if target else [], out, is_whole=all_runs, as_json=as_json)
        return
    if target is None:
        do = "drivelab history TARGET, or of all drives: drivelab history --all-drives"
        raise DrivelabError("U004", "no TARGET is named", where="drivelab history", do=do)
    _tell(target, out, all_runs=all_runs, as_json=as_json)


def _tell(target: str, out: Path | None, *, all_runs: bool, as_json: bool) -> None:
    """Print the history of one drive or directory, or write it."""
    kept = list(readable_runs())
    history = history_of(kept, target, with_every_kind=all_runs, here=os.uname().nodename)
    if target not in history.places and os.path.exists(target):
        # runs know where they were made by the whole path
        history = replace(history, target=os.path.realpath(target))
    # checks have numbers; other runs are told by what they came to
    in_short = [] if history.has_numbers else _in_short(history, kept)
    if in_short:
        told = {row["run"]: row["answer"] for row in in_short}
        history = replace(history, rows=tuple(replace(row, answer=told[row.run]) for row in history.rows))
    if as_json:
        rows = [row.to_json() for row in history.rows]
        judged = [one.to_json() for one in history.judged]
        found = {"schema": SCHEMA, "target": target, "left_out": history.others, "judged": judged, "runs": rows}
        found |= {"other_kinds": dict(history.other_kinds), "left_of_burst": history.left_of_burst}
        print(json.dumps(found, indent=2))
        return
    if not history.rows:
        beside = history.with_other_drives_words
        print(
            f"no run of {target} alone is kept; {beside}"
            if beside
            else f"no run of {target} is kept: drivelab check {target}"
        )
        return
    if out is not None:
        write_joint(joint_of_history(history), out)
        return
    console = make_console(soft_wrap=True)
    plain = not console.encoding.startswith("utf")
    if in_short:
        lines = _answer_lines(history, in_short, plain, lines_max=0 if all_runs else LINES_MAX)
    else:
        lines = history_lines(history, plain, lines_max=0 if all_runs else LINES_MAX)
    for line in lines:
        print(fitted(line, max(console.width, 40)))


def _in_short(history: History, kept: Sequence[StoredRun]) -> list[dict[str, Any]]:
    """The runs of a history as `drivelab runs` has them, the newest first."""
    names = {row.run for row in history.rows}
    numbers = {directory: number for number, directory in enumerate(all_kept(), start=1)}
    found = [row_of(run, numbers[run.directory]) for run in kept if run.name in names]
    return sorted(found, key=lambda row: row["number"])


def _answer_lines(
    history: History, in_short: Sequence[Mapping[str, Any]], plain: bool, *, lines_max: int = 0
) -> list[str]:
    """What the newest run came to, and the runs with what each did: the newest that fit into `lines_max`."""
    told = [line for one in judged_sentences(history) for line in wrapped(one, WIDTH, plain)]
    footer = wrapped(history.with_other_drives_words, WIDTH, plain)
    room = lines_max - len(told) - len(footer) - 2
    count = len(in_short)
    while lines_max and count > 1 and len(list(run_lines(in_short[:count], WIDTH, plain))) > room:
        count -= 1
    older = [f"{len(in_short) - count} older: --all"] if count < len(in_short) else []
    return [*told, "", *run_lines(in_short[:count], WIDTH, plain), *footer, *older]


def history_lines(history: History, plain: bool, *, lines_max: int = 0) -> list[str]:
    """What the newest run tells, and the table with changes below the rows: the newest that fit into `lines_max`."""
    told = [line for one in judged_sentences(history) for line in wrapped(one, WIDTH, plain)]
    heads = [("", "", *(head[place] for head in HEADS.values())) for place in (0, 1)]
    heads.append(("when (UTC)", "fit?", *(head[2] for head in HEADS.values())))
    # where there is no room for all, those of the directory that was asked for
    here = [row for row in history.rows if row.facts.get("target") == history.target] if lines_max else []
    elsewhere = len(history.rows) - len(here) if here else 0
    history = replace(history, rows=with_changes(here)) if elsewhere else history
    rows = _cells(history, heads)
    table = list(table_lines([*heads, *(line for lines in rows for line in lines)], plain, left=2))
    top, lines = [*told, "", *table[:3]], iter(table[3:])
    blocks = [
        [*itertools.islice(lines, len(own)), *_below(row, plain)] for own, row in zip(rows, history.rows, strict=True)
    ]
    footer = [f"{history.others} of the same path left out: another drive was beneath"] if history.others else []
    footer += wrapped(f"{words}: --all", WIDTH, plain) if (words := history.other_kinds_words) else []
    footer += wrapped(history.with_other_drives_words, WIDTH, plain)
    footer += wrapped(history.places_words, WIDTH, plain)
    footer += [f"{elsewhere} elsewhere on the same drive: --all"] if elsewhere else []
    footer += wrapped(history.left_of_burst_words, WIDTH, plain)
    footer += wrapped(CAPTION, WIDTH, plain)
    shown: list[list[str]] = []
    # the line about older ones
    room = lines_max - len(top) - len(footer) - 1
    for block in reversed(blocks):
        if lines_max and shown and sum(map(len, [block, *shown])) > room:
            break
        shown.insert(0, block)
    older = len(blocks) - len(shown)
    footer += [f"{older} older: --all; as a page with a figure: --out history.html"] if older else []
    return [*top, *(line for block in shown for line in block), *footer]


def _cells(history: History, heads: Sequence[tuple[str, ...]]) -> list[list[tuple[str, ...]]]:
    """Each row, and below it what of its outcome and of how it was run has no room beside the other columns."""
    rows = [(when(row), "", *(cell_text(name, row.numbers) for name in HEADS)) for row in history.rows]
    others = sum(len(GAP) + max(map(len, column)) for column in zip(*heads, *rows, strict=True)) - len(GAP)
    room = max(WIDTH - others + len(heads[-1][1]), _OUTCOME_WIDTH_MIN)
    found = []
    for row, (date, _, *numbers) in zip(history.rows, rows, strict=True):
        told = ", ".join(filter(None, (outcome(row), conduct(row))))
        first, *more = textwrap.wrap(told, room) or [""]
        found.append([(date, first, *numbers), *(("", line, *[""] * len(numbers)) for line in more)])
    return found


def _below(row: HistoryRow, plain: bool) -> list[str]:
    """What ended a run that failed, the number that it was judged by, and what else had changed before it."""
    told = [text for text in (row.error and f"! {row.error}", row.judged) if text]
    told += [f"{'+' if plain else '↑'} {', '.join(row.changes)}"] if row.changes else []
    return [f"  {line}" for text in told for line in wrapped(text, WIDTH - 2, plain, indent="  ")]


def write_joint(joint: Joint, out: Path) -> None:
    """Write the report of a history in the format of the file's name, and tell where."""
    from drivelab.cli.report_output import chosen_format
    from drivelab.report.formats import write_report_files
    from drivelab.store.durable import typed_file

    format_name = chosen_format(None, out, has_option=False)
    for path in write_report_files(joint, format_name, typed_file(out)):
        print(path)
