"""The command ``drivelab fleet``: which of many drives is slow, by the monitoring data of their hosts."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from drivelab.model.errors import EXIT_NOT_TRUSTED, EXIT_OK, DrivelabError
from drivelab.streams import make_console

SCHEMA = 1
QUESTION = "odd"


def command(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="odd FILE_OR_DIR...",
            help="Files of samples, or directories of them: CSV, iostat, sar, sadf, node_exporter.",
        ),
    ],
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
    hosts; what has fewer cannot be judged.

    Files are read and nothing is written. CSV wants a first line that names its
    columns: time, drive and latency; host, cluster, throughput and model, too.
    Without a column for the host, the folder of a file is its host.
    What is read of which format: docs/how-to/find-a-slow-drive.md

    Raises
    ------
    DrivelabError
        U006: no question, or no file. I501 to I506, I508 to I512: files that cannot be read or compared.
    """
    from drivelab.analyse.fleet import judge_fleet
    from drivelab.interop.samples.read import read_samples
    from drivelab.report.terminal.fleet import answer_sentence, fleet_lines

    samples = read_samples(split_words(words), latency_unit or "")
    answer = judge_fleet(samples.hosts)
    if as_json:
        found = {
            "schema": SCHEMA,
            "answer": answer_sentence(answer, has_cluster=True),
            "file_count": samples.file_count,
        }
        unit = "us" if samples.has_unit else None
        print(json.dumps(found | {"latency_unit": unit, "left_out": samples.notes} | answer.to_json(), indent=2))
    else:
        plain = not make_console().encoding.startswith("utf")
        print("\n".join(fleet_lines(answer, samples.notes, plain=plain, has_details=details)))
    if answer.judged_drive_count or answer.hosts:
        return EXIT_OK
    print("nothing could be judged", file=sys.stderr)
    return EXIT_NOT_TRUSTED


def split_words(words: Sequence[str]) -> list[Path]:
    """The files and directories behind the question.

    Raises
    ------
    DrivelabError
        U006: another question, or no file.
    """
    if words[0] != QUESTION:
        what = f"'{words[0]}' is no question to a fleet: there is 'odd', which drive is slow"
        raise DrivelabError("U006", what, where="drivelab fleet", do=f"drivelab fleet odd {words[0]}")
    if len(words) == 1:
        raise DrivelabError("U006", "no file is named", where="drivelab fleet", do="drivelab fleet odd DIR")
    return [Path(word) for word in words[1:]]
