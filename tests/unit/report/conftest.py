"""Stored runs and made-up trials for the tests of the report."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
sys.path.insert(0, str(GOLDEN))

from make_runs import NAMES, build  # noqa: E402
from synthetic import histogram_of  # noqa: E402

from drivelab.analyse.summary import summarise  # noqa: E402
from drivelab.model.estimate import Estimate  # noqa: E402
from drivelab.model.histogram import Histogram  # noqa: E402
from drivelab.report.content import ReportContent, TrialContent  # noqa: E402
from drivelab.store.read import StoredRun  # noqa: E402
from golden_reports import golden_content, golden_run  # noqa: E402


@pytest.fixture(params=NAMES)
def stored_run(request: pytest.FixtureRequest) -> StoredRun:
    """Each of the golden runs in turn."""
    return golden_run(request.param)


@pytest.fixture
def check_run() -> StoredRun:
    """A check of a directory, with a verdict, findings and records of single I/Os."""
    return golden_run("check-directory")


@pytest.fixture
def check_content() -> ReportContent:
    """What the report of that check tells."""
    return golden_content("check-directory")


@pytest.fixture
def rebuilt_runs(tmp_path: Path) -> list[Path]:
    """The golden runs, made afresh by the code as it is."""
    return build(tmp_path / "runs", summarise)


@pytest.fixture
def histogram() -> Callable[..., Histogram]:
    """Makes histograms of latencies given in ns."""

    def make(*latencies_ns: int) -> Histogram:
        return histogram_of(np.array(latencies_ns, dtype=np.int64))

    return make


@pytest.fixture
def trial(histogram: Callable[..., Histogram]) -> Callable[..., TrialContent]:
    """Makes a trial of 4 KiB reads with two thousand latencies around 100 µs; keywords replace any of its parts."""

    def make(name: str = "random-read", **parts: object) -> TrialContent:
        given: dict[str, object] = {
            "label": "random read, 4 KiB",
            "operation": "read",
            "estimates": {"total_latency_ns_p50": estimate(100_000, 99_000, 101_000)},
            "histograms": {("read", "total"): histogram(*range(80_000, 120_000, 20))},
            "workload": {"block_sizes": [{"bytes": 4096}], "queue_depth": 1, "job_count": 1, "direct": True},
            "engine": {"achieved": {"queue_depth_mean": 0.99, "queue_depth_max": 1, "direct": True}},
        }
        return TrialContent(name, **(given | parts))  # type: ignore[arg-type]

    return make


def estimate(
    value: float | None, low: float | None, high: float | None, unit: str = "ns", count: int = 2000
) -> Estimate:
    """An estimate from so many observations."""
    return Estimate(value, low, high, unit, count, float(count), "made up")  # type: ignore[arg-type]


@pytest.fixture
def make_estimate() -> Callable[..., Estimate]:
    """Makes estimates: value, low, high, unit, count."""
    return estimate
