"""SQL sees what the readers see, of every kind of run, and can do nothing but read."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from counted_time import at_most_processor_s
from drivelab.model.errors import DrivelabError
from drivelab.store import compact
from drivelab.store.place import TrialPlace
from drivelab.store.query import query_runs
from drivelab.store.query_runs_table import RUN_COLUMNS
from drivelab.store.query_tables import TABLE_NAMES
from drivelab.store.read import open_run
from drivelab.store.write import RunWriter, create_run

NOW = datetime(2026, 1, 31, 12, 0, 5, tzinfo=UTC)
GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "runs"
CHECK = GOLDEN / "check-hostile-names"
SCHEMA_1 = GOLDEN.parent / "schema_1" / CHECK.name
SYNCHRONOUS = "sync-write-2300"
HOSTILE_NAMES = ("we[ird] *?{a,b}", "it's", "a\nb", "x'; drop table t; --", '"', "\\", "größe-€", "%20", "$HOME", "~")


def ask(query: str, *directories: Path, memory_bytes: int | None = None) -> list[tuple[Any, ...]]:
    answer = query_runs(query, [open_run(directory) for directory in directories], memory_bytes=memory_bytes)
    return list(answer.rows())


def refusal_of(query: str, *directories: Path, memory_bytes: int | None = None) -> DrivelabError:
    with pytest.raises(DrivelabError) as refusal:
        ask(query, *directories or (CHECK,), memory_bytes=memory_bytes)
    return refusal.value


def unfinished(directory: Path, make_trial: Callable, trials: int) -> Path:
    """A run that somebody is writing: segments, and a log."""
    writer = create_run(directory, "x", "y", NOW)
    writer.write_run_json({"experiment": {"name": "x"}, "status": "running", "plan": {"seed": 2**62}})
    for number in range(1, trials + 1):
        place = TrialPlace(step=number, asked={"filesystem": ("ext4", "xfs")[number % 2]})
        writer.add_trial(*make_trial(f"{number:04d}-x", seed=number), place=place)
    return writer.directory


@pytest.mark.parametrize("golden", sorted(path.name for path in GOLDEN.iterdir()))
@pytest.mark.parametrize("table", ["trials", "intervals", "histograms"])
def test_a_query_sees_what_the_reader_sees(golden: str, table: str) -> None:
    stored: pa.Table = getattr(open_run(GOLDEN / golden), table)
    answer = query_runs(f"select * exclude (run) from {table}", [open_run(GOLDEN / golden)])
    names = [column.name for column in answer.columns]
    assert set(names) == set(stored.column_names)
    keys = [name for name in ("trial", "interval", "operation", "latency") if name in names]
    rows = [dict(zip(names, row, strict=True)) for row in answer.rows()]
    by_key = [sorted(found, key=lambda row: [row[key] for key in keys]) for found in (rows, stored.to_pylist())]
    assert by_key[0] == by_key[1] != []


def test_single_ios_say_whose_they_are() -> None:
    run = open_run(GOLDEN / "check-directory")
    found = ask("select trial, count(*), max(total_latency_ns) from ios group by all", run.directory)
    tables = {trial: ios for trial in run.trial_names if (ios := run.ios(trial)) is not None}
    expected = [(trial, ios.num_rows, max(ios["total_latency_ns"].to_pylist())) for trial, ios in tables.items()]
    assert sorted(found) == sorted(expected) != []
    assert ask("select count(*), any_value(run) from ios", GOLDEN / "ssd-latency-scratch") == [(0, None)]


def test_single_ios_of_a_trial_that_was_not_completed_are_left_out(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "check-directory", tmp_path / "run")
    stored = ask("select distinct trial from ios order by trial", tmp_path / "run")
    path = tmp_path / "run" / "ios" / f"{SYNCHRONOUS}.parquet"
    shutil.copy(path, path.with_name("0099-in-flight.parquet"))
    shutil.copy(path, path.with_name(".0098-half-written.parquet.77"))
    assert ask("select distinct trial from ios order by trial", tmp_path / "run") == stored


def test_an_unfinished_run_answers_as_it_will_when_it_is_finished(
    tmp_path: Path, make_trial: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compact, "LOG_TRIALS_MAX", 3)
    queries = (
        "select trial, step, asked_filesystem, total_latency_ns_p50 from trials order by all",
        "select trial, interval, count, bucket, bucket_count, p99_ns from intervals order by all",
        "select * from histograms order by all",
        "select run, trial_count, failed_attempt_count, seed from runs",
    )
    directory = unfinished(tmp_path, make_trial, 11)
    assert {path.suffix for path in (directory / "parts").iterdir()} == {".log", ".parquet"}
    before = [ask(query, directory) for query in queries]
    assert [len(rows) for rows in before] == [11, 55, 11, 1]
    assert before[3] == [(directory.name, 11, 0, 2**62)]
    writer = RunWriter(directory)
    writer.finish()
    assert [ask(query, directory) for query in queries] == before


def test_failed_attempts_have_a_table_of_their_own(tmp_path: Path, make_trial: Callable) -> None:
    writer = create_run(tmp_path, "x", "y", NOW)
    writer.write_run_json({})
    writer.add_trial(*make_trial("0001-x"), place=TrialPlace(failure="it vanished"))
    writer.add_trial(*make_trial("0002-x"))
    for _ in range(2):
        assert ask("select trial, failure from trials", writer.directory) == [("0002-x", "")]
        assert ask("select trial, failure from failed_trials", writer.directory) == [("0001-x.failed1", "it vanished")]
        for table in ("intervals", "histograms"):
            assert ask(f"select distinct trial from {table}", writer.directory) == [("0002-x",)]
        assert ask("select trial_count, failed_attempt_count from runs", writer.directory) == [(1, 1)]
        writer.finish()


def test_runs_of_both_schemas_are_asked_together(tmp_path: Path, make_trial: Callable) -> None:
    new = unfinished(tmp_path, make_trial, 2)
    rows = ask(
        "select run, count(*), bool_or(is_reference), max(failure), count(asked_filesystem), count(iops)"
        " from trials group by run order by run",
        new,
        SCHEMA_1,
    )
    assert rows == [(new.name, 2, False, "", 2, 0), (SCHEMA_1.name, 3, False, "", 0, 3)]


def test_tables_are_joined_by_run_and_trial(tmp_path: Path, make_trial: Callable) -> None:
    query = "select count(*) from intervals join trials using (run, trial) join runs using (run)"
    other = GOLDEN / "ssd-latency-scratch"
    assert ask(query, CHECK, other) == [(sum(open_run(path).intervals.num_rows for path in (CHECK, other)),)]


def test_a_run_is_told_in_one_row() -> None:
    names = [column.name for column in RUN_COLUMNS]
    assert ask("select column_name from (describe runs)", CHECK) == [(name,) for name in names]
    answer = query_runs("from runs", [open_run(GOLDEN / "check-directory")])
    (row,) = answer.rows()
    told = dict(zip(names, row, strict=True))
    del told["run_json"], told["started_utc"], told["finished_utc"]
    assert told == {
        "run": "check-directory",
        "directory": str(GOLDEN / "check-directory"),
        "experiment": "check",
        "status": "complete",
        "seed": 1,
        "drivelab_version": "0.1.0",
        "command_line": None,
        "targets": "/var/lib/etcd",
        "drive_models": "SAMSUNG MZQL2480HCHQ",
        "drive_serials": "S3EV",
        "drive_firmwares": "GXA7801Q",
        "tags": {},
        "hostname": "pike",
        "fleet_host": None,
        "kernel_release": "6.12.41",
        "cpu_model": "AMD EPYC 7543",
        "outcome": "pass",
        "trial_count": 9,
        "failed_attempt_count": 0,
    }
    assert ask("select run_json->>'$.host.hostname' from runs", CHECK) == [("pike",)]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_directory_may_have_any_name(tmp_path: Path, name: str) -> None:
    shutil.copytree(GOLDEN / "check-directory", tmp_path / name)
    # what the name would match, were it a pattern
    for other in ("wei X", "wea", "a"):
        (tmp_path / other).mkdir(exist_ok=True)
    assert ask("select run, count(*) from trials group by all", tmp_path / name) == [(name, 9)]
    assert ask("select distinct run from intervals", tmp_path / name) == [(name,)]
    assert ask("select distinct run from ios", tmp_path / name) == [(name,)]


@pytest.mark.provokes("S509")
def test_a_name_that_is_no_text_is_an_error(tmp_path: Path) -> None:
    directory = tmp_path / os.fsdecode(b"caf\xe9")
    shutil.copytree(CHECK, directory)
    refusal = refusal_of("from trials", directory)
    assert refusal.code == "S509"
    assert "caf\\udce9" in refusal.where


def test_runs_of_the_same_name_are_told_apart_by_their_directory(tmp_path: Path) -> None:
    for parent in ("a", "b"):
        shutil.copytree(CHECK, tmp_path / parent / "run")
    directories = [tmp_path / parent / "run" for parent in ("a", "b")]
    assert ask("select run from runs order by run", *directories) == [(str(path),) for path in directories]
    assert ask("select count(*), count(distinct run) from trials", *directories) == [(6, 2)]


def test_a_run_that_is_named_twice_counts_once(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(CHECK)
    assert ask("select count(*) from trials", CHECK, CHECK / ".." / CHECK.name, tmp_path / "link") == [(3,)]


def test_a_run_without_trials_has_all_columns_and_no_rows(tmp_path: Path) -> None:
    writer = create_run(tmp_path, "x", "y", NOW)
    writer.write_run_json({})
    for table in TABLE_NAMES:
        assert ask(f"select count(*) from {table} where run is not null", writer.directory) == [(int(table == "runs"),)]
    assert ask("show tables", writer.directory) == [(name,) for name in sorted(TABLE_NAMES)]


def test_a_hundred_runs_are_asked_in_seconds_of_the_processor(tmp_path: Path) -> None:
    directories = [tmp_path / f"run-{number:03d}" for number in range(100)]
    for directory in directories:
        shutil.copytree(CHECK, directory)
    with at_most_processor_s(10):
        rows = ask("select count(*), count(distinct run) from trials join runs using (run)", *directories)
    assert rows == [(300, 100)]


@pytest.mark.provokes("U008")
@pytest.mark.parametrize(
    ("query", "what", "where"),
    [
        ("selec 1", 'syntax error at or near "selec"', "line 1, column 1: selec"),
        ("select 'a", "unterminated string literal", "line 1, column 8: 'a"),
        (
            "select *\nfrom tria",
            'tria does not exist! Did you mean "trials"?',
            "line 2, column 6: tria",
        ),
        ("select foo from trials", 'Referenced column "foo" not found', "line 1, column 8: foo"),
        (f"select {'1 + ' * 60} foo from trials", 'Referenced column "foo" not found', "line 1, column 249: foo"),
        ("select trial::int from trials", "Could not convert string 'sync-write-", "line 1, column"),
        ("select trial - trial from trials", "No function matches", "line 1, column 14: -"),
    ],
)
def test_a_mistake_in_a_query_says_what_and_where(query: str, what: str, where: str) -> None:
    refusal = refusal_of(query)
    assert refusal.code == "U008"
    assert what in refusal.what
    assert refusal.where.startswith(where)
    assert "show tables" in refusal.do
    assert "\n" not in refusal.what + refusal.where


@pytest.mark.provokes("U008")
@pytest.mark.parametrize(
    "query",
    [
        "",
        "-- nothing",
        "select 1; select 2",
        "copy trials to 'out.csv'",
        "copy (from trials) to 'trials.parquet'",
        "explain analyze copy (select 1) to 'out.csv'",
        "export database 'out'",
        "attach 'out.db'",
        "install httpfs",
        "load httpfs",
        "set memory_limit = '1TB'",
        "set enable_external_access = true",
        "pragma enable_profiling",
        "create table x as from trials",
        "create or replace view trials as select 1",
        "delete from stored.completed",
        "insert into runs select * from runs",
        "drop view trials",
        "call checkpoint()",
        "copy (pivot trials on trial using count(*)) to 'out.csv'",
        "from read_text('/etc/passwd')",
        "from read_blob('/proc/self/environ')",
        "from read_csv('/etc/passwd')",
        "from '/etc/passwd.csv'",
        "from glob('/etc/*')",
        "from read_parquet('*.parquet')",
        "from 'https://example.com/x.parquet'",
        "from query('copy trials to ''out.csv''')",
        "select * from variable_of_this_test",
    ],
)
def test_a_query_only_reads_the_runs(query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variable_of_this_test = pa.table({"a": [1]})
    assert variable_of_this_test.num_rows == 1
    shutil.copytree(CHECK, tmp_path / "run")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    monkeypatch.chdir(tmp_path / "run")
    assert refusal_of(query, tmp_path / "run").code == "U008"
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    "query",
    [
        "with a as (select * from trials) select count(*) from a",
        "from trials select count(*)",
        "select count(*) from (pivot trials on operation in ('write', 'read') using count(*))",
        "select count(*) from (values (1), (2), (3))",
        "-- a comment\nselect /* another */ count(*) from TRIALS",
        'select count(*) from "Trials"',
    ],
)
def test_every_way_to_write_a_select_is_understood(query: str) -> None:
    assert ask(query, CHECK) == [(3,)]


@pytest.mark.provokes("S508")
def test_a_query_that_needs_too_much_memory_is_an_error_and_fills_no_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    query = "select hash(x) as h, x::varchar || 'padding' as t from range(3000000) r(x) order by h, t"
    assert refusal_of(query, memory_bytes=50_000_000).code == "S508"
    assert list(tmp_path.iterdir()) == []


def test_rows_come_while_they_are_computed() -> None:
    answer = query_runs("select x, x::varchar from range(1000000000000) r(x)", [open_run(CHECK)])
    assert list(islice(answer.rows(), 3)) == [(0, "0"), (1, "1"), (2, "2")]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1xxxxPAR1", b"PAR1" + b"x" * 5000 + b"\xff\xff\0\0PAR1"])
@pytest.mark.parametrize("name", ["intervals.parquet", "ios/sync-write-2300.parquet"])
def test_a_damaged_file_is_an_error(tmp_path: Path, name: str, content: bytes) -> None:
    shutil.copytree(GOLDEN / "check-directory", tmp_path / "run")
    (tmp_path / "run" / name).write_bytes(content)
    refusal = refusal_of("select count(*) from intervals, ios", tmp_path / "run")
    assert refusal.code == "S506"
    # what is not asked for is not read
    assert ask("select count(*) from trials", tmp_path / "run") == [(9,)]


def test_damage_within_a_file_is_an_error(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "check-directory", tmp_path / "run")
    path = tmp_path / "run" / "intervals.parquet"
    content = bytearray(path.read_bytes())
    content[20_000:100_000] = bytes(byte ^ 0x55 for byte in content[20_000:100_000])
    path.write_bytes(content)
    query = "select sum(list_sum(bucket_count)), sum(list_sum(bucket)), max(p50_ns), sum(count) from intervals"
    assert refusal_of(query, tmp_path / "run").code == "S506"


def test_trials_are_looked_for_only_where_their_number_is_asked_for(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "check-directory", tmp_path / "run")
    (tmp_path / "run" / "trials.parquet").write_bytes(b"rubble")
    for query in ("select hostname from runs", "select hostname from (from runs) where tags['rack'] is null"):
        assert ask(query, tmp_path / "run") == [("pike",)]
    for query in (
        "from runs",
        "select runs from runs",
        "select count(trial_count) from runs",
        "select 1 from runs where failed_attempt_count = 0",
        "select max(columns('.*_count')) from runs",
    ):
        assert refusal_of(query, tmp_path / "run").code == "S506", query
        (row,) = ask(query, GOLDEN / "check-directory")
        assert row, query


def test_columns_of_an_answer_have_different_names() -> None:
    answer = query_runs("select 1 as a, 2 as a, 3 as a_1, 4 as a", [open_run(CHECK)])
    names = [column.name for column in answer.columns]
    assert len(set(names)) == 4
    assert names[:2] == ["a", "a_1"]


def merged_p99_ns(runs: Sequence[Path]) -> dict[tuple[str, str, str], float]:
    """Lower edge of the bucket of rank ceil(0.99 n) of histograms added by label: an exact, slow oracle."""
    found: dict[tuple[str, str, str], dict[int, int]] = {}
    for path in runs:
        run = open_run(path)
        labels = dict(zip(run.trial_names, run.trials["label"].to_pylist(), strict=True))
        for row in run.histograms.to_pylist():
            if row["latency"] == "total":
                counts = found.setdefault((run.name, labels[row["trial"]], row["operation"]), {})
                for bucket, count in zip(row["bucket"], row["bucket_count"], strict=True):
                    counts[bucket] = counts.get(bucket, 0) + count
    answers = {}
    for key, counts in found.items():
        rank, running = math.ceil(0.99 * sum(counts.values())), 0
        for bucket in sorted(counts):
            running += counts[bucket]
            if running >= rank:
                octave = max(bucket // 512 - 1, 0)
                answers[key] = float((bucket - 512 * octave) * 2**octave)
                break
    return answers


def test_the_documented_p99_over_repeats_is_that_of_the_added_histograms() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs/how-to/query-runs-with-sql.md").read_text()
    section = page.split("## What is the p99 over all repeats?")[1]
    query = section.split('drivelab sql "')[1].split('"\n')[0].replace("\\\n", "\n")
    runs = [GOLDEN / name for name in ("check-directory", "ssd-latency-scratch")]
    found = {(run, label, operation): p99_us * 1000 for run, label, operation, _, p99_us in ask(query, *runs)}
    assert found == pytest.approx(merged_p99_ns(runs))
    assert len(found) > 5
