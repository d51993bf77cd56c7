"""The tables of phases and of surfaces."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from drawn_result_sets import made, one

from drivelab.interop.foreign import SourceText
from drivelab.interop.iozone.results import read_results
from drivelab.model.estimate import Estimate
from drivelab.model.result_set import ResultSet
from drivelab.model.run_answer import CombinationResult, RepeatedMetric, RunAnswer
from drivelab.model.surface import SurfaceShape
from drivelab.report.combination_labels import table_title, tables_of_answer
from drivelab.report.sentences.durations import duration_sentences
from drivelab.report.sentences.run import run_sentences
from drivelab.report.sentences.surface_shapes import NOT_JUDGED, NOTHING, TOLD_AT_MOST, shape_sentences
from drivelab.report.tables.iozone_shape import spreadsheet_text, surface_tables
from drivelab.report.tables.phases import phases_tables


def metric(value: float, unit: Any, spread: float = 0.1) -> RepeatedMetric:
    return RepeatedMetric(value, (1 - spread) * value, (1 + spread) * value, unit, 3)


def combination(workload: str, levels: dict[str, str], target: str = "ssd", **metrics: RepeatedMetric) -> Any:
    names = ("r1", "r2", "r3")
    return CombinationResult(target, workload, f"the {workload}", levels, {}, metrics, "iops", names)


PHASES = (
    combination(
        "create",
        {"filesystem": "ext4"},
        iops=metric(41_234.0, "1/s"),
        throughput_bytes_per_s=metric(0.0, "B/s"),
        cpu_share=metric(0.93, "1"),
        total_latency_ns_p50=metric(21_500.0, "ns"),
        total_latency_ns_max=metric(4e6, "ns"),
        duration_ns=metric(4.1e9, "ns"),
    ),
    combination("block-read", {"filesystem": "xfs"}, throughput_bytes_per_s=metric(5.2e8, "B/s")),
)


def test_phases_tell_each_number_in_a_unit_of_its_own() -> None:
    (table,) = phases_tables(RunAnswer(combinations=PHASES))
    heads = [column.name for column in table.columns]
    assert heads == [
        *("phase", "filesystem", "I/Os per second", "throughput", "share of a processor"),
        *("median latency", "longest latency", "whole time"),
    ]
    first, second = ([cell.text for cell in row] for row in table.rows)
    assert first == [
        "the create",
        "ext4",
        "41\u202f200\u00a0/s",
        "–",
        "93.0\u00a0%",
        "21.5\u00a0µs",
        "4.40\u00a0ms",
        "4.10\u00a0s",
    ]
    assert second == ["the block-read", "xfs", "–", "520\u00a0MB/s", "–", "–", "–", "–"]
    assert table.rows[0][2].interval == "37\u202f100\u00a0/s – 45\u202f400\u00a0/s"
    assert table.plain().columns[:5] == ("target", "workload", "filesystem", "trial_count", "invalid_trials")
    assert table.plain().rows[0][5:8] == [41234.0, 37110.6, 45357.4]


def test_latencies_of_reads_that_are_written_back_are_those_of_the_reads() -> None:
    seeks = combination(
        "seeks",
        {},
        iops=metric(3410.0, "1/s"),
        total_latency_ns_p50=metric(131_000.0, "ns"),
        write_total_latency_ns_p50=metric(3040.0, "ns"),
        end_sync_ns=metric(2.1e6, "ns"),
    )
    (table,) = phases_tables(RunAnswer(combinations=(seeks,)))
    assert "131\u00a0µs" in [cell.text for cell in table.rows[0]]


def test_each_target_has_a_table_and_a_run_its_name_where_there_are_several() -> None:
    other = combination("create", {"filesystem": "ext4"}, "disk", iops=metric(100.0, "1/s"))
    titles = [table.title for table in phases_tables(RunAnswer(combinations=(*PHASES, other)), "run-2")]
    assert [title.split(":")[0] for title in titles] == ["Phases on ssd in run-2", "Phases on disk in run-2"]


def surfaces() -> ResultSet:
    found = []
    for workload in ("stdio-read", "read"):
        for file in (64, 128, 256):
            for record in (4, 64, 128):
                if record <= file:
                    estimate = Estimate(1024.0 * (file + record), None, None, "B/s", 3, 3.0, "")
                    found.append(
                        one(
                            ("file_size", f"{file}KiB"),
                            workload=workload,
                            metric="throughput_bytes_per_s",
                            estimate=estimate,
                            block_size_bytes=1024 * record,
                        )
                    )
    return made(*found)


def test_a_surface_is_a_table_with_a_row_for_each_file_size() -> None:
    tables = surface_tables([surfaces()])
    assert len(tables) == 2
    assert [column.full for column in tables[0].columns] == [
        "file size", "4 KiB [MB/s]", "64 KiB [MB/s]", "128 KiB [MB/s]",
    ]  # fmt: skip
    assert [[cell.text for cell in row] for row in tables[0].rows] == [
        ["64 KiB", "0.0696", "0.131", ""],
        ["128 KiB", "0.135", "0.197", "0.262"],
        ["256 KiB", "0.266", "0.328", "0.393"],
    ]


def test_beside_a_number_of_a_surface_stands_the_range_of_repeats_and_no_interval_of_a_single_trial() -> None:
    found = [
        replace(each, estimate=replace(each.estimate, low=1024.0, high=3e9), trial_count=1 + (number % 2))
        for number, each in enumerate(surfaces().observations)
    ]
    span = "0.00102–3\u202f000"
    intervals = [cell.interval for row in surface_tables([made(*found)])[0].rows for cell in row[1:]]
    assert intervals == ["", span, "", "", span, "", span, "", span]


def test_the_spreadsheet_text_is_that_of_iozone() -> None:
    assert spreadsheet_text([surfaces()]).splitlines() == [
        "Excel output is below: ",
        "",
        '"Reader report"',
        '        "4"  "64"  "128"',
        '"64"   68  128 ',
        '"128"   132  192  256 ',
        '"256"   260  320  384 ',
        "",
        '"Fread report"',
        '        "4"  "64"  "128"',
        '"64"   68  128 ',
        '"128"   132  192  256 ',
        '"256"   260  320  384 ',
    ]


def shape(kind: Any, factor: Any, **parts: Any) -> SurfaceShape:
    given: dict[str, Any] = {
        "target": "ssd",
        "workload": "read",
        "levels": {"filesystem": "ext3"},
        "size_bytes": 512 << 10,
        "neighbours_bytes": (256 << 10, 1 << 20),
        "loss": 0.38,
        "largest_loss": 0.38,
        "line_count": 7,
        "clear_count": 6,
    }
    return SurfaceShape(kind=kind, factor=factor, **(given | parts))


OVER_SIZES = combination("read", {"file_size": "64KiB", "block_size": "4KiB", "filesystem": "ext3"})


def test_troughs_falls_and_rises_in_words() -> None:
    knee = shape(
        "falls",
        "block_size",
        size_bytes=128 << 10,
        neighbours_bytes=(256 << 10, 16 << 20),
        loss=0.25,
        largest_loss=0.5,
        levels={"filesystem": "xfs"},
    )
    rise = shape("rises", "file_size", size_bytes=4 << 20, neighbours_bytes=(2 << 20, 2 << 20), loss=0.2)
    answer = RunAnswer(combinations=(OVER_SIZES,), shapes=(knee, rise, shape("trough", "file_size")))
    assert shape_sentences(answer) == (
        (
            "The read, ext3: files of 512 KiB are 38\u00a0% slower than their neighbours, 256 KiB and 1 MiB, "
            "at 6 of 7 record sizes."
        ),
        (
            "The read, xfs: records above 128 KiB are slower, 256 KiB by 25\u00a0%, 16 MiB by 50\u00a0% "
            "(at 6 of 7 file sizes)."
        ),
        "The read, ext3: files below 4 MiB are slower, 2 MiB by 20\u00a0% (at 6 of 7 record sizes).",
    )
    assert run_sentences(answer) == shape_sentences(answer)


def test_the_sizes_at_which_most_workloads_are_fastest_come_first() -> None:
    rates = {("read", "4MiB"): 2e9, ("read", "64KiB"): 1e9, ("write", "4MiB"): 3e8, ("write", "64KiB"): 2e8}
    rows = [
        combination(name, {"file_size": size, "block_size": "4KiB"}, throughput_bytes_per_s=metric(rate, "B/s"))
        for (name, size), rate in rates.items()
    ]
    first, *_ = shape_sentences(RunAnswer(combinations=tuple(rows)))
    assert first == ("The fastest combination has files of 4 MiB in 2 of 2 workloads, and records of 4 KiB in 2.")


def of_records(*rates: float, workload: str = "read", file_size: str = "512MiB") -> list[CombinationResult]:
    """A workload over files of a size, with records of 4 KiB, 32 KiB and so on."""
    sizes = [f"{4 << (3 * place)}KiB" for place in range(len(rates))]
    return [
        combination(workload, {"file_size": file_size, "block_size": size}, throughput_bytes_per_s=metric(rate, "B/s"))
        for size, rate in zip(sizes, rates, strict=True)
    ]


@pytest.mark.parametrize(
    ("rates", "told"),
    [
        (
            (57, 95, 100, 70),
            (
                "records of 32 KiB to 256 KiB come to 95\u00a0% or more of the best throughput, "
                "those of 4 KiB to 57\u00a0% and those of 2 MiB to 70\u00a0%."
            ),
        ),
        ((100, 99, 98), "records of 4 KiB to 256 KiB come to 98 % or more of the best throughput."),
        ((100, 50, 95), "records of 4 KiB come to 100 % of the best throughput, those of 256 KiB to 95 %."),
    ],
)
def test_which_records_are_near_to_the_best_is_told_of_the_largest_files(rates: tuple[float, ...], told: str) -> None:
    small = of_records(*[1e9] * len(rates), file_size="64MiB")
    first, *_ = shape_sentences(RunAnswer(combinations=(*small, *of_records(*rates))))
    assert first == f"With files of 512 MiB, {told}"


def test_which_records_are_near_to_the_best_is_the_median_over_the_workloads() -> None:
    rows = [
        *of_records(10, 100, 100),
        *of_records(80, 100, 100, workload="write"),
        *of_records(60, 100, 1, workload="x"),
    ]
    first, *_ = shape_sentences(RunAnswer(combinations=tuple(rows)))
    assert first.endswith(", those of 4 KiB to 60 % (median of 3 workloads).")


def test_the_table_of_a_surface_on_a_screen_is_that_of_its_largest_files() -> None:
    rows = (*of_records(1, 2, 3, file_size="64MiB"), *of_records(4, 5, 6))
    (table,) = tables_of_answer(RunAnswer(combinations=rows))
    assert table == list(rows[3:])
    assert table_title(table, rows) == "the read, files of 512 MiB"
    assert table_title(table, rows[3:]) == "the read"


def test_that_nothing_stands_out_is_told_and_only_of_surfaces() -> None:
    assert shape_sentences(RunAnswer(combinations=(OVER_SIZES,))) == (NOTHING,)
    assert shape_sentences(RunAnswer(combinations=PHASES)) == ()


def test_surfaces_of_one_repeat_are_not_said_to_be_even() -> None:
    once = replace(OVER_SIZES, trials=("r1",))
    assert shape_sentences(RunAnswer(combinations=(once,))) == (NOT_JUDGED,)


def test_the_rest_of_many_shapes_is_counted() -> None:
    many = tuple(shape("trough", "file_size", size_bytes=1024 << place) for place in range(TOLD_AT_MOST + 3))
    told = shape_sentences(RunAnswer(combinations=(OVER_SIZES,), shapes=many))
    assert len(told) == TOLD_AT_MOST + 1
    assert told[-1].startswith("3 more")


def test_whole_times_stand_beside_those_in_order() -> None:
    boot = combination("boot", {}, duration_ns=metric(23e9, "ns"))
    row = combination("boot-in-order", {}, duration_ns=metric(2e9, "ns"))
    alike = combination("boot-in-order", {}, duration_ns=metric(22e9, "ns"))
    assert list(duration_sentences(RunAnswer(combinations=(boot, row)))) == [
        "The boot: 23.0\u00a0s (20.7 to 25.3\u00a0s), 11.5 times as long as the boot-in-order (2.00\u00a0s)."
    ]
    (told,) = duration_sentences(RunAnswer(combinations=(boot, alike)))
    assert "not told apart from the boot-in-order (22.0\u00a0s)" in told
    assert run_sentences(RunAnswer(combinations=(boot, row)), of_tasks=True)[0].startswith("The boot: 23.0")


def test_our_own_reader_of_iozone_takes_over_what_is_written() -> None:
    read = read_results(SourceText("surfaces.txt", spreadsheet_text([surfaces()])))
    found = {
        (one.workload, one.parameters["file_size"], one.known.block_sizes[0].bytes): one.estimates[
            "throughput_bytes_per_s"
        ].value
        for one in read.trials
    }
    assert len(found) == 16
    assert found["read", "256KiB", 131072] == 384 * 1024
