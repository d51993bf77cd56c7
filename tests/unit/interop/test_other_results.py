"""Results of bonnie++, IOzone, diskbenchmark, pg_test_fsync, ioping and dd, in our units."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from drivelab.interop.bonnie.fields import FORMATS
from drivelab.interop.foreign import ForeignFile, ForeignTrial, SourceText
from drivelab.interop.recognise import is_job_file, read_foreign, recognised_kind

FOREIGN = Path(__file__).resolve().parents[2] / "golden" / "foreign"
NAMES = sorted(path.name for path in FOREIGN.iterdir() if path.name != "README.md")


def text_of(name: str) -> str:
    """A stored file."""
    return (FOREIGN / name).read_text()


def read(name: str) -> ForeignFile:
    """What a stored file tells, recognised by its contents."""
    return read_foreign(SourceText(name, text_of(name)))


def by_workload(file: ForeignFile) -> dict[str, ForeignTrial]:
    """The first result of each workload."""
    return {trial.workload: trial for trial in reversed(file.trials)}


def value(trial: ForeignTrial, metric: str) -> float:
    """One number of a result."""
    found = trial.estimates[metric].value
    assert found is not None
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_format_is_recognised_by_its_contents(name: str) -> None:
    assert (
        recognised_kind(text_of(name)) == re.match("fio|bonnie|iozone|diskbenchmark|pg_test_fsync|ioping|dd", name)[0]
    )  # type: ignore[index]
    assert not is_job_file(text_of(name))


@pytest.mark.parametrize(
    ("text", "is_it"),
    [
        ("[global]\nbs=4k\n[job]\nrw=read\n", True),
        ("; a comment\n\n[job]\nrw=randread\n", True),
        ("# comment\n[job1]\nstonewall\n", True),
        ("include other.fio\n[job]\nbs=4k\n", True),
        ('[{"stat": {}}]', False),
        ("[1, 2]\n", False),
        ("nothing\n", False),
        ("", False),
    ],
)
def test_a_job_file_is_told_from_results(text: str, is_it: bool) -> None:
    assert is_job_file(text) is is_it


@pytest.mark.parametrize("name", NAMES)
def test_no_number_has_an_interval_and_lines_are_those_of_the_file(name: str) -> None:
    file = read(name)
    for trial in file.trials:
        assert 1 <= trial.line <= text_of(name).count("\n") + 1
        assert all(found.low is None and found.high is None for found in trial.estimates.values())


def test_phases_of_bonnie_land_on_the_workloads_of_the_suite() -> None:
    from drivelab.experiments.load import load_experiment

    found = by_workload(read("bonnie-1.97.csv"))
    assert set(found) == {one.name for one in load_experiment("filesystem-suite").workloads}
    assert value(found["per-character-write"], "throughput_bytes_per_s") == 718 * 1024
    assert value(found["block-write"], "throughput_bytes_per_s") == 145_812 * 1024
    assert value(found["block-write"], "cpu_share") == 0.2
    assert value(found["block-write"], "total_latency_ns_max") == 631_000_000
    assert value(found["seeks"], "read_iops") == 6200
    assert value(found["delete-random"], "iops") == 20_877
    assert value(found["seeks"], "iops") == 6200
    # each block counts once, as bonnie++ prints it
    assert value(found["rewrite"], "throughput_bytes_per_s") == 64_502 * 1024
    assert "iops" not in found["stat-sequential"].estimates
    assert value(found["stat-sequential"], "total_latency_ns_max") == 1_120_000


@pytest.mark.parametrize(
    ("flags", "is_memory"), [("", True), ("conv=fdatasync", False), ("oflag=dsync", False), ("oflag=direct", False)]
)
def test_a_write_by_dd_that_nobody_flushed_is_called_one_to_memory(flags: str, is_memory: bool) -> None:
    lines = [f"$ dd if=/dev/zero of=x bs=1M count=1000 {flags}", "1000+0 records in", "1000+0 records out"]
    lines.append("1048576000 bytes (1.0 GB, 1000 MiB) copied, 0.42 s, 2.5 GB/s")
    source = SourceText("dd.txt", "\n".join(lines))
    assert any("memory" in note for note in read_foreign(source).notes) == is_memory


def test_lines_of_several_machines_keep_their_names() -> None:
    file = read("bonnie-1.97.csv")
    assert {trial.machine for trial in file.trials} == {"server1", "server2"}
    assert any("links" in note for note in file.notes)


def test_the_line_of_format_198_has_two_columns_more() -> None:
    text = text_of("bonnie-1.98.csv")
    fields = text.strip().split(",")
    found = by_workload(read("bonnie-1.98.csv"))
    assert len(fields) == 50
    assert value(found["per-character-write"], "throughput_bytes_per_s") == int(fields[9]) * 1024
    assert found["seeks"].known.job_count == 5
    assert found["create-random"].parameters["file_count"] == str(16 * 1024)


def test_tests_of_iozone_land_on_the_workloads_of_the_surface() -> None:
    from drivelab.experiments.load import load_experiment

    file = read("iozone-3.492.txt")
    known = {one.name for one in load_experiment("record-surface").workloads}
    assert set(by_workload(file)) - {"pwrite"} <= known
    cells = {(trial.workload, *trial.parameters.values()): trial for trial in file.trials}
    assert value(cells["read", "128KiB", "16KiB"], "throughput_bytes_per_s") == 2_784_517 * 1024
    # a blank column before it
    assert value(cells["record-rewrite", "64KiB", "4KiB"], "throughput_bytes_per_s") == 24_117 * 1024
    assert value(cells["pwrite", "64KiB", "8KiB"], "iops") == 19_120 / 8
    assert ("rewrite", "64KiB", "8KiB") not in cells
    assert "a zero is a combination that IOzone did not measure: 1 of them are left out" in file.notes
    assert cells["write", "64KiB", "4KiB"].known.durability.at_end


def test_iozone_in_operations_and_in_microseconds() -> None:
    found = by_workload(read("iozone-3.394-ops.txt"))
    assert value(found["write"], "iops") == 2604
    assert value(found["write"], "throughput_bytes_per_s") == 2604 * 4096
    assert found["write"].is_direct
    found = by_workload(read("iozone-3.394-us.txt"))
    assert value(found["write"], "total_latency_ns_mean") == 384_000
    assert value(found["write"], "iops") == pytest.approx(1e6 / 384)


def test_wide_numbers_of_iozone_that_push_others_aside_stay_in_order() -> None:
    text = text_of("iozone-3.394-ops.txt").replace(
        "            1024       4    2604    2666    12185    12207                  ",
        "            1024       4    2604    2666    12185    12207 111111111 222222222 333333333 4 5 6 7 8 9",
    )
    found = by_workload(read_foreign(SourceText("wide.txt", text)))
    assert value(found["stdio-reread"], "iops") == 9
    assert value(found["random-write"], "iops") == 222_222_222


def test_seconds_of_diskbenchmark_are_those_of_all_writes() -> None:
    file = read("diskbenchmark.csv")
    first = file.trials[0]
    assert value(first, "total_latency_ns_mean") == pytest.approx(0.033465235 / 100 * 1e9)
    assert value(first, "iops") == pytest.approx(100 / 0.033465235)
    assert (first.machine, first.drive) == ("flygecko", "x25-m")
    assert first.parameters == {"block_size": "1", "shift": "0", "direct": "false", "write-cache": "on"}


def test_ways_to_sync_are_levels_by_our_names() -> None:
    file = read("pg_test_fsync-15.txt")
    one = [trial for trial in file.trials if trial.workload == "one-write"]
    assert [trial.parameters["durability"] for trial in one] == ["o_dsync", "fdatasync", "fsync", "o_sync"]
    rate = float(re.search(r"fdatasync +([\d.]+) ops/sec", text_of("pg_test_fsync-15.txt"))[1])  # type: ignore[index]
    assert value(one[1], "total_latency_ns_mean") == pytest.approx(1e9 / rate)
    assert [trial.is_direct for trial in one] == [True, False, False, True]
    two = next(trial for trial in file.trials if trial.workload == "two-write" and trial.operation == "durable_write")
    # the time of two writes with one sync call is no latency of one write
    assert "total_latency_ns_mean" not in two.estimates
    assert any("fsync_writethrough" in note for note in file.notes)


def test_formats_of_ioping_agree() -> None:
    raw, people, listed = (read(f"ioping-1.3{name}.txt").trials[0] for name in ("-B", "", "-J"))
    fields = text_of("ioping-1.3-B.txt").split()
    assert value(raw, "total_latency_ns_mean") == pytest.approx(int(fields[1]) / int(fields[0]))
    assert value(raw, "total_latency_ns_max") == int(fields[6])
    assert raw.known.block_sizes[0].bytes == 4096
    told = re.search(r"min/avg/max/mdev = ([\d.]+) us / ([\d.]+) ms", text_of("ioping-1.3.txt"))
    assert told is not None
    assert value(people, "total_latency_ns_min") == pytest.approx(float(told[1]) * 1e3)
    assert value(people, "total_latency_ns_mean") == pytest.approx(float(told[2]) * 1e6, rel=0.01)
    assert listed.histograms["read", "total"].total_count == 11
    assert value(listed, "total_latency_ns_p50") == pytest.approx(listed.histograms["read", "total"].quantile_ns(0.5))


def test_periods_of_ioping_are_one_run() -> None:
    (only,) = read("ioping-1.3-p.txt").trials
    counts = [
        int(line.split()[0])
        for line in text_of("ioping-1.3-p.txt").splitlines()
        if line[:1].isdigit() and "<<<" not in line
    ]
    # the last period was not full when the run ended: only the statistics at the end hold it
    assert (sum(counts[:-1]), counts[-1]) == (10, 11)
    assert only.operations["read"]["count"] == only.histograms["read", "total"].total_count == counts[-1]
    assert value(only, "total_latency_ns_mean") == pytest.approx(109_100)
    assert value(only, "iops") == pytest.approx(12 / 24.3e-3)


def test_full_periods_of_ioping_are_exact() -> None:
    lines = [line for line in text_of("ioping-1.3-p.txt").splitlines() if "request=12 " not in line]
    text = "\n".join(lines).replace("11 requests completed", "10 requests completed")
    (only,) = read_foreign(SourceText("ioping.txt", text)).trials
    assert value(only, "total_latency_ns_mean") == pytest.approx((616_891 + 459_018) / 10)


def test_a_rounded_count_of_ioping_takes_nothing_from_its_mean() -> None:
    text = (
        "--- data (ext4 /dev/vda 252.0 GiB) ioping statistics ---\n"
        "16.9 k requests completed in 979.3 ms, 65.9 MiB read, 17.2 k iops, 67.2 MiB/s\n"
        "generated 16.9 k requests in 1.00 s, 65.9 MiB, 16.9 k iops, 65.9 MiB/s\n"
        "min/avg/max/mdev = 25.0 us / 58.1 us / 8.97 ms / 304.8 us\n"
    )
    (only,) = read_foreign(SourceText("ioping.txt", text)).trials
    assert value(only, "total_latency_ns_mean") == pytest.approx(58_100)


def test_bonnie_1_96_has_the_fields_of_1_97() -> None:
    text = text_of("bonnie-1.97.csv")
    older = read_foreign(SourceText("b.csv", text.replace("1.97,1.97,", "1.96,1.96,")))
    newer = read("bonnie-1.97.csv")
    assert older.version == "1.96"
    assert [trial.estimates for trial in older.trials] == [trial.estimates for trial in newer.trials]


def test_dd_with_its_command_says_what_was_asked() -> None:
    write, *_, read_back, at_end = read("dd-gnu-9.1.txt").trials
    assert (write.operation, write.known.durability.method, write.is_direct) == ("write", "o_dsync", True)
    assert write.known.block_sizes[0].bytes == 512
    assert value(write, "total_latency_ns_mean") == pytest.approx(write.measured_ns / 200)
    assert read_back.operation == "read"
    assert "total_latency_ns_mean" not in at_end.estimates
    assert at_end.known.durability.at_end


def test_dd_in_other_words_has_the_same_numbers() -> None:
    (comma,) = read("dd-comma.txt").trials
    assert value(comma, "throughput_bytes_per_s") == pytest.approx(512_000 / 3.10124)
    assert comma.known.durability.method == "o_sync"
    (box,) = read("dd-busybox.txt").trials
    # busybox writes MB and means MiB: bytes and seconds do not depend on it
    assert value(box, "throughput_bytes_per_s") == pytest.approx(4_096_000 / 0.41)
    without = read_foreign(SourceText("x", "4+0 records in\n4+0 records out\n4096 bytes copied, 1 s, 4.1 kB/s\n"))
    assert without.trials[0].operation == "copy"


@pytest.mark.parametrize(
    ("size", "workload", "operation"),
    [
        ("65536", "read-files-sequential", "read_file"),
        ("0", "stat-sequential", "stat"),
        ("link", "stat-sequential", "stat"),
    ],
)
def test_files_that_hold_something_are_read_by_bonnie(size: str, workload: str, operation: str) -> None:
    parts = text_of("bonnie-1.98.csv").strip().splitlines()[-1].split(",")
    place = FORMATS["1.98"].index("max_size")
    told = read_foreign(SourceText("b.csv", ",".join([*parts[:place], size, *parts[place + 1 :]]) + "\n"))
    found = [one for one in told.trials if one.workload.startswith(("stat-", "read-files-"))]
    assert (found[0].workload, found[0].operation) == (workload, operation)
    assert {one.operation for one in found} == {operation}
