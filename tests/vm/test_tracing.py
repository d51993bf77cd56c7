"""The block trace interface on a kernel without lockdown, beside trace events and what the drive itself counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vm.guest import Guest

HERE = Path(__file__).parent
COUNT = 30


@pytest.mark.parametrize("kind", ["nvme", "sata"])
def test_relay_events_and_the_drive_count_the_same_commands(guest: Guest, kind: str) -> None:
    drive = guest.drive(kind)
    script = HERE / "traced_writes.py"
    # what looks at a drive when it appears is over by now
    drive.reset_counts()
    environment = {"PYTHONPATH": str(HERE.parent)}
    answer = guest.run("python", script, drive.name, str(COUNT), environment=environment, timeout_s=120)
    found, sent = json.loads(answer.stdout), drive.counts()
    expected = {"writes": COUNT, "flushes": COUNT, "bytes_written": 4096 * COUNT}
    assert found["relay"] == found["events"] == expected
    assert (sent.writes, sent.flushes, sent.written_bytes) == (COUNT, COUNT, 4096 * COUNT)
    assert (found["differences"], found["lost"]) == ([], [0, 0])
    assert found["records"] > 0
    # a file for every processor, in which no number is left out, and blktrace's notices
    assert found["relay_files"] == [f"{drive.name}.blktrace.{cpu}" for cpu in range(2)]
    assert found["relay_sequence_ends"] == found["relay_records"]
    assert found["relay_notices"]["1"] >= 1
    # nothing stays armed
    assert guest.shell(f"cat /sys/block/{drive.name}/trace/enable").stdout == "0\n"


@pytest.mark.needs_tool("blkparse")
def test_a_trace_that_blktrace_has_armed_is_refused_and_goes_on(guest: Guest) -> None:
    drive = guest.drive("virtio")
    script = f"""
        cd /tmp
        blktrace -d {drive.path} -o theirs >said 2>&1 & theirs=$!
        until [ "$(cat /sys/block/{drive.name}/trace/enable)" = 1 ]; do kill -0 $theirs; sleep 0.2; done
        python -c '
from pathlib import Path
from drivelab.model.errors import DrivelabError
from drivelab.run.tracing.collect import collected_trace
try:
    with collected_trace("{drive.name}", Path("/tmp/ours"), "relay"):
        pass
except DrivelabError as error:
    print(error.code, error.what)
'
        cat /sys/block/{drive.name}/trace/enable
        dd if=/dev/zero of={drive.path} bs=4k count=10 oflag=direct 2>/dev/null
        kill -TERM $theirs
        wait $theirs
        blkparse -q -i theirs -f "%a %S\\n" -a write | grep -c "^D"
    """
    lines = guest.shell(script, timeout_s=120).stdout.splitlines()
    assert lines == [f"R432 the block trace interface: somebody else traces {drive.name}", "1", "10"]


def test_a_relay_trace_of_a_killed_drivelab_is_taken_down(guest: Guest) -> None:
    drive = guest.drive("nvme")
    switch = f"/sys/block/{drive.name}/trace/enable"
    script = f"""
        export XDG_STATE_HOME=/tmp/state
        trace() {{
            python -c '
import sys, time
from pathlib import Path
from drivelab.run.tracing.collect import collected_trace
with collected_trace("{drive.name}", Path("/tmp/ours"), "relay"):
    print("tracing", flush=True)
    time.sleep(float(sys.argv[1]))
' "$1"
        }}
        for way in restore next; do
            rm -f said; trace 100 >said & ours=$!
            until grep -q tracing said; do kill -0 $ours; sleep 0.2; done
            # the shell's function runs in a shell of its own
            kill -KILL $(cat /proc/$ours/task/$ours/children) $ours
            cat {switch}
            if [ $way = restore ]; then drivelab restore; else trace 0; fi
            cat {switch}
        done
    """
    lines = guest.shell(script, timeout_s=180).stdout.splitlines()
    restored = f"after 'the trace of {drive.name}': ended the trace of {drive.name}"
    assert lines == ["1", restored, "0", "1", "tracing", "0"]
