"""Drives as columns: only what several were measured with, each row by its own number, the best of a row marked."""

from __future__ import annotations

from dataclasses import replace

from drivelab.model.estimate import Estimate
from drivelab.model.lasting_rate import METHOD
from drivelab.model.result_set import MeasuredDrive, Observation, ResultSet
from drivelab.report.tables.drives_beside import drives_beside
from drivelab.report.tables.published import published_tables

LATENCY, MEAN, THROUGHPUT = "total_latency_ns_p50", "total_latency_ns_mean", "throughput_bytes_per_s"


def durable(drive: str, latency_ns: float, *, cache: str = "on", scatter: float = 0.02) -> Observation:
    estimate = Estimate(latency_ns, latency_ns * (1 - scatter), latency_ns * (1 + scatter), "ns", 1000, 1000.0, "")
    return Observation(
        drive=drive,
        machine="pike",
        workload="append",
        title="4 KiB appended",
        operation="durable_write",
        is_durable=True,
        metric=LATENCY,
        estimate=estimate,
        levels={"write-cache": cache},
        block_size_bytes=4096,
        trial_count=1,
    )


def read(drive: str, bytes_per_s: float) -> Observation:
    estimate = Estimate(bytes_per_s, bytes_per_s * 0.99, bytes_per_s * 1.01, "B/s", 1000, 1000.0, "")
    return replace(
        durable(drive, 1.0),
        workload="stream",
        title="1 MiB reads",
        operation="read",
        is_durable=False,
        metric=THROUGHPUT,
        estimate=estimate,
        levels={},
        block_size_bytes=1 << 20,
    )


def results(key: str, *observations: Observation) -> ResultSet:
    names = dict.fromkeys(one.drive for one in observations)
    drives = tuple(MeasuredDrive(name, serial=f"serial of {name}") for name in names)
    return ResultSet(key=key, title=key, question="?", source=key, observations=observations, drives=drives)


def texts(sets: list[ResultSet]) -> list[list[list[str]]]:
    tables = drives_beside(sets)
    return [[[cell.text + "*" * cell.is_best for cell in row] for row in table.rows] for table in tables]


def test_drives_of_two_runs_stand_beside_each_other_and_the_best_of_each_row_is_marked() -> None:
    one = results("a", durable("X", 2e5), durable("X", 9e5, cache="off"), read("X", 3e9))
    two = results("b", durable("Y", 8e5), durable("Y", 3e5, cache="off"), read("Y", 1e9))
    latency, throughput = drives_beside([one, two])
    assert [column.name for column in latency.columns] == ["write-cache", "X", "Y"]
    assert {column.unit for column in latency.columns[1:]} == {"us"} or {c.unit for c in latency.columns[1:]} == {"µs"}
    rows, streams = texts([one, two])
    assert rows == [["on", "200*", "800"], ["off", "900", "300*"]]
    # of a throughput the higher is the better one
    assert streams[0][-2].endswith("*")
    assert not streams[0][-1].endswith("*")
    assert throughput.title.endswith("throughput of 1 MiB reads")


def test_the_best_is_not_marked_where_intervals_overlap() -> None:
    sets = [results("a", durable("X", 2e5, scatter=0.2)), results("b", durable("Y", 2.1e5, scatter=0.2))]
    assert texts(sets)[0][0][-2:] == ["200", "210"]


def test_what_only_one_drive_was_measured_with_is_left_out() -> None:
    one = results("a", durable("X", 2e5), durable("X", 9e5, cache="off"), read("X", 3e9))
    two = results("b", durable("Y", 8e5))
    (rows,) = texts([one, two])
    assert [row[0] for row in rows] == ["on"]


def test_a_drive_that_two_runs_measured_alike_has_a_column_for_each() -> None:
    (table,) = drives_beside([results("a", durable("X", 2e5)), results("b", durable("X", 3e5))])
    assert [column.name for column in table.columns[1:]] == ["X (run a)", "X (run b)"]


def test_there_is_none_of_one_drive_nor_of_drives_without_a_workload_in_common() -> None:
    assert drives_beside([results("a", durable("X", 2e5))]) == ()
    assert drives_beside([results("a", durable("X", 2e5)), results("b", read("Y", 3e9))]) == ()


def test_numbers_that_only_one_drive_has_do_not_hide_those_that_both_have() -> None:
    only_mean = replace(durable("Y", 3e5), metric=MEAN)
    one = results("a", read("X", 3e9), replace(read("X", 3e9), metric="iops", estimate=durable("X", 1.0).estimate))
    two = results("b", read("Y", 2e9), only_mean)
    assert [len(rows) for rows in texts([one, two])] == [1]


def test_it_is_among_the_tables_of_a_report() -> None:
    sets = [results("a", durable("X", 2e5)), results("b", durable("Y", 8e5))]
    assert "drives-beside" in [table.key for table in published_tables(sets)]


def test_a_drive_whose_latencies_are_those_of_a_burst_is_named_where_it_has_no_column() -> None:
    last = read("Z", 1e8)
    last = replace(last, estimate=replace(last.estimate, low=None, high=None, method=METHOD))
    sets = [results(name.lower(), durable(name, 2e5), read(name, 3e9)) for name in ("X", "Y")]
    latency, throughput = drives_beside([*sets, results("z", last)])
    assert "Without Z: what lasts behind a burst or a cache is known as a rate only." in latency.caption
    assert [column.name for column in throughput.columns][-3:] == ["X", "Y", "Z"]
    assert "Without" not in throughput.caption
    # of what was not measured nothing is said
    assert "Without" not in drives_beside([*sets, results("z", read("Z", 1e8))])[0].caption
