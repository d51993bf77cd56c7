"""The command ``drivelab btt``: what the recordings of a block trace come to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from drivelab.cli.failure import print_error, print_message
from drivelab.model.errors import EXIT_OK
from drivelab.model.names import counted
from drivelab.streams import make_console
from drivelab.trace.btt_table import btt_table
from drivelab.trace.phases import BlockPhases, block_phases
from drivelab.trace.recording import RecordingSummary

SCHEMA = 1
_DAMAGES_SHOWN, _TRAPS_SHOWN = 10, 2

if TYPE_CHECKING:
    from rich.console import Console


def command(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="Files NAME.blktrace.0, ..., their NAME, a directory of them, or what blkparse -d wrote; read as one.",
        ),
    ],
    compat: Annotated[
        Literal["1.2", "legacy"] | None,
        typer.Option(help="Print btt's own rows instead: of blktrace 1.2.0 and later, or of those before it."),
    ] = None,
    per_device: Annotated[
        bool, typer.Option("--per-device", help="Tell of every device, however many there are.")
    ] = False,
    details: Annotated[
        bool, typer.Option("--details", help="Also tell of devices, sizes, the queue depth, distances, and all traps.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Read a block trace: how long each phase of an I/O took, and what btt hides of that.

    Every bio is followed through splits, merges and requeues to its end. Flushes
    are a phase of their own. Each trap that btt falls into on these files is named.

    Exit code 4: records are missing, so that the numbers are those of a part.
    """
    paths = [Path(name) for name in files]
    if compat is None:
        return _tell_phases(paths, per_device=per_device, details=details, as_json=as_json)
    table = btt_table(paths, compat, per_device=per_device)
    if as_json:
        print(json.dumps(table.to_json(), indent=2))
    else:
        # a file without records has no table: btt prints nothing then
        more = f"\n{table.per_device_text}" if per_device and table.recording.records else ""
        print(f"{table.text}{more}", end="")
    return _tell_damages(table.recording, as_json=as_json)


def _tell_phases(paths: list[Path], *, per_device: bool, details: bool, as_json: bool) -> int:
    found = block_phases(paths)
    if as_json:
        # imported here: btt's own rows need no sentences
        from drivelab.cli.btt_answer import block_trace_sentences
        from drivelab.report.terminal.clean_text import terminal_text

        sentences = [terminal_text(sentence, plain=False) for sentence in block_trace_sentences(found)]
        print(json.dumps({"schema": SCHEMA, "sentences": sentences, **found.to_json()}, indent=2))
    elif not found.recording.records:
        print("The recording holds no records.")
    else:
        _print_phases(found, per_device=per_device, details=details)
    return _tell_damages(found.recording, as_json=as_json)


def _print_phases(found: BlockPhases, *, per_device: bool, details: bool) -> None:
    # imported here: JSON needs no terminal library
    from rich.text import Text

    from drivelab.cli.btt_answer import FLUSHES_HIDDEN, block_trace_sentences, told_devices
    from drivelab.cli.btt_tables import class_table, device_table, phase_table, size_table, title_text
    from drivelab.report.tables.table_terminal import TerminalTable
    from drivelab.report.terminal.clean_text import terminal_text

    console = make_console()
    plain = not console.encoding.startswith("utf")
    console.print(Text(terminal_text(title_text(found), plain)))
    console.print()
    for sentence in block_trace_sentences(found):
        console.print(Text(terminal_text(sentence, plain), style="bold"))
    devices = told_devices(found, all_of_them=per_device)
    tables = [phase_table(phases, f"Phases{_of(device)}") for device, phases in devices.items()]
    if details:
        tables += [class_table(found), device_table(found), size_table(found)]
    for table in tables:
        console.print()
        console.print(TerminalTable(table, plain))
    if details:
        _print_over_time(found, list(devices), console, plain=plain)
    if len(found.devices) > len(devices):
        more = counted(len(found.devices) - len(devices), "more device")
        console.print(Text(f"\nand {more}: --per-device", style="dim"))
    # what the first sentence tells is told
    traps = [trap for trap in found.traps if details or trap.key != FLUSHES_HIDDEN]
    shown = traps if details else traps[:_TRAPS_SHOWN]
    if traps:
        console.print()
    for trap in shown:
        console.print(Text.assemble(("warning: ", "yellow"), trap.text))
    if len(shown) < len(traps):
        console.print(Text(f"and {len(traps) - len(shown)} more: --details", style="dim"))


def _of(device: str) -> str:
    return f" of {device}" if device else ""


def _print_over_time(found: BlockPhases, devices: list[str], console: Console, *, plain: bool) -> None:
    """How deep the queue was over time, and how far the device had to go."""
    from rich.text import Text

    from drivelab.cli.btt_tables import depth_lines, distance_lines
    from drivelab.report.terminal.clean_text import terminal_text

    depths = {"": found.more["depth"]["all"], **found.more["depth"]["devices"]}
    for device in devices:
        console.print(Text(f"\nQueue depth over time{_of(device)}", style="bold"))
        for line in depth_lines(depths[device], plain=plain):
            console.print(Text(line))
    distances = list(distance_lines(found.more["seeks"]))
    if distances:
        console.print(Text("\nDistance from one command to the next", style="bold"))
    for line in distances:
        console.print(Text(terminal_text(line, plain)))


def _tell_damages(recording: RecordingSummary, *, as_json: bool) -> int:
    """What is wrong with the files, on stderr; the exit code that follows from it."""
    error = recording.damage_error()
    if not as_json:
        for note in recording.notes:
            print_message(f"note: {note}")
        for damage in recording.damages[:_DAMAGES_SHOWN]:
            print_message(f"damage: {damage.text}")
        more = sum(recording.damage_counts.values()) - _DAMAGES_SHOWN
        if more > 0:
            print_message(f"and {more} more damages")
    if error is None:
        return EXIT_OK
    print_error(error, as_json=as_json)
    return error.exit_code
