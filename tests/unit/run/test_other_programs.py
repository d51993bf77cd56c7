"""What other programs did: arithmetic on made-up processes, and real ones of this computer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from drivelab.run import other_programs
from drivelab.run.other_programs import ProgramsReading, Totals, programs_between, read_programs

SECOND_NS = 1_000_000_000
MIB = 1 << 20
WORK = """
import sys, time
while time.process_time() < 0.3: pass
print(flush=True)
sys.stdin.read()
"""


def reading(at_s: float, elsewhere: int, **processes: tuple[int, int, Totals]) -> ProgramsReading:
    """Processes by name: their id, their parent's, and what they did so far."""
    found = {(pid, 7): (name.rstrip("_"), parent, totals) for name, (pid, parent, totals) in processes.items()}
    return ProgramsReading(round(at_s * SECOND_NS), found, elsewhere)


def test_everything_is_told_by_name_the_busiest_first() -> None:
    before = reading(0, 100, copier=(10, 1, Totals(5, 0, 50 * MIB)), quiet=(11, 1, Totals(9 * SECOND_NS, 9, 9)))
    after = reading(
        2,
        100 + 3 * MIB,
        copier=(10, 1, Totals(5, 0, 54 * MIB)),
        copier_=(12, 1, Totals(0, 0, 2 * MIB)),
        quiet=(11, 1, Totals(9 * SECOND_NS, 9, 109)),
        burner=(13, 1, Totals(SECOND_NS, 0, 0)),
    )
    assert programs_between(before, after) == {
        "bytes_read": 0,
        "bytes_written": 6 * MIB + 100,
        "bytes_written_elsewhere": 3 * MIB,
        "busiest": [
            {"name": "copier", "processors": 0.0, "bytes_read": 0, "bytes_written": 6 * MIB},
            {"name": "burner", "processors": 0.5, "bytes_read": 0, "bytes_written": 0},
        ],
    }


def test_what_a_child_did_before_is_not_what_its_parent_did_meanwhile() -> None:
    before = reading(0, 0, make=(10, 1, Totals(0, 0, 0)), cc=(11, 10, Totals(SECOND_NS, 0, 7 * MIB)))
    after = reading(1, 0, make=(10, 1, Totals(SECOND_NS + SECOND_NS // 4, 0, 8 * MIB)))
    found = programs_between(before, after)
    assert found is not None
    assert found["busiest"] == [{"name": "make", "processors": 0.25, "bytes_read": 0, "bytes_written": MIB}]


def test_a_number_that_was_given_again_is_another_process() -> None:
    before = ProgramsReading(0, {(10, 7): ("old", 1, Totals(0, 0, 5 * MIB))}, 0)
    after = ProgramsReading(SECOND_NS, {(10, 8): ("new", 1, Totals(0, 0, MIB))}, 0)
    found = programs_between(before, after)
    assert found is not None
    assert found["bytes_written"] == MIB


def test_no_time_and_no_reading_tell_nothing() -> None:
    assert programs_between(reading(1, 0), reading(1, 0)) is None
    assert programs_between(None, reading(1, 0)) is None


def test_a_program_of_this_computer_is_seen_and_our_own_children_are_not() -> None:
    # the shell is ours, its child is not
    shell = ["sh", "-c", '"$0" -c "$1"; true', sys.executable, WORK]
    before = read_programs([])
    with subprocess.Popen(shell, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as ours:
        assert ours.stdout is not None
        assert ours.stdin is not None
        ours.stdout.readline()
        after = read_programs([])
        ours.stdin.close()
    found = programs_between(before, after)
    assert found is not None
    names = {one["name"]: one["processors"] for one in found["busiest"]}
    used = sum(processors for name, processors in names.items() if name.startswith("python"))
    assert used * (after.read_at_ns - before.read_at_ns) >= SECOND_NS / 4
    assert not {os.getpid(), ours.pid} & {pid for pid, _ in after.processes}


def test_what_is_not_there_or_not_ours_to_see_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_programs, "PROC", tmp_path)
    monkeypatch.setattr(other_programs, "SYSFS_BLOCK", tmp_path / "none")
    for pid, name, flags in ((50, "a (b) c", 0), (51, "kworker", 0x00200000), (52, "", 0)):
        (tmp_path / str(pid)).mkdir()
        ticks = os.sysconf("SC_CLK_TCK")
        line = f"{pid} ({name}) S 1 1 1 0 -1 {flags} 0 0 0 0 {ticks} {ticks} 0 0 20 0 1 0 77 0\n"
        (tmp_path / str(pid) / "stat").write_text(line if name else "")
    (tmp_path / "self").mkdir()
    assert read_programs([]).processes == {(50, 77): ("a (b) c", 1, Totals(2 * SECOND_NS, 0, 0))}


def test_only_drives_that_hold_data_themselves_count_as_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_programs, "SYSFS_BLOCK", tmp_path)
    for name, sectors in (("sda", 2), ("nvme0n1", 10), ("loop0", 100), ("dm-0", 1000), ("zram0", 10_000)):
        (tmp_path / name / "slaves").mkdir(parents=True)
        (tmp_path / name / "stat").write_text(f"1 0 1 0 1 0 {sectors} 0 0 0 0\n")
    (tmp_path / "dm-0" / "slaves" / "sda").mkdir()
    assert read_programs(["sda"]).bytes_written_elsewhere == 10 * 512
