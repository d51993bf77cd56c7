"""The command ``drivelab serve``: a simulated drive as a block device for other programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from drivelab.inventory.target import resolve_target
from drivelab.model.errors import EXIT_OK, DrivelabError
from drivelab.model.units import format_bytes, format_duration_ns, format_percent
from drivelab.run.interruption import interruptible
from drivelab.run.served_drive import serve_drive

SCHEMA = 1
_COLUMNS = ("", "count", "moved", "failed", "mean", "p50", "p99", "max", "late: mean", "p99", "max")


def command(
    target: Annotated[str, typer.Argument(metavar="sim:MODEL", help="The drive: drivelab drives --simulated.")],
    address: Annotated[
        str,
        typer.Argument(metavar="ADDRESS", help="Where clients find it: a new socket (drive.sock), or 127.0.0.1:PORT."),
    ],
    precondition: Annotated[
        bool, typer.Option("--precondition", help="Write all of it once before; takes no time of yours.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of its random delays.")] = 1,
    contents: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Where what is written is kept meanwhile, in a file without a name."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="At the end print JSON.")] = False,
) -> int:
    """Serve a simulated drive to other programs as a network block device (NBD), until Ctrl-C.

    It answers in real time with the latencies of its model, and gives back what
    was written. At the end it tells what it answered, with which latencies, and
    how late: what another program measured can be held against that.
    """
    facts = resolve_target(target)
    if facts.simulated is None:
        do = "name one: drivelab drives --simulated"
        raise DrivelabError("T106", f"{target} is no simulated drive", where="drivelab serve", do=do)

    def ready(uri: str) -> None:
        text = f"serving {facts.text} ({format_bytes(facts.size_bytes)}) at {uri}; Ctrl-C ends it"
        print(text, file=sys.stderr if as_json else sys.stdout, flush=True)

    with interruptible() as stop:
        answered = serve_drive(
            facts,
            address,
            seed=seed,
            contents_in=None if contents is None else Path(contents),
            is_filled=precondition,
            stop=stop,
            ready=ready,
        )
    if as_json:
        print(json.dumps({"schema": SCHEMA, "target": facts.text, **answered}, indent=2))
    else:
        for line in _lines(answered):
            print(line)
    return EXIT_OK


def _lines(answered: Mapping[str, Any]) -> Iterator[str]:
    """What was answered, for people."""
    operations: Mapping[str, Any] = answered["operations"]
    yield f"served for {format_duration_ns(answered['served_ns'])}; connections: {answered['connections']}"
    if operations:
        rows = [_COLUMNS, *(_row(name, one) for name, one in operations.items())]
        widths = [max(len(row[place]) for row in rows) for place in range(len(_COLUMNS))]
        for row in rows:
            cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
            yield "  ".join(cells)
    total = sum(one["count"] for one in operations.values())
    late = sum(one["late_count"] for one in operations.values())
    if total:
        limit = format_duration_ns(answered["late_from_ns"])
        yield f"answers more than {limit} late: {late} of {total} ({format_percent(late / total)})"
    for key, words in (
        ("broken_connections", "connections that did not keep to the protocol"),
        ("refused_requests", "requests beyond the end, too long, or unknown, which were refused"),
        ("failed_contents", "commands whose data could not be kept; make room, or name another place: --contents DIR"),
    ):
        if answered[key]:
            yield f"{words}: {answered[key]}"


def _row(name: str, one: Mapping[str, Any]) -> tuple[str, ...]:
    model, late = one["latency_ns"], one["late_ns"]
    times = (*(model[key] for key in ("mean", "p50", "p99", "max")), *(late[key] for key in ("mean", "p99", "max")))
    moved = format_bytes(one["bytes"]) if one["bytes"] else ""
    return (name.replace("_", " "), str(one["count"]), moved, str(one["errors"]), *map(format_duration_ns, times))
