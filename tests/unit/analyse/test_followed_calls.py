"""What calls come to: quantiles, who was at the drive meanwhile, and the slowest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from drivelab.analyse.followed_calls import (
    KERNEL,
    OWN,
    WRITEBACK,
    at_drive,
    call_summaries,
    neighbour,
    others_alone,
    slowest_calls,
)
from drivelab.model.trace import PARTS


def operations(*calls: tuple[str, int, int]) -> pa.Table:
    """Calls of a name, a beginning and a latency, all of it flush."""
    names, starts, latencies = zip(*calls, strict=True)
    count = len(calls)
    parts = {f"{part}_ns": latencies if part == "flush" else [0] * count for part in PARTS}
    columns = {"call": names, "file": ["/a"] * count, "thread": [7] * count, "start_ns": starts}
    return pa.table({**columns, "latency_ns": latencies, **parts})


def bios(
    *rows: tuple[int, str, int, int | None], device: str = "8:0", kind: str = "write", of_operation: int = -1
) -> pa.Table:
    """Bios of a thread, its name, queued and ended."""
    names = ("pid", "process", "queued_ns", "ended_ns")
    same = {"kind": "bio", "device": device, "class": kind, "operation_index": of_operation}
    return pa.Table.from_pylist([{**same, **dict(zip(names, row, strict=True))} for row in rows])


def test_calls_are_summed_up_by_name_and_quantiles_are_nearest_ranks() -> None:
    rows = operations(*(("fsync", place, place) for place in range(1, 101)), ("write", 0, 3))
    first, second = call_summaries(rows, 2_000_000_000)
    assert (first.call, first.count, first.per_second) == ("fsync", 100, 50.0)
    assert (first.p50_ns, first.p99_ns, first.slowest_ns) == (50, 99, 100)
    assert (first.parts_ns["flush"], sum(first.parts_ns.values()), first.time_ns) == (5050, 5050, 5050)
    assert second.call == "write"


def test_too_few_calls_have_no_p99_but_a_bound_of_it() -> None:
    (few,) = call_summaries(operations(*(("fsync", place, 10 * place) for place in range(1, 100))), 10**9)
    assert (few.p99_ns, few.slowest_ns) == (None, 990)
    assert few.p99_at_least_ns is not None
    # they drift, so that one by one they say little
    assert few.p99_at_least_ns == few.p50_ns == 500
    apart = [7, 40, 9, 22, 11, 35, 3, 28, 14, 31] * 4
    (mixed,) = call_summaries(operations(*(("fsync", place, one) for place, one in enumerate(apart))), 10**9)
    assert mixed.p99_at_least_ns is not None
    assert mixed.p50_ns < mixed.p99_at_least_ns <= mixed.slowest_ns
    assert few.to_json() | {"p99_ns": None, "p99_at_least_ns": few.p99_at_least_ns} == few.to_json()
    (many,) = call_summaries(operations(*(("fsync", place, 10 * place) for place in range(1, 101))), 10**9)
    assert (many.p99_ns, many.p99_at_least_ns) == (990, None)


def test_time_at_the_drive_is_told_by_process_and_never_exceeds_the_latency() -> None:
    rows = operations(("fsync", 100, 50), ("fsync", 200, 10))
    events = bios(
        (7, "fio", 90, 120),
        (7, "fio", 110, 130),
        (8, "jbd2/sda-8", 140, 205),
        (9, "kworker/1:0", 0, 10),
        (10, "dd", 209, None),
    )
    found = {name: times.tolist() for name, times in at_drive(rows, events, {7}).items()}
    assert found == {OWN: [30, 0], "jbd2/sda-8": [10, 5], WRITEBACK: [0, 0], "dd": [0, 1]}


def test_a_flush_of_a_kernel_worker_is_never_called_writeback_nor_what_a_layer_sends_down() -> None:
    rows = operations(("fsync", 0, 100))
    worker = (9, "kworker/u8:1", 10, 30)
    events = pa.concat_tables(
        [
            bios(worker, device="7:0", kind="flush"),
            bios((9, "kworker/1:2H", 30, 35), device="7:0", kind="metadata_write"),
            bios((9, "kworker/u8:1", 50, 57), device="7:0"),
            *(bios(worker, device="254:1", kind=kind) for kind in ("flush", "write", "metadata_write")),
        ]
    )
    found = {name: times.tolist() for name, times in at_drive(rows, events, {7}, {"254:1": "loop0"}).items()}
    assert found == {KERNEL: [25], WRITEBACK: [7], "loop0 (kworker)": [20]}
    assert neighbour({name: time for name, (time,) in found.items()}, 100) == ("", 0.0)


def test_what_others_do_alone_is_behind_the_first_bio_and_while_nothing_of_the_program_goes_on() -> None:
    rows = operations(("fsync", 100, 100), ("fsync", 400, 10))
    parts = {"fs_in_ns": [20, 10], "flush_ns": [30, 0], "between_ns": [50, 0]}
    for name, values in parts.items():
        rows = rows.set_column(rows.column_names.index(name), name, pa.array(values))
    program = bios((8, "jbd2/sda-8", 120, 150), of_operation=0)
    others = bios((10, "dd", 90, 135), (10, "dd", 140, 170), (11, "cp", 165, 180), (12, "jbd2/sda-8", 180, 190))
    alone = others_alone(rows, pa.concat_tables([program, others]), {7})
    # 150 to 180
    assert alone.tolist() == [30, 0]
    assert others_alone(rows, others.slice(0, 1), {7}).tolist() == [15, 0]
    assert others_alone(rows, bios((10, "dd", 90, 1000)), {7}).tolist() == [50, 0]
    (slow, _) = slowest_calls(rows, {}, alone, 2)
    assert slow.others_alone_ns == slow.to_json()["others_alone_ns"] == 30


def test_a_neighbour_is_neither_the_program_nor_what_the_kernel_does_for_it() -> None:
    found = {OWN: 90, WRITEBACK: 80, "jbd2/sda-8": 70, "dd": 50, "cp": 10}
    assert neighbour(found, 100) == ("dd", 0.5)
    assert neighbour({OWN: 90, "jbd2/sda-8": 70}, 100) == neighbour(found, 0) == ("", 0.0)


@pytest.mark.parametrize("seed", range(20))
def test_time_at_the_drive_is_that_of_counting_every_nanosecond(seed: int) -> None:
    chance = np.random.default_rng(seed)

    def drawn(count: int) -> Sequence[tuple[int, int]]:
        return [(int(begin), int(length)) for begin, length in chance.integers(1, 60, (count, 2))]

    calls, spans = drawn(8), drawn(int(chance.integers(1, 9)))
    busy = np.zeros(200, dtype=bool)
    for begin, length in spans:
        busy[begin : begin + length] = True
    events = bios(*((8, "dd", begin, begin + length) for begin, length in spans))
    found = at_drive(operations(*(("fsync", *one) for one in calls)), events, {7})
    assert found["dd"].tolist() == [int(busy[begin : begin + length].sum()) for begin, length in calls]


def test_the_slowest_come_first_and_no_more_than_asked_for() -> None:
    rows = operations(("fsync", 100, 50), ("fsync", 200, 10), ("write", 300, 70))
    found = slowest_calls(rows, {"dd": np.array([5, 0, 0])}, np.zeros(3, np.int64), 2)
    assert [(one.call, one.latency_ns, dict(one.at_drive_ns)) for one in found] == [
        ("write", 70, {}),
        ("fsync", 50, {"dd": 5}),
    ]


def test_time_in_layers_goes_by_their_titles() -> None:
    rows = operations(("fsync", 100, 50), ("fsync", 200, 10)).append_column("layers_ns", pa.array([[20, 0], [3, 5]]))
    (one,) = call_summaries(rows, 10**9, layers=("dm-crypt home", "loop0"))
    assert one.to_json()["layers_ns"] == {"dm-crypt home": 23, "loop0": 5}
    assert one.parts_ns["layers"] == 28
    (slow,) = slowest_calls(rows, {}, np.zeros(2, np.int64), 1, ("dm-crypt home", "loop0"))
    assert slow.to_json()["layers_ns"] == {"dm-crypt home": 20}
    # an older recording has layers, and no titles
    (one,) = call_summaries(rows, 10**9)
    assert (one.parts_ns["layers"], one.layers_ns) == (28, {})
