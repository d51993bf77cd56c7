"""``drivelab replay`` from the outside: what it issues, tells, keeps and refuses."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from drivelab.cli import main
from drivelab.model.errors import DrivelabError
from drivelab.model.recording import RECORDED_OPERATIONS
from job_threads import wait_for_jobs

MIB = 2**20
GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "runs"
MakeLoopDevice = Callable[..., Path]
Replay = Callable[..., tuple[int, str, str]]
# microseconds since the beginning, operation, offset, size
Line = tuple[int, str, int, int]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where runs are kept."""
    path = tmp_path / "runs"
    path.mkdir()
    monkeypatch.setenv("DRIVELAB_RUNS", str(path))
    return path


@pytest.fixture
def replay(capsys: pytest.CaptureFixture[str], runs: Path) -> Replay:
    """Exit status, stdout and stderr of ``drivelab replay``."""

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        status = main.run(["replay", *map(str, arguments)])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


def iolog(path: Path, lines: list[Line]) -> Path:
    text = "".join(f"{at} /f {operation} {offset} {size}\n" for at, operation, offset, size in lines)
    path.write_text(f"fio version 3 iolog\n0 /f add\n{text}")
    return path


def random_lines(seed: int, *, writes: bool = True) -> list[Line]:
    chance, now, lines = random.Random(seed), 0, []
    for _ in range(60):
        operation = chance.choice(RECORDED_OPERATIONS if writes else ("read",))
        place = (0, 0) if operation == "sync" else (chance.randrange(200) * 4096, chance.randrange(1, 9) * 4096)
        lines.append((now, operation, *place))
        now += chance.choice((0, 3, 250, 2000))
    return lines


def document(replay: Replay, *arguments: str | Path) -> dict[str, Any]:
    status, out, _ = replay(*arguments, "--json")
    assert status in (0, 4), out
    answer: dict[str, Any] = json.loads(out)
    return answer


def refused(replay: Replay, *arguments: str | Path) -> tuple[str, str]:
    """Code and advice of the error."""
    status, out, err = replay(*arguments, "--json")
    assert (out, status > 0) == ("", True)
    error = json.loads([line for line in err.splitlines() if line.startswith("{")][-1])["error"]
    return error["code"], error["do"]


def issued(answer: dict[str, Any], trial: str = "replay") -> list[dict[str, Any]]:
    """Every I/O that was issued, in the order in which it was."""
    rows = pq.read_table(Path(answer["run"]) / "ios" / f"{trial}.parquet").to_pylist()
    return sorted(rows, key=lambda row: row["issue_ns"])


