"""Ctrl-C ends a query, whatever it is at."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

from drivelab.store.query import query_runs
from drivelab.store.read import open_run

RUN = Path(__file__).resolve().parents[2] / "golden" / "runs" / "check-hostile-names"


@pytest.mark.alone
@pytest.mark.parametrize("is_first", [True, False], ids=["before-the-first-row", "between-rows"])
def test_ctrl_c_ends_a_query(is_first: bool) -> None:
    query = "select count(*) from range(1000000000) a, range(1000000) b where hash(a.range + b.range) = 1"
    if not is_first:
        query = f"select x from range(5000) r(x) union all ({query})"
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    # left alone it would go on for days
    with pytest.raises(KeyboardInterrupt):
        list(query_runs(query, [open_run(RUN)]).rows())
    timer.join()


def test_ctrl_c_while_duckdb_calls_python_is_no_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB takes an exception of the Python that it calls for an error in the data."""

    class Interrupting:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)
            return pa.table({"run": pa.array([], pa.string())}).__arrow_c_stream__(requested_schema)

    monkeypatch.setattr("drivelab.store.query_tables.joined_rows", lambda schema, rows: Interrupting())
    with pytest.raises(KeyboardInterrupt):
        query_runs("select count(*) from intervals", [open_run(RUN)])
