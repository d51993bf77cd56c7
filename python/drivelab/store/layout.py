"""Where everything lies in a run directory, and how a run is named.

The layout is the contract between running and everything after it; it is
described key by key in ``docs/data_format.md``. A name that starts with a dot
is a leftover of something half-written, and no reader looks at it.
"""

from __future__ import annotations

import os
import re
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from drivelab.model.errors import DrivelabError
from drivelab.store.remote.address import is_address, typed_path

SCHEMA = 2

RUN_JSON = "run.json"
# in place of it where a program was followed
FOLLOWED_JSON = "followed.json"
JOURNAL = "journal.jsonl"
TRIALS = "trials.parquet"
INTERVALS = "intervals.parquet"
HISTOGRAMS = "histograms.parquet"
IOS = "ios"
# of trials with a traced pass: a row per operation, a row per bio and command, and what the tracer wrote
OPERATIONS = "operations"
EVENTS = "events"
# the calls of a program that was followed
CALLS = "calls"
RECORDINGS = "recordings"
# files of other programs that a run was imported from, as they were
IMPORTED = "imported"
TABLES = (TRIALS, INTERVALS, HISTOGRAMS)
# while a run goes on: logs of trials, and segments that were made of full logs
PARTS = "parts"
# all that a run, or a program that was followed, consists of; what else lies in its directory was made of it
OF_A_RUN = (
    *(RUN_JSON, FOLLOWED_JSON, JOURNAL, *TABLES, IOS, OPERATIONS, EVENTS, RECORDINGS, IMPORTED, PARTS),
    *(f"{CALLS}.parquet", f"{EVENTS}.parquet", "recording"),
    # parts of tables in schema 1
    *(table.removesuffix(".parquet") for table in TABLES),
)


def kept_address() -> str:
    """The store elsewhere that ``$DRIVELAB_RUNS`` names; empty where it names a directory."""
    asked = os.environ.get("DRIVELAB_RUNS", "")
    return asked if is_address(asked) else ""


def default_parent() -> Path:
    """The directory that holds runs when nobody says where.

    ``$DRIVELAB_RUNS``, else ``$XDG_DATA_HOME/drivelab/runs``, else
    ``~/.local/share/drivelab/runs``.

    Raises
    ------
    DrivelabError
        S518: ``$DRIVELAB_RUNS`` is a store that runs are only read from.
    """
    if address := kept_address():
        do = "name a directory with --out DIR, and put the run into the store: drivelab push RUN --to STORE"
        raise DrivelabError("S518", f"$DRIVELAB_RUNS is {address}, where nothing is measured", do=do)
    asked = os.environ.get("DRIVELAB_RUNS")
    if asked:
        return typed_path(asked)
    data_home = os.environ.get("XDG_DATA_HOME")
    return (Path(data_home) if data_home else Path.home() / ".local" / "share") / "drivelab" / "runs"


def missing_home(directory: Path) -> str:
    """Why a directory is not to be made: it would lie in a home that does not exist; empty when it may be."""
    try:
        home = Path.home()
    except RuntimeError:
        return ""
    return f"the home directory {home} does not exist" if directory.is_relative_to(home) and not home.is_dir() else ""


def why_not_kept_in(directory: Path) -> str:
    """Why no run can be kept in a directory, which is made if it is missing; empty when one can."""
    reason = missing_home(directory)
    if reason:
        return reason
    try:
        directory.mkdir(parents=True, exist_ok=True)
        # tried, since a file system that is full or mounted read-only lets everybody believe that it can be written
        with tempfile.TemporaryFile(dir=directory):
            return ""
    except OSError as error:
        return f"{directory} cannot be written ({error.strerror})"


def run_name(experiment: str, label: str, now: datetime) -> str:
    """Name of a run directory: ``20260131T120000Z-ssd-latency-scratch-1gib``."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{slug(experiment)}-{slug(label)}"


def slug(text: str) -> str:
    """The text in lower-case letters, digits, dots and dashes, at most 60 of them."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:60].strip("-.") or "unnamed"


def ios_name(trial: str) -> str:
    """Name of the file with every I/O, operation or event of a trial."""
    return f"{trial}.parquet"


def log_name(generation: int) -> str:
    """Name of the log with the trials of a generation: ``000007.log``."""
    return f"{generation:06}.log"


def segment_name(generation: int, table: str) -> str:
    """Name of a table's segment, made of the log of that generation: ``000007.trials.parquet``."""
    return f"{generation:06}.{table}"


def failed_attempt_name(trial: str, number: int) -> str:
    """Name under which an attempt at a trial that failed is stored; `number` counts them from 1."""
    return f"{trial}.failed{number}"


def is_failed_attempt(name: str) -> bool:
    """Whether a trial of that name is an attempt that failed."""
    return re.search(r"\.failed[0-9]+$", name) is not None


def is_file_name(trial: str) -> bool:
    """Whether the name of a trial can name its files."""
    return re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,199}", trial) is not None
