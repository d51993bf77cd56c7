"""What `drivelab io` advises after a trial that was too short, and where it is advised itself."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from drivelab.analyse.findings.speed_changed import find_between
from drivelab.cli.io import longer_runtime
from drivelab.cli.main import run
from drivelab.inventory.target import resolve_target
from drivelab.model.errors import EXIT_NOT_TRUSTED, EXIT_OK
from drivelab.model.estimate import Estimate
from drivelab.model.trial_summary import TrialSummary

SECOND_NS = 1_000_000_000


@pytest.mark.parametrize(
    ("took_s", "advised"), [(0, "60s"), (10, "60s"), (30, "90s"), (600, "1800s"), (1200, "1h"), (21_600, "18h")]
)
def test_longer_is_longer_than_it_was(took_s: int, advised: str) -> None:
    assert longer_runtime(took_s * SECOND_NS) == advised


@pytest.mark.parametrize("is_there", [False, True])
def test_the_command_that_measures_a_change_of_speed_can_be_typed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], is_there: bool
) -> None:
    place = tmp_path / "of mine"
    if is_there:
        place.mkdir()
    medians = {512: Estimate(1e6, 9e5, 1.1e6, "ns", 9, 9.0, ""), 2300: Estimate(4e7, 3.9e7, 4.1e7, "ns", 9, 9.0, "")}
    summaries = [
        TrialSummary(f"sync-write-{size}", "", "durable_write", {"total_latency_ns_p50": median})
        for size, median in medians.items()
    ]
    (told,) = find_between(summaries, resolve_target(str(place)))
    _, *words = shlex.split(told.advice.partition(": ")[2].replace("10min", "2s").replace("64MiB", "1MiB"))
    assert run([*words, "--json", "--out", str(tmp_path / "runs")]) in (EXIT_OK, EXIT_NOT_TRUSTED)
    assert json.loads(capsys.readouterr().out)["operations"]["durable_write"]["count"] > 0
