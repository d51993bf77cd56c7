"""Results of older versions and of other modes: read where that is simple, otherwise named with what is meant."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from drivelab.cli.main import run as run_program
from drivelab.interop.foreign import SourceText
from drivelab.interop.recognise import read_foreign
from drivelab.model.errors import DrivelabError
from drivelab.store.read import open_run

FOREIGN = Path(__file__).resolve().parents[2] / "golden" / "foreign"

NORMAL_FIO = """\
random-read: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=8
fio-3.33
Starting 1 process

random-read: (groupid=0, jobs=1): err= 0: pid=29023: Sun Nov 22 16:02:11 2026
  read: IOPS=51.2k, BW=200MiB/s (210MB/s)(1024KiB/5msec)
    slat (nsec): min=1402, max=54211, avg=4820.11, stdev=5011.20
     lat (usec): min=60, max=811, avg=150.43, stdev=92.30

Run status group 0 (all jobs):
   READ: bw=200MiB/s (210MB/s), 200MiB/s-200MiB/s (210MB/s-210MB/s), io=1024KiB (1049kB), run=5-5msec
"""
OLD_IOPING = """\
4096 bytes from /tmp (ext4 /dev/sda1): request=1 time=0.2 ms
4096 bytes from /tmp (ext4 /dev/sda1): request=2 time=0.3 ms

--- /tmp (ext4 /dev/sda1) ioping statistics ---
2 requests completed in 1001.2 ms, 4237 iops, 16.6 mb/s
min/avg/max/mdev = 0.2/0.2/0.3/0.0 ms
"""
OLD_PG_TEST_FSYNC = """\
2 seconds per test
O_DIRECT supported on this platform for open_datasync and open_sync.

