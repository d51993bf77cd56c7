"""The load of a program that was followed is played again: its calls on files like its own, or its disk's commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from drivelab.cli import main
from drivelab.model.errors import EXIT_NOT_TRUSTED, EXIT_OK
from drivelab.model.system_calls import FILE_UNKNOWN
from drivelab.recordings.followed_calls import read_followed_calls
from drivelab.store.followed import open_followed
from kept_program import NAME, keep_program


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place with a run, and a program that was followed after it."""
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    return keep_program(tmp_path / "runs")


def replayed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    # what others do meanwhile to these few I/Os may make their times invalid
    assert main.run(["replay", NAME, *arguments, "--json"]) in (EXIT_OK, EXIT_NOT_TRUSTED)
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_its_calls_are_played_on_a_file_as_large_as_its_own_and_set_against_the_same_calls(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "target"
    target.mkdir()
    found = replayed(capsys, str(target), "--record-ios")
    (one,) = found["targets"]
    assert (found["recording"]["level"], found["recording"]["end_bytes"]) == ("calls", 40 * 4096)
    assert {call["call"]: call["count"] for call in one["calls"]} == {"fdatasync": 40, "write": 40}
    recorded = pq.read_table(kept / "calls.parquet").to_pylist()
    for call in one["calls"]:
        # of an even number of calls the lower of the two in the middle
        middle = sorted(row["latency_ns"] for row in recorded if row["call"] == call["call"])[19]
        assert call["recorded"]["p50_ns"] == middle
        assert call["times"]["low"] < call["times"]["value"] < call["times"]["high"]
    rows = pq.read_table(Path(found["run"]) / "ios" / "replay.parquet").sort_by("issue_ns").to_pylist()
    written = [(row["offset_bytes"], row["size_bytes"]) for row in rows if row["operation"] == 1]
    # an older drivelab recorded it without places: each follows the one before
    assert written == [(4096 * number, 4096) for number in range(40)]
    # and which sync call it was stands where its place would
    assert {row["offset_bytes"] for row in rows if row["operation"] == 3} == {2}
    assert list(target.iterdir()) == []


@pytest.mark.parametrize(("times", "is_cached"), [([0], True), ([47_124], False), ([], True)])
def test_reads_that_waited_for_a_layer_were_not_in_memory_whatever_the_disk_below_was_asked(
    kept: Path, times: list[int], is_cached: bool
) -> None:
    rows = pq.read_table(kept / "calls.parquet")
    for column, value in (("operation", 0), ("call", "pread64"), ("bytes_read", 0)):
        kind = rows.schema.field(column)
        rows = rows.drop_columns([column]).append_column(kind, pa.array([value] * rows.num_rows, kind.type))
    # an older drivelab knew no layers
    rows = rows.append_column("layers_ns", pa.array([times] * rows.num_rows, pa.list_(pa.int64())))
    pq.write_table(rows, kept / "calls.parquet")
    recording = read_followed_calls(open_followed(kept))
    assert {file.is_cached for file in recording.files} == {is_cached}


def with_flags(kept: Path, synced: list[bool] | None) -> pa.Table:
    """Its writes as calls of pwritev2, durable by flags of their own: data alone, or times too."""
    rows = pq.read_table(kept / "calls.parquet")
    is_write = pc.equal(rows["call"], "write")
    calls = pc.if_else(is_write, "pwritev2", rows["call"])
    rows = rows.set_column(rows.column_names.index("call"), "call", calls)
    if synced is not None:
        durable = pc.if_else(is_write, 4, rows["operation"]).cast(pa.uint8())
        rows = rows.set_column(rows.column_names.index("operation"), "operation", durable)
        rows = rows.append_column("is_synced", pa.array(synced))
    pq.write_table(rows, kept / "calls.parquet")
    return rows


def test_writes_with_flags_of_their_own_are_played_durable(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = with_flags(kept, [number < 40 for number in range(80)])
    recording = read_followed_calls(open_followed(kept))
    assert {(file.is_durable, file.is_synced) for file in recording.files} == {(True, False), (True, True)}
    (thread,) = recording.threads
    assert thread.file is not None
    is_write = np.array(pc.equal(rows["call"], "pwritev2"))
    synced = [recording.files[file].is_synced for file in thread.file[is_write]]
    assert synced == np.array(rows["is_synced"])[is_write].tolist()
    (one,) = replayed(capsys, str(tmp_path))["targets"]
    # as rows of their own, as explain has them
    assert {call["call"]: bool(call["times"]) for call in one["calls"]} == {"fdatasync": True, "durable pwritev2": True}


def test_durable_writes_and_others_of_one_call_have_a_row_each(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = pq.read_table(kept / "calls.parquet")
    is_write = np.array(rows["operation"]) == 1
    durable = np.where(is_write & (np.arange(80) < 40), 4, np.array(rows["operation"]))
    place = rows.column_names.index("operation")
    pq.write_table(
        rows.set_column(place, rows.schema.field(place), pa.array(durable, pa.uint8())), kept / "calls.parquet"
    )
    (one,) = replayed(capsys, str(tmp_path))["targets"]
    counts = {call["call"]: call["count"] for call in one["calls"]}
    assert counts == {
        "fdatasync": 40,
        "durable write": int((durable == 4).sum()),
        "write": 40 - int((durable == 4).sum()),
    }
    assert counts["durable write"] not in (0, 40)
    (told,) = (call for call in one["calls"] if call["call"] == "durable write")
    there = np.sort(np.array(rows["latency_ns"])[durable == 4])
    assert told["recorded"]["p50_ns"] == there[-(-len(there) // 2) - 1]


def test_at_another_speed_no_call_is_compared(kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options in (["--speed", "2"], ["--as-fast-as-possible"]):
        found = replayed(capsys, str(tmp_path), *options)
        (one,) = found["targets"]
        assert [(call["times"], call["added_ns"]) for call in one["calls"]] == [(None, None)] * 2
        assert {name: facts["recorded"] for name, facts in one["operations"].items()} == {"write": None, "sync": None}
        answer = json.loads((Path(found["run"]) / "run.json").read_text())["answer"]
        assert answer.startswith("At 2x its recorded speed" if "--speed" in options else "As fast as possible")
        assert "as long as recorded" not in answer
    ends = np.array([row["start_ns"] + row["latency_ns"] for row in pq.read_table(kept / "calls.parquet").to_pylist()])
    begin = pc.min(pq.read_table(kept / "calls.parquet")["start_ns"]).as_py()
    assert found["recording"]["duration_ns"] == ends.max() - begin


def test_of_writes_whose_flags_were_not_recorded_no_change_is_told(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_flags(kept, None)
    found = replayed(capsys, str(tmp_path))
    assert {call["call"]: bool(call["times"]) for call in found["targets"][0]["calls"]} == {
        "fdatasync": True,
        "pwritev2": False,
    }
    assert main.run(["replay", NAME, str(tmp_path)]) in (EXIT_OK, EXIT_NOT_TRUSTED)
    assert "Not compared: pwritev2, of which no flags were recorded" in capsys.readouterr().out


def test_syncs_of_a_directory_are_named_in_the_answer_as_not_played(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = pq.read_table(kept / "calls.parquet")
    record = json.loads((kept / "followed.json").read_text())
    record["files"] = {"/srv/data": {"size_bytes": 0, "kind": "directory", "inodes": 1}}
    (kept / "followed.json").write_text(json.dumps(record))
    syncs = np.flatnonzero(np.array(rows["operation"]) == 3)[:10].tolist()
    names = ["/srv/data" if at in syncs else name for at, name in enumerate(rows["file"].to_pylist())]
    pq.write_table(rows.set_column(rows.column_names.index("file"), "file", pa.array(names)), kept / "calls.parquet")
    places = [tmp_path / name for name in "ab"]
    for place in places:
        place.mkdir()
    for targets in (places[:1], places):
        assert main.run(["replay", NAME, *map(str, targets)]) in (EXIT_OK, EXIT_NOT_TRUSTED)
        first = capsys.readouterr().out.splitlines()
        assert any("Not played: 10 of 40 sync calls: those on directories;" in line for line in first)


def test_every_call_of_a_recording_is_played_or_told_with_its_reason(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = pq.read_table(kept / "calls.parquet")
    calls, names = rows["call"].to_pylist(), rows["file"].to_pylist()
    syncs, writes = (np.flatnonzero(np.array(rows["operation"]) == operation).tolist() for operation in (3, 1))
    # a program maps a file, and the descriptor of syncfs may be one of a directory
    changes = [("msync", "", 7), ("syncfs", "/srv/data", 1), ("fsync", "/srv/data", 5), ("fdatasync", "", 2)]
    changes += [("sync_file_range", names[0], 3), ("sync", "", 2)]
    for call, name, count in changes:
        for at in [syncs.pop() for _ in range(count)]:
            calls[at], names[at] = call, name
    for at in [writes.pop() for _ in range(4)]:
        calls[at], names[at] = "aio write", ""
    names[writes.pop()] = ""
    calls[writes.pop()] = "copy_file_range"
    for column, values in (("call", calls), ("file", names)):
        rows = rows.set_column(rows.column_names.index(column), column, pa.array(values))
    pq.write_table(rows, kept / "calls.parquet")
    record = json.loads((kept / "followed.json").read_text())
    unknown, registered = "requests of io_uring on registered files that the kernel does not tell apart", 6
    record["files"] = {"/srv/data": {"size_bytes": 0, "kind": "directory", "inodes": 1}}
    record["left_out"] |= {unknown: registered, "calls on files elsewhere": 99}
    (kept / "followed.json").write_text(json.dumps(record))
    found = replayed(capsys, str(tmp_path))
    told = found["recording"]["not_played"]
    assert sorted(told) == sorted(
        [
            "5 of 40 sync calls: those on directories",
            "7 of 40 sync calls: those of msync",
            "1 of 40 sync calls: those of syncfs",
            "2 of 40 sync calls: those of sync",
            "1 calls that hand data from one file to another: those of copy_file_range",
            "4 reads and writes of aio, whose files the kernel does not tell",
            "3 calls on files that were not seen",
            f"32 {FILE_UNKNOWN}",
            f"6 {unknown}",
        ]
    )
    played = sum(call["count"] for call in found["targets"][0]["calls"])
    assert {call["call"]: call["count"] for call in found["targets"][0]["calls"]}["sync_file_range"] == 3
    not_played = sum(int(one.split()[0]) for one in told)
    left_out = sum(record["left_out"].values()) - 99
    assert played + not_played == rows.num_rows + left_out


@pytest.mark.provokes("B920")
def test_its_file_of_calls_is_the_program_and_another_table_is_no_damage(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["replay", str(kept / "calls.parquet"), str(tmp_path), "--json"]) in (EXIT_OK, EXIT_NOT_TRUSTED)
    found = json.loads(capsys.readouterr().out)
    assert (found["recording"]["level"], found["recording"]["source"]) == ("calls", NAME)
    assert main.run(["replay", str(kept / "events.parquet"), str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert "error[B920]" in err
    assert "it is sound, but holds no I/Os of drivelab: it has no column job" in " ".join(err.split())
    assert "name the run that it belongs to" in " ".join(err.split())


def test_a_replay_is_no_recording_of_what_it_played(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "target").mkdir()
    replayed(capsys, str(tmp_path / "target"))
    assert main.run(["replay", "LAST", str(tmp_path / "target")]) == 2
    err = capsys.readouterr().err
    assert "error[B920]" in err
    assert "it is a replay itself, and LAST the newest run: name its recording" in err


def test_what_its_disk_did_is_played_where_that_is_asked_for_and_flushes_are_not_set_against_calls(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "target"
    target.mkdir()
    options = ("--size", "16MiB", "--scale-to-target", "--buffered", "--commands")
    found = replayed(capsys, str(target), *options)
    (one,) = found["targets"]
    assert (found["recording"]["level"], one["operations"]["sync"]["count"]) == ("commands", 40)
    assert one["operations"]["sync"]["recorded"] is None
    calls = {call["call"]: call for call in one["calls"]}
    assert calls["write"]["times"]["value"] > 0
    assert {"flush", "durable write"} & set(calls)
    flushes = [calls[name] for name in calls if name in ("flush", "durable write")]
    assert not any(one["times"] for one in flushes)
    assert all(one["recorded"]["p50_ns"] > 0 for one in flushes)
    assert list(target.iterdir()) == []


@pytest.mark.provokes("U004", "E309")
def test_calls_and_commands_are_not_ranked_together_and_files_need_their_room(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_bytes(bytes(4096))
    assert main.run(["replay", NAME, str(tmp_path), str(tmp_path / "file")]) == 2
    err = capsys.readouterr().err
    assert "error[U004]" in err
    assert "--commands" in err
    assert main.run(["replay", NAME, str(tmp_path), "--size", "64KiB"]) == 1
    err = capsys.readouterr().err
    assert "error[E309]" in err
    assert "the files of the recording have 160 KiB" in err
    # also where that is less than one of its calls
    for size in ("64KiB", "2KiB"):
        found = replayed(capsys, str(tmp_path), "--size", size, "--scale-to-target")
        assert found["targets"][0]["achieved"]["count"] == 80


@pytest.mark.provokes("B921", "B922")
@pytest.mark.parametrize(
    ("column", "change", "code", "words"),
    [
        ("start_ns", lambda old: [old[0], *(one + 10**17 for one in old[1:])], "B921", "times of two clocks"),
        ("start_ns", lambda old: [one - 10**18 for one in old], "B921", "the column start_ns holds -"),
        ("latency_ns", lambda old: [-1, *old[1:]], "B921", "the column latency_ns holds -1"),
        ("offset_bytes", lambda old: [2**62, *old[1:]], "B921", "the column offset_bytes"),
        ("file", lambda old: [""] * len(old), "B922", "play the commands of its disk: --commands"),
    ],
)
def test_calls_that_cannot_be_are_refused_and_their_order_is_that_of_their_starts(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], column: str, change: Any, code: str, words: str
) -> None:
    rows = pq.read_table(kept / "calls.parquet")
    place = rows.column_names.index(column)
    changed = pa.array(change(rows[column].to_pylist()), rows.schema.field(column).type)
    pq.write_table(rows.set_column(place, rows.schema.field(column), changed), kept / "calls.parquet")
    assert main.run(["replay", NAME, str(tmp_path)]) == 1
    err = capsys.readouterr().err
    assert f"error[{code}]" in err
    assert words in err
    pq.write_table(rows.take(list(reversed(range(rows.num_rows)))), kept / "calls.parquet")
    found = replayed(capsys, str(tmp_path), "--as-fast-as-possible")
    assert found["targets"][0]["achieved"]["count"] == 80
