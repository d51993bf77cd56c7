"""``drivelab io`` from the outside: what it prints, what it leaves, and what it refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from drivelab.cli import main
from job_threads import wait_for_jobs

MIB = 2**20
PROGRAM = [sys.executable, "-m", "drivelab"]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs ``drivelab io`` in this process: exit status, stdout, stderr."""

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        status = main.run(["io", *map(str, arguments)])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A file of 4 MiB that drivelab did not make."""
    path = tmp_path / "data"
    path.write_bytes(os.urandom(4 * MIB))
    return path


def measured(run: Run, *arguments: str | Path) -> dict[str, Any]:
    status, out, err = run(*arguments, "--json")
    assert err == ""
    document: dict[str, Any] = json.loads(out)
    assert status in (0, 4)
    return document


def refused(run: Run, *arguments: str | Path) -> tuple[str, int]:
    """The code of the error and the exit status; stdout stays empty, stderr is one JSON document."""
    status, out, err = run(*arguments, "--json")
    assert out == ""
    error = json.loads(err)["error"]
    assert error["what"]
    assert error["do"]
    assert error["exit_code"] == status
    return error["code"], status


def test_json_carries_what_was_asked_and_what_was_achieved(run: Run, data: Path) -> None:
    found = measured(run, data, "--queue-depth", "4", "--count", "1009", "--interval", "10ms")
    assert found["asked"] == {"backend": "auto", "queue_depth": 4, "job_count": 1, "direct": False}
    assert 0 < found["achieved"]["queue_depth_mean"] <= 4.01
    assert found["achieved"]["backend"] in ("uring", "aio", "sync")
    read = found["operations"]["read"]
    assert (read["count"], read["bytes"], read["errors"]) == (1009, 1009 * 4096, 0)
    assert found["iops"] == pytest.approx(1009 / (found["measured_ns"] / 1e9))
    assert found["throughput_bytes_per_s"] == pytest.approx(4096 * found["iops"])
    latency = read["total_latency_ns"]
    assert set(latency) == {"count", "min", "mean", "max", "quantiles"}
    assert list(latency["quantiles"]) == ["0.5", "0.9", "0.99", "0.999", "0.9999"]
    assert 0 < latency["min"] <= latency["mean"] <= latency["max"]
    parts = (found["user_cpu_ns_per_io"], found["system_cpu_ns_per_io"])
    assert parts == (None, None) or sum(parts) == pytest.approx(found["cpu_ns_per_io"])
    assert found["cpu_ns_per_io"] >= 0
    assert found["drain_ns"] >= 0
    assert found["arrivals"] is None
    assert found["error_count"] == 0
    assert found["errors"] == []
    assert sum(row["count"] for row in found["intervals"] if row["latency"] == "total") == 1009
    assert found["stopped_by"] == "count"


def test_a_quantile_that_the_data_cannot_carry_is_no_number(run: Run, data: Path) -> None:
    quantiles = measured(run, data, "--count", "500")["operations"]["read"]["total_latency_ns"]["quantiles"]
    assert quantiles["0.99"] is not None
    assert quantiles["0.999"] is None
    assert quantiles["0.9999"] is None


def test_submission_and_completion_latency_make_up_the_total(run: Run, data: Path) -> None:
    words = ("--backend", "uring", "--count", "500", "--submission-latency", "all")
    read = measured(run, data, *words)["operations"]["read"]
    parts = read["submission_latency_ns"]["mean"] + read["completion_latency_ns"]["mean"]
    assert parts == pytest.approx(read["total_latency_ns"]["mean"], rel=0.01)


def test_the_result_tells_how_many_submissions_were_timed(run: Run, data: Path) -> None:
    read = measured(run, data, "--backend", "uring", "--count", "6400")["operations"]["read"]
    assert read["submission_latency_ns"]["count"] == read["completion_latency_ns"]["count"] == 100
    assert read["total_latency_ns"]["count"] == 6400


def test_an_open_loop_has_response_latencies_and_arrivals(run: Run, data: Path) -> None:
    found = measured(run, data, "--rate", "2000", "--arrivals", "poisson", "--runtime", "200ms")
    assert found["arrivals"]["scheduled"] == found["arrivals"]["issued"] + found["arrivals"]["missed"]
    assert found["operations"]["read"]["response_latency_ns"]["count"] > 100


def test_no_target_at_all_measures_the_engine(run: Run) -> None:
    found = measured(run, "null:", "--count", "1000")
    assert found["achieved"]["backend"] == "null"
    assert found["devices"] == []


def test_text_shows_every_latency_and_the_device(run: Run, data: Path) -> None:
    status, out, _err = run(data, "--count", "2000", "--queue-depth", "2")
    assert status in (0, 4)
    assert "queue depth 2 asked" in out
    assert "2000 I/Os" in out
    assert "p99" in out
    assert all(len(line) <= 80 for line in out.splitlines() if str(data) not in line)


def test_a_new_file_is_made_and_may_be_written_again_without_consent(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "new"
    first = measured(run, path, "--operation", "write", "--size", "1MiB", "--count", "100")
    assert first["operations"]["write"]["count"] == 100
    assert path.stat().st_size == MIB
    try:
        os.getxattr(path, "user.drivelab.made")
    except OSError:
        pytest.skip("needs a file system with extended attributes")
    assert measured(run, path, "--operation", "write", "--count", "10")["operations"]["write"]["count"] == 10


def test_synchronous_writes_time_the_sync_call_apart_and_together(run: Run, tmp_path: Path) -> None:
    operations = measured(
        run, tmp_path / "log", "--operation", "write", "--file-state", "append", "--block-size", "1",
        "--durability", "fdatasync", "--sync-every", "4", "--count", "40",
    )["operations"]  # fmt: skip
    assert operations["write"]["count"] == 40
    assert operations["sync"]["count"] == 10
    assert operations["durable_write"]["total_latency_ns"]["max"] >= operations["sync"]["total_latency_ns"]["max"]


@pytest.mark.provokes("C221")
def test_records_never_replace_anything(run: Run, data: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    before = data.read_bytes()
    for taken in (data, link):
        assert refused(run, data, "--count", "10", "--record", str(taken)) == ("C221", 3)
    assert data.read_bytes() == before
    assert link.is_symlink()


@pytest.mark.provokes("C220")
def test_a_file_of_somebody_else_is_not_overwritten_without_consent(run: Run, data: Path) -> None:
    before = data.read_bytes()
    assert refused(run, data, "--operation", "write", "--count", "10") == ("C220", 3)
    assert data.read_bytes() == before
    measured(run, data, "--operation", "write", "--count", "10", "--overwrite-file")
    assert data.read_bytes() != before


def test_every_io_is_recorded_on_request(run: Run, data: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    records = tmp_path / "ios.parquet"
    measured(run, data, "--count", "1009", "--record", records)
    table = pq.read_table(records)
    assert table.num_rows == 1009
    assert set(table["size_bytes"].to_pylist()) == {4096}


def test_a_run_is_stored_on_request(run: Run, data: Path, tmp_path: Path) -> None:
    from drivelab.store.read import open_run

    status, _out, err = run(data, "--count", "100", "--out", tmp_path / "runs")
    assert status in (0, 4)
    (directory,) = (tmp_path / "runs").iterdir()
    assert str(directory) in err
    stored = open_run(directory)
    assert stored.trial_names == ["io"]
    assert stored.run_json["status"] == "complete"


@pytest.mark.needs_root
@pytest.mark.needs_tool("losetup")
def test_a_device_is_written_only_when_it_is_named(run: Run, make_loop_device: Callable[..., Path]) -> None:
    device = make_loop_device(16 * MIB)
    write = [device, "--operation", "write", "--durability", "fdatasync", "--count", "200"]
    assert refused(run, *write) == ("C201", 3)
    assert device.read_bytes() == bytes(16 * MIB)
    found = measured(run, *write, "--erase", device.name, "--count-commands")
    (loop,) = [counts for counts in found["devices"] if counts["device"] == device.name]
    assert loop["flushes_per_operation"] == pytest.approx(1, abs=0.05)
    assert found["context"]["command_counts"]["data_writes_per_operation"] == pytest.approx(1, abs=0.05)


@pytest.mark.needs_root
@pytest.mark.needs_tool("mkfs.ext4")
def test_a_mounted_device_is_not_written_even_when_it_is_named(run: Run, mount_filesystem: Callable[..., Path]) -> None:
    from drivelab.inventory.target import resolve_target

    directory = mount_filesystem("ext4")
    device = resolve_target(str(directory)).devices[-1].path
    arguments = [device, "--operation", "write", "--erase", Path(device).name, "--count", "1"]
    assert refused(run, *arguments) == ("C202", 3)


@pytest.mark.needs_root
@pytest.mark.needs_tool("mkfs.ext4")
def test_a_disk_that_fills_up_is_an_error_that_leaves_no_file(run: Run, mount_filesystem: Callable[..., Path]) -> None:
    directory = mount_filesystem("ext4", size_bytes=64 * MIB)
    assert refused(run, directory / "big", "--operation", "write", "--size", "1GiB") == ("E306", 1)
    assert [path.name for path in directory.iterdir() if path.name != "lost+found"] == []


@pytest.mark.needs_root
@pytest.mark.needs_tool("mkfs.ext4")
def test_a_file_system_mounted_read_only_is_an_error(run: Run, mount_filesystem: Callable[..., Path]) -> None:
    directory = mount_filesystem("ext4", options="ro")
    assert refused(run, directory / "new", "--operation", "write", "--size", "1MiB") == ("T103", 1)


def test_absurd_input_is_an_error_of_usage_that_leaves_nothing(run: Run, data: Path, tmp_path: Path) -> None:
    assert refused(run, tmp_path / "missing") == ("T101", 2)
    assert refused(run, tmp_path / "no" / "where", "--operation", "write", "--size", "1MiB") == ("T101", 2)
    assert refused(run, tmp_path) == ("T105", 2)
    assert refused(run, "scratch:1GiB") == ("T105", 2)
    assert refused(run, "raid1:2*scratch:1GiB") == ("T105", 2)
    assert refused(run, tmp_path / "new", "--operation", "write") == ("U003", 2)
    assert refused(run, data, "--queue-depth", "0") == ("U003", 2)
    assert refused(run, data, "--block-size", "4k") == ("U001", 2)
    assert refused(run, data, "--queue-depth", "many") == ("U006", 2)
    assert refused(run, data, "--size", "5MiB")[0] == "E309"
    assert refused(run, data, "--direct", "--block-size", "1000")[0] in ("E308", "E304")
    assert refused(run, data, "--backend", "sync", "--queue-depth", "8")[0] == "E313"
    assert refused(run, data, "--runtime", "10000000h") == ("U003", 2)
    misaligned = ["--operation", "write", "--size", "1MB", "--direct", "--block-size", "999"]
    assert refused(run, tmp_path / "odd", *misaligned)[0] in ("E308", "E304")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_records_that_cannot_be_written_are_an_error_beforehand(run: Run, data: Path) -> None:
    assert refused(run, data, "--count", "10", "--record", data.parent / "nowhere" / "ios.parquet")[0] == "S501"


def test_ctrl_c_keeps_what_was_measured(data: Path) -> None:
    command = [*PROGRAM, "io", str(data), "--runtime", "60s", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for_jobs(process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, err
    found = json.loads(out)
    assert found["stopped_by"] == "caller"
    assert found["operations"]["read"]["count"] > 0


def test_what_appends_to_a_simulated_drive_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    append = ("--operation", "write", "--file-state", "append", "--count", "10")
    assert main.run(["io", "sim:consumer-ssd", *append]) == 2
    assert "error[R424] a simulated drive has no file that grows" in capsys.readouterr().err
