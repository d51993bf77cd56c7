"""What fio recorded is issued by drivelab as fio itself issues it again: the same calls in the same order."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from device.fio_calls import STRACE, calls_by_file
from drivelab.model.recording import RECORDED_OPERATIONS

pytestmark = pytest.mark.needs_tool("fio", "strace")
_JOBS = {
    "reads and writes with syncs": ["--rw=randrw", "--bsrange=512-16k", "--fsync=5"],
    "sequential, with fdatasync": ["--rw=write", "--bs=4k", "--fdatasync=3"],
    "random reads with pauses": ["--rw=randread", "--bs=8k", "--thinktime=300"],
}


def called(command: list[str], file: Path, log: Path) -> tuple[list[tuple[str, int, int]], dict[str, int]]:
    """The I/Os on a file in their order, and its sync calls."""
    ended = subprocess.run([*STRACE, "-o", str(log), *command], check=False, capture_output=True, cwd=log.parent)
    # 4: through the page cache the numbers are those of memory
    assert ended.returncode in (0, 4), ended.stderr
    calls = calls_by_file(log, {file.name: 1})[file.name]
    return calls.ios, dict(calls.syncs)


@pytest.mark.parametrize("options", _JOBS.values(), ids=_JOBS)
def test_drivelab_makes_the_calls_that_fio_makes(options: list[str], tmp_path: Path) -> None:
    data, recording = tmp_path / "data", tmp_path / "job.iolog"
    job = ["fio", "--name=job", "--filename=data", "--size=1M", "--ioengine=psync", "--number_ios=80", *options]
    subprocess.run([*job, f"--write_iolog={recording}"], check=True, capture_output=True, cwd=tmp_path)
    again = ["fio", "--name=job", f"--read_iolog={recording}", "--ioengine=psync"]
    of_fio, syncs_of_fio = called(again, data, tmp_path / "fio.calls")
    replay = [sys.executable, "-m", "drivelab", "replay", str(recording), str(data), "--buffered"]
    replay += ["--overwrite-file", "--record-ios", "--out", str(tmp_path / "runs")]
    of_drivelab, syncs = called([*replay, "--json"], data, tmp_path / "drivelab.calls")
    assert of_drivelab == of_fio
    assert len(of_fio) >= 80
    assert syncs == syncs_of_fio
    (run,) = (tmp_path / "runs").iterdir()
    rows = pq.read_table(run / "ios" / "replay.parquet").sort_by("issue_ns").to_pylist()
    names = [RECORDED_OPERATIONS[row["operation"]] for row in rows]
    kept = [(name, row["size_bytes"], row["offset_bytes"]) for name, row in zip(names, rows, strict=True)]
    assert [one for one in kept if one[0] != "sync"] == of_fio
    assert names.count("sync") == sum(syncs_of_fio.values())
    recorded = [line.split()[2] for line in recording.read_text().splitlines()[1:]]
    assert names == [name.removeprefix("data") for name in recorded if name not in ("add", "open", "close")]


def test_the_starts_lie_apart_as_fio_recorded_them(tmp_path: Path) -> None:
    job = ["fio", "--name=job", "--filename=data", "--size=1M", "--rw=randwrite", "--rate_iops=400"]
    subprocess.run([*job, "--number_ios=100", "--write_iolog=log"], check=True, capture_output=True, cwd=tmp_path)
    command = [sys.executable, "-m", "drivelab", "replay", "log", ".", "--record-ios", "--out", "runs", "--json"]
    answer = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path)
    found = json.loads(answer.stdout)
    moments = [int(line.split()[0]) for line in (tmp_path / "log").read_text().splitlines() if " write " in line]
    rows = pq.read_table(tmp_path / found["run"] / "ios" / "replay.parquet").sort_by("issue_ns").to_pylist()
    intended = [row["issue_ns"] + row["total_latency_ns"] - row["response_latency_ns"] for row in rows]
    assert len(intended) == len(moments) == 100
    for start, moment in zip(intended, moments, strict=True):
        assert abs((start - intended[0]) - 1000 * (moment - moments[0])) <= 5
