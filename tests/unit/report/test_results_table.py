"""The one table: units in its headers, bounds, marks at the numbers that findings touch."""

from __future__ import annotations

from collections.abc import Callable

from drivelab.model.estimate import Estimate
from drivelab.model.finding import Finding
from drivelab.model.histogram import Histogram
from drivelab.model.metric import PER_OPERATION
from drivelab.report.content import ReportContent, TrialContent
from drivelab.report.reported_findings import reported
from drivelab.report.results_table import NumberCell, ResultsTable, results_table


def cells(table: ResultsTable, row: int = 0) -> dict[str, NumberCell]:
    """Cells of a row of the first group by the key of their column."""
    return dict(zip((header.key for header in table.headers), table.groups[0][1][row].cells, strict=True))


def test_every_header_of_a_quantity_has_its_unit(check_content: ReportContent) -> None:
    table = results_table(check_content.trials, ())
    units = {header.key: header.unit for header in table.headers}
    assert units["count"] == ""
    per_operation = {header.key for header in table.headers if header.band == PER_OPERATION}
    assert {units[key] for key in per_operation} <= {"", "KiB"}, "commands are counted"
    assert all(unit for key, unit in units.items() if key != "count" and key not in per_operation)
    assert units["iops"] == "1/s"


def test_one_unit_serves_all_latencies(check_content: ReportContent) -> None:
    table = results_table(check_content.trials, ())
    assert {header.unit for header in table.headers if header.band == "latency"} == {"µs"}


def test_without_any_value_the_unit_comes_from_what_was_seen(
    trial: Callable[..., TrialContent], histogram: Callable[..., Histogram]
) -> None:
    seen = Estimate(None, None, None, "ns", 5, 1.0, "made up", 2_770_000.0)
    estimates = {f"total_latency_ns_{name}": seen for name in ("p50", "p99", "p999")}
    slow = {("read", "total"): histogram(*range(2_000_000, 4_000_000, 400_000))}
    table = results_table([trial(estimates=estimates, histograms=slow)], ())
    assert {header.unit for header in table.headers if header.band == "latency"} == {"ms"}
    assert (cells(table)["p50"].value, cells(table)["p50"].interval) == ("–", "seen 2.77")
    # with nothing but the slowest I/O, that one tells
    table = results_table([trial(estimates={}, histograms=slow)], ())
    assert {header.unit for header in table.headers if header.band == "latency"} == {"ms"}
    assert cells(table)["max"].value == "3.60"


def test_commands_stand_beside_durable_writes_only(check_content: ReportContent) -> None:
    table = results_table(check_content.trials, ())
    groups = dict(table.groups)
    columns = [number for number, header in enumerate(table.headers) if header.band.startswith("device")]
    assert columns
    assert all(row.cells[column].value for row in groups["Durable writes"] for column in columns)
    assert not any(row.cells[column].value for row in groups["Reads"] for column in columns)


def test_a_fua_column_appears_only_when_such_writes_were_counted(
    trial: Callable[..., TrialContent], make_estimate: Callable[..., Estimate]
) -> None:
    def durable(fua: float) -> TrialContent:
        return trial(
            operation="durable_write", estimates={"fua_writes_per_operation": make_estimate(fua, fua, fua, "1")}
        )

    assert "fua_writes_per_operation" in [header.key for header in results_table([durable(1.0)], ()).headers]
    assert "fua_writes_per_operation" not in [header.key for header in results_table([durable(0.0)], ()).headers]


def test_a_number_says_how_it_came_about(trial: Callable[..., TrialContent]) -> None:
    estimate = Estimate(1000.0, 900.0, 1100.0, "1/s", 20_000, 3_000.0, "batch means")
    cell = cells(results_table([trial(estimates={"iops": estimate})], ()))["iops"]
    assert (cell.value, cell.interval) == ("1\u202f000", "900–1\u202f100")
    assert cell.note == "20\u202f000 observations, worth 3\u202f000 independent ones; batch means"


def test_the_maximum_is_the_exact_one(trial: Callable[..., TrialContent]) -> None:
    assert cells(results_table([trial()], ()))["max"].value == "120"


def test_a_finding_marks_the_number_that_its_evidence_names(trial: Callable[..., TrialContent]) -> None:
    findings = reported([Finding("slow", "note", "slow", "random-read", {"metric": "total_latency_ns_p50"})])
    table = results_table([trial()], findings)
    assert cells(table)["p50"].marks == (1,)
    assert table.groups[0][1][0].marks == ()


def test_a_finding_about_no_number_marks_the_trial(trial: Callable[..., TrialContent]) -> None:
    findings = reported([Finding("page-cache-answered", "invalid", "the page cache answered", "random-read")])
    table = results_table([trial(), trial("other")], findings)
    assert [row.marks for row in table.groups[0][1]] == [(1,), ()]


def test_a_mark_is_not_lost_when_its_number_was_not_measured(trial: Callable[..., TrialContent]) -> None:
    findings = reported([Finding("slow", "note", "slow", "random-read", {"metric": "iops"})])
    assert results_table([trial()], findings).groups[0][1][0].marks == (1,)


def test_a_trial_in_which_nothing_completed_has_a_row(
    trial: Callable[..., TrialContent], histogram: Callable[..., Histogram]
) -> None:
    row = cells(results_table([trial(histograms={("read", "total"): histogram()}, estimates={})], ()))
    assert (row["count"].value, row["max"].value, row["p50"].value) == ("0", "–", "")


def test_bands_span_the_columns_below_them(check_content: ReportContent) -> None:
    table = results_table(check_content.trials, ())
    assert sum(span for _, span in table.bands) == len(table.headers)
    assert ("latency", 4) in table.bands


def test_the_share_that_reached_the_drive_stands_beside_writes_that_memory_took(
    trial: Callable[..., TrialContent], make_estimate: Callable[..., Estimate]
) -> None:
    def write(share: float | None, high: float) -> TrialContent:
        estimates = {"reached_device_share": make_estimate(share, share or 0.0, high, "1")}
        return trial(operation="write", estimates=estimates)

    table = results_table([write(0.38, 0.38), write(None, 0.6)], ())
    assert [cells(table, row)["reached_device_share"].value for row in (0, 1)] == ["38.0", "≤\u202f60.0"]
    whole = results_table([write(1.0, 1.0)], ())
    assert "reached_device_share" not in [header.key for header in whole.headers]
