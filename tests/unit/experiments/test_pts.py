"""The suites of SNIA's specification ask what it says: their loops, their mixes, their points."""

from __future__ import annotations

import pytest

from drivelab.experiments.load import built_in_names, load_experiment
from drivelab.model.setting import SettingFacts
from drivelab.model.target import TargetFacts
from drivelab.plan.make import make_plan


@pytest.fixture
def scratch() -> TargetFacts:
    """A scratch drive of 1 GiB, not made yet."""
    return TargetFacts("scratch:1GiB", "scratch", "", False, None, (), (), 2**30, 512, False)


def test_the_suites_nest_their_loops_as_the_specification_says(scratch: TargetFacts) -> None:
    assert len([name for name in built_in_names() if name.startswith("pts-")]) == 8
    iops = make_plan(load_experiment("pts-iops"), [scratch], seed=1, skip_unavailable=True)
    (rounds,) = [phase for phase in iops.phases if phase.track]
    of_one_round = [step for step in iops.steps if (step.phase, step.round) == ("rounds", 1)]
    for tracked in rounds.track:
        assert sum(tracked.is_of(step.workload, step.levels) for step in of_one_round) == 1
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


@pytest.mark.parametrize("quick", [False, True], ids=["full", "quick"])
@pytest.mark.parametrize("name", [name for name in built_in_names() if name.startswith("pts-")])
def test_what_is_tracked_is_measured_also_where_no_setting_can_be_changed(
    name: str, quick: bool, scratch: TargetFacts
) -> None:
    none = {"write-cache": SettingFacts("write-cache", "on", reason="it has none")}
    plan = make_plan(load_experiment(name), [scratch], seed=1, quick=quick, settings=[none])
    assert any("write-cache" in text for text in plan.left_out)
    for phase in plan.phases:
        first = [step for step in plan.steps if (step.phase, step.round) == (phase.name, 1)]
        assert [sum(one.is_of(step.workload, step.levels) for step in first) for one in phase.track] == [1] * len(
            phase.track
        )
