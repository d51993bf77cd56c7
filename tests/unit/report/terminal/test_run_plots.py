"""Several runs and pages as bars of a terminal: a row for each drive of each, named by what tells it apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from drivelab.analyse.judged_metric import TrialKind, judged_metric
from drivelab.model.estimate import Estimate
from drivelab.model.result_set import Observation, ResultSet
from drivelab.reference.load import load_reference
from drivelab.report.terminal.plots import PLOTS_MAX, TextPlots, run_plots

GOLDEN = Path(__file__).resolve().parents[3] / "golden" / "runs"


def seen(drive: str, value: float, metric: str = "total_latency_ns_p50", **levels: str) -> Observation:
    unit = "ns" if "latency" in metric else "B/s"
    estimate = Estimate(value, 0.9 * value, 1.1 * value, unit, 10, 10.0, "made up")  # type: ignore[arg-type]
    return Observation(drive, "pike", "w", "512 B appended", "durable_write", metric, estimate, levels, 512, 1)


def test_several_runs_have_a_row_each() -> None:
    sets = [ResultSet(f"run-{n}", "T", "Q", "S", observations=(seen("sdb", n * 1e6),)) for n in (1, 2, 3)]
    (plot,) = run_plots(sets, 80)
    assert plot.title == "512 B appended: median latency"
    assert plot.lines[0] == "run"
    assert [line.split()[0] for line in plot.lines[1:4]] == ["run-1", "run-2", "run-3"]


def test_a_drive_of_its_own_is_the_name_of_a_run() -> None:
    sets = [ResultSet(f"run-{n}", "T", "Q", "S", observations=(seen(f"Drive {n}", n * 1e6),)) for n in (1, 2)]
    (plot,) = run_plots(sets, 80)
    assert plot.lines[0] == "drive"
    assert plot.lines[1].startswith("Drive 1 ")


def test_runs_of_the_same_combination_stand_below_each_other() -> None:
    both = (seen("sdb", 1e6, filesystem="ext4"), seen("sdb", 2e6, filesystem="xfs"))
    sets = [ResultSet(name, "T", "Q", "S", observations=both) for name in ("old", "new")]
    (plot,) = run_plots(sets, 80)
    assert [line.split("█")[0].split() for line in plot.lines[1:5]] == [
        ["ext4", "old"],
        ["new"],
        ["xfs", "old"],
        ["new"],
    ]


def test_workloads_of_one_size_are_named_in_their_rows() -> None:
    both = tuple(replace(seen("sdb", value), title=title) for title, value in (("synced", 2e6), ("at the end", 1e6)))
    sets = [
        ResultSet("run", "T", "Q", "S", observations=both),
        ResultSet("page", "T", "Q", "S", is_reference=True, observations=(replace(seen("P", 3e6), title="synced"),)),
    ]
    (plot,) = run_plots(sets, 80)
    assert [line.split("█")[0].split() for line in plot.lines[1:4]] == [
        ["synced", "sdb"],
        ["P"],
        ["at", "the", "end", "sdb"],
    ]


def test_runs_are_compared_by_what_most_of_them_have() -> None:
    metrics = (("total_latency_ns_mean", "throughput_bytes_per_s"), ("total_latency_ns_mean",), ("iops",))
    sets = [
        ResultSet(f"run-{n}", "T", "Q", "S", observations=tuple(seen("sdb", 1e6, metric) for metric in names))
        for n, names in enumerate(metrics)
    ]
    (plot,) = run_plots(sets, 80)
    assert plot.title.endswith("mean latency")
    assert run_plots([sets[0], sets[2]], 80) == []


def read_at(depth: int, metric: str, value: float, **changes: object) -> Observation:
    """Random reads of 4 KiB at a depth."""
    given = {"workload": "r", "title": "4 KiB random reads", "operation": "read", "queue_depth": depth}
    return replace(seen("sdb", value, metric), **(given | {"block_size_bytes": 4096} | changes))  # type: ignore[arg-type]


def two_runs(*observations: Observation) -> list[ResultSet]:
    return [ResultSet(name, "T", "Q", "S", observations=observations) for name in ("old", "new")]


def test_a_sweep_of_depths_is_one_plot_of_its_throughput() -> None:
    sweep = [
        read_at(depth, metric, value * depth, levels={"queue_depth": str(depth)})
        for depth in (1, 8, 32)
        for metric, value in (("total_latency_ns_p50", 1e5), ("throughput_bytes_per_s", 4e7))
    ]
    (plot,) = run_plots(two_runs(*sweep), 80)
    assert plot.title == "4 KiB random reads: throughput, log axis"
    assert plot.lines[0].split() == ["queue", "depth", "run"]
    assert [line.split()[0] for line in plot.lines[1:7]] == ["1", "new", "8", "new", "32", "new"]
    kinds = [TrialKind(4096, depth, is_durable=False) for depth in (1, 8, 32)]
    assert judged_metric(kinds) == "throughput_bytes_per_s"


def test_workloads_of_one_title_and_several_depths_are_told_apart_by_the_depth() -> None:
    metrics = ("total_latency_ns_p50", "throughput_bytes_per_s")
    observations = [read_at(depth, metric, 1e6, workload=f"r{depth}") for depth in (1, 8, 32) for metric in metrics]
    words = {"total_latency_ns_p50": "median latency", "throughput_bytes_per_s": "throughput"}
    assert [plot.title for plot in run_plots(two_runs(*observations), 80)] == [
        f"4 KiB random reads, {depth} outstanding: {words[judged_metric([TrialKind(4096, depth, is_durable=False)])]}"
        for depth in (1, 8, 32)
    ]
    sizes = [read_at(8, metrics[1], 1e8, block_size_bytes=size, title="reads") for size in (4096, 16384)]
    assert [plot.title for plot in run_plots(two_runs(*sizes), 80)] == [
        "reads, 4 KiB: throughput",
        "reads, 16 KiB: throughput",
    ]


def test_a_sweep_in_one_run_only_stands_beside_the_same_depth_of_another() -> None:
    sweep = tuple(read_at(d, "iops", 1e3, levels={"queue_depth": str(d)}) for d in (1, 8))
    sets = [ResultSet("sweep", "T", "Q", "S", observations=sweep)]
    sets.append(ResultSet("single", "T", "Q", "S", observations=(read_at(8, "iops", 2e3),)))
    (plot,) = run_plots(sets, 80)
    assert plot.title == "4 KiB random reads, 8 outstanding: I/Os per second"


def test_a_durable_write_of_a_page_stands_beside_that_of_a_run() -> None:
    own = replace(seen("Drive A", 2e6), is_durable=True)
    page = replace(seen("Drive B", 1e6), is_durable=True, operation="write", title="Small write")
    sets = [ResultSet("run", "T", "Q", "S", observations=(own,)), ResultSet("p", "T", "Q", "S", observations=(page,))]
    (plot,) = run_plots(sets, 80)
    assert plot.title == "durable write, 512 B: median latency"
    assert [line.split("  ")[0] for line in plot.lines[1:3]] == ["Drive A", "Drive B"]


def test_a_page_alone_has_a_row_for_each_drive() -> None:
    page = ResultSet("p", "T", "Q", "S", observations=(seen("Drive A", 1e6), seen("Drive B", 2e6)))
    (plot,) = run_plots([page], 80)
    assert [line.split("  ")[0] for line in plot.lines[1:3]] == ["Drive A", "Drive B"]
    assert run_plots([], 80) == []


def test_one_model_in_several_machines_is_told_apart_by_them() -> None:
    (plot, *_) = run_plots([load_reference("intel-530")], 100)
    assert any("Intel 530 on flygecko" in line for line in plot.lines)
    assert not any("Crucial M4 on" in line for line in plot.lines)


def test_nobody_reads_ten_plots() -> None:
    observations = tuple(replace(seen("sdb", 1e6), block_size_bytes=512 * n) for n in range(1, 11))
    sets = [ResultSet(name, "T", "Q", "S", observations=observations) for name in ("a", "b")]
    assert len(TextPlots(result_sets=sets).plots(80)) == PLOTS_MAX
