"""What stands for the load of a drive where no bytes are told: the I/Os that it completed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from drivelab.interop.samples.columns import columns_of
from drivelab.interop.samples.read import read_samples

AT = 1_658_149_215


def dump(path: Path, drives: dict[str, bool]) -> Path:
    """Counters of drives that do 10 I/Os of 40 us a second, those with bytes 4,000 B each."""
    lines = []
    for drive, has_bytes in drives.items():
        label = f'{{device="{drive}",instance="n1:9100"}}'
        steps = {"reads_completed": 150, "read_time_seconds": 150 * 40e-6}
        steps |= {"read_bytes": 600_000} if has_bytes else {}
        for name, step in steps.items():
            lines += [f"node_disk_{name}_total{label} {step * row} {AT + 15 * row}" for row in range(4)]
    path.write_text("\n".join([*lines, ""]))
    return path


def test_completed_ios_are_the_load_where_counters_of_bytes_are_missing(tmp_path: Path) -> None:
    (host,) = read_samples([dump(tmp_path / "a.prom", {"sda": False, "sdb": False})]).hosts
    np.testing.assert_allclose(host.throughput, 10)
    np.testing.assert_allclose(host.latency, 40, rtol=1e-5)


def test_bytes_of_one_drive_are_not_compared_with_ios_of_another(tmp_path: Path) -> None:
    (host,) = read_samples([dump(tmp_path / "a.prom", {"sda": True, "sdb": False})]).hosts
    np.testing.assert_allclose(host.throughput, 10)
    (host,) = read_samples([dump(tmp_path / "b.prom", {"sda": True, "sdb": True})]).hosts
    np.testing.assert_allclose(host.throughput, 40_000)


def test_rates_of_a_table_are_the_load_where_it_has_no_bytes() -> None:
    found = columns_of(["time", "dev", "r_await", "w_await", "r/s", "w/s"])
    assert found.throughput == {"r/s": 1.0, "w/s": 1.0}