def as_lines(rows: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    return [(RECORDED_OPERATIONS[row["operation"]], row["offset_bytes"], row["size_bytes"]) for row in rows]


@pytest.mark.parametrize("seed", range(3))
def test_the_ios_are_those_of_the_recording_and_none_begins_before_its_time(
    replay: Replay, tmp_path: Path, seed: int
) -> None:
    lines = random_lines(seed)
    answer = document(replay, iolog(tmp_path / "log", lines), tmp_path, "--record-ios", "--buffered")
    rows = issued(answer)
    assert as_lines(rows) == [line[1:] for line in lines]
    # an intended start is as far from the first one as in the recording, whatever the target took
    intended = [row["issue_ns"] + row["total_latency_ns"] - row["response_latency_ns"] for row in rows]
    for moment, line in zip(intended, lines, strict=True):
        assert abs(moment - intended[0] - 1000 * line[0]) <= 5
    assert all(row["response_latency_ns"] >= row["total_latency_ns"] for row in rows)
    (target,) = answer["targets"]
    assert target["asked"] == {"count": 60, "length_ns": 1000 * lines[-1][0]}
    assert (target["achieved"]["count"], target["achieved"]["missed"]) == (60, 0)
    assert target["achieved"]["length_ns"] >= target["asked"]["length_ns"] - 5


def test_twice_as_fast_is_half_as_long(replay: Replay, tmp_path: Path) -> None:
    log = iolog(tmp_path / "log", random_lines(5, writes=False))
    (whole,) = document(replay, log, tmp_path)["targets"]
    (half,) = document(replay, log, tmp_path, "--speed", "2")["targets"]
    assert half["asked"]["length_ns"] == pytest.approx(whole["asked"]["length_ns"] / 2)


def test_as_fast_as_possible_keeps_the_order_and_has_no_starts(replay: Replay, tmp_path: Path) -> None:
    lines = [(10**10 * number, "write", 4096 * number, 4096) for number in range(20)]
    log = iolog(tmp_path / "log", lines)
    answer = document(replay, log, tmp_path, "--as-fast-as-possible", "--record-ios")
    assert as_lines(issued(answer)) == [line[1:] for line in lines]
    assert answer["targets"][0]["achieved"]["late"] is None
    assert answer["targets"][0]["operations"]["write"]["response"] is None


def test_what_was_replayed_and_kept_is_a_recording_with_latencies(replay: Replay, tmp_path: Path) -> None:
    log = iolog(tmp_path / "log", random_lines(1))
    first = document(replay, log, tmp_path, "--record-ios")
    second = document(replay, Path(first["run"]).name, tmp_path, "--record-ios")
    assert as_lines(issued(second)) == as_lines(issued(first))
    facts = second["targets"][0]["operations"]["read"]
    assert facts["recorded"]["p50_ns"] > 0
    assert facts["count"] == facts["recorded_count"]
    _, out, _ = replay(first["run"], tmp_path)
    sentence = out.splitlines()[0]
    assert " as long as recorded (median" in sentence or " apart from those recorded (median" in sentence
    most = max(second["targets"][0]["operations"].items(), key=lambda item: item[1]["waited_ns"])
    assert most[1]["waited_ns"] <= second["targets"][0]["waited_ns"]
    assert len(sentence.split()) <= 30


def test_of_a_file_that_grew_it_is_said_what_is_different(
    replay: Replay, runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["check", str(tmp_path), "--quick", "--json"]) in (0, 4)
    capsys.readouterr()
    (run,) = runs.iterdir()
    status, out, err = replay(run, tmp_path, "--json")
    assert status in (0, 4)
    assert "the recorded writes gave their file its room" in err
    recorded = json.loads(out)["recording"]
    assert recorded["operations"]["sync"]["count"] == recorded["operations"]["write"]["count"]


def test_threads_of_a_run_are_issued_by_threads(replay: Replay, tmp_path: Path, capsys: Any) -> None:
    kept = tmp_path / "kept.parquet"
    arguments = ["--size", "1MiB", "--operation", "write", "--jobs", "2", "--queue-depth", "4", "--count", "64"]
    assert main.run(["io", str(tmp_path / "data"), *arguments, "--record", str(kept)]) in (0, 4)
    capsys.readouterr()
    answer = document(replay, kept, tmp_path, "--record-ios")
    assert answer["recording"]["threads"] == 2
    before, after = pq.read_table(kept).to_pylist(), issued(answer)
    for job in (0, 1):
        own = [row for row in before if row["job"] == job]
        assert sorted(as_lines([row for row in after if row["job"] == job])) == sorted(as_lines(own))


def kept_ios(path: Path, *options: str) -> Path:
    """I/Os that ``drivelab io`` kept."""
    arguments = ["--size", "1MiB", "--operation", "write", "--count", "64", *options, "--record", str(path)]
    assert main.run(["io", str(path.parent / "data"), *arguments]) in (0, 4)
    return path


@pytest.mark.parametrize("options", [["--direct"], []])
def test_kept_ios_are_issued_past_the_page_cache_only_where_they_were(
    replay: Replay, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    kept = kept_ios(tmp_path / "kept.parquet", *options)
    capsys.readouterr()
    (target,) = document(replay, kept, tmp_path)["targets"]
    assert target["achieved"]["direct"] is bool(options)
    assert target["calls"][0]["times"] is not None


def test_kept_ios_of_which_that_is_not_known_are_not_compared(
    replay: Replay, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = kept_ios(tmp_path / "kept.parquet")
    # as an older drivelab kept them
    pq.write_table(pq.read_table(kept).replace_schema_metadata(None), kept)
    capsys.readouterr()
    status, out, _ = replay(kept, tmp_path)
    assert status in (0, 4)
    answer = " ".join(out.split("\n\n")[0].split())
    assert "as recorded" not in answer
    assert "Not compared: whether it bypassed the page cache was not recorded" in answer
    # who says it is believed
    (target,) = document(replay, kept, tmp_path, "--buffered")["targets"]
    assert (target["achieved"]["direct"], bool(target["calls"][0]["times"])) == (False, True)


@pytest.mark.provokes("B921")
def test_metadata_that_cannot_be_understood_are_refused(replay: Replay, tmp_path: Path, capsys: Any) -> None:
    kept = kept_ios(tmp_path / "kept.parquet")
    pq.write_table(pq.read_table(kept).replace_schema_metadata({"drivelab.issued_as": '{"direct": 7}'}), kept)
    capsys.readouterr()
    assert refused(replay, kept, tmp_path)[0] == "B921"


def test_of_a_traced_run_its_recording_is_named(replay: Replay, runs: Path, tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "explained-appends", runs / "20260101T000000Z-explain-x")
    recording = runs / "20260101T000000Z-explain-x" / "recordings" / "0003-random-read"
    recording.mkdir(parents=True)
    code, advice = refused(replay, "20260101T000000Z-explain-x", tmp_path)
    assert (code, f"drivelab replay {recording} TARGET" in advice) == ("B920", True)


def test_a_directory_is_left_as_it_was_and_what_is_not_there_is_not_made(replay: Replay, tmp_path: Path) -> None:
    log = iolog(tmp_path / "log", random_lines(2))
    place = tmp_path / "place"
    place.mkdir()
    document(replay, log, place)
    assert list(place.iterdir()) == []
    # a mistyped mount point would be measured as a file of another drive
    code, advice = refused(replay, log, place / "new")
    assert (code, str(place) in advice) == ("T101", True)
    assert list(place.iterdir()) == []


def test_a_file_is_overwritten_only_with_consent(replay: Replay, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_bytes(b"x" * MIB)
    reads, writes = (iolog(tmp_path / name, random_lines(3, writes=name == "w")) for name in "rw")
    assert refused(replay, writes, data)[0] == "C220"
    document(replay, reads, data)
    assert data.read_bytes() == b"x" * MIB
    document(replay, writes, data, "--overwrite-file")
    assert data.read_bytes() != b"x" * MIB


@pytest.mark.needs_root
@pytest.mark.needs_tool("losetup", "lsblk")
def test_a_device_is_written_only_with_its_serial(
    replay: Replay, tmp_path: Path, make_loop_device: MakeLoopDevice
) -> None:
    device = make_loop_device(4 * MIB)
    reads, writes = (iolog(tmp_path / name, random_lines(4, writes=name == "w")) for name in "rw")
    code, advice = refused(replay, writes, device)
    assert code == "C201"
    assert "--erase" in advice
    assert device.read_bytes() == bytes(4 * MIB)
    document(replay, reads, device)
    assert device.read_bytes() == bytes(4 * MIB)
    serial = advice.split("--erase ")[1].split()[0]
    answer = document(replay, writes, device, "--erase", serial, "--record-ios")
    assert as_lines(issued(answer)) == [line[1:] for line in random_lines(4)]
    assert device.read_bytes() != bytes(4 * MIB)


def test_a_smaller_target_needs_a_word(replay: Replay, tmp_path: Path) -> None:
    log = iolog(tmp_path / "log", [(0, "read", 0, 4096), (10, "read", 4096, 4096), (20, "read", 100 * MIB, 4096)])
    data = tmp_path / "data"
    data.write_bytes(bytes(MIB))
    code, advice = refused(replay, log, data)
    assert (code, "--scale-to-target" in advice) == ("E309", True)
    status, out, err = replay(log, data, "--scale-to-target", "--json")
    assert status in (0, 4)
    assert "places are scaled from 100 MiB to 1 MiB" in err
    assert json.loads(out)["targets"][0]["achieved"]["count"] == 3
    assert refused(replay, log, data, "--size", "1MiB")[0] == "U004"
    assert refused(replay, log, tmp_path, "--size", "1MiB")[0] == "E309"
    document(replay, log, tmp_path, "--size", "1MiB", "--scale-to-target")


def test_a_load_is_scaled_to_a_size(replay: Replay, tmp_path: Path) -> None:
    log = iolog(tmp_path / "log", [(0, "read", 0, 4096), (10, "read", 50 * MIB, 65536), (20, "read", 99 * MIB, 4096)])
    answer = document(replay, log, tmp_path, "--scale-to", "2MiB", "--record-ios")
    assert answer["recording"]["end_bytes"] <= 2 * MIB
    offsets = [line[1] for line in as_lines(issued(answer))]
    assert offsets == sorted(offsets)
    assert 0 < offsets[1] < offsets[2] < 2 * MIB
    assert refused(replay, log, tmp_path, "--scale-to", "32KiB") == ("E309", "name 64 KiB or more")
    assert refused(replay, log, "--scale-to", "2MiB")[0] == "U006"
    code, advice = refused(replay, log, tmp_path, "--scale-to", "/mnt/new")
    assert (code, "--scale-to 50MiB TARGET" in advice) == ("U001", True)


def test_several_targets_are_ranked_for_this_load(replay: Replay, tmp_path: Path, capsys: Any) -> None:
    log = iolog(tmp_path / "log", random_lines(6))
    names = [tmp_path / name for name in ("one", "two")]
    for name in names:
        name.mkdir()
    status, out, _ = replay(log, *names)
    assert status in (0, 4)
    first = out.splitlines()[0]
    assert "looked best for this load" in first or "cannot be told apart for this load" in first
    assert len(first.split()) <= 30
    assert refused(replay, log, names[0], names[0])[0] == "U006"
    answer = document(replay, log, *names)
    ranks = [target["rank_ns"] for target in answer["targets"]]
    assert ranks == sorted(ranks)
    for arguments in (
        ["report", answer["run"], "--text"],
        ["export", "csv", answer["run"], "--out", str(tmp_path / "c")],
    ):
        assert main.run(arguments) == 0
    told = capsys.readouterr().out
    assert all(name.name in told for name in names)
    # its list and its report say what it said itself, and nothing of which it knows no more than chance
    assert main.run(["runs", "--json"]) == 0
    *_, last = json.loads(capsys.readouterr().out)["runs"]
    assert "looked best for this load" in last["answer"] or "cannot be told apart for this load" in last["answer"]
    assert last["answer"].split()[0] in told
    assert "times as" not in told


def test_two_replays_are_compared(replay: Replay, tmp_path: Path, capsys: Any) -> None:
    log = iolog(tmp_path / "log", random_lines(7))
    runs = [document(replay, log, tmp_path)["run"] for _ in range(2)]
    assert main.run(["compare", *runs, "--json"]) in (0, 1, 4)
    assert "replay" in capsys.readouterr().out


def test_ctrl_c_keeps_what_was_measured_and_leaves_no_file(runs: Path, tmp_path: Path) -> None:
    lines = [(100 * number, "read", 0, 4096) for number in range(5000)] + [(3_600_000_000, "read", 0, 4096)]
    place = tmp_path / "place"
    place.mkdir()
    command = [sys.executable, "-m", "drivelab", "replay", str(iolog(tmp_path / "log", lines)), str(place), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for_jobs(process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, err
    (target,) = json.loads(out)["targets"]
    assert (target["stopped_by"], target["achieved"]["count"] > 0) == ("caller", True)
    assert list(place.iterdir()) == []
    (run,) = runs.iterdir()
    assert json.loads((run / "run.json").read_text())["status"] == "interrupted"


def test_a_replay_that_fails_leaves_no_run_without_a_trial(
    replay: Replay, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_given: object, **_more: object) -> None:
        raise DrivelabError("E314", "the drive is gone")

    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.setattr("drivelab.cli.replay.measure", fails)
    assert refused(replay, iolog(tmp_path / "log", random_lines(10)), place)[0] == "E314"
    assert (list(runs.iterdir()), list(place.iterdir())) == ([], [])


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--speed", "0"], "U003"),
        (["--speed", "nan"], "U003"),
        (["--speed", "2", "--as-fast-as-possible"], "U004"),
        (["--size", "many"], "U001"),
    ],
)
def test_options_that_make_no_sense(replay: Replay, tmp_path: Path, options: list[str], code: str) -> None:
    assert refused(replay, iolog(tmp_path / "log", random_lines(8)), tmp_path, *options)[0] == code


def test_a_run_without_single_ios_says_how_to_get_them(replay: Replay, tmp_path: Path) -> None:
    answer = document(replay, iolog(tmp_path / "log", random_lines(9)), tmp_path)
    code, advice = refused(replay, answer["run"], tmp_path)
    assert (code, "--record-ios" in advice) == ("B920", True)


def test_operations_on_files_are_not_issued_again(replay: Replay, tmp_path: Path, capsys: Any) -> None:
    kept = tmp_path / "kept.parquet"
    arguments = ["--files", "10", "--operation", "create", "--record", str(kept)]
    assert main.run(["io", str(tmp_path), *arguments]) in (0, 4)
    capsys.readouterr()
    assert refused(replay, kept, tmp_path)[0] == "B920"
