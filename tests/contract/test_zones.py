"""I/O keeps to the zones of a file that is divided into some, on every backend that does; the rest is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from drivelab.model.errors import DrivelabError
from drivelab.model.workload import Workload
from drivelab.run.engine import EngineRun, run_workload

ZONE, CAPACITY, BLOCK, ZONES = 1 << 20, 768 << 10, 64 << 10, 8
READ, WRITE = 0, 1


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.write_bytes(bytes(ZONE * ZONES))
    return path


def zoned(path: Path, zones: dict[str, Any] | None = None, **changes: object) -> Workload:
    sizes = {"zone_size_bytes": ZONE, "zone_capacity_bytes": CAPACITY}
    asked = {
        "target": {"path": str(path)},
        "operations": [{"operation": "write"}],
        "block_sizes": [{"bytes": BLOCK}],
        "access": {"kind": "random"},
        "limits": {"count": 300},
        "share_range": True,
        "record_ios": True,
        "zoned_drive": {"is_used": True} | sizes | (zones or {}),
    }
    return Workload.model_validate(asked | changes)


def issued(run: EngineRun, operation: int) -> list[tuple[int, int]]:
    """Offset and bytes of each I/O, in the order in which they were issued."""
    assert run.records is not None
    rows = sorted(run.records.to_pylist(), key=lambda row: row["issue_ns"])
    return [(row["offset_bytes"], row["size_bytes"]) for row in rows if row["operation"] == operation]


@pytest.mark.parametrize(
    ("backend", "depth", "jobs"), [("sync", 1, 1), ("sync", 1, 3), ("uring", 8, 1), ("aio", 8, 1), ("uring", 4, 2)]
)
def test_random_writes_fill_zones_from_their_start_on(data: Path, backend: str, depth: int, jobs: int) -> None:
    run = run_workload(zoned(data, {"max_open_zones": 3}, backend=backend, queue_depth=depth, job_count=jobs))
    writes = issued(run, WRITE)
    assert len(writes) == 300
    # every place is within the capacity of its zone, and of each zone the first ones come as often as those behind them
    counts = Counter(offset for offset, _ in writes)
    for zone in range(0, ZONE * ZONES, ZONE):
        of_zone = [counts[zone + place] for place in range(0, ZONE, BLOCK)]
        assert of_zone == sorted(of_zone, reverse=True)
        assert of_zone[0] - of_zone[CAPACITY // BLOCK - 1] <= 1
        assert not any(of_zone[CAPACITY // BLOCK :])
    began_again = sum(max(0, counts[zone] - 1) for zone in range(0, ZONE * ZONES, ZONE))
    assert run.summary["zones"] == {"resets": began_again, "finishes": 0}


def test_writes_in_order_leave_out_what_zones_have_no_room_for(data: Path) -> None:
    run = run_workload(zoned(data, access={"kind": "sequential"}, limits={}))
    places = [zone + place for zone in range(0, ZONE * ZONES, ZONE) for place in range(0, CAPACITY, BLOCK)]
    assert issued(run, WRITE) == [(place, BLOCK) for place in places]
    assert run.summary["stopped_by"] == "range_end"


def test_a_range_that_is_rounded_to_whole_zones_is_written_once(data: Path) -> None:
    target = {"path": str(data), "offset_bytes": ZONE // 2, "size_bytes": 3 * ZONE}
    run = run_workload(zoned(data, target=target, access={"kind": "sequential"}, limits={"bytes": 3 * ZONE}))
    places = [zone + place for zone in (ZONE, 2 * ZONE) for place in range(0, CAPACITY, BLOCK)]
    assert issued(run, WRITE) == [(place, BLOCK) for place in places]


def test_reads_go_where_an_earlier_workload_has_written(data: Path) -> None:
    written = zoned(data, access={"kind": "sequential"}, limits={"count": 5})
    run_workload(written)
    reads = {"operations": [{"operation": "read"}], "limits": {"count": 100}}
    at_random = issued(run_workload(zoned(data, **reads)), READ)
    assert {offset for offset, _ in at_random} <= {number * BLOCK for number in range(5)}
    assert len(at_random) == 100
    in_order = issued(run_workload(zoned(data, **(reads | {"limits": {}, "access": {"kind": "sequential"}}))), READ)
    assert in_order == [(number * BLOCK, BLOCK) for number in range(5)]


@pytest.mark.parametrize("backend", ["sync", "uring"])
def test_what_was_written_is_verified_and_nothing_older_is_left(data: Path, backend: str) -> None:
    depth = 1 if backend == "sync" else 8
    random = {"backend": backend, "queue_depth": depth, "verify": True, "limits": {"bytes": ZONE * ZONES}}
    run_workload(zoned(data, block_sizes=[{"bytes": BLOCK // 2}]))
    writes = issued(run := run_workload(zoned(data, **random)), WRITE)
    # each zone is filled once, and none is written again
    assert len(set(writes)) == len(writes) == ZONES * CAPACITY // BLOCK
    assert run.summary["zones"]["resets"] == ZONES
    reads = {"operations": [{"operation": "read"}], "access": {"kind": "sequential"}, "limits": {}, "verify": True}
    read = run_workload(zoned(data, **reads))
    assert sorted(issued(read, READ)) == sorted(writes)
    assert read.summary["errors"] == []
    data.write_bytes(bytes(ZONE * ZONES))
    failed = run_workload(zoned(data, **reads))
    assert [error["name"] for error in failed.summary["errors"]] == ["EILSEQ"]


def test_reads_among_writes_begin_with_a_write_where_nothing_was_written(data: Path) -> None:
    mix = {"operations": [{"operation": "read", "weight": 9.0}, {"operation": "write"}], "limits": {"count": 100}}
    run = run_workload(zoned(data, **mix))
    reads, writes = issued(run, READ), issued(run, WRITE)
    assert len(reads) + len(writes) == 100
    assert len(reads) > len(writes) > 0
    assert {offset for offset, _ in reads} <= {offset for offset, _ in writes}


def test_what_is_less_than_a_block_at_the_end_of_a_zone_is_given_up(data: Path) -> None:
    block = 320 << 10
    run = run_workload(zoned(data, block_sizes=[{"bytes": block}], access={"kind": "sequential"}, limits={}))
    # the last zone has no other behind it, and stays as it is
    assert issued(run, WRITE) == [
        (zone + number * block, block) for zone in range(0, 8 * ZONE, ZONE) for number in (0, 1)
    ]
    assert run.summary["zones"]["finishes"] >= ZONES - 1


@pytest.mark.parametrize(
    ("zones", "changes", "code", "what"),
    [
        ({"zone_size_bytes": 0, "zone_capacity_bytes": 0}, {}, "E313", "no zones of its own"),
        ({"zone_size_bytes": 1000, "zone_capacity_bytes": 0}, {}, "E308", "multiple of 512 B"),
        ({"zone_capacity_bytes": 2 * ZONE}, {}, "E301", "zone_capacity_bytes"),
        ({"job_max_open_zones": 2}, {}, "E313", "those of all jobs are not"),
        ({}, {"block_sizes": [{"bytes": 2 * ZONE}]}, "E308", "at most one"),
        ({}, {"operations": [{"operation": "trim"}]}, "E308", "to be trimmed: one"),
        ({}, {"access": {"kind": "reverse"}}, "E301", "on zones it is sequential"),
        ({}, {"verify": True, "block_sizes": [{"bytes": 320 << 10}]}, "E308", "do not fill zones"),
        ({}, {"verify": True, "operations": [{"operation": "read"}, {"operation": "write"}]}, "E301", "verified after"),
        ({}, {"backend": "mmap"}, "E313", "does not keep to zones"),
        ({}, {"target": {"path": "", "offset_bytes": BLOCK, "size_bytes": ZONE}}, "E309", "no whole zone"),
    ],
)
def test_what_zones_do_not_take_is_refused(
    data: Path, zones: dict[str, Any], changes: dict[str, Any], code: str, what: str
) -> None:
    if "target" in changes:
        changes = {"target": changes["target"] | {"path": str(data)}}
    with pytest.raises(DrivelabError) as caught:
        run_workload(zoned(data, zones, **changes))
    assert (caught.value.code, what in caught.value.what) == (code, True), caught.value.what
