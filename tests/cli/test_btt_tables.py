"""What ``drivelab btt`` shows beside the phases, and what it says of files that users name."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from block_trace import MESSAGE, NOTIFY, READ, SDB, BlockTrace, C, Q, TraceRecord, device
from btt_command import RECORDINGS, Btt, document_of, durable_writes
from drivelab.model.errors import EXIT_NOT_TRUSTED, EXIT_OK


def test_the_parts_of_q2c_have_shares_that_add_up(btt: Btt) -> None:
    for case in ("ext4_append1", "xfs_append1"):
        _, out, _ = btt(RECORDINGS / case)
        table = out.partition("Phases")[2].partition("\n\n")[0]
        shares = [float(share) for share in re.findall(r"([\d.]+) %", table)]
        assert sum(shares) == pytest.approx(100, abs=0.05 * len(shares))
        assert not re.search(r"^(Q2C|Q2Q|flush a).*%", table, re.MULTILINE)


def test_each_device_has_its_commands_rates_and_time(btt: Btt, tmp_path: Path) -> None:
    trace, other = BlockTrace(), BlockTrace(device=SDB)
    for number in range(100):
        # busy for half of the time, 4 KiB every 100 us
        trace.io(number * 100_000, number * 8, issued_to_completed_ns=50_000, is_plugged=False)
        other.split_io(number * 100_000, number * 800, [65536, 65536])
    trace.records += other.records
    path = trace.write_merged(tmp_path / "two.bin")
    _, out, _ = btt(path, "--details")
    rows = re.findall(r"^(8:\d+) +(.*\S)", out.partition("By device")[2], re.MULTILINE)
    cells = {device: re.split(r"  +", row) for device, row in rows[:2]}
    assert cells["8:0"][:4] == ["100", "100", "1.00", "4 KiB"]
    assert cells["8:16"][:4] == ["100", "200", "0.50", "64 KiB"]
    assert cells["8:0"][4:6] == ["0 B/s", "41.1 MB/s"]
    assert float(cells["8:0"][6].rstrip(" %")) == pytest.approx(50, abs=1)


def test_devices_that_may_lie_on_each_other_are_never_added_up(btt: Btt, tmp_path: Path) -> None:
    upper, lower = durable_writes(), durable_writes(on=SDB)
    upper.records += lower.records
    path = upper.write_merged(tmp_path / "two.bin")
    document = document_of(btt, path)
    assert document["sentences"][0].startswith("On 8:0, 40 cache flushes of 7 ms each took 280 ms of 982 ms (28.5 %)")
    assert document["sentences"][1].startswith("On 8:16, 40 cache flushes of 7 ms each took 280 ms of 982 ms (28.5 %)")
    assert [re.match(r"A bio with data on (8:\d+) ", told)[1] for told in document["sentences"][2:]] == ["8:0", "8:16"]
    assert document["flushes"]["time_share"] is None
    _, out, _ = btt(path, "--details")
    text = " ".join(out.split())
    assert "80 flush commands of the write cache, 7 ms each. btt drops" in text
    assert "560 ms" not in text
    assert re.findall(r"^Phases.*\S", out, re.MULTILINE) == ["Phases of 8:0", "Phases of 8:16"]
    assert "By class, all devices together" in out
    # of many devices those that took longest, and all of them where that is asked for
    upper.records += durable_writes(on=device(8, 32)).records
    path = upper.write_merged(tmp_path / "three.bin")
    _, out, _ = btt(path)
    assert "and 1 more devices: --per-device" not in out
    assert "and 1 more device: --per-device" in out
    _, out, _ = btt(path, "--per-device")
    assert out.count("Phases of 8:") == 3
    assert "more device" not in out


def test_a_device_without_commands_has_only_bios(btt: Btt, tmp_path: Path) -> None:
    trace = BlockTrace()
    for number in range(10):
        trace.add(number * 100_000, Q, number * 8, 4096, READ)
        trace.add(number * 100_000 + 50_000, C, number * 8, 4096, READ)
    _, out, _ = btt(trace.write_merged(tmp_path / "zram.bin"), "--details")
    assert re.search(r"^8:0 +10( +-){6} *$", out, re.MULTILINE)
    assert "from Q to C" in out
    assert "at the device" not in out
    assert "Distance from one command" not in out


def test_what_was_lost_leaves_no_deepest_moment(btt: Btt, tmp_path: Path) -> None:
    path = tmp_path / "sda.bin"
    whole = durable_writes().write_merged(path, counts_sequence=False).read_bytes()
    path.write_bytes(whole[:480] + b"CPU:0 [LOST 52 EVENTS]\n" + whole[480:])
    document = document_of(btt, path, status=EXIT_NOT_TRUSTED)
    assert document["queue_depth"]["all"]["device"]["max"] is None
    _, out, _ = btt(path, "--details")
    assert len(re.findall(r"max +- ", out.partition("Queue depth")[2])) == 2
    assert re.search(r"^8:0 .* - *$", out, re.MULTILINE), "nor a busy time"


def test_records_with_cgroup_ids_are_not_taken_for_overlaps(btt: Btt, tmp_path: Path) -> None:
    trace = BlockTrace()
    for number in range(20):
        trace.io(number * 100_000, number * 64, is_plugged=False)
    trace.records = [replace(one, action=one.action | 0x100, payload=b"12345678") for one in trace.records]
    document = document_of(btt, trace.write_merged(tmp_path / "sda.bin"))
    assert document["traps"].keys() == {"cgroup_ids"}
    assert document["all"]["Q2C"]["n"] == 20


def test_messages_of_a_merged_dump_are_no_damage(btt: Btt, tmp_path: Path) -> None:
    trace = durable_writes()
    # blkparse -d lets all times but those of messages begin at 0
    trace.records.insert(40, TraceRecord(9 * 10**12, MESSAGE, category=NOTIFY, payload=b"bfq: wr_busy 0"))
    path = tmp_path / "sda.bin"
    path.write_bytes(b"".join(record.packed() for record in trace.records))
    for options in ([], ["--compat", "1.2"]):
        status, _, err = btt(path, *options)
        assert (status, err) == (EXIT_OK, "")


def test_the_advice_is_for_what_is_missing(btt: Btt, tmp_path: Path) -> None:
    durable_writes(cpus=3).write(tmp_path, "sda")
    (tmp_path / "notes.txt").write_text("nothing")
    assert "name only files that blktrace" in btt(tmp_path / "sda", tmp_path / "notes.txt")[2]
    first = tmp_path / "sda.blktrace.0"
    first.write_bytes(first.read_bytes()[:-20])
    assert "copy the whole file" in btt(tmp_path / "sda")[2]
    (tmp_path / "sda.blktrace.1").unlink()
    assert "put the files of all CPUs beside each other" in btt(tmp_path / "sda")[2]


def test_files_of_cpus_put_one_behind_the_other_are_recognised(btt: Btt, tmp_path: Path) -> None:
    files = durable_writes(cpus=2).write(tmp_path, "sda")
    both = tmp_path / "both.bin"
    both.write_bytes(b"".join(file.read_bytes() for file in files))
    document = document_of(btt, both)
    assert any("name them one by one" in text for text in document["warnings"])
    assert document["recording"]["damage_counts"] == {"out_of_order": 1}
    assert not document_of(btt, tmp_path / "sda")["recording"]["damage_counts"]


def test_a_dash_is_what_comes_through_a_pipe(btt: Btt, tmp_path: Path) -> None:
    path = durable_writes().write_merged(tmp_path / "sda.bin")
    words = [sys.executable, "-m", "drivelab", "btt", "-", "--compat", "1.2"]
    with path.open("rb") as file:
        cat = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
        answer = subprocess.run(words, stdin=cat.stdout, capture_output=True, text=True)
        cat.communicate()
    assert (answer.returncode, answer.stdout, answer.stderr) == (EXIT_OK, btt(path, "--compat", "1.2")[1], "")
