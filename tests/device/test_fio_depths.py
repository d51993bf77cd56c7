"""How deep the queue is in fio and in drivelab where one completion is taken and the next I/O is sent."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from device.program import Drivelab

pytestmark = [pytest.mark.needs_tool("fio")]

OPTIONS = ("--name=job", "--rw=randread", "--bs=4k", "--size=4m", "--direct=1", "--iodepth=8", "--output-format=json")


def job_of(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text[text.index("{") :])["jobs"][0]
    return found


@pytest.mark.parametrize("engine", ["libaio", "io_uring"])
@pytest.mark.parametrize(
    "more",
    [
        (),
        ("--iodepth_batch_complete_min=4",),
        ("--iodepth_low=2",),
        ("--iodepth_batch_complete_min=4", "--iodepth_low=2"),
    ],
    ids=" ".join,
)
def test_as_many_are_outstanding_as_in_fio(
    drivelab: Drivelab, tmp_path: Path, engine: str, more: tuple[str, ...]
) -> None:
    words = [*OPTIONS, f"--ioengine={engine}", f"--directory={tmp_path}", *more]
    own = drivelab.run("fio", *words, "--eta=never", "--strict")
    assert own.returncode == 0, own.stderr
    fio = subprocess.run(["fio", *words], check=True, capture_output=True, text=True, cwd=tmp_path)
    by_fio, by_drivelab = job_of(fio.stdout), job_of(own.stdout)
    # fio prints 0.1 for what is less
    shares = [max(0.1, share) if share else 0.0 for share in by_drivelab["iodepth_level"].values()]
    # how many of those that a look waits for have ended before is the drive's
    assert shares == pytest.approx(list(by_fio["iodepth_level"].values()), abs=1 if more else 0.1)
    assert by_drivelab["iodepth_complete"]["4"] == 100.0