Compare file sync methods using one 8kB write:
(in wal_sync_method preference order, except fdatasync
is Linux's default)
        open_datasync                     128.517 ops/sec
        fdatasync                         125.000 ops/sec
        fsync_writethrough                            n/a

Compare open_sync with different write sizes:
(This is designed to compare the cost of writing 16kB
in different write open_sync sizes.)
         1 * 16kB open_sync write         129.001 ops/sec
         8 *  2kB open_sync writes         16.500 ops/sec
"""
THROUGHPUT_IOZONE = """\
        Iozone: Performance Test of File I/O
                Version $Revision: 3.429 $
        Command line used: iozone -t 4 -s 64m -r 4k
        Throughput test with 4 processes
        Each process writes a 65536 kByte file in 4 kByte records

        Children see throughput for  4 initial writers  =  123456.78 kB/sec
        Parent sees throughput for  4 initial writers   =  120000.00 kB/sec
        Min throughput per process                      =   30000.00 kB/sec
        Min xfer                                        =   65000.00 kB

        Children see throughput for  4 re-readers       = 2000000.00 kB/sec
        Parent sees throughput for  4 re-readers        = 1900000.00 kB/sec
        Children see throughput for 4 mixed workload    =  100000.00 kB/sec
"""
OLD_BONNIE = """\
Version  1.03       ------Sequential Output------ --Sequential Input- --Random-
                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Machine   Size:chnk K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP
box           2G:8k 30000  70 40000  10 20000   5 25000  60 50000   6 180.5   1
box,2G:8k,30000,70,40000,10,20000,5,25000,60,50000,6,180.5,1,16:10000:100/4,2000,99,+++++,+++,2500,98,2100,93,3000,50,2200,97
"""
BLOCK_DEVICE = """\
4 KiB <<< {path} (block device 20 GiB): request=1 time={first} us (warmup)
4 KiB <<< {path} (block device 20 GiB): request=2 time=300.1 us
4 KiB <<< {path} (block device 20 GiB): request=3 time=302.3 us

--- {path} (block device 20 GiB) ioping statistics ---
2 requests completed in 602.4 us, 8 KiB read, 3.32 k iops, 13.0 MiB/s
generated 3 requests in 2.00 s, 12 KiB, 1 iops, 6.00 KiB/s
min/avg/max/mdev = 300.1 us / 301.2 us / 302.3 us / 1.10 us
"""


@pytest.mark.provokes("I507")
def test_what_is_not_read_is_named() -> None:
    with pytest.raises(DrivelabError, match=r"ioping before 1\.0, which is not read") as caught:
        read_foreign(SourceText("posted.txt", OLD_IOPING))
    assert caught.value.code == "I507"
    assert "ioping 1.0 or newer" in (caught.value.do or "")


def test_the_throughput_mode_of_iozone_is_read_as_jobs_beside_each_other() -> None:
    # as it is posted in answers, too
    quoted = "\n".join(f">> {line}" for line in THROUGHPUT_IOZONE.splitlines())
    for text in (THROUGHPUT_IOZONE, quoted):
        found = read_foreign(SourceText("posted.txt", text))
        write, reread = found.trials
        assert (write.workload, reread.workload) == ("write", "reread")
        assert write.estimates["throughput_bytes_per_s"].value == pytest.approx(123456.78 * 1024)
        assert write.estimates["iops"].value == pytest.approx(123456.78 / 4)
        assert (write.known.job_count, write.known.target.size_bytes) == (4, 2**26)
        assert write.parameters == {"processes": "4", "file_size": "64MiB", "block_size": "4KiB"}
        assert write.details["parent"] == "120000 kB/s"
        assert write.is_direct is False
        assert any("nothing was flushed" in note for note in found.notes)
        assert any("mixed workload" in note for note in found.notes)
    alone = read_foreign(SourceText("lines.txt", "Children see throughput for 2 random readers = 10.5 ops/sec"))
    assert {name: one.value for name, one in alone.trials[0].estimates.items()} == {"iops": 10.5}
    assert alone.trials[0].is_direct is None


@pytest.mark.provokes("I503", "I505")
def test_a_throughput_that_is_no_number_is_named_and_a_report_without_any_is_empty() -> None:
    with pytest.raises(DrivelabError) as broken:
        read_foreign(SourceText("posted.txt", THROUGHPUT_IOZONE.replace("123456.78", "fast")))
    assert (broken.value.code, broken.value.where) == ("I503", "posted.txt:7, what the children see")
    with pytest.raises(DrivelabError) as empty:
        read_foreign(
            SourceText("posted.txt", '"Throughput report Y-axis is type of test X-axis is number of processes"')
        )
    assert empty.value.code == "I505"


def test_a_line_of_bonnie_1_03_is_read_without_latencies() -> None:
    found = read_foreign(SourceText("posted.txt", OLD_BONNIE))
    assert found.version == "1.03"
    trials = {one.workload: one for one in found.trials}
    # that of the files was too short, and this version tells no latency either
    assert len(trials) == 11
    assert "read-files-sequential" not in trials
    assert trials["block-write"].estimates["throughput_bytes_per_s"].value == 40000 * 1024
    assert trials["block-write"].known.target.size_bytes == 2 * 2**30
    assert trials["block-write"].estimates["cpu_share"].value == pytest.approx(0.10)
    seeks = trials["seeks"]
    assert (seeks.estimates["read_iops"].value, seeks.known.job_count) == (180.5, 3)
    read = trials["read-files-random"]
    assert read.estimates["iops"].value == 3000
    assert read.parameters == {
        "file_count": "16384", "file_size_max": "10000", "file_size_min": "100", "directory_count": "4",
    }  # fmt: skip
    assert not any("latency" in name for one in trials.values() for name in one.estimates)
    assert any("prints no latencies" in note for note in found.notes)


def test_fio_json_behind_normal_output_is_read() -> None:
    text = NORMAL_FIO + (FOREIGN / "fio-3.33.json").read_text()
    assert len(read_foreign(SourceText("both.txt", text)).trials) == 2


def test_a_pg_test_fsync_without_microseconds_is_read() -> None:
    found = read_foreign(SourceText("old.txt", OLD_PG_TEST_FSYNC))
    told = {(one.workload, *one.parameters.values()): one.estimates["iops"].value for one in found.trials}
    assert told == {
        ("one-write", "o_dsync"): 128.517,
        ("one-write", "fdatasync"): 125.0,
        ("pieces", "16KiB"): 129.001,
        ("pieces", "2KiB"): 8 * 16.5,
    }


def test_block_devices_of_ioping_are_targets_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = []
    for name in ("sda", "sdb"):
        path = tmp_path / f"{name}.txt"
        path.write_text(BLOCK_DEVICE.format(path=f"/dev/{name}", first="400.0" if name == "sda" else "500.0"))
        files.append(str(path))
    assert run_program(["import", *files, "--out", str(tmp_path / "runs")]) == 0
    assert "2 results on sda, sdb\nby ioping" in capsys.readouterr().out
    run = open_run(next((tmp_path / "runs").iterdir()))
    rows = run.trials.to_pylist()
    assert [(row["target"], row["repeat"]) for row in rows] == [("sda", 1), ("sdb", 1)]
    assert not any("filesystem" in step["levels"] for step in run.run_json["plan"]["steps"])


@pytest.mark.provokes("U012")
def test_imports_that_began_in_one_second_are_compared_and_copies_are_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads((FOREIGN / "fio-3.33-same-jobs.json").read_text())
    del document["disk_util"]
    runs = []
    for number in range(3):
        # the third is the same file once more
        document["jobs"][0]["read"]["iops"] += 1 if number == 1 else 0
        (tmp_path / "pod.json").write_text(json.dumps(document))
        out = tmp_path / str(number)
        assert run_program(["import", str(tmp_path / "pod.json"), "--out", str(out)]) == 0
        runs.append(str(next(out.iterdir())))
    assert run_program(["compare", runs[0], runs[1]]) in (0, 4)
    capsys.readouterr()
    assert run_program(["compare", runs[1], runs[2]]) == 2
    told = capsys.readouterr().err
    assert "error[U012]" in told
    assert "--drive NAME" in told
