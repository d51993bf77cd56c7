"""What was recorded of a program that was followed, in a directory beside the runs: written, found and read again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from drivelab.model.errors import DrivelabError
from drivelab.model.system_calls import FILE_UNKNOWN
from drivelab.model.trace import OPERATION_NAMES, TraceConduct
from drivelab.store import layout
from drivelab.store.durable import write_json
from drivelab.store.parts import read_parquet
from drivelab.store.regular_file import read_regular
from drivelab.store.remote.bring import bring, place_of
from drivelab.store.run_record import RunRecord

SCHEMA = 1
RECORDING = "recording"
CALLS, EVENTS = f"{layout.CALLS}.parquet", f"{layout.EVENTS}.parquet"
NAME = "followed"
_RECORD_BYTES_MAX = 64 * 2**20


@dataclass(frozen=True, slots=True)
class FollowedFile:
    """A file that a followed program had open.

    Attributes
    ----------
    size_bytes : int
        When its first call came, as far as it could be looked at.
    inodes : int
        How many files had that name one after the other.
    """

    size_bytes: int
    kind: str = "file"
    inodes: int = 1


@dataclass(frozen=True, slots=True)
class FollowedRecord:
    """What is known of a program that was followed, beside its calls and the commands of the disk.

    Attributes
    ----------
    program, disk : str
        What it is called, and the kernel name of the disk that was traced.
    target : mapping
        Facts about the place of its files, as `TargetFacts.to_json` gives them.
    started_utc, typed : str
        When it was begun, and by which command.
    duration_ns, processor_wait_ns : int
        How long it was followed, and how long its threads were ready to run without a processor meanwhile.
    conduct : TraceConduct
        How the trace was taken, and whether it is whole.
    threads : tuple of int
        All threads of the program that were seen.
    names : mapping of int to str
        By thread its name.
    left_out : mapping of str to int
        Calls that do not count, by the reason.
    lost_events, unpaired_calls : int
        Events of calls that were lost, and calls without their entry or return.
    calls_trace : mapping
        All counts of the trace of calls.
    command_status : int or None
        How a command that was started for it ended.
    answer : str
        What it came to, in one sentence.
    files : mapping of str to FollowedFile
        By name; empty where an older drivelab followed it.
    parents : mapping of int to int
        By thread that was started meanwhile the one that started it.
    of_unknown_files : mapping of str to int
        By name of the call how many were left out because nobody knows their file; empty where an older drivelab
        followed it.
    elsewhere_ns, elsewhere_path : int, str
        How long calls on files of that other disk took that had most of such time, and the file with most of it.
    layer_above : mapping of str to str
        By ``major:minor`` of what lies below a layer the title of that layer; empty where an older drivelab
        followed it.
    """

    program: str
    disk: str
    target: Mapping[str, Any]
    started_utc: str
    typed: str
    duration_ns: int
    processor_wait_ns: int
    conduct: TraceConduct
    threads: tuple[int, ...]
    names: Mapping[int, str]
    left_out: Mapping[str, int]
    lost_events: int
    unpaired_calls: int
    calls_trace: Mapping[str, Any] = field(default_factory=dict)
    command_status: int | None = None
    answer: str = ""
    files: Mapping[str, FollowedFile] = field(default_factory=dict)
    parents: Mapping[int, int] = field(default_factory=dict)
    of_unknown_files: Mapping[str, int] = field(default_factory=dict)
    elsewhere_ns: int = 0
    elsewhere_path: str = ""
    layer_above: Mapping[str, str] = field(default_factory=dict)


_RECORDS = TypeAdapter(FollowedRecord)
# what an older drivelab called a reason to leave calls out
_REASONS_BEFORE = {"reads and writes of what was closed before it was seen": FILE_UNKNOWN}


@dataclass(frozen=True, slots=True)
class StoredFollowed:
    """A followed program as it lies on disk.

    Attributes
    ----------
    record : FollowedRecord
        Everything but the tables.
    """

    directory: Path
    record: FollowedRecord

    @property
    def as_run(self) -> RunRecord:
        """What a list of runs tells of it."""
        target = {"label": str(self.record.target.get("path", "")), "facts_before": self.record.target}
        return RunRecord(
            status="complete",
            started_utc=self.record.started_utc,
            command_line=self.record.typed,
            experiment={"name": NAME},
            targets=(target,),
            answer=self.record.answer,
        )

    @property
    def recording(self) -> Path:
        """The commands of the disk as the kernel told them, in blktrace's files."""
        bring([self.directory], RECORDING)
        return self.directory / RECORDING

    def calls(self) -> pa.Table:
        """One row per call: those of an operation of a traced trial, then call, process and file."""
        return _read(self.directory / CALLS, layout.CALLS)

    def events(self) -> pa.Table:
        """One row per bio and per command."""
        return _read(self.directory / EVENTS, layout.EVENTS)


