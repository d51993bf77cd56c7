"""`drivelab settings` shows every setting of what lies beneath a target, and changes nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from drivelab.cli.main import run
from drivelab.cli.settings import setting_lines
from drivelab.model.setting import SETTING_NAMES, SettingFacts


def drivelab(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "drivelab", *arguments], capture_output=True, text=True)


def test_a_directory_shows_the_settings_of_its_drive_and_of_the_computer(tmp_path: Path) -> None:
    document = json.loads(drivelab("settings", str(tmp_path), "--json").stdout)
    assert document["schema"] == 1
    of_host = set(document["host"]["settings"])
    assert of_host == {"governor", "cpu-dma-latency"}
    for drive in document["drives"]:
        assert set(drive["settings"]) == set(SETTING_NAMES) - of_host
    text = drivelab("settings", str(tmp_path))
    assert text.returncode == 0, text.stderr
    assert "this computer" in text.stdout
    assert max(map(len, text.stdout.splitlines())) <= 80


def test_a_scratch_drive_shows_what_it_will_have() -> None:
    (drive,) = json.loads(drivelab("settings", "scratch:1GiB", "--json").stdout)["drives"]
    assert (drive["name"], drive["serial"]) == (None, None)
    assert drive["settings"]["kernel-write-cache"]["value"] in ("write back", None)
    assert drive["settings"]["apm"]["reason"]


@pytest.mark.needs_root
@pytest.mark.needs_tool("losetup")
def test_a_loop_device_shows_its_queue_and_is_left_as_it_was(make_loop_device: Callable[..., Path]) -> None:
    device = make_loop_device()
    queue = Path(f"/sys/block/{device.name}/queue")
    names = ("scheduler", "nr_requests", "read_ahead_kb", "max_sectors_kb", "write_cache")
    before = {name: (queue / name).read_text() for name in names}
    (drive,) = json.loads(drivelab("settings", str(device), "--json").stdout)["drives"]
    assert drive["path"] == str(device)
    found = drive["settings"]
    assert found["nr-requests"]["value"] == before["nr_requests"].strip()
    assert found["read-ahead"]["value"] == str(int(before["read_ahead_kb"]) * 1024)
    assert (found["read-ahead"]["unit"], found["scheduler"]["unit"]) == ("B", "")
    assert found["write-cache"]["reason"].startswith("a loop device has none of its own")
    assert {name: (queue / name).read_text() for name in names} == before


@pytest.mark.provokes("T101")
def test_a_target_that_is_not_there_is_an_error() -> None:
    answer = drivelab("settings", "/no/such/place")
    assert answer.returncode == 2
    assert "error[T101]" in answer.stderr


def test_a_line_has_the_level_with_its_unit_the_layers_and_what_is_possible() -> None:
    settings = {
        "write-cache": SettingFacts(
            "write-cache", "off", {"hdparm": "off", "queue/write_cache": "write back"}, levels=("on", "off")
        ),
        "read-ahead": SettingFacts("read-ahead", "131072", {"queue/read_ahead_kb": "128"}, minimum=0),
        "write-back-throttling": SettingFacts("write-back-throttling", "off", levels=("off",), minimum=1000),
        "nr-requests": SettingFacts("nr-requests", "64", minimum=4, maximum=2048),
        "apm": SettingFacts("apm", reason="the drive has no advanced power management"),
        "apst": SettingFacts("apst", "on", reason="needs root"),
    }
    assert [line.plain for line in setting_lines("/dev/sda", settings, 100)] == [
        "/dev/sda",
        "  write-cache            off",
        "                         hdparm: off, queue/write_cache: write back",
        "                         can be on, off",
        "  read-ahead             131072 B (128 KiB)",
        "                         can be 0 B and more",
        "  write-back-throttling  off",
        "                         can be off, 1000 ns and more",
        "  nr-requests            64",
        "                         can be 4 to 2048",
        "  apm                    none: the drive has no advanced power management",
        "  apst                   on",
        "                         cannot be set: needs root",
    ]


def test_a_simulated_drive_has_no_settings_and_this_computer_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["settings", "sim:consumer-ssd"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("sim:consumer-ssd is simulated: it has no settings")
    assert "governor" not in out
