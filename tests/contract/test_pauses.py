"""A pause of a closed loop ends when it should, and not when the kernel gets to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from drivelab.model.workload import Workload
from drivelab.run.engine import run_workload

COUNT = 400


@pytest.mark.parametrize("think_us", [30, 200, 2000])
def test_the_quick_pauses_last_as_long_as_asked(tmp_path: Path, think_us: int) -> None:
    data = tmp_path / "data"
    data.write_bytes(bytes(1 << 20))
    workload = Workload.model_validate(
        {
            "target": {"path": str(data)},
            "operations": [{"operation": "read"}],
            "pacing": {"think_ns": think_us * 1000},
            "limits": {"count": COUNT},
            "record_ios": True,
        }
    )
    records = run_workload(workload).records
    assert records is not None
    issued_ns = records["issue_ns"].to_numpy()
    pauses_us = (np.diff(issued_ns) - records["total_latency_ns"].to_numpy()[:-1]) / 1000
    assert np.min(pauses_us) >= think_us - 1
    # on a busy machine others run first, but not before each of them
    assert np.quantile(pauses_us, 0.1) < think_us + 10
