"""The suites of SNIA's specification ask what it says: their loops, their mixes, their points."""

from __future__ import annotations

import pytest

from drivelab.experiments.load import built_in_names, load_experiment
from drivelab.model.target import TargetFacts
from drivelab.plan.make import make_plan


@pytest.fixture
def scratch() -> TargetFacts:
    """A scratch drive of 1 GiB, not made yet."""
    return TargetFacts("scratch:1GiB", "scratch", "", False, None, (), (), 2**30, 512, False)


def test_the_suites_nest_their_loops_as_the_specification_says(scratch: TargetFacts) -> None:
    assert len([name for name in built_in_names() if name.startswith("pts-")]) == 8
    iops = make_plan(load_experiment("pts-iops"), [scratch], seed=1, skip_unavailable=True)
    first = [step.levels for step in iops.steps if (step.phase, step.round) == ("rounds", 1)]
    assert [levels["block_size"] for levels in first[:8]] == [
        *("1MiB", "128KiB", "64KiB", "32KiB", "16KiB", "8KiB", "4KiB", "512"),
    ]
    assert [levels["read_fraction"] for levels in first[::8]] == ["1.0", "0.95", "0.65", "0.5", "0.35", "0.05", "0.0"]
    cbw = load_experiment("pts-cbw")
    grid = next(one for one in cbw.workloads if one.name == "grid")
    assert sum(share.weight for share in grid.block_sizes) == 100
    assert sum(zone.access_fraction for zone in grid.access.zones) == pytest.approx(1)
    points = [step for step in make_plan(cbw, [scratch], seed=1).steps if (step.workload, step.round) == ("grid", 1)]
    assert [(step.levels["job_count"], step.levels["queue_depth"]) for step in points][:8] == [
        *(("32", depth) for depth in ("32", "16", "8", "6", "4", "2", "1")),
        ("16", "32"),
    ]
    assert len(points) == 49
