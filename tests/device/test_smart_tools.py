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


def read(folder: Path, kind: str, transport: str, path: str) -> dict[str, Any]:
    """What is read of a made-up drive, for which a library stands."""
    library = folder / "made_up_drives.so"
    # the tools are started without our environment, so the library has to know of itself what it plays
    command = ["cc", f'-DDRIVE="{kind}"', "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True)
    places = (PROJECT / "python", PROJECT / "tests", PROJECT / "tests" / "unit" / "analyse")
    modules = os.pathsep.join(map(str, places))
    environment = {**os.environ, "PYTHONPATH": modules, "LD_PRELOAD": str(library)}
    command = [sys.executable, "-c", READ, transport, path]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def test_an_nvme_drive_is_read_with_all_its_logs(tmp_path: Path) -> None:
    facts = read(tmp_path, "nvme", "nvme", "/dev/nvme90n1")
    assert facts["health_passed"] is True
    assert facts["host_bytes_written"] == 72 * TB
    assert facts["media_bytes_written"] == 151_200_000_000_000
    assert (facts["endurance_bytes"], facts["endurance_source"]) == (600 * TB, "endurance group log")
    assert (facts["temperature_warning_celsius"], facts["temperature_critical_celsius"]) == (70, 85)
    assert facts["throttle_count"] == 0


def test_a_sata_drive_is_read_with_its_statistics(tmp_path: Path) -> None:
    facts = read(tmp_path, "ata", "sata", "/dev/sdzz")
    assert facts["host_bytes_written"] == 64812345678 * 512
    assert (facts["percentage_used"], facts["temperature_warning_celsius"]) == (19, 70)
    assert facts["reallocated_sectors"] == 2


def test_a_sata_drive_without_statistics_is_read_by_its_attributes(tmp_path: Path) -> None:
    facts = read(tmp_path, "ata-plain", "sata", "/dev/sdzz")
    assert facts["host_bytes_written"] == 2145767 * 32 * 2**20
    assert facts["sources"]["host_bytes_written"] == "attribute 225 Host_Writes_32MiB"


def test_a_sas_drive_is_read_by_its_log_pages(tmp_path: Path) -> None:
    facts = read(tmp_path, "sas", "sas", "/dev/sdzz")
    assert (facts["host_bytes_written"], facts["percentage_used"]) == (72_123_457_000_000, 9)
    assert (facts["reallocated_sectors"], facts["media_errors"]) == (5, 1)


def test_a_sleeping_disk_is_not_woken(tmp_path: Path) -> None:
    facts = read(tmp_path, "ata-asleep", "sata", "/dev/sdzz")
    assert facts["unknown"] == {"everything": "the drive sleeps, and was not woken"}
