"""What the program says when something is wrong: the plain reason, the right code, and no traceback."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from drivelab.cli import main
from job_threads import wait_for_jobs

MIB = 2**20
PROGRAM = [sys.executable, "-m", "drivelab"]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the program in this process: exit status, stdout, stderr."""

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        status = main.run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A file of 4 MiB."""
    path = tmp_path / "data"
    path.write_bytes(os.urandom(4 * MIB))
    return path


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_stdout_is_no_bug(unbuffered: str) -> None:
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("w") as full:
        command = [*PROGRAM, "io", "null:", "--count", "1000"]
        answer = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment)
    assert answer.returncode == 1
    assert answer.stderr.startswith("error[U007]")


def test_values_out_of_range_name_their_option(run: Run, data: Path) -> None:
    status, _, err = run("io", data, "--count", "9" * 23)
    assert status == 2
    assert "error[U003] --count" in err
    status, _, err = run("io", data, "--pin", "0,8000", "--count", "1")
    assert status == 2
    assert "processor 8000" in err
    status, _, err = run("io", data, "--offset", "1TiB")
    assert status == 1
    assert "past the end" in err


def test_what_is_no_storage_and_what_a_link_points_to_is_said(run: Run, tmp_path: Path) -> None:
    status, _, err = run("check", "/proc")
    assert status == 2
    assert "error[T105] /proc is not storage" in err
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    status, _, err = run("io", link)
    assert status == 2
    assert f"{link} is a link to {tmp_path / 'nowhere'}, which does not exist" in err


def test_options_without_effect_are_told(run: Run, data: Path) -> None:
    _, _, err = run("io", data, "--count", "10", "--zipf-theta", "1.2", "--durability", "fsync", "--stride", "8KiB")
    assert err.count("note: ") == 3
    assert "--zipf-theta has no effect with --access random" in err


def test_a_directory_that_is_removed_ends_the_check(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    command = [*PROGRAM, "check", str(place), "--quick", "--out", str(tmp_path / "runs")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not list(place.glob(".drivelab-check-*")) and process.poll() is None:
        time.sleep(0.01)
    shutil.rmtree(place)
    _, err = process.communicate()
    assert process.returncode == 1
    assert "error[T107]" in err
    assert "spelling" not in err


def test_nothing_is_told_of_a_ramp_that_was_cut_short(data: Path) -> None:
    command = [*PROGRAM, "io", str(data), "--ramp", "60s"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for_jobs(process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, err
    assert "nothing was measured" in out
    assert "per I/O" not in out


def test_ctrl_c_while_the_program_is_loaded_shows_no_traceback() -> None:
    code = "import sys, drivelab.__main__ as m\nsys.modules['drivelab.cli.main'] = Late()\nsys.exit(m.main())"
    late = "class Late:\n    def __getattr__(self, name):\n        raise KeyboardInterrupt\n"
    answer = subprocess.run([sys.executable, "-c", late + code], capture_output=True, text=True)
    assert answer.returncode == 130
    assert answer.stderr == ""


@pytest.mark.needs_root
@pytest.mark.needs_tool("mkfs.ext4")
def test_a_mounted_device_is_refused_before_it_is_opened(
    run: Run, mount_filesystem: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from drivelab.inventory import target
    from drivelab.inventory.target import resolve_target

    device = resolve_target(str(mount_filesystem("ext4"))).devices[-1]

    def opened(_text: str, _path: Path) -> None:
        raise AssertionError("it was opened")

    monkeypatch.setattr(target, "_require_openable", opened)
    status, _, err = run("io", device.path, "--operation", "write", "--erase", device.name)
    assert status == 3
    assert "error[C202]" in err


@pytest.mark.needs_root
@pytest.mark.needs_tool("mkfs.ext4")
def test_a_file_system_that_fills_up_midway_says_what_is_left(run: Run, mount_filesystem: Callable[..., Path]) -> None:
    path = mount_filesystem("ext4", size_bytes=64 * MIB) / "log"
    status, _, err = run(
        "io",
        path,
        "--operation",
        "write",
        "--file-state",
        "append",
        "--block-size",
        "1MiB",
        "--count",
        "200",
        "--direct",
    )
    assert status == 1
    assert "error[E306]" in err
    assert f"{path} is left with" in err
    assert "free space there" in err


@pytest.mark.needs_root
@pytest.mark.needs_tool("losetup")
def test_memory_of_the_host_beneath_a_loop_device_is_noticed(run: Run, make_loop_device: Callable[..., Path]) -> None:
    device = make_loop_device(16 * MIB)
    device.write_bytes(os.urandom(16 * MIB))
    status, out, _ = run("io", device, "--direct", "--count", "2000")
    assert status == 4
    assert "the page cache answered" in " ".join(out.split())
