"""A program that was followed stays: it is listed, explained, reported and exported again."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from drivelab.cli import main
from drivelab.model.trace import PARTS
from kept_program import NAME, keep_program


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place with a run, and a program that was followed after it."""
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    return keep_program(tmp_path / "runs")


def told(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert main.run([*arguments]) == status
    return capsys.readouterr().out


def test_it_is_listed_among_the_runs_with_its_answer_and_by_its_place(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head, newest, *_, oldest, last = told(capsys, "runs").splitlines()
    assert newest[head.index("drive") :].startswith("/srv/data")
    assert newest[head.index("answer") :].startswith("python3's 40 ")
    assert newest.startswith("1  ")
    assert oldest[head.index("experiment") :].startswith("check ")
    assert last == "to see one: drivelab report 1"
    assert [one["run"] for one in json.loads(told(capsys, "runs", "/srv/data", "--json"))["runs"]] == [NAME]


@pytest.mark.parametrize("name", [NAME, "LAST", "1"])
def test_it_is_explained_again_in_the_words_of_its_list(
    kept: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    answer = json.loads((kept / "followed.json").read_text())["answer"]
    found = json.loads(told(capsys, "explain", name, "--json"))
    assert found["answer"] == answer
    assert found["report"] is None
    calls = {one["call"]: one["count"] for one in found["calls"]}
    rows = pq.read_table(kept / "calls.parquet")
    assert calls == {call: rows["call"].to_pylist().count(call) for call in set(rows["call"].to_pylist())}


def test_another_bound_is_asked_about_later_and_details_tell_every_slow_call(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    latencies = pq.read_table(kept / "calls.parquet")["latency_ns"].to_numpy()
    slow = int((latencies > 300_000).sum())
    text = " ".join(told(capsys, "explain", NAME, "--over", "300us").split())
    assert text.startswith(f"{slow} of {latencies.size} calls took longer than 300 us")
    assert f"Of these, python3's {slow} fdatasync calls (100 % of their time) took" in text
    assert re.search(rf"fdatasync +{slow} ", text)
    assert not re.search(r"\bwrite +\d", text)
    assert text.count("at the drive meanwhile") == 3
    found = json.loads(told(capsys, "explain", NAME, "--over", "300us", "--json"))
    assert [(one["call"], one["count"]) for one in found["calls"]] == [("fdatasync", slow)]
    assert len(found["slowest"]) == min(20, slow)
    (kind,) = found["explanations"]
    assert kind["operations"] == slow
    none = told(capsys, "explain", NAME, "--over", "1h")
    first = rf"0 of {latencies.size} calls took longer than 3 600 s; the slowest, of fdatasync, took [\d.]+ ms\."
    assert re.match(first, " ".join(none.split()))
    assert "\n\n\n" not in none
    told(capsys, "report", NAME)
    whole = " ".join(told(capsys, "explain", NAME, "--details").split())
    assert whole.count("at the drive meanwhile") == 20


def test_what_the_drive_did_is_told_of_the_calls_that_the_answer_is_about_and_of_no_others(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = " ".join(told(capsys, "explain", NAME).split())
    assert re.search(r"python3's 40 fdatasync calls .* Each fdatasync made the drive do .*? flush", whole)
    rows = pq.read_table(kept / "calls.parquet").to_pylist()
    for row in rows:
        if row["call"] == "write":
            # from memory, and so long that the program is about them
            row |= {"call": "pread64", "operation": 0, "latency_ns": 10**9, "fs_in_ns": 10**9}
    pq.write_table(pa.Table.from_pylist(rows, pq.read_schema(kept / "calls.parquet")), kept / "calls.parquet")
    whole = " ".join(told(capsys, "explain", NAME).split())
    assert whole.startswith("python3's 40 pread64 calls")
    assert "made the drive do" not in whole


def test_calls_of_unknown_files_are_told_in_the_answer_and_a_few_of_them_in_the_details_only(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = " ".join(told(capsys, "explain", NAME).split())
    reason = "whose file could not be told, since it was closed or its thread had ended before that was looked up"
    assert f"That is not all of its I/O: 29 % of the calls are reads and writes {reason}." in whole
    record = json.loads((kept / "followed.json").read_text())
    (old,) = record["left_out"]
    record |= {"left_out": {old: 100}, "of_unknown_files": {"write": 60, "read": 40}}
    (kept / "followed.json").write_text(json.dumps(record))
    (row,) = [line for line in told(capsys, "explain", NAME).splitlines() if line.startswith("write ")]
    assert re.match(r"write +40 of 100 +unknown +unknown +(>=|≥) 33.2 us", row)
    whole = " ".join(told(capsys, "explain", NAME).split())
    assert "Those whose file could not be told: 60 write, 40 read." in whole
    # as few as the loader makes beside many of the program's own
    rows = pq.read_table(kept / "calls.parquet")
    pq.write_table(pa.concat_tables([rows] * 150), kept / "calls.parquet")
    assert "could not be told" not in " ".join(told(capsys, "explain", NAME).split())
    assert f"100 reads and writes {reason}" in " ".join(told(capsys, "explain", NAME, "--details").split())


@pytest.mark.parametrize(
    ("trace", "lost", "words", "rate"),
    [
        ({"source": "BPF", "recorded": 300}, 100, "Of the 75 % of calls that were recorded, python3's 40 ", 597),
        ({"source": "trace events", "recorded": 300}, 200, "Of the 75 % of calls that were recorded, python3's", 597),
        ({"source": "BPF", "recorded": 10**6}, 1, "Of the 99 % of calls that were recorded, python3's 40 ", 597),
        ({"source": "BPF", "recorded": 1}, 10**6, "Of the less than 1 % of calls that were recorded, p", 597),
        (
            {"source": "BPF", "recorded": 3, "recorded_until_ns": 40_000_000},
            1,
            "Of the 75 % of calls that were recorded, until 40.0 ms of 67.0 ms, python3's 40 fdatasync",
            1000,
        ),
        # one of an older drivelab: of 80 calls and 32 that were left out
        ({}, 224, "Of the 50 % of calls that were recorded, python3's 40 ", 597),
    ],
)
def test_an_answer_begins_with_the_share_of_calls_that_it_is_about(
    kept: Path, capsys: pytest.CaptureFixture[str], trace: dict[str, Any], lost: int, words: str, rate: int
) -> None:
    file = kept / "followed.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"calls_trace": trace, "lost_events": lost}))
    text = told(capsys, "explain", NAME).replace("\u00a0", " ").replace("\u202f", " ")
    assert " ".join(text.split()).startswith(words)
    assert re.search("^call +calls recorded ", text, re.M)
    found = json.loads(told(capsys, "explain", NAME, "--json"))
    assert found["recorded_share"] < 1
    assert {round(one["per_second"]) for one in found["calls"]} == {rate}


def test_two_are_explained_beside_each_other(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = kept.parent / "20260104T000000Z-followed-python3"
    shutil.copytree(kept, other)
    rows = pq.read_table(kept / "calls.parquet")
    slower = rows.set_column(
        rows.column_names.index("latency_ns"), rows.schema.field("latency_ns"), pc.add(rows["latency_ns"], 100_000)
    )
    waited = pc.add(slower["queue_ns"], 100_000)
    slower = slower.set_column(rows.column_names.index("queue_ns"), rows.schema.field("queue_ns"), waited)
    pq.write_table(slower, other / "calls.parquet")
    found = json.loads(told(capsys, "explain", NAME, other.name, "--json"))
    # its writes take hardly any time in one, and more in the other
    assert [one["operation"] for one in found["differences"]] == ["sync", "write"]
    sync = {one["part"]: one["difference_ns"]["value"] for one in found["differences"][0]["parts"]}
    assert sync["total"] == sync["queue"] == pytest.approx(100_000)
    assert sync["device"] == sync["flush"] == 0
    text = told(capsys, "explain", NAME, other.name)
    first = " ".join(text.split())
    assert re.match(
        rf"A sync call takes 441 us on average \({other.name}\), \+100 us \(-[\d.]+ us to \+[\d.]+ us, may be chance\) "
        rf"beside {NAME}: the queue is longer, \+100 us \(\+[\d.]+ us to \+[\d.]+ us\)\.",
        first,
    )
    assert "The intervals are made of single calls" in first
    assert "repeats" not in first
    assert {one["units"] for one in found["differences"]} == {"calls"}
    lossy = json.loads((other / "followed.json").read_text())
    lossy["conduct"]["lost_events"] = 3
    (other / "followed.json").write_text(json.dumps(lossy))
    assert main.run(["explain", NAME, other.name]) == 2
    error = capsys.readouterr().err
    assert "error[U022]" in error
    assert "have no kind of call in common whose traces are whole" in error


def test_two_without_a_kind_of_call_in_common_are_told_by_the_calls_that_each_has(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = kept.parent / "20260104T000000Z-followed-python3"
    shutil.copytree(kept, other)
    rows = pq.read_table(kept / "calls.parquet")
    kept_rows = {call: rows.filter(pc.equal(rows["call"], call)) for call in ("write", "fdatasync")}
    pq.write_table(kept_rows["write"], kept / "calls.parquet")
    pq.write_table(kept_rows["fdatasync"], other / "calls.parquet")
    assert main.run(["explain", NAME, other.name]) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert f"{NAME} has write calls and {other.name} has fdatasync calls: no kind of call is in both" in error
    assert "whole" not in error


def test_its_report_comes_in_every_format(kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "report", NAME) == f"{kept / 'report.html'}\n"
    assert "fdatasync" in (kept / "report.html").read_text()
    assert told(capsys, "report", "LAST", "--format", "markdown", "--figures", "none").startswith("# Where does the")
    assert told(capsys, "report", NAME, "--text").startswith("python3's 40 fdatasync calls (98 % of its")
    written = json.loads(told(capsys, "report", NAME, "--out", str(tmp_path / "tables"), "--format", "csv", "--json"))
    assert (written["run"], len(written["files"])) == (str(kept), 7)
    assert (tmp_path / "tables" / "table-followed-calls.csv").read_text().count("\n") == 3
    (slowest, *_) = csv.DictReader((tmp_path / "tables" / "table-slowest-calls.csv").read_text().splitlines())
    of_all = pq.read_table(kept / "calls.parquet")["latency_ns"]
    assert (slowest["file"], int(slowest["latency_ns"])) == ("/srv/data/wal", pc.max(of_all).as_py())


def test_its_csv_has_plain_numbers_with_their_unit_in_the_head(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calls = json.loads(told(capsys, "explain", NAME, "--json"))["calls"]
    for arguments in (("export", "csv", NAME), ("report", NAME, "--format", "csv")):
        rows = list(csv.DictReader(told(capsys, *arguments).splitlines()))
        assert [row["call"] for row in rows] == [call["call"] for call in calls]
        for row, call in zip(rows, calls, strict=True):
            numbers = {name: float(text) if text else None for name, text in row.items() if name != "call"}
            assert numbers == {
                **{name: value for name, value in call.items() if name in numbers},
                **dict.fromkeys(
                    (name for name in numbers if name.removesuffix("_ns") in PARTS or name == "layers_ns"), 0
                ),
                **{f"{part}_ns": time for part, time in call["parts_ns"].items()},
            }


def test_what_is_not_known_is_an_empty_cell(kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = json.loads((kept / "followed.json").read_text())
    record["of_unknown_files"] = {"write": 121}
    rows = pq.read_table(kept / "calls.parquet")
    pq.write_table(pa.concat_tables([rows] * 3), kept / "calls.parquet")
    record["conduct"]["lost_events"] = 3
    (kept / "followed.json").write_text(json.dumps(record))
    told(capsys, "export", "csv", NAME, "--out", str(tmp_path / "calls.csv"))
    rows = {row["call"]: row for row in csv.DictReader((tmp_path / "calls.csv").read_text().splitlines())}
    assert [bool(rows[call]["p99_ns"]) for call in ("fdatasync", "write")] == [True, False]
    assert {row["device_ns"] for row in rows.values()} == {""}


def test_its_calls_are_slices_of_a_trace_by_name_and_file(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "export", "perfetto", NAME) == f"{kept / 'trace.pftrace'}\n"
    content = (kept / "trace.pftrace").read_bytes()
    assert content.count(b"fdatasync") == 40
    assert b"/srv/data/wal" in content
    # by its name, and not by its number
    assert (b"device vda, slot 0" in content, b"254:0" in content) == (True, False)


def test_its_calls_are_metrics(kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = pq.read_table(kept / "calls.parquet")
    syncs = rows.filter(pc.equal(rows["call"], "fdatasync"))
    pq.write_table(pa.concat_tables([rows, syncs, syncs]), kept / "calls.parquet")
    calls = json.loads(told(capsys, "explain", NAME, "--json"))["calls"]
    text = told(capsys, "export", "openmetrics", NAME)
    samples = {
        (one.name, one.labels.get("call"), one.labels.get("part")): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }
    for call in calls:
        assert samples["drivelab_calls", call["call"], None] == call["count"]
        p50_s = samples["drivelab_call_latency_p50_seconds", call["call"], None]
        assert p50_s == pytest.approx(call["p50_ns"] / 1e9)
        p99_s = samples.get(("drivelab_call_latency_p99_seconds", call["call"], None))
        # of 40 there is no p99, and the longest goes by its own name
        assert p99_s == (pytest.approx(call["p99_ns"] / 1e9) if call["call"] == "fdatasync" else None)
        slowest_s = samples["drivelab_call_latency_slowest_seconds", call["call"], None]
        assert slowest_s == pytest.approx(call["slowest_ns"] / 1e9)
        for part, time_ns in call["parts_ns"].items():
            assert samples["drivelab_call_parts_seconds", call["call"], part] == pytest.approx(time_ns / 1e9)
    told(capsys, "export", "openmetrics", NAME, "--out", str(tmp_path / "program.prom"))
    assert (tmp_path / "program.prom").read_text() == text


@pytest.mark.provokes("S504", "S505", "S506", "U004", "U021")
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("compare", NAME, "LAST"), "S504", "is a program that was followed"),
        (("export", "fio", NAME), "S504", "is a program that was followed"),
        (("report", NAME, "20260101T000000Z-check-etcd"), "U004", "1 more is named"),
        (("report", NAME, "--with-reference"), "U004", "--with-reference is for numbers of a workload"),
        (("explain", NAME, "--runtime", "5s"), "U004", "--runtime is for what is measured now"),
        (("explain", NAME, "20260101T000000Z-check-etcd"), "U021", "alone, or beside another one"),
        (("explain", "before", NAME), "S504", "there is no run before"),
        (("explain", NAME, NAME), "U021", "is named twice"),
        (("explain", "20260101T000000Z-check-etcd", "--over", "5ms"), "U004", "--over is for a program"),
    ],
)
def test_what_makes_no_sense_of_it_is_refused(
    kept: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: str, words: str
) -> None:
    assert main.run([*arguments]) == 2
    err = capsys.readouterr().err
    assert f"error[{code}]" in err
    assert words in err


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"schema": 99}, "S505"),
        ({"schema": "1"}, "S506"),
        ({"names": {"x": 1}}, "S506"),
        ({"conduct": {"source": 1}}, "S506"),
        ({"duration_ns": "long"}, "S506"),
        ({"threads": None}, "S506"),
    ],
)
def test_a_damaged_one_is_refused_and_left_out_of_the_list(
    kept: Path, capsys: pytest.CaptureFixture[str], change: dict[str, object], code: str
) -> None:
    file = kept / "followed.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    assert main.run(["explain", NAME]) == 1
    assert f"error[{code}]" in capsys.readouterr().err
    assert main.run(["runs"]) == 0
    out, err = capsys.readouterr()
    assert NAME not in out
    assert f"left out: {NAME}" in err


@pytest.mark.parametrize("file", ["calls.parquet", "events.parquet"])
def test_a_table_that_is_damaged_or_missing_is_named(kept: Path, capsys: pytest.CaptureFixture[str], file: str) -> None:
    (kept / file).write_bytes(b"PAR1")
    assert main.run(["report", NAME]) == 1
    assert "error[S506]" in capsys.readouterr().err
    (kept / file).unlink()
    assert main.run(["report", NAME]) == 1
    assert file in capsys.readouterr().err


def test_how_calls_were_recorded_is_said_where_it_matters(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told_of = {"calls_of_32_bits": 7, "threads_not_followed": 2, "why_not_bpf": "locked down"}
    words = ("7 calls of 32 bits were not recorded", "2 threads were not followed", "by trace events, which cost")
    file = kept / "followed.json"
    for trace in ({}, told_of):
        file.write_text(json.dumps(json.loads(file.read_text()) | {"calls_trace": trace}))
        found = json.loads(told(capsys, "explain", NAME, "--json"))
        page = kept / "page.html"
        told(capsys, "report", NAME, "--out", str(page))
        texts = (told(capsys, "explain", NAME), " ".join(found["remarks"]), page.read_text())
        plain = [" ".join(text.replace("\u00a0", " ").replace("\u202f", " ").split()) for text in texts]
        assert [[one in text for one in words] for text in plain] == [[bool(trace)] * 3] * 3
