"""Children of a followed program that end before anybody can look at them: what they write has its file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from unittest.mock import Mock

import pyarrow.parquet as pq
import pytest

from drivelab.cli import main
from drivelab.store.followed import open_followed

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "mkfs.ext4")]

# each child and its thread end at once; some write by a copy, some as another program
CHILDREN = 100
SHORT_LIVED = """
import os, sys, threading
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
kept = os.dup2(os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT), 20)
for number in range(int(sys.argv[3])):
    if os.fork() == 0:
        thread = threading.Thread(target=os.write, args=(log, b"x" * 100))
        thread.start()
        thread.join()
        os.close(log)
        if number % 2:
            os.dup2(kept, 1)
            os.execvp("echo", ["echo", "x"])
        os.write(os.dup(kept), b"x\\n")
        os._exit(0)
    os.wait()
os.fsync(log)
"""


@pytest.mark.parametrize("source", ["BPF", "trace events"])
def test_children_that_end_at_once_write_files_that_their_parent_opened(
    mounted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], source: str
) -> None:
    if source == "trace events":
        monkeypatch.setattr("drivelab.run.following.calls_by_bpf.CallProbe", Mock(side_effect=PermissionError))
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    log, kept = mounted / "log", mounted / "kept"
    program = [sys.executable, "-c", SHORT_LIVED, str(log), str(kept), str(CHILDREN)]
    assert main.run(["explain", "--path", str(mounted), "--json", "--command", "--", *program]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["calls_trace"]["source"], found["lost_events"]) == (source, 0)
    rows = pq.read_table(Path(found["directory"]) / "calls.parquet").to_pylist()
    for path, size in ((log, 100), (kept, 2)):
        written = [row for row in rows if row["file"] == str(path) and row["call"] == "write"]
        assert [row["size_bytes"] for row in written] == [size] * CHILDREN
        # they go on where the one before stood
        assert [row["offset_bytes"] for row in written] == list(range(0, size * CHILDREN, size))
        assert len({row["process"] for row in written}) == CHILDREN


# some children are seen as the shell that they are at first, and end before they are looked at again
COPIES = 20
SHELL = """
sleep 2.2
for number in $(seq $2); do
    sh -c "sleep 0.06; exec dd if=/dev/zero of=$1/file$number bs=4k count=1 conv=fsync status=none" &
    sleep 0.03
done
wait
"""


def test_a_call_is_told_of_the_program_that_made_it_and_not_of_the_one_before(
    mounted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    program = ["sh", "-c", SHELL, "sh", str(mounted), str(COPIES)]
    assert main.run(["explain", "--path", str(mounted), "--json", "--command", "--", *program]) == 0
    stored = open_followed(Path(json.loads(capfd.readouterr().out)["directory"]))
    synced = [row["thread"] for row in stored.calls().to_pylist() if row["call"] == "fsync"]
    assert [stored.record.names[thread] for thread in synced] == ["dd"] * COPIES
