"""A run in fio's formats: the keys that readers look for, numbers that are the run's own, charts by fio-plot itself."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivelab.analyse.summary import summarise
from drivelab.interop.fio.export import export_fio, names_of_jobs
from drivelab.interop.fio.exported_job import job_result
from drivelab.interop.fio.exported_logs import logs_of
from drivelab.interop.fio.exported_options import is_expressible, job_options, rw_of, size_text
from drivelab.interop.fio.exported_stats import PERCENTILES, latency_distribution, latency_stats, rate_stats
from drivelab.model.histogram import Histogram
from drivelab.model.workload import Access, OperationShare, TargetRange, Workload
from drivelab.model.zoned_drive import ZonedDrive
from drivelab.store.read import open_run
from latency_histograms import histogram_of as any_histogram_of

RUNS = sorted(path.parent for path in (Path(__file__).parents[2] / "golden" / "runs").glob("*/run.json"))
GRID = next(run for run in RUNS if run.name == "queue-depth-grid")
FIO_PLOT = Path(sys.executable).parent / "fio-plot"
# what fio-plot, ezFIO, KDiskMark and CBT read of a direction
DIRECTION_KEYS = {"io_bytes", "bw", "bw_bytes", "iops", "iops_stddev", "total_ios", "clat_ns", "lat_ns", "slat_ns"}


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("export")
    export_fio(open_run(GRID), place)
    return place


def histogram_of(values: list[int]) -> Histogram:
    """Exact below 512 ns, where each value has a bucket of its own."""
    bucket, count = np.unique(np.asarray(values), return_counts=True)
    return Histogram(bucket.astype(np.int64), count.astype(np.int64), min(values), max(values), sum(values))


@pytest.mark.parametrize("directory", RUNS, ids=lambda run: run.name)
def test_every_stored_run_becomes_a_document_with_all_that_readers_look_for(directory: Path, tmp_path: Path) -> None:
    run = open_run(directory)
    done = export_fio(run, tmp_path)
    document = json.loads((tmp_path / "fio.json").read_text())
    assert len(document["jobs"]) == done.job_count == len(run.trial_names)
    for job, name in zip(document["jobs"], run.trial_names, strict=True):
        measured, options = run.measurement(name), job["job options"]
        assert {"rw", "bs", "iodepth", "numjobs", "direct", "ioengine"} <= options.keys()
        assert all(isinstance(value, str) for value in options.values())
        assert {"usr_cpu", "sys_cpu", "latency_ns", "latency_us", "latency_ms", "error", "sync"} <= job.keys()
        for direction in ("read", "write", "trim"):
            found = job[direction]
            assert found.keys() >= DIRECTION_KEYS
            assert found["total_ios"] == measured.operation_count(direction)
            assert found["iops"] == pytest.approx(measured.operation_count(direction) / measured.measured_s)
            total = measured.histograms.get((direction, "total"))
            assert found["lat_ns"]["N"] == (total.total_count if total else 0)
            assert found["lat_ns"]["mean"] == pytest.approx(total.mean_ns if total else 0)
            assert sum(found["clat_ns"].get("bins", {}).values()) == found["clat_ns"]["N"]
        shares = [share for key in ("ns", "us", "ms") for share in job[f"latency_{key}"].values()]
        assert sum(shares) == pytest.approx(100)
        assert sum(job["iodepth_level"].values()) in (0, pytest.approx(100))


def test_jobs_of_a_job_file_keep_their_names_and_groups() -> None:
    run = open_run(GRID)
    first, second, *_ = run.trial_names
    assert names_of_jobs(run, [first, second]) == {first: (first, 0), second: (second, 1)}
    run.run_json["job_file"] = {
        "jobs": [{"workload": run.trial(first)["workload"], "job": "rand read", "reporting_group": 7}]
    }
    assert names_of_jobs(run, [first]) == {first: ("rand read", 7)}
    # repeats of a workload would all have one name
    assert names_of_jobs(run, [first, first])[first][0] == first


def test_repeats_of_a_combination_are_one_job_without_loss(grid: Path) -> None:
    run = open_run(GRID)
    document = json.loads(next(grid.glob("*-4k*/randread-iodepth-4-numjobs-1.json")).read_text())
    rows = [
        row for row in run.trials.to_pylist()
        if (row["asked_queue_depth"], row["block_size_bytes"]) == (4, 4096)
    ]  # fmt: skip
    count = sum(row["operation_count"] for row in rows)
    seconds = sum(row["measured_ns"] for row in rows) / 1e9
    job = document["jobs"][0]
    assert (len(document["jobs"]), job["read"]["total_ios"]) == (1, count)
    assert job["read"]["iops"] == pytest.approx(count / seconds)


def test_behind_a_ramp_counts_over_time_are_the_rate_that_is_told_everywhere() -> None:
    run = open_run(GRID)
    measured = run.measurement(run.trial_names[0])
    ramped = replace(measured, engine={**measured.engine, "ramp_ns": 10**9})
    rate, before = (summarise(one).estimates["iops"].value for one in (ramped, measured))
    assert rate is not None
    assert before is not None
    assert rate > before
    found = job_result("job", [[ramped]])["read"]
    assert found["iops"] == pytest.approx(rate)
    assert found["total_ios"] / found["runtime"] * 1000 == pytest.approx(rate, rel=1e-3)
    assert found["bw_bytes"] == pytest.approx(found["io_bytes"] / found["runtime"] * 1000, rel=1e-3)


def test_what_ran_at_the_same_time_has_its_rates_added_and_what_followed_its_times() -> None:
    run = open_run(GRID)
    measured = run.measurement(run.trial_names[0])
    one = job_result("job", [[measured]])
    for trials, times, rates in (([[measured] * 2], 1, 2), ([[measured], [measured]], 2, 1)):
        found = job_result("job", trials)
        assert found["read"]["total_ios"] == 2 * one["read"]["total_ios"]
        assert found["read"]["runtime"] == pytest.approx(times * one["read"]["runtime"], abs=1)
        for key in ("iops", "bw_bytes", "iops_mean", "bw_max"):
            assert found["read"][key] == pytest.approx(rates * one["read"][key], rel=1e-3)
        assert found["job_runtime"] == pytest.approx(2 * one["job_runtime"], abs=1)
        # of all jobs together, so that of as many it is the same
        assert found["usr_cpu"] == pytest.approx(one["usr_cpu"])


def test_resets_of_zones_are_told_as_fio_tells_them() -> None:
    run = open_run(GRID)
    measured = run.measurement(run.trial_names[0])
    on_zones = replace(measured, engine={**measured.engine, "zones": {"resets": 3, "finishes": 1}})
    assert job_result("job", [[on_zones], [on_zones]])["write"]["drivelab_zone_resets"] == 6
    assert "drivelab_zone_resets" not in job_result("job", [[measured]])["write"]


def test_what_is_asked_of_zones_is_asked_of_fio() -> None:
    zones = ZonedDrive(is_used=True, max_open_zones=4, reset_frequency=0.5)
    found = job_options(Workload(target=TargetRange(path="/dev/sdx"), zoned_drive=zones), "sync")
    assert found.items() >= {"zonemode": "zbd", "max_open_zones": "4", "zone_reset_frequency": "0.5"}.items()
    assert "zonesize" not in found
    assert "zonemode" not in job_options(Workload(target=TargetRange(path="/dev/sdx")), "sync")


def test_latencies_are_those_of_numpy() -> None:
    values = [int(value) for value in np.random.default_rng(3).integers(20, 500, 2000)]
    found = latency_stats(histogram_of(values), PERCENTILES)
    assert (found["N"], found["min"], found["max"]) == (2000, min(values), max(values))
    assert (found["mean"], found["stddev"]) == pytest.approx((np.mean(values), np.std(values, ddof=1)))
    expected = [np.quantile(values, at / 100, method="inverted_cdf") for at in PERCENTILES]
    assert list(found["percentile"].values()) == expected
    assert list(found["percentile"])[-1] == "99.990000"
    assert found["bins"] == Counter(map(str, map(fios_bucket, sorted(values))))


def fios_bucket(ns: int) -> int:
    """The value for which fio's bucket of a latency stands: its plat_val_to_idx and back, written out."""
    if ns < 128:
        return ns
    width = 1 << ns.bit_length() - 7
    return ns // width * width + width // 2


