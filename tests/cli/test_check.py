"""``drivelab check`` from the outside: its verdict, what it keeps, what it leaves, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from drivelab.cli import main
from drivelab.model.errors import DrivelabError
from drivelab.store.read import open_run

MIB = 2**20
PROGRAM = [sys.executable, "-m", "drivelab", "check"]
PEAK_KIB_MAX = 200 * 10**6 / 1024
TRIALS = 17
OWN_LIMITS = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "ask-for-your-own-limits.md"
Refused = Callable[..., tuple[str, int]]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An empty directory to be checked."""
    directory = tmp_path / "place"
    directory.mkdir()
    return directory


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Refused:
    """Runs a check that is refused: code of the error and exit status; no run directory is made."""

    def call(*arguments: str | Path) -> tuple[str, int]:
        runs = tmp_path / "no-runs"
        status = main.run(["check", *map(str, arguments), "--json", "--out", str(runs)])
        captured = capsys.readouterr()
        assert captured.out == ""
        assert not runs.exists()
        error = json.loads(captured.err)["error"]
        assert error["do"]
        return error["code"], status

    return call


def test_a_directory_is_checked_within_memory_and_leaves_nothing_but_its_run(place: Path, tmp_path: Path) -> None:
    command = [*PROGRAM, str(place), "--quick", "--json", "--out", str(tmp_path / "runs")]
    # a small process in between: a program inherits the peak of whoever has started it
    launcher = "import resource, subprocess, sys\nended = subprocess.run(sys.argv[1:]).returncode\n"
    launcher += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)\nsys.exit(ended)"
    with (tmp_path / "out").open("w") as out:
        ended = subprocess.run(
            [sys.executable, "-c", launcher, *command], stdout=out, stderr=subprocess.PIPE, text=True, check=False
        )
    assert ended.returncode in (0, 4)
    *progress, peak_kib = ended.stderr.splitlines()
    assert int(peak_kib) < PEAK_KIB_MAX
    assert list(place.iterdir()) == []
    found = json.loads((tmp_path / "out").read_text())
    assert found["status"] == "complete"
    assert found["failures"] == {}
    assert len(found["trials"]) == TRIALS
    assert found["verdict"]["outcome"] in ("pass", "fail", "undecided", "mixed")
    assert Path(found["report"]).stat().st_size > 0
    assert len(progress) == TRIALS, "one line per trial when piped"
    run = open_run(found["run"])
    assert run.trial_names == [trial["name"] for trial in found["trials"]]
    assert run.ios("sync-write-4096") is not None
    assert run.run_json["verdict"] == found["verdict"]