def create_followed(parent: Path, program: str, now: datetime) -> Path:
    """A new, empty directory ``<utc>-followed-<program>`` in `parent`.

    Raises
    ------
    DrivelabError
        R434: it cannot be made.
    """
    name = layout.run_name(NAME, program, now)
    try:
        parent.mkdir(parents=True, exist_ok=True)
        for attempt in range(100):
            directory = parent / (f"{name}-{attempt + 1}" if attempt else name)
            try:
                directory.mkdir()
            except FileExistsError:
                continue
            return directory
    except OSError as error:
        raise DrivelabError("R434", f"no directory can be made: {error.strerror}", where=str(parent)) from error
    raise DrivelabError("R434", f"a hundred directories are called {name}", where=str(parent))


def write_followed(directory: Path, record: FollowedRecord, calls: pa.Table, events: pa.Table) -> StoredFollowed:
    """Keep what was found out; the record is written last, and says that all is there.

    Raises
    ------
    DrivelabError
        R434: it cannot be kept.
    """
    try:
        pq.write_table(calls, directory / CALLS)
        pq.write_table(events, directory / EVENTS)
    except OSError as error:
        raise DrivelabError("R434", f"the calls cannot be kept: {error.strerror}", where=str(directory)) from error
    write_json(directory / layout.FOLLOWED_JSON, {"schema": SCHEMA, **_RECORDS.dump_python(record, mode="json")})
    return StoredFollowed(directory, record)


def holds_followed(directory: Path) -> bool:
    """Whether a directory holds a followed program."""
    return (directory / layout.FOLLOWED_JSON).is_file()


def open_followed(directory: Path) -> StoredFollowed:
    """The followed program in a directory.

    Raises
    ------
    DrivelabError
        S505: written by a newer drivelab. S506: its followed.json cannot be read.
    """
    file = directory / layout.FOLLOWED_JSON
    try:
        content, _ = read_regular(file, bytes_max=_RECORD_BYTES_MAX)
        document = json.loads(content.decode("utf-8"))
        if document["schema"] > SCHEMA:
            what = f"it is stored in schema {document['schema']}, and this drivelab reads schemas up to {SCHEMA}"
            raise DrivelabError("S505", what, where=place_of(directory))
        record = _RECORDS.validate_python(document)
        left_out = {_REASONS_BEFORE.get(reason, reason): count for reason, count in record.left_out.items()}
        return StoredFollowed(directory, replace(record, left_out=left_out))
    except OSError as error:
        raise DrivelabError("S506", f"it cannot be read: {error.strerror}", where=place_of(file)) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DrivelabError("S506", "it cannot be understood", where=place_of(file)) from error


def named_by_durability(calls: pa.Table) -> pa.Table:
    """The same with writes that are durable when they return called so: they wait for the drive, and others do not."""
    is_durable = pc.equal(calls["operation"], OPERATION_NAMES.index("durable_write"))
    names = pc.if_else(is_durable, pc.binary_join_element_wise("durable", calls["call"], " "), calls["call"])
    return calls.set_column(calls.column_names.index("call"), "call", names)


def _read(file: Path, table: str) -> pa.Table:
    bring([file.parent], file.name)
    try:
        return read_parquet(file, table)
    except FileNotFoundError:
        raise DrivelabError("S506", f"{file.name} is missing", where=place_of(file)) from None
