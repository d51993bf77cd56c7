"""Files that a followed program has open for a moment only: whoever opens, writes, syncs and closes is told by file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pyarrow.parquet as pq
import pytest

from drivelab.cli import main
from drivelab.model.system_calls import FILE_UNKNOWN

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "mkfs.ext4")]

SAVES = 300
# saves as editors and package managers do it: by its whole name, from the directory of the program, and by a child
SAVER = """
import os, sys
directory, count = sys.argv[1], int(sys.argv[2])
def save(name, renamed):
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(file, b"x" * 100)
    os.fsync(file)
    os.close(file)
    os.rename(name, renamed)
for _ in range(count):
    save(directory + "/whole.new", directory + "/whole")
os.chdir(directory)
os.mkdir("below")
os.symlink("below", "link")
for _ in range(count):
    save("link/near.new", "near")
if os.fork() == 0:
    os.chdir("below")
    for _ in range(count):
        save("./child.new", "child")
    os._exit(0)
os.wait()
"""


def test_files_that_are_open_for_a_moment_are_told_by_name(
    mounted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    program = [sys.executable, "-c", SAVER, str(mounted), str(SAVES)]
    assert main.run(["explain", "--path", str(mounted), "--json", "--command", "--", *program]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["calls_trace"]["source"], found["lost_events"]) == ("BPF", 0)
    rows = pq.read_table(Path(found["directory"]) / "calls.parquet").to_pylist()
    for path in (mounted / "whole.new", mounted / "below/near.new", mounted / "below/child.new"):
        calls = [row["call"] for row in rows if row["file"] == str(path)]
        assert calls == ["write", "fsync"] * SAVES, path
    assert FILE_UNKNOWN not in found["left_out"]


SERVED = 200
# answers clients that come and go, and writes down what they say
SERVER = """
import os, socket, sys
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
served = socket.create_server(("127.0.0.1", 0))
for _ in range(int(sys.argv[2])):
    client = socket.create_connection(served.getsockname())
    os.write(client.fileno(), b"x" * 100)
    with served.accept()[0] as accepted:
        os.write(log, os.read(accepted.fileno(), 100))
    client.close()
os.fsync(log)
"""


@pytest.mark.parametrize("source", ["BPF", "trace events"])
def test_what_is_read_from_connections_that_come_and_go_is_no_file(
    mounted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], source: str
) -> None:
    if source == "trace events":
        monkeypatch.setattr("drivelab.run.following.calls_by_bpf.CallProbe", Mock(side_effect=PermissionError))
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    program = [sys.executable, "-I", "-S", "-c", SERVER, str(mounted / "log"), str(SERVED)]
    assert main.run(["explain", "--path", str(mounted), "--json", "--command", "--", *program]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["calls_trace"]["source"], found["lost_events"]) == (source, 0)
    assert found["left_out"]["calls on sockets, pipes and the like"] >= 2 * SERVED
    # where no names are recorded, what Python reads when it begins
    assert found["left_out"].get(FILE_UNKNOWN, 0) < SERVED


UNPACKED = 40


def test_files_that_tar_unpacks_are_told_by_name(
    mounted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    packed = [f"packed/below/file{number}" for number in range(UNPACKED)]
    (tmp_path / "packed/below").mkdir(parents=True)
    for name in packed:
        (tmp_path / name).write_bytes(b"x" * 100)
    subprocess.run(["tar", "-cf", "packed.tar", "packed"], cwd=tmp_path, check=True)
    program = ["tar", "-xf", str(tmp_path / "packed.tar"), "-C", str(mounted)]
    assert main.run(["explain", "--path", str(mounted), "--json", "--command", "--", *program]) == 0
    found = json.loads(capfd.readouterr().out)
    rows = pq.read_table(Path(found["directory"]) / "calls.parquet").to_pylist()
    assert {row["file"] for row in rows if row["call"] == "write"} == {str(mounted / name) for name in packed}
    assert FILE_UNKNOWN not in found["left_out"]
