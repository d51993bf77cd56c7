"""Where everything lies in a run directory, and how a run is named.

The layout is the contract between running and everything after it; it is
described key by key in ``docs/data_format.md``. A name that starts with a dot
is a leftover of something half-written, and no reader looks at it.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path

SCHEMA = 1

RUN_JSON = "run.json"
JOURNAL = "journal.jsonl"
TRIALS = "trials.parquet"
INTERVALS = "intervals.parquet"
HISTOGRAMS = "histograms.parquet"
IOS = "ios"
TABLES = (TRIALS, INTERVALS, HISTOGRAMS)


def default_parent() -> Path:
    """The directory that holds runs when nobody says where.

    ``$DRIVELAB_RUNS``, else ``$XDG_DATA_HOME/drivelab/runs``, else
    ``~/.local/share/drivelab/runs``.
    """
    asked = os.environ.get("DRIVELAB_RUNS")
    if asked:
        return Path(asked)
    data_home = os.environ.get("XDG_DATA_HOME")
    return (Path(data_home) if data_home else Path.home() / ".local" / "share") / "drivelab" / "runs"


def run_name(experiment: str, label: str, now: datetime) -> str:
    """Name of a run directory: ``20260131T120000Z-ssd-latency-scratch-1gib``."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{slug(experiment)}-{slug(label)}"


def slug(text: str) -> str:
    """The text in lower-case letters, digits, dots and dashes, at most 60 of them."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:60].strip("-.") or "unnamed"


def part_name(trial: str) -> str:
    """File name of one trial's part of a table."""
    return f"{trial}.parquet"


def parts_folder(table: str) -> str:
    """Name of the folder with a table's parts, while its run goes on."""
    return table.removesuffix(".parquet")


def is_file_name(trial: str) -> bool:
    """Whether the name of a trial can name its files."""
    return re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,199}", trial) is not None
