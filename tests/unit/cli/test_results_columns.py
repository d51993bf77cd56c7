"""Cells of the table of a run: marked where the data carry no number, and no dash where they carry bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run
from drivelab.cli.results_columns import filled_columns, marks_note
from drivelab.cli.run_results import print_results
from drivelab.model.run_answer import CombinationResult, RepeatedMetric, RunAnswer
from drivelab.store.read import StoredRun, open_run

RUNS = Path(__file__).resolve().parents[2] / "golden" / "runs"
P50, P99 = "total_latency_ns_p50", "total_latency_ns_p99"
WRITES, FLUSHES = "device_writes_per_operation", "device_flushes_per_operation"


def row(
    metrics: Mapping[str, RepeatedMetric],
    bounds: Mapping[str, tuple[float, float | None]] | None = None,
    target: str = "sdb",
) -> CombinationResult:
    return CombinationResult(
        target, "w", "small writes", {}, {}, metrics, P50, ("a",), 4096, is_durable=True, bounds=bounds or {}
    )


def cells(*rows: CombinationResult, repeats: int = 3) -> dict[str, list[str]]:
    return {column.head: found for column, found in filled_columns(rows, repeats=repeats, over_time=False)}


def metric(median: float, unit: str = "ns", **changes: object) -> RepeatedMetric:
    return RepeatedMetric(median, 0.9 * median, 1.1 * median, unit, 3, **changes)  # type: ignore[arg-type]


def test_what_is_only_seen_and_what_is_only_a_bound_is_marked() -> None:
    found = cells(row({P50: metric(76_900.0, is_seen=True)}, {P99: (12_500_000.0, None)}), row({P50: metric(80_000.0)}))
    assert found["median"] == ["~76.9 us", "80 us"]
    assert found["p99"] == [">=12.5 ms", "-"]
    assert marks_note("~76.9 us").startswith("~ seen in the sample, too few independent I/Os for an interval")
    assert marks_note(">=12.5 ms").startswith(">= a lower bound")
    assert marks_note("80 us") == ""


def test_small_reads_at_a_depth_have_iops_and_large_ones_have_not() -> None:
    rate = "throughput_bytes_per_s"
    numbers = {rate: metric(56.8e6, "B/s"), "iops": metric(13_900.0, "1/s")}
    small = replace(row(numbers), judged_metric=rate)
    assert cells(small)["IOPS"] == ["13 900"]
    assert "IOPS" not in cells(replace(small, block_size_bytes=1 << 20))
    assert "IOPS" not in cells(row({P50: metric(71_900.0), **numbers}))


def test_a_range_keeps_the_thousands_of_both_its_ends() -> None:
    reads = replace(row({"iops": RepeatedMetric(23_100.0, 15_000.0, 283_000.0, "1/s", 3)}), judged_metric="iops")
    texts = [cell for found in cells(reads).values() for cell in found]
    assert "15 000 to 283 000" in texts


def test_a_single_repeat_has_the_interval_of_its_trial() -> None:
    alone = RepeatedMetric(100.0, 100.0, 100.0, "ns", 1, low=90.0, high=120.0)
    assert cells(row({P50: alone}), repeats=1)["95 % interval\nof median"] == ["90 to 120 ns"]
    assert cells(row({P50: metric(100.0)}))["range of\nmedian"] == ["90 to 110 ns"]


def test_writes_and_flushes_share_a_column_and_bounds_are_told() -> None:
    exact = row({P50: metric(1.0), WRITES: metric(3.0, "1"), FLUSHES: metric(2.0, "1")})
    tight = row({P50: metric(1.0), FLUSHES: metric(0.0, "1")}, {WRITES: (0.8761, 0.8799)})
    wide = row({P50: metric(1.0), FLUSHES: metric(2.0, "1")}, {WRITES: (1.0, 2.0)})
    assert cells(exact, tight, wide)["writes/flushes\nper op"] == ["3.00/2.00", "0.88/0.00", "1.00-2.00/2.00"]
    assert cells(row({P50: metric(1.0), FLUSHES: metric(2.0, "1")}))["flushes\nper op"] == ["2.00"]


@pytest.fixture
def scan(monkeypatch: pytest.MonkeyPatch) -> StoredRun:
    monkeypatch.setenv("COLUMNS", "80")
    return open_run(RUNS / "settings-scan-drive")


def test_the_answer_in_words_comes_first_and_no_line_ends_in_blanks(
    scan: StoredRun, capsys: pytest.CaptureFixture[str]
) -> None:
    print_results(scan)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("1 byte appended + fdatasync: write-cache off is 3.3 to 3.4 times as fast as")
    assert [line for line in lines if line != line.rstrip()] == []


def test_the_same_combination_on_several_targets_is_one_table(
    scan: StoredRun, capsys: pytest.CaptureFixture[str]
) -> None:
    same = {P50: metric(100_000.0)}
    print_results(scan, RunAnswer((row(same, target="sdb"), row({P50: metric(2e5)}, target="sdc")), trial_count=2))
    text = capsys.readouterr().out
    assert text.count("small writes on ") == 1 + text.count("small writes on sd")
    table = text[text.index("small writes on 2 targets") :].splitlines()
    assert table[2].split()[:2] == ["target", "median"]
    assert [line.split()[0] for line in table[3:5]] == ["sdb", "sdc"]


def test_quantiles_that_the_estimates_withhold_are_known_to_be_seen_only() -> None:
    run = open_run(RUNS / "settings-scan-drive")
    withheld = {row["trial"] for row in run.trials.to_pylist() if row.get(P99) is None and not row["is_reference"]}
    combinations = answer_of_run(run, SHOWN_METRICS).combinations
    assert withheld
    for one in combinations:
        if P99 in one.metrics:
            assert one.metrics[P99].is_seen == bool(withheld & set(one.trials))
