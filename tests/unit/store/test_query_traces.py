"""Queries see the operations and events of traced passes, those of trials that are stored."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from drivelab.store.query import query_runs
from drivelab.store.read import open_run
from drivelab.store.write import create_run
from unit.store.made_traces import FLUSH_NS, WRITE_NS, events, operations

TRIAL, LOST = "0001-x-r1", "0002-in-flight-r1"


def test_parts_and_events_are_asked_for_as_single_ios_are(tmp_path: Path, make_trial: Callable) -> None:
    writer = create_run(tmp_path, "explain", "x", datetime.now(UTC))
    writer.write_run_json({})
    for trial in (TRIAL, LOST):
        with writer.trace_sink(trial) as sink:
            sink.keep(operations(20), events(20))
    writer.add_trial(*make_trial(TRIAL))

    def ask(query: str) -> list[tuple[Any, ...]]:
        return list(query_runs(query, [open_run(writer.directory)]).rows())

    parts = "fs_in_ns + queue_ns + device_ns + flush_ns + between_ns + return_ns"
    assert ask(
        f"select trial, count(*), max(latency_ns - ({parts})), max(flush_ns) from operations group by trial"
    ) == [(TRIAL, 20, 0, FLUSH_NS)]
    assert ask(
        "select class, count(*), max(completed_ns - issued_ns) from events where kind = 'command' group by 1 order by 1"
    ) == [("flush", 20, FLUSH_NS), ("write", 20, WRITE_NS)]
    # an event names the operation that it belongs to by its row
    joined = "select count(*) from events join (select run, trial, offset_bytes, row_number() over () - 1 as row \
        from operations) as o on events.operation_index = o.row where class = 'write' and sector * 512 = o.offset_bytes"
    assert ask(joined) == [(40,)]


def test_a_run_without_traces_has_empty_tables(tmp_path: Path, make_trial: Callable) -> None:
    writer = create_run(tmp_path, "explain", "x", datetime.now(UTC))
    writer.write_run_json({})
    writer.add_trial(*make_trial(TRIAL))
    found = query_runs(
        "select (select count(*) from operations), (select count(*) from events)", [open_run(writer.directory)]
    )
    assert list(found.rows()) == [(0, 0)]
