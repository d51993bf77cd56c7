"""Tables of a phase that ends by rounds: what a short form shows of them."""

from __future__ import annotations

import pytest

from drivelab.model.rounds import FiveRounds, PhaseRounds, TrackedSeries, WindowAverage
from drivelab.report.joint import Joint
from drivelab.report.tables.rounds import round_tables
from drivelab.report.tables.table import Table

SIZES, MIXES = ("1MiB", "4KiB"), ("0", "0.65", "1")


def tables(metric: str, *targets: str) -> tuple[Table, ...]:
    """Those of a square of which one corner is tracked, on each target."""
    tracked = TrackedSeries(
        "random", {"block_size": "4KiB"}, metric, "1/s", (), FiveRounds(9.0, 0.05, 0.02, 1.0, is_steady=True)
    )
    averages = [
        WindowAverage("random", {"read_fraction": mix, "block_size": size}, 5, 200.0, 1e6, 2e6, 9e6)
        for mix in MIXES
        for size in SIZES
    ]
    return round_tables(
        [
            PhaseRounds(target, "rounds", 25, 5, "steady", (1, 5), (tracked,), (), tuple(averages))
            for target in targets or ("sda",)
        ]
    )


@pytest.mark.parametrize("metric", ["iops", "throughput_bytes_per_s", "total_latency_ns_mean"])
def test_a_short_form_shows_the_square_of_what_is_tracked_before_the_criterion(metric: str) -> None:
    leading = Joint("", "", tables=tables(metric)).leading_tables
    assert [table.key for table in leading] == [
        f"measurement-{metric.removeprefix('total_').replace('_', '-')}",
        "steady-state",
    ]
    assert [len(leading[0].rows), len(leading[0].columns)] == [len(SIZES), 1 + len(MIXES)]


def test_a_short_form_shows_the_squares_of_all_drives_or_of_none() -> None:
    two = Joint("", "", tables=tables("iops", "sda", "sdb")).leading_tables
    assert [table.key for table in two] == ["measurement-iops", "measurement-iops-2", "steady-state"]
    three = Joint("", "", tables=tables("iops", "sda", "sdb", "sdc")).leading_tables
    assert [table.key for table in three] == ["steady-state"]


def test_where_only_one_combination_is_measured_the_criterion_stands_alone() -> None:
    series = TrackedSeries("sequential", {}, "iops", "1/s", ())
    found = round_tables([PhaseRounds("sda", "rounds", 25, 5, "rounds", (1, 5), (series,))])
    assert [table.key for table in Joint("", "", tables=found).leading_tables] == ["steady-state"]
