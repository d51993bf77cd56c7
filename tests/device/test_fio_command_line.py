"""A command line of fio whose target is a drive: nothing is written without consent, and then what it asks for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from device.program import Drivelab

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup")]
SIZE_BYTES = 4 * 2**20


def test_a_drive_is_written_with_consent_alone(make_loop_device: Callable[..., Path], tmp_path: Path) -> None:
    device, program = make_loop_device(SIZE_BYTES), Drivelab(tmp_path)
    words = ("fio", f"--filename={device}", "--name=w", "--rw=randwrite", "--bs=4k", "--number_ios=32", "--direct=1")
    before = device.read_bytes()
    refused = program.run(*words)
    assert refused.returncode == 3
    assert "--erase" in refused.stderr
    assert device.read_bytes() == before
    consent = refused.stderr.rpartition("--erase ")[2].split()[0]
    done = program.run(*words, "--erase", consent, "--output-format=json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["jobs"][0]["write"]["total_ios"] == 32
    assert device.read_bytes() != before
