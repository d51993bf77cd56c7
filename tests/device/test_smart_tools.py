"""smartctl and nvme-cli as they are installed here understand our questions, and we their answers.

The drives are made up: a preloaded library answers the tools' ioctls, so nothing real is touched.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[2]
SOURCE = PROJECT / "tests" / "golden" / "inventory" / "made_up_drives.c"
TB = 10**12
READ = """
import json, sys
from drivelab.inventory.smart import read_smart
from simulated_trials import drive
transport, path = sys.argv[1:]
print(json.dumps(read_smart(drive(name="made-up", transport=transport, path=path)).to_json()))
"""

# the C compiler needs no mark: nothing is built without one
pytestmark = pytest.mark.needs_tool("smartctl", "nvme")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that stands for a drive."""
    made = tmp_path_factory.mktemp("made-up") / "made_up_drives.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(made), str(SOURCE), "-ldl"], check=True)
    return made


def read(library: Path, kind: str, transport: str, path: str) -> dict[str, Any]:
    """What is read of a made-up drive."""
    modules = os.pathsep.join([str(PROJECT / "python"), str(PROJECT / "tests" / "unit" / "analyse")])
    environment = {**os.environ, "PYTHONPATH": modules, "LD_PRELOAD": str(library), "DRIVE": kind}
    command = [sys.executable, "-c", READ, transport, path]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def test_an_nvme_drive_is_read_with_all_its_logs(library: Path) -> None:
    facts = read(library, "nvme", "nvme", "/dev/nvme90n1")
    assert facts["health_passed"] is True
    assert facts["host_bytes_written"] == 72 * TB
    assert facts["media_bytes_written"] == 151_200_000_000_000
    assert (facts["endurance_bytes"], facts["endurance_source"]) == (600 * TB, "endurance group log")
    assert (facts["temperature_warning_celsius"], facts["temperature_critical_celsius"]) == (70, 85)
    assert facts["throttle_count"] == 0


def test_a_sata_drive_is_read_with_its_statistics(library: Path) -> None:
    facts = read(library, "ata", "sata", "/dev/sdzz")
    assert facts["host_bytes_written"] == 64812345678 * 512
    assert (facts["percentage_used"], facts["temperature_warning_celsius"]) == (19, 70)
    assert facts["reallocated_sectors"] == 2


def test_a_sata_drive_without_statistics_is_read_by_its_attributes(library: Path) -> None:
    facts = read(library, "ata-plain", "sata", "/dev/sdzz")
    assert facts["host_bytes_written"] == 2145767 * 32 * 2**20
    assert facts["sources"]["host_bytes_written"] == "attribute 225 Host_Writes_32MiB"


def test_a_sas_drive_is_read_by_its_log_pages(library: Path) -> None:
    facts = read(library, "sas", "sas", "/dev/sdzz")
    assert (facts["host_bytes_written"], facts["percentage_used"]) == (72_123_457_000_000, 9)
    assert (facts["reallocated_sectors"], facts["media_errors"]) == (5, 1)


def test_a_sleeping_disk_is_not_woken(library: Path) -> None:
    facts = read(library, "ata-asleep", "sata", "/dev/sdzz")
    assert facts["unknown"] == {"everything": "the drive sleeps, and was not woken"}
