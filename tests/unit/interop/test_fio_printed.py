"""What fio prints for people and for scripts is read as its JSON of the same run, within the rounding."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from drivelab.interop.foreign import ForeignTrial, SourceText
from drivelab.interop.recognise import read_foreign

JOBS = (
    "--ioengine=null --size=64m --rw=randrw --bs=4k --iodepth=4",
    "--ioengine=psync --size=1m --rw=randwrite --bs=4k --fdatasync=1",
    "--ioengine=libaio --iodepth=4 --size=8m --rw=randread --bs=16k",
    "--ioengine=psync --size=8m --rw=write --bsrange=4k-64k",
    "--ioengine=null --size=64m --rw=read --numjobs=2 --group_reporting",
    "--ioengine=null --size=64m --rw=read --numjobs=2",
    "--ioengine=psync --size=1m --rw=randwrite --name=b --size=2m --rw=read --stonewall",
)
# of version 2: other names, units of 1024 with the letters of 1000, latencies in us
OLD = """\
test: (g=0): rw=randrw, bs=4K-4K/4K-4K/4K-4K, ioengine=libaio, iodepth=64
fio-2.2.10
Starting 1 process
test: (groupid=0, jobs=1): err= 0: pid=30364: Sat Jul 16 14:24:12 2016
  read : io=3071.7MB, bw=55552KB/s, iops=13887, runt= 56621msec
    slat (usec): min=2, max=51803, avg=11.50, stdev=20.10
    clat (usec): min=208, max=915693, avg=3661.96, stdev=638.14
     lat (usec): min=211, max=915703, avg=3673.50, stdev=638.90
    clat percentiles (msec):
     |  1.00th=[    1], 50.00th=[    3], 99.00th=[   31], 99.90th=[   50],
     | 99.99th=[   67]
  write: io=1024.4MB, bw=18525KB/s, iops=4631, runt= 56621msec
  cpu          : usr=16.94%, sys=50.37%, ctx=12706, majf=0, minf=9
     issued    : total=r=786347/w=262229/d=0, short=r=0/w=0/d=0, drop=r=0/w=0/d=0
     latency   : target=0, window=0, percentile=100.00%, depth=64

Disk stats (read/write):
    dm-0: ios=9435/13239, merge=0/0, ticks=1168582/1350473, in_queue=2519122, util=100.00%
  vda: ios=782344/260933, merge=0/11, ticks=1530780/536270, in_queue=2066420, util=98.60%
