"""The command ``drivelab fleet odd``: which of many drives is slow, by the monitoring data of their hosts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from drivelab.model.errors import EXIT_NOT_TRUSTED, EXIT_OK, DrivelabError
from drivelab.streams import make_console

SCHEMA = 1


def command(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE_OR_DIR...",
            help="Files of samples, or directories of them: CSV, iostat, sar, sadf, node_exporter.",
        ),
    ] = None,
    latency_unit: Annotated[
        Literal["ns", "us", "ms", "s"] | None,
        typer.Option(help="Unit of the latencies, where a file does not tell it; ratios need none."),
    ] = None,
    details: Annotated[
        bool, typer.Option("--details", help="All times and dates, and what could not be judged.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Find out which drive of many is slow, and whether it is the drive or its whole host.

    Each drive is compared with the other drives of its host at the same time
    and under the same load, and each host with the others of its cluster. It
    takes four drives in a host (of one model, where models are told), and four
    hosts; drives of hosts that have fewer are compared with those of all hosts.

    Files are read and nothing is written. CSV wants a first line that names its
    columns: time, drive and latency; host, cluster, throughput and model, too.
    Without a column for the host, the folder of a file is its host.
    What is read of which format: docs/how-to/find-a-slow-drive.md

    Raises
    ------
    DrivelabError
        U006: no file is named. I501 to I506, I508 to I512: files that cannot be read or compared.
    """
    from drivelab.analyse.fleet import judge_fleet
    from drivelab.interop.samples.read import read_samples
    from drivelab.report.sentences.fleet_odd import answer_sentence
    from drivelab.report.terminal.fleet import fleet_lines

    if not files:
        raise DrivelabError("U006", "no file is named", where="drivelab fleet odd", do="drivelab fleet odd DIR")
    samples = read_samples(files, latency_unit or "")
    answer = judge_fleet(samples.hosts)
    if as_json:
        found = {
            "schema": SCHEMA,
            "answer": answer_sentence(answer, has_cluster=True),
            "file_count": samples.file_count,
        }
        unit = "us" if samples.has_unit else None
        print(
            json.dumps(
                found
                | {"latency_unit": unit, "remarks": samples.remarks, "left_out": samples.notes}
                | answer.to_json(),
                indent=2,
            )
        )
    else:
        plain = not make_console().encoding.startswith("utf")
        print("\n".join(fleet_lines(answer, samples.notes, samples.remarks, plain=plain, has_details=details)))
    if answer.judged_drive_count or answer.hosts:
        return EXIT_OK
    print("nothing could be judged", file=sys.stderr)
    return EXIT_NOT_TRUSTED