def test_text_fits_a_terminal_and_names_the_report(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main.run(["check", str(place), "--quick", "--for", "etcd", "--out", str(tmp_path / "runs")])
    out = capsys.readouterr().out
    assert status in (0, 1, 4)
    assert all(len(line) <= 80 for line in out.splitlines() if str(tmp_path) not in line)
    assert "etcd" in out
    assert "p99" in out
    # how many they are hangs on how wide the intervals are: test_check_screen.py holds that
    assert out.splitlines()[-1].startswith("report: ")
    (run,) = (tmp_path / "runs").iterdir()
    outcome = open_run(run).run_json["verdict"]["outcome"]
    assert status == {"pass": 0, "fail": 1, "undecided": 4}[outcome]


@pytest.mark.usefixtures("no_page")
def test_a_rate_of_commits_makes_a_program_without_a_limit_a_verdict(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["check", str(place), "--for", "postgresql", "--at-least", "500", "--quick", "--json"]
    status = main.run([*arguments, "--out", str(tmp_path / "runs")])
    verdict = json.loads(capsys.readouterr().out)["verdict"]
    assert status == {"pass": 0, "fail": 1, "undecided": 4}[verdict["outcome"]]
    (check,) = verdict["checks"]
    assert (check["threshold"]["limit"], check["threshold"]["unit"]) == (500, "1/s")
    assert verdict["forecast"]["commits_per_s"]["value"] > 0
    assert [band["client_count"] for band in verdict["forecast"]["bands"]] == [8, 32]
    # the computer's own part was measured beside the log, and its file is gone
    assert verdict["forecast"]["own_time_range_ns"][0] == pytest.approx(0.55 * verdict["forecast"]["own_time_ns"])


@pytest.mark.usefixtures("no_page")
def test_a_service_is_judged_by_a_file_of_ones_own(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", OWN_LIMITS.read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("my-service.toml").write_text(textwrap.dedent(example))
    status = main.run(["check", str(place), "--for", "./my-service.toml", "--quick", "--json", "--out", "runs"])
    verdict = json.loads(capsys.readouterr().out)["verdict"]
    assert status == {"pass": 0, "fail": 1, "undecided": 4}[verdict["outcome"]]
    assert (verdict["need"], verdict["title"], verdict["forecast"]) == ("my-service", "My service", None)
    found = [check["threshold"] for check in verdict["checks"]]
    assert [(one["trial"], one["direction"], one["limit"], one["unit"], one["force"]) for one in found] == [
        ("sync-write-4096", "at_most", 5_000_000, "ns", "required"),
        ("sequential-read-qd8", "at_least", 200_000_000, "B/s", "recommended"),
    ]


def test_a_mistake_in_a_file_of_ones_own_is_told_before_anything_is_measured(place: Path, refused: Refused) -> None:
    own = place / "own.toml"
    own.write_text('format = 1\nname = "own"\nthresholds = []\n')
    assert refused(place, "--for", own) == ("P703", 2)


def test_a_rate_without_a_program_is_refused(place: Path, refused: Refused) -> None:
    assert refused(place, "--at-least", "500") == ("U045", 2)


def test_ctrl_c_shows_what_was_measured_and_cleans_up(place: Path, tmp_path: Path) -> None:
    command = [*PROGRAM, str(place), "--json", "--out", str(tmp_path / "runs")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    # the first trial is done, and the second one has made its file
    process.stderr.readline()
    while not list(place.glob(".drivelab-check-*")) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, _err = process.communicate()
    assert process.returncode == 130
    found = json.loads(out)
    assert found["status"] == "interrupted"
    assert [trial["name"] for trial in found["trials"]][:1] == ["sync-write-512"]
    assert "interrupted" in {finding["code"] for finding in found["findings"]}
    assert list(place.iterdir()) == []
    assert open_run(found["run"]).run_json["status"] == "interrupted"


@pytest.mark.usefixtures("no_page")
def test_a_file_is_only_read_and_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "data"
    path.write_bytes(os.urandom(16 * MIB))
    before = path.read_bytes()
    main.run(["check", str(path), "--quick", "--json", "--out", str(tmp_path / "runs")])
    found = json.loads(capsys.readouterr().out)
    assert "only-read" in {finding["code"] for finding in found["findings"]}
    assert {trial["operation"] for trial in found["trials"]} == {"read"}
    assert path.read_bytes() == before


def test_a_sparse_file_is_not_mistaken_for_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(64 * MIB)
    status = main.run(["check", str(path), "--quick", "--json", "--out", str(tmp_path / "runs")])
    found = json.loads(capsys.readouterr().out)
    invalid = {finding["code"] for finding in found["findings"] if finding["severity"] == "invalid"}
    assert "unwritten-range" in invalid or "page-cache-answered" in invalid
    assert status == 4


@pytest.mark.usefixtures("no_page")
def test_memory_is_not_mistaken_for_a_drive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = Path("/dev/shm") / f"drivelab-test-{os.getpid()}"
    directory.mkdir()
    try:
        status = main.run(["check", str(directory), "--quick", "--json", "--out", str(tmp_path / "runs")])
        found = json.loads(capsys.readouterr().out)
        assert list(directory.iterdir()) == []
    finally:
        directory.rmdir()
    assert status == 4
    assert any("memory" in finding["text"] for finding in found["findings"] if finding["severity"] == "invalid")


def test_a_check_that_cannot_begin_leaves_no_run(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from drivelab.run.work_area import WorkArea

    def refuse(_area: WorkArea) -> Path:
        raise DrivelabError("R451", "no working file can be made")

    monkeypatch.setattr(WorkArea, "new_file", refuse)
    status = main.run(["check", str(place), "--quick", "--json", "--out", str(tmp_path / "runs")])
    assert status == 1
    assert json.loads(capsys.readouterr().err.splitlines()[-1])["error"]["code"] == "R451"
    assert list((tmp_path / "runs").iterdir()) == []


@pytest.mark.provokes("R453")
def test_targets_that_make_no_sense_are_refused(refused: Refused, tmp_path: Path, place: Path) -> None:
    small = tmp_path / "small"
    small.write_bytes(b"x")
    assert refused(small) == ("R453", 2)
    assert refused(tmp_path / "missing") == ("T101", 2)
    assert refused("scratch:1GiB") == ("T105", 2)
    assert refused("raid1:2*scratch:1GiB") == ("T105", 2)
    assert refused(place, "--for", "excel") == ("U005", 2)
    assert refused("/dev/null") == ("T105", 2)


@pytest.mark.needs_root
@pytest.mark.needs_tool("mkfs.ext4")
def test_a_full_and_a_read_only_file_system_are_refused(
    refused: Refused, mount_filesystem: Callable[..., Path]
) -> None:
    assert refused(mount_filesystem("ext4", size_bytes=64 * MIB)) == ("R452", 1)
    assert refused(mount_filesystem("ext4", options="ro")) == ("T103", 1)


@pytest.mark.needs_root
@pytest.mark.needs_tool("mkfs.ext4")
def test_a_mounted_device_is_not_erased(refused: Refused, mount_filesystem: Callable[..., Path]) -> None:
    from drivelab.inventory.target import resolve_target

    device = resolve_target(str(mount_filesystem("ext4"))).devices[-1]
    assert refused(device.path, "--erase", device.name) == ("C202", 3)
