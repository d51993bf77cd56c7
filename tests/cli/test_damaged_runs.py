"""A run directory that was damaged, or made by somebody else, is told of with its place; nothing is waited for."""

from __future__ import annotations

import copy
import csv
import io
import json
import os
import random
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from drivelab.cli.main import run as run_command
from drivelab.store import parquet_read
from drivelab.store.columns import INTERVAL_COLUMNS, arrow_schema
from drivelab.store.read import open_run

RUNS = Path(__file__).resolve().parents[1] / "golden" / "runs"
# small ones: of a check, of an experiment without a plan, and of one with a plan
SMALL = [RUNS / name for name in ("check-hostile-names", "ssd-latency-scratch", "fill-level-drive")]
RUN_JSON_CASES, CELL_CASES, BYTE_CASES = (200, 70, 70) if os.environ.get("DRIVELAB_PROVE") else (80, 35, 35)
VALUES = [None, 0, -1, 1.5, 2**31, 10**30, "", "x", "../../x", [], ["x"], [None], {}, {"a": 1}, True, float("nan")]
JSON_COLUMNS = [f"{name}_json" for name in ("workload", "engine", "devices", "context", "estimates", "findings")]
Report = Callable[[Path], tuple[int, str]]


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Report:
    """Exit status and stderr of ``drivelab report``, which must know what to say."""

    def call(run: Path, *options: str) -> tuple[int, str]:
        status = run_command(["report", str(run), "--format", "json", "--out", str(tmp_path / "out.json"), *options])
        said = capsys.readouterr().err
        assert "bug" not in said, said
        assert "Traceback" not in said, said
        assert status == 0 or "error[" in said
        return status, said

    return call


def copied(run: Path, folder: Path) -> Path:
    target = folder / run.name
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(run, target)
    return target