@given(st.lists(st.integers(0, 2**34 - 1), min_size=1))
def test_latencies_are_counted_in_the_buckets_of_fio(values: list[int]) -> None:
    found = latency_stats(any_histogram_of(np.array(values, dtype=float)), PERCENTILES)
    assert found["bins"] == Counter(map(str, map(fios_bucket, values)))


def test_what_was_not_measured_is_zeros_with_no_count() -> None:
    assert latency_stats(None, PERCENTILES) == {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
    assert rate_stats(np.empty(0), "bw")["bw_samples"] == 0
    assert sum(latency_distribution([])["latency_ns"].values()) == 0


def test_the_distribution_of_latencies_has_the_edges_of_fio() -> None:
    found = latency_distribution([histogram_of([1, 3, 3, 49, 50, 300, 499, 499])])
    assert found["latency_ns"] == {
        "2": 12.5,
        "4": 25.0,
        "10": 0.0,
        "20": 0.0,
        "50": 12.5,
        "100": 12.5,
        "250": 0.0,
        "500": 37.5,
        "750": 0.0,
        "1000": 0.0,
    }
    assert list(found["latency_ms"])[-2:] == ["2000", ">=2000"]


@pytest.mark.parametrize(
    ("operations", "access", "expected"),
    [
        (("read",), "random", "randread"),
        (("write",), "sequential", "write"),
        (("read", "write"), "zipf", "randrw"),
        (("trim",), "random", "randtrim"),
    ],
)
def test_operations_and_order_have_the_names_of_fio(operations: tuple[Any, ...], access: Any, expected: str) -> None:
    shares = tuple(OperationShare(operation=name) for name in operations)
    workload = Workload(target=TargetRange(path="a:b"), operations=shares, access=Access(kind=access))
    assert rw_of(workload) == expected
    assert job_options(workload, "uring")["filename"] == "a\\:b"


def test_operations_on_files_are_left_out_by_name() -> None:
    target = TargetRange(path="x")
    assert not is_expressible(Workload(target=target, operations=(OperationShare(operation="update"),)))
    of_engine = Workload(target=target, operations=(OperationShare(operation="delete"),))
    assert is_expressible(of_engine)
    assert job_options(of_engine, "sync")["ioengine"] == "filedelete"


@pytest.mark.parametrize(("size", "text"), [(512, "512"), (4096, "4k"), (1 << 20, "1m"), (3 << 30, "3g"), (0, "0")])
def test_sizes_have_the_suffixes_of_fio(size: int, text: str) -> None:
    assert size_text(size) == text


def test_single_ios_have_a_line_each_in_the_order_of_completion() -> None:
    run = open_run(GRID)
    ios = pa.table(
        {
            "operation": pa.array([0, 1, 3, 0], pa.uint8()),
            "issue_ns": [5_000_000, 6_000_000, 7_000_000, 9_000_000],
            "total_latency_ns": [9_000_000, 1_000_000, 10, 500_000],
            "size_bytes": pa.array([4096, 512, 0, 4096], pa.int32()),
            "offset_bytes": [0, 8192, 0, 4096],
            "result": pa.array([4096, 512, 0, -5], pa.int32()),
        }
    )
    text = "".join(logs_of(run.measurement(run.trial_names[0]), ios)["lat"])
    assert text == "2, 1000000, 1, 512, 8192, 0\n9, 9000000, 0, 4096, 0, 0\n"


def test_a_latency_without_windows_has_no_log() -> None:
    run = open_run(GRID)
    plain = run.measurement(run.trial_names[0])
    total = plain.histograms["read", "total"]
    synchronous = replace(plain, histograms={("read", "total"): total})
    own = {("read", kind): total for kind in ("submission", "completion", "total")}
    assert logs_of(synchronous, None).keys() == {"lat", "clat", "bw", "iops"}
    assert logs_of(replace(plain, histograms=own), None).keys() == {"lat", "bw", "iops"}


def test_windows_carry_rates_and_means(grid: Path) -> None:
    run = open_run(GRID)
    place = next(grid.glob("*-4k*"))
    lines = (place / "randread-iodepth-1-numjobs-1_iops.1.log").read_text().splitlines()
    assert all(len(line.split(", ")) == 6 for line in lines)
    first = next(
        row["trial"] for row in run.trials.to_pylist()
        if (row["asked_queue_depth"], row["block_size_bytes"]) == (1, 4096)
    )  # fmt: skip
    measured = run.measurement(first)
    assert np.mean([int(line.split(", ")[1]) for line in lines]) == pytest.approx(
        measured.operation_count("read") / measured.measured_s, rel=0.05
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["-l", "-d", "1", "4", "16"],
        ["-L", "-t", "iops"],
        ["-g", "-t", "lat", "-d", "1", "4", "-n", "1"],
        ["-H", "-d", "4", "-n", "1"],
        ["-N", "-d", "4"],
    ],
    ids=["bars", "surface", "lines", "histogram", "jobs"],
)
def test_fio_plot_draws_its_charts_of_it(grid: Path, tmp_path: Path, arguments: list[str]) -> None:
    picture = tmp_path / "chart.png"
    place = next(grid.glob("*-4k*"))
    command = [FIO_PLOT, "-i", place, "-T", "a run", "-r", "randread", "-o", picture, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")
