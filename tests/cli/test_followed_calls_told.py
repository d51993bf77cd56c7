"""What the calls of a followed program are called, and when another disk is named."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from drivelab.cli import main
from drivelab.model.system_calls import FILE_UNKNOWN
from drivelab.model.trace import OPERATION_NAMES, PARTS
from drivelab.trace.files_of_calls import ELSEWHERE

WRITER = Path(__file__).resolve().parents[1] / "golden" / "followed" / "writer"
NAME = "20260103T000000Z-followed-python3"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that was followed."""
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path))
    return Path(shutil.copytree(WRITER, tmp_path / NAME))


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main.run([*arguments]) == 0
    return capsys.readouterr().out


def test_another_disk_is_named_where_more_time_was_spent_there_and_not_where_most_calls_were(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = kept / "followed.json"
    record = json.loads(file.read_text()) | {"left_out": {ELSEWHERE: 414}, "elsewhere_path": "/srv/other disk/log"}
    whole_ns = sum(pq.read_table(kept / "calls.parquet")["latency_ns"].to_pylist())
    for elsewhere_ns, is_named in ((whole_ns - 1, False), (2 * whole_ns, True)):
        file.write_text(json.dumps(record | {"elsewhere_ns": elsewhere_ns}))
        whole = " ".join(told(capsys, "explain", NAME).split())
        assert ("It spent more time on another disk" in whole) == is_named
        assert ("follow it there with --path '/srv/other disk'." in whole) == is_named


def test_another_disk_that_was_hardly_waited_for_is_not_named(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = kept / "followed.json"
    whole_ns = sum(pq.read_table(kept / "calls.parquet")["latency_ns"].to_pylist())
    # a shell reads its scripts, and each program its libraries
    record = json.loads(file.read_text()) | {"elsewhere_path": "/usr/bin/python3", "elsewhere_ns": 2 * whole_ns}
    for duration_ns, is_named in ((41 * whole_ns, False), (39 * whole_ns, True)):
        file.write_text(json.dumps(record | {"duration_ns": duration_ns}))
        assert ("another disk" in " ".join(told(capsys, "explain", NAME).split())) == is_named


def test_reads_of_the_program_outside_of_its_calls_are_told_where_they_took_long(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    below = "7:98"
    record = json.loads((kept / "followed.json").read_text()) | {"layer_above": {below: "loop98"}}
    (kept / "followed.json").write_text(json.dumps(record))
    calls, table = pq.read_table(kept / "calls.parquet"), pq.read_table(kept / "events.parquet")
    # what it read when it was started
    table = table.filter(pc.greater_equal(table["operation_index"], 0))
    whole_ns, begun_ns = sum(calls["latency_ns"].to_pylist()), calls["start_ns"][0].as_py()
    read = next(row for row in table.to_pylist() if row["kind"] == "bio")
    read |= {"operation_index": -1, "class": "read", "bytes": 4096, "queued_ns": begun_ns}
    read |= {"pid": record["threads"][0], "device": "7:99", "sector": 8, "process": "python3"}

    def with_reads(*reads: dict[str, Any]) -> tuple[str, dict[str, int]]:
        rows = pa.Table.from_pylist([read | one for one in reads], table.schema)
        pq.write_table(pa.concat_tables([table, rows]), kept / "events.parquet")
        found = json.loads(told(capsys, "explain", NAME, "--json"))
        return " ".join(told(capsys, "explain", NAME).split()), found["outside_of_calls"]

    most_ns, few_ns = whole_ns // 10, whole_ns // 100
    ends = {"ended_ns": begun_ns + most_ns}
    # they overlap; those of others, of a call, and what a layer sends on do not count
    others = [ends | one for one in ({"pid": 1}, {"operation_index": 0}, {"device": below}, {"class": "write"})]
    whole, counted = with_reads(ends, ends | {"bytes": 8192}, *others)
    assert counted == {"count": 2, "size_bytes": 12288, "time_ns": most_ns}
    assert "2 reads were sent by its threads outside of these calls (12 KiB, " in whole
    assert "): most likely page faults of mapped files." in whole
    whole, counted = with_reads({"ended_ns": begun_ns + few_ns})
    assert counted == {"count": 1, "size_bytes": 4096, "time_ns": few_ns}
    assert "outside of these calls" not in whole


def test_durable_writes_have_a_row_of_their_own(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = pq.read_table(kept / "calls.parquet").to_pylist()
    writes = [row for row in rows if row["call"] == "write"]
    for row in writes[:10]:
        row |= {"operation": OPERATION_NAMES.index("durable_write"), "latency_ns": 10**9, "device_ns": 10**9, "bios": 1}
        row |= {"device_writes": 1, "fs_in_ns": 0, "between_ns": 0, "return_ns": 0}
    pq.write_table(pa.Table.from_pylist(rows, pq.read_schema(kept / "calls.parquet")), kept / "calls.parquet")
    whole = " ".join(told(capsys, "explain", NAME).split())
    assert whole.startswith("python3's 10 durable write calls (100 % of its time in calls)")
    assert "Each durable write made the drive do 1 write." in whole
    found = json.loads(told(capsys, "explain", NAME, "--json"))
    counts = {one["call"]: one["count"] for one in found["calls"]}
    assert counts == {"durable write": 10, "fdatasync": 40, "write": len(writes) - 10}


def test_the_process_that_was_at_the_drive_longest_is_named_also_where_the_path_is_long(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = pq.read_table(kept / "calls.parquet").to_pylist()
    for row in rows:
        row["file"] = f"/srv/{'databases/' * 10}0000000000000001.wal"
    pq.write_table(pa.Table.from_pylist(rows, pq.read_schema(kept / "calls.parquet")), kept / "calls.parquet")
    screen = told(capsys, "explain", NAME)
    stories = re.findall(r"(?m)^\S+ [um]s fdatasync by python3 .*\n.*$", screen)
    assert len(stories) == 3
    for one in stories:
        assert re.search(r"0001\.wal: .*; at the drive meanwhile: \S.*? \d+(\.\d+)? [um]s", " ".join(one.split())), one
    whole = " ".join(told(capsys, "explain", NAME, "--details").split())
    assert "databases/" * 10 in whole.replace(" ", "")


def test_of_several_programs_it_is_told_which_waits_for_what(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = pq.read_table(kept / "calls.parquet").to_pylist()
    syncs = [row for row in rows if row["call"] == "fdatasync"]
    started, child = 4_000_001, 4_000_002
    for row in syncs[:30]:
        row |= {"process": child, "latency_ns": 3_000_000}
        row["fs_in_ns"] += row["latency_ns"] - sum(row[f"{part}_ns"] for part in PARTS)
    pq.write_table(pa.Table.from_pylist(rows, pq.read_schema(kept / "calls.parquet")), kept / "calls.parquet")
    record = json.loads((kept / "followed.json").read_text())
    assert "By program" not in told(capsys, "explain", NAME)
    record["names"] |= {str(started): "etcd", str(child): "worker"}
    record |= {"program": "python3+etcd", "parents": {str(child): started, str(started): child}}
    (kept / "followed.json").write_text(json.dumps(record))
    whole = " ".join(told(capsys, "explain", NAME).split())
    (etcd,) = re.findall(r"By program, of the time in calls: python3 .* and etcd (\d+ % \(.*?\))", whole)
    assert etcd.endswith("(most in 30 fdatasync calls of 3.00 ms at the median)")


def test_requests_that_a_polling_thread_took_are_told_on_the_first_screen(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = json.loads((kept / "followed.json").read_text())
    words = "40 requests of io_uring were taken from the ring by a polling thread (SQPOLL)"
    assert words not in " ".join(told(capsys, "explain", NAME, "--details").split())
    record["calls_trace"]["polled_requests"] = 40
    (kept / "followed.json").write_text(json.dumps(record))
    assert words in " ".join(told(capsys, "explain", NAME).split())
    assert words in json.loads(told(capsys, "explain", NAME, "--json"))["remarks"][0]


def with_calls_of_other_names(kept: Path, counts: dict[str, int]) -> None:
    """Some of its writes under other names, each time by less than the name before."""
    table = pq.read_table(kept / "calls.parquet")
    rows = table.to_pylist()
    write = next(row for row in rows if row["call"] == "write")
    for place, (call, count) in enumerate(counts.items()):
        longer_ns = 1_000_000 - 100_000 * place
        one = write | {"call": call, "latency_ns": write["latency_ns"] + longer_ns}
        rows += [one | {"fs_in_ns": one["fs_in_ns"] + longer_ns}] * count
    pq.write_table(pa.Table.from_pylist(rows, table.schema), kept / "calls.parquet")


def test_rows_that_have_no_room_are_counted_and_one_of_which_calls_are_missing_has(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_calls_of_other_names(kept, dict.fromkeys(("pread64", "pwrite64", "writev", "readv", "fsync", "read"), 9))
    record = json.loads((kept / "followed.json").read_text())
    record |= {"left_out": {FILE_UNKNOWN: 3}, "of_unknown_files": {"read": 3}}
    (kept / "followed.json").write_text(json.dumps(record))
    lines = told(capsys, "explain", NAME).splitlines()
    begin = next(place for place, line in enumerate(lines) if line.startswith("call "))
    assert [line.split()[0] for line in lines[begin + 1 : begin + 6]] == [
        "fdatasync", "pread64", "pwrite64", "writev", "read",
    ]  # fmt: skip
    assert re.match(r"read +9 of 12 ", lines[begin + 5])
    assert lines[begin + 6] == "and 3 other calls: --details"
    assert "other call" not in told(capsys, "explain", NAME, "--details")


def test_what_is_left_out_is_told_on_a_full_screen_in_place_of_a_slow_call(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_calls_of_other_names(kept, dict.fromkeys(("pread64", "pwrite64", "writev", "readv", "fsync", "read"), 9))
    record = json.loads((kept / "followed.json").read_text())
    few = {"left_out": {FILE_UNKNOWN: 1, ELSEWHERE: 4000}, "of_unknown_files": {"read": 1}}
    (kept / "followed.json").write_text(json.dumps(record | few))
    assert "Left out" not in " ".join(told(capsys, "explain", NAME).split()).partition("could not be told")[2]
    much = {"left_out": {FILE_UNKNOWN: 14, ELSEWHERE: 4000, "calls that failed": 7}, "of_unknown_files": {"read": 14}}
    record |= much | {"elsewhere_ns": 10**12, "elsewhere_path": "/srv/other/log", "command_status": 3}
    (kept / "followed.json").write_text(json.dumps(record))
    screen = told(capsys, "explain", NAME)
    assert len(screen.splitlines()) <= 30
    whole = " ".join(screen.split())
    assert "Left out: 14 reads and writes whose file could not be told" in whole
    assert "Those whose file could not be told: 14 read." in whole
    assert 1 <= whole.count("at the drive meanwhile") < 3


def test_the_program_that_made_most_of_the_calls_is_named_and_not_one_that_started_it(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = json.loads((kept / "followed.json").read_text())
    (process,) = record["names"]
    record |= {"program": "strace", "names": {process: "sqlite3", "1": "strace"}}
    (kept / "followed.json").write_text(json.dumps(record))
    words = "sqlite3's 40 fdatasync calls (98 % of the time in calls) took"
    assert " ".join(told(capsys, "explain", NAME).split()).startswith(words)
    assert " ".join(json.loads(told(capsys, "explain", NAME, "--json"))["answer"].split()).startswith(words)
    # the kernel keeps no more than 15 letters
    record |= {"program": "a-name-of-many-letters", "names": {process: "a-name-of-many-"}}
    (kept / "followed.json").write_text(json.dumps(record))
    assert told(capsys, "explain", NAME).lstrip().startswith("a-name-of-many-letters's 40")