def places_in(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, held in items:
        yield (*above, key)
        yield from places_in(held, (*above, key))


def changed(document: Any, generator: random.Random) -> tuple[Any, tuple[Any, ...]]:
    """The document with one value changed or removed, and what was done."""
    document = copy.deepcopy(document)
    everywhere = list(places_in(document))
    if not everywhere:
        return generator.choice(VALUES), ("all of it",)
    at = generator.choice(everywhere)
    holder = document
    for key in at[:-1]:
        holder = holder[key]
    if generator.random() < 0.3:
        del holder[at[-1]]
        return document, (*at, "removed")
    holder[at[-1]] = generator.choice(VALUES)
    return document, (*at, holder[at[-1]])


def test_whatever_stands_in_run_json_the_report_knows_what_to_say(report: Report, tmp_path: Path) -> None:
    generator, refused = random.Random(1), 0
    originals = [(copied(run, tmp_path), json.loads((run / "run.json").read_text())) for run in SMALL]
    for _ in range(RUN_JSON_CASES):
        run, document = generator.choice(originals)
        found, change = changed(document, generator)
        (run / "run.json").write_text(json.dumps(found))
        try:
            refused += report(run)[0] != 0
        except AssertionError as error:
            raise AssertionError(f"{run.name}: {change}") from error
    assert refused > RUN_JSON_CASES // 4


def test_whatever_stands_in_cells_the_report_knows_what_to_say(report: Report, tmp_path: Path) -> None:
    generator, refused = random.Random(2), 0
    for _ in range(CELL_CASES):
        run = copied(generator.choice(SMALL), tmp_path)
        rows = pq.read_table(run / "trials.parquet")
        column, number = generator.choice(JSON_COLUMNS), generator.randrange(rows.num_rows)
        texts = rows[column].to_pylist()
        found, change = changed(json.loads(texts[number]), generator)
        texts[number] = generator.choice(["", "nope", "[", None]) if generator.random() < 0.1 else json.dumps(found)
        rows = rows.set_column(rows.column_names.index(column), column, pa.array(texts, pa.string()))
        pq.write_table(rows, run / "trials.parquet")
        try:
            refused += report(run)[0] != 0
        except AssertionError as error:
            raise AssertionError(f"{run.name}, {column}: {change}") from error
    assert refused > CELL_CASES // 4


def test_whatever_bytes_are_damaged_the_report_knows_what_to_say(report: Report, tmp_path: Path) -> None:
    generator, refused = random.Random(3), 0
    for _ in range(BYTE_CASES):
        run = copied(SMALL[1], tmp_path)
        file = run / f"{generator.choice(['trials', 'intervals', 'histograms'])}.parquet"
        content = bytearray(file.read_bytes())
        # the end of a file tells how all the rest is read
        begin = generator.choice([0, len(content) * 3 // 4])
        content[generator.randrange(begin, len(content))] = generator.randrange(256)
        file.write_bytes(content)
        refused += report(run)[0] != 0
    assert refused > BYTE_CASES // 4


@pytest.mark.provokes("S506")
@pytest.mark.parametrize(
    ("column", "values", "why"),
    [
        ("trial", pa.array([None] * 3, pa.string()), "its column trial has gaps"),
        ("step", pa.array(["1"] * 3), "no column step of type int32"),
        ("findings_json", pa.array([1, 2, 3]), "no column findings_json of type string"),
        ("asked_x", pa.array([1, 2, 3]), "column 'asked_x' is not of type string"),
        ("iops", pa.array(["x"] * 3), "column 'iops' is not of type double"),
    ],
)
def test_columns_are_those_that_are_described(
    report: Report, tmp_path: Path, column: str, values: pa.Array, why: str
) -> None:
    run = copied(SMALL[0], tmp_path)
    rows = pq.read_table(run / "trials.parquet")
    place = rows.schema.get_field_index(column)
    field = pa.field(column, values.type)
    rows = rows.append_column(field, values) if place < 0 else rows.set_column(place, field, values)
    pq.write_table(rows, run / "trials.parquet")
    status, said = report(run)
    assert status == 1
    assert why in said


def test_half_a_character_in_a_text_is_damage(report: Report, tmp_path: Path) -> None:
    run = copied(SMALL[0], tmp_path)
    rows = pq.read_table(run / "trials.parquet")
    damaged = pa.array([b"\xff\xfe"] * rows.num_rows, pa.binary()).view(pa.string())
    pq.write_table(rows.set_column(rows.column_names.index("label"), "label", damaged), run / "trials.parquet")
    status, said = report(run)
    assert status == 1
    assert "error[S506]" in said


@pytest.mark.parametrize("bucket", [[2**32 - 1], [5, 6]], ids=["beyond all buckets", "without a count"])
def test_a_histogram_that_is_none_is_damage(report: Report, tmp_path: Path, bucket: list[int]) -> None:
    run = copied(SMALL[0], tmp_path)
    rows = pq.read_table(run / "histograms.parquet")
    buckets = rows["bucket"].to_pylist()
    counts = rows["bucket_count"].to_pylist()
    buckets[0], counts[0] = bucket, [1]
    for name, values in (("bucket", buckets), ("bucket_count", counts)):
        rows = rows.set_column(
            rows.column_names.index(name), rows.schema.field(name), pa.array(values, rows.schema.field(name).type)
        )
    pq.write_table(rows, run / "histograms.parquet")
    status, said = report(run)
    assert status == 1
    assert "a histogram in it" in said


@pytest.mark.provokes("S504")
def test_nobody_waits_for_a_pipe_or_reads_without_end(report: Report, tmp_path: Path) -> None:
    pipe, endless = tmp_path / "pipe", tmp_path / "endless"
    pipe.mkdir()
    os.mkfifo(pipe / "run.json")
    endless.mkdir()
    (endless / "run.json").symlink_to("/dev/zero")
    for run, kind in ((pipe, "a pipe"), (endless, "a character device")):
        status, said = report(run)
        assert status == 2
        assert "error[S504]" in said
        assert f"it is {kind}, and no regular file" in said


@pytest.mark.parametrize("name", ["trials.parquet", "intervals.parquet", "parts/000001.log", "ios/0001-x.parquet"])
def test_nobody_waits_for_a_pipe_in_place_of_a_table(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = copied(SMALL[0], tmp_path)
    (run / name).unlink(missing_ok=True)
    (run / name).parent.mkdir(exist_ok=True)
    os.mkfifo(run / name)
    for query in ("select count(*) from trials", "select count(*) from intervals", "select count(*) from ios"):
        run_command(["sql", query, str(run)])
    said = capsys.readouterr().err
    assert "bug" not in said
    assert ("it is a pipe" in said) is not name.startswith("ios")


def test_a_trial_has_the_name_of_a_file(report: Report, tmp_path: Path) -> None:
    run = copied(SMALL[0], tmp_path)
    rows = pq.read_table(run / "trials.parquet")
    names = pa.array(["../../x", "a\0b", "c"])
    pq.write_table(rows.set_column(rows.column_names.index("trial"), "trial", names), run / "trials.parquet")
    status, said = report(run)
    assert status == 1
    assert "'../../x' cannot name a trial" in said


def test_a_run_json_may_be_deep_or_long_but_is_not_followed(report: Report, tmp_path: Path) -> None:
    deep, long = tmp_path / "deep", tmp_path / "long"
    deep.mkdir()
    (deep / "run.json").write_text('{"schema": 1, "x": ' + "[" * 100_000 + "]" * 100_000 + "}")
    assert "it is nested too deep" in report(deep)[1]
    long.mkdir()
    with (long / "run.json").open("wb") as file:
        file.truncate(65 * 2**20)
    assert "it is larger than 65536 KiB" in report(long)[1]


@pytest.mark.provokes("P701")
@pytest.mark.provokes("P702")
@pytest.mark.parametrize("kind", ["pipe", "device", "deep", "dotted", "long"])
def test_an_experiment_file_is_read_with_bounds(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "deep").write_text("a = " + "[" * 50_000)
    (tmp_path / "dotted").write_text(".".join("a" * 100_000) + " = 1")
    (tmp_path / "long").write_text("#" * 300_000)
    (tmp_path / "device").symlink_to("/dev/zero")
    assert run_command(["plan", f"./{kind}", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    words = {
        "pipe": "it is a pipe",
        "device": "it is a character device",
        "deep": "nested too deep",
        "dotted": "a key has more than 32 parts",
        "long": "it is larger than 256 KiB",
    }
    assert words[kind] in said
    assert ("error[P702]" if kind in ("deep", "dotted") else "error[P701]") in said


ROWS_OF_ONE_VALUE = 8_000_000
MEMORY_LIMIT_BYTES = 2 * 2**30


def test_a_small_file_does_not_unfold_to_any_size(tmp_path: Path) -> None:
    run = copied(SMALL[0], tmp_path)
    unfolding(run / "intervals.parquet", open_run(run).trial_names[0])
    answer = limited_report(run)
    assert answer.returncode == 1, answer.stderr
    assert "error[S506] intervals.parquet unfolds to" in answer.stderr


def test_a_long_text_that_many_rows_share_does_not_unfold_either(tmp_path: Path) -> None:
    run = copied(SMALL[0], tmp_path)
    unfolding(run / "intervals.parquet", "x" * 100_000, rows=60_000)
    answer = limited_report(run)
    assert answer.returncode == 1, answer.stderr
    assert "error[S506] intervals.parquet unfolds to" in answer.stderr


def unfolding(path: Path, trial: str, *, rows: int = ROWS_OF_ONE_VALUE) -> None:
    """Write a table of intervals that is small as a file, and large in memory."""
    schema = arrow_schema(INTERVAL_COLUMNS)
    columns = []
    for field in schema:
        if pa.types.is_list(field.type):
            offsets = pa.array(np.zeros(rows + 1, np.int32))
            columns.append(pa.ListArray.from_arrays(offsets, pa.array([], field.type.value_type)))
        elif pa.types.is_string(field.type):
            text = trial if field.name == "trial" else "write"
            columns.append(pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([text])))
        else:
            columns.append(pa.array(np.zeros(rows)).cast(field.type))
    table = pa.table(dict(zip(schema.names, columns, strict=True)))
    pq.write_table(table, path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 2 * 2**20


def limited_report(run: Path) -> subprocess.CompletedProcess[str]:
    """``drivelab report`` in a process that may not take much memory."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))

    command = [sys.executable, "-m", "drivelab", "report", str(run), "--format", "json", "--out", "-"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, env=environment, timeout=120)


def test_what_fits_is_read_although_it_unfolds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = copied(SMALL[0], tmp_path)
    path = run / "intervals.parquet"
    expected = parquet_read.BoundedParquet(path, "intervals.parquet").rows()
    # so little that every text is looked at before it is unfolded
    monkeypatch.setattr(parquet_read, "_room_bytes", lambda: 4 * expected.nbytes)
    assert parquet_read.BoundedParquet(path, "intervals.parquet").rows().equals(expected)


def test_the_name_of_a_run_is_no_pattern(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [copied(SMALL[0], tmp_path).rename(tmp_path / name) for name in ("r*", "r[1]", "r1", "r?")]
    query = "select run, count(*) from trials group by run order by run"
    for asked in ([runs[0]], [runs[1]], runs):
        assert run_command(["sql", "--csv", query, *map(str, asked)]) == 0
        rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))[1:]
        assert rows == sorted([run.name, "3"] for run in asked)


def test_no_cell_of_csv_is_a_formula(capsys: pytest.CaptureFixture[str]) -> None:
    query = "select '=cmd|calc' as \"=name\", '@x' as a, -5 as n, 'plain' as p, null as z, ['=x'] as l"
    assert run_command(["sql", "--csv", query, str(SMALL[0])]) == 0
    names, values = csv.reader(io.StringIO(capsys.readouterr().out))
    assert names == ["'=name", "a", "n", "p", "z", "l"]
    assert values == ["'=cmd|calc", "'@x", "-5", "plain", "", '["=x"]']