"""


def run_by_fio(options: str, folder: Path) -> tuple[str, str, str]:
    """Terse lines, normal output and JSON of one run."""
    command = ["fio", "--name=a", f"--directory={folder}", *options.split(), "--output-format=json,normal,terse"]
    text = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
    begin, end = text.index("\n{\n"), text.index("\n}\n") + 3
    terse = "".join(f"{line}\n" for line in text[:begin].splitlines() if line.startswith("3;"))
    return terse, text[:begin] + text[end:], text[begin:end]


def trials(name: str, text: str) -> dict[str, ForeignTrial]:
    return {one.title: one for one in read_foreign(SourceText(name, text)).trials}


def number(trial: ForeignTrial, metric: str) -> float | None:
    estimate = trial.estimates[metric]
    return estimate.observed if estimate.value is None else estimate.value


@pytest.mark.needs_tool("fio")
@pytest.mark.parametrize("options", JOBS)
def test_normal_and_terse_output_become_what_the_json_of_the_run_becomes(options: str, tmp_path: Path) -> None:
    terse, normal, document = run_by_fio(options, tmp_path)
    whole, of_normal, of_terse = (
        trials(name, text) for name, text in (("a.json", document), ("a.txt", normal), ("a.terse", terse))
    )
    # lines of clones do not say that they are clones
    found_by = [of_normal] if "--numjobs=2" in options and "group_reporting" not in options else [of_normal, of_terse]
    assert all(list(found) == list(whole) for found in found_by)
    for name, exact in whole.items():
        # that each write was synced, no text tells: the sync calls stand for themselves
        is_synced = any(metric.startswith("sync") for metric in exact.estimates)
        for found in found_by:
            told = {metric for metric in exact.estimates if metric in found[name].estimates and "cpu" not in metric}
            assert {"iops", "throughput_bytes_per_s"} <= told
            # without its options a mix is named after what it has more of
            told -= {one for one in told if "latency" in one and found[name].operation != exact.operation}
            for metric in {one for one in told if not is_synced or not one.startswith("total")}:
                # down to whole us
                near = 1100.0 if "latency_ns" in metric else 1.0
                assert number(found[name], metric) == pytest.approx(number(exact, metric), rel=0.012, abs=near), metric
        asked, seen = exact.known.model_dump(exclude_unset=True), of_normal[name].known.model_dump(exclude_unset=True)
        assert {"operations", "queue_depth", "job_count"} <= seen.keys() <= asked.keys() | {"backend"}
        assert all(asked[key] == value for key, value in seen.items() if key not in ("target", "access", "backend"))
        assert of_normal[name].is_direct is None
        assert of_terse[name].known.model_fields_set <= {"target"}


@pytest.mark.needs_tool("fio")
@pytest.mark.parametrize("how", ["mixed", "both"])
def test_reads_and_writes_together_are_read_from_normal_output_as_from_json(how: str, tmp_path: Path) -> None:
    job = f"--ioengine=null --size=64m --rw=randrw --bs=4k --unified_rw_reporting={how}"
    _, normal, document = run_by_fio(job, tmp_path)
    (of_text,), (exact,) = (trials(name, text).values() for name, text in (("a.txt", normal), ("a.json", document)))
    assert set(of_text.operations) == set(exact.operations)
    for metric in ("read_iops", "write_iops") if how == "both" else ("iops",):
        assert number(of_text, metric) == pytest.approx(number(exact, metric), rel=0.012)


@pytest.mark.needs_tool("fio")
@pytest.mark.parametrize("version", [3, 4, 5])
def test_each_version_of_terse_lines_is_read(version: int, tmp_path: Path) -> None:
    job = "--name=a --ioengine=null --size=64m --rw=randrw --bs=4k"
    command = ["fio", *job.split(), f"--terse-version={version}", "--output-format=terse"]
    text = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path).stdout
    (found,) = read_foreign(SourceText("a.terse", text)).trials
    assert set(found.operations) == {"read", "write"}
    moved = sum(counts["bytes"] for counts in found.operations.values())
    assert moved == 64 * 2**20


def test_the_output_of_version_2_is_read() -> None:
    found = read_foreign(SourceText("posted.txt", OLD))
    (trial,) = found.trials
    assert found.version == "2.2.10"
    assert trial.drive == "dm-0"
    assert trial.operations["read"]["bytes"] == 786347 * 4096
    numbers = {metric: number(trial, metric) for metric in ("read_iops", "write_iops", "read_throughput_bytes_per_s")}
    assert numbers == {
        "read_iops": pytest.approx(786347 / 56.621),
        "write_iops": pytest.approx(262229 / 56.621),
        "read_throughput_bytes_per_s": pytest.approx(786347 * 4096 / 56.621),
    }
    assert number(trial, "completion_latency_ns_p99") == 31e6
    assert number(trial, "total_latency_ns_mean") == pytest.approx(3673.5e3)
    assert trial.known.queue_depth == 64
    assert "direct" not in trial.known.model_fields_set


def test_the_runs_of_a_file_are_told_apart_each_with_its_own_line_of_options() -> None:
    later = OLD.replace("iodepth=64", "iodepth=8").replace("r=786347/", "r=1000/")
    found = read_foreign(SourceText("posted.txt", f"{OLD}\n{later}"))
    assert [trial.known.queue_depth for trial in found.trials] == [64, 8]
    assert [trial.operations["read"]["count"] for trial in found.trials] == [786347, 1000]


def test_what_was_cut_off_is_no_result_of_a_job() -> None:
    lines = OLD.splitlines(keepends=True)
    (trial,) = read_foreign(SourceText("posted.txt", "".join(lines[:5]))).trials
    assert number(trial, "iops") == 13887.0
    document = json.dumps({"fio version": "fio-3.33", "jobs": []})
    with pytest.raises(Exception, match="no result"):
        read_foreign(SourceText("empty.json", document))
