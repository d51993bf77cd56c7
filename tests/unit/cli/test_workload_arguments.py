"""What was typed after ``drivelab io`` becomes a workload, or an error that names the option."""

from __future__ import annotations

from typing import Any, get_type_hints

import pytest

from drivelab.cli.io_options import DEFAULTS, IoOptions, flags
from drivelab.cli.io_workload import on_target, options_without_effect, workload_from
from drivelab.cli.workload_arguments import parse_block_sizes, parse_cpus, parse_operations, parse_pacing
from drivelab.model.contents import Contents
from drivelab.model.errors import DrivelabError
from drivelab.model.job_files import JobFiles
from drivelab.model.target import TargetFacts
from drivelab.model.told import told_fields
from drivelab.model.workload import Access, Pacing, Workload
from drivelab.model.workload_keys import WorkloadKeys
from drivelab.model.workload_pattern import WorkloadPattern
from drivelab.model.zoned_drive import ZonedDrive

# keys of a workload that no flag of io is for, and why
WITHOUT_A_FLAG = {
    ("operations",): "--operation takes a mix",
    ("read_fraction",): "--operation takes a mix",
    ("block_sizes",): "--block-size takes a mix",
    ("access", "kind"): "--access",
    ("access", "pareto_h"): "--access pareto:0.2",
    ("access", "normal_deviation"): "--access normal:10%",
    ("access", "zones"): "--access zoned:50/5:30/15:20/80",
    ("access", "zone_bytes"): "for job files of fio",
    ("access", "zone_io_bytes"): "for job files of fio",
    ("access", "zone_skip_bytes"): "for job files of fio",
    ("zoned_drive",): "a flag for most of its numbers",
    **{
        ("zoned_drive", name): "for job files of fio"
        for name in (
            "zone_capacity_bytes",
            "job_max_open_zones",
            "ignores_drive_limit",
            "reads_beyond_write_pointer",
            "reset_threshold",
            "reset_frequency",
        )
    },
    ("contents", "check"): "for job files of fio",
    ("contents", "check_bytes"): "for job files of fio",
    ("contents", "check_offset"): "for job files of fio",
    ("pacing", "think_after_ns"): "for experiments that leave a drive idle at known times",
    ("pacing", "flow_weight"): "nothing runs beside it",
    ("pacing", "flow_number"): "nothing runs beside it",
    ("pacing", "flow_sleep_ns"): "nothing runs beside it",
    ("watches_burst",): "for the experiment burst",
    ("contents",): "a flag for each of its numbers",
    ("pacing",): "a flag for each of its numbers",
    ("record_ios",): "--record names the file",
    ("record_jobs",): "for job files of fio, and experiments that keep each job's numbers",
    ("fill_level",): "--size says how much is used",
    ("capacities",): "--once goes over the range once",
    ("own_files",): "io has one file",
    **{("job_files", *name): "io has one file" for name in ((), *((field,) for field in JobFiles.model_fields))},
    ("start_delay",): "nothing runs beside it",
    ("ends_others",): "nothing runs beside it",
    ("enough_bytes",): "--bytes",
    ("enough_after",): "--runtime",
    ("submission_batch",): "for job files of fio",
    ("completion_batch",): "for job files of fio",
    ("completion_batch_min",): "for job files of fio",
    ("refill_depth",): "for job files of fio",
    ("cache_advice",): "for job files of fio",
    ("drop_cache_each_pass",): "for job files of fio",
    ("last_sync",): "for job files of fio",
    ("sync_order",): "for job files of fio",
    ("stat_before_write",): "for what programs commit",
}


def typed(**options: Any) -> Workload:
    return workload_from(IoOptions(**{"target": "data.bin"} | options))


def new_file(path: str = "/srv/data.bin") -> TargetFacts:
    return TargetFacts(path, "missing_file", path, False, None, (), (), 0, 512, False)


def test_nothing_but_a_target_is_a_random_read_of_five_seconds() -> None:
    workload = typed()
    assert workload.operations[0].operation == "read"
    assert (workload.access.kind, workload.block_sizes[0].bytes, workload.queue_depth) == ("random", 4096, 1)
    assert workload.limits.runtime_ns == 5 * 10**9


def test_a_mix_reaches_the_workload() -> None:
    workload = typed(operation="read:70,write:30", block_size="4KiB:3,64KiB")
    assert [(one.operation, one.weight) for one in workload.operations] == [("read", 70), ("write", 30)]
    assert [(one.bytes, one.weight) for one in workload.block_sizes] == [(4096, 3), (65536, 1)]


def test_a_mix_of_operations_has_weights() -> None:
    shares = parse_operations("read:70, write:30")
    assert [(share.operation, share.weight) for share in shares] == [("read", 70), ("write", 30)]


def test_a_mix_of_block_sizes_has_weights() -> None:
    assert [(share.bytes, share.weight) for share in parse_block_sizes("1,4KiB:80")] == [(1, 1), (4096, 80)]


def test_processors_are_listed_by_number_and_range() -> None:
    assert parse_cpus("0,2-4") == (0, 2, 3, 4)
    assert parse_cpus("") == ()


def test_a_rate_makes_an_open_loop() -> None:
    assert parse_pacing(0, None).kind == "closed"
    assert parse_pacing(1000, None).kind == "fixed"
    assert (parse_pacing(1000, "poisson").kind, parse_pacing(1000, "poisson").rate_per_s) == ("poisson", 1000)


def test_every_option_reaches_the_workload() -> None:
    workload = typed(
        operation="write", access="strided", block_size="512", queue_depth=3, jobs=2, share_range=True, seed=9,
        size="1MiB", offset="4KiB", shift="512", stride="8KiB", backend="aio", direct=True, durability="fsync",
        sync_every=4, rate=10.0, pin="1", runtime="3s", count=7, bytes="1MB", ramp="1s", interval="10ms",
        file_state="sparse", contents="zeros", compressible=0.5, duplicate=0.25, record="x.parquet",
        polled_completion=True, polled_submission=True, zipf_theta=1.2, hot_range=0.2, hot_access=0.7,
        sync_at_end=True, submission_latency="all",
    )  # fmt: skip
    expected = {
        "target": {
            "path": "data.bin", "offset_bytes": 4096, "size_bytes": 2**20, "create": False, "exclusive": False,
        },
        "backend": "aio",
        "operations": (
            {"operation": "write", "weight": 1.0, "block_sizes": (), "access": None, "drawn_only": False},
        ),
        "block_sizes": ({"bytes": 512, "weight": 1.0},),
        "access": {
            "kind": "strided", "stride_bytes": 8192, "zipf_theta": 1.2,
            "hot_range_fraction": 0.2, "hot_access_fraction": 0.7, "pareto_h": 0.2, "normal_deviation": 0.1,
            "run_blocks": 1, "random_fraction": 1.0, "covers_once": False,
            "zones": (), "zone_bytes": 0, "zone_io_bytes": 0, "zone_skip_bytes": 0,
        },
        "shift_bytes": 512, "queue_depth": 3, "job_count": 2, "share_range": True, "direct": True,
        "durability": {
            "method": "fsync", "every_writes": 1, "at_end": True, "last": "due", "order": "after_write",
            "directory": False,
        },
        "file_state": "sparse",
        "contents": {
            "kind": "zeros", "compressible_fraction": 0.5, "duplicate_fraction": 0.25, "pattern": "",
            "check": "stamps", "check_bytes": 0, "check_offset": 0,
        },
        "pacing": {"kind": "fixed", "rate_per_s": 10.0, "think_ns": 0, "think_every": 1, "think_after_ns": 0,
                   "flow_weight": 0, "flow_number": 0, "flow_sleep_ns": 0},
        "limits": {"runtime_ns": 3 * 10**9, "bytes": 10**6, "count": 7, "precision": 0.0},
        "ramp_ns": 10**9, "interval_ns": 10**7, "seed": 9, "record_ios": True, "pin_cpus": (1,),
        "polled_completion": True, "polled_submission": True, "rewrite_fraction": 0.0, "verify": False,
        "submission_latency": "all",
    }  # fmt: skip
    dumped = workload.model_dump()
    assert {name: dumped[name] for name in expected} == expected


def test_orders_rewrites_and_pauses_reach_the_workload() -> None:
    workload = typed(
        run_blocks=4, random_fraction="25%", covers_once=True, rewrite="10%", verify=True, think="2ms", think_every=8,
    )  # fmt: skip
    access, pacing = workload.access, workload.pacing
    assert (access.kind, access.run_blocks, access.random_fraction, access.covers_once) == ("random", 4, 0.25, True)
    assert (pacing.kind, pacing.think_ns, pacing.think_every) == ("closed", 2_000_000, 8)
    assert (workload.rewrite_fraction, workload.verify, workload.writes) == (0.1, True, True)
    assert typed(access="same").access.kind == "same"
    assert (typed(access="pareto:0.3").access.kind, typed(access="pareto:0.3").access.pareto_h) == ("pareto", 0.3)
    assert typed(access="normal:5%").access.normal_deviation == 0.05
    assert {typed(backend=name).backend for name in ("mmap", "stdio")} == {"mmap", "stdio"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"verify": True, "operation": "write"}, "--verify has no effect"),
        ({"covers_once": True, "access": "reverse"}, "--covers-once has no effect"),
        ({"sync_at_end": True, "operation": "write", "durability": "o_dsync"}, "--sync-at-end has no effect"),
        (
            {"sync_at_end": True, "sync_every": 3, "operation": "write", "durability": "fsync"},
            "--sync-every has no effect",
        ),
        ({"think_every": 3}, "--think-every has no effect"),
        ({"max_open_zones": 3}, "--max-open-zones has no effect"),
        ({"zone_size": "1MiB"}, "--zone-size has no effect"),
    ],
)
def test_what_changes_nothing_is_told(options: dict[str, Any], words: str) -> None:
    asked = IoOptions(target="data.bin", **options)
    assert [line for line in options_without_effect(asked, workload_from(asked)) if words in line]
    assert list(options_without_effect(IoOptions(target="data.bin"), workload_from(IoOptions(target="data.bin")))) == []


def test_every_key_of_a_workload_is_told_of_and_has_a_flag_or_a_reason_for_none() -> None:
    told = {one.path: one for one in told_fields(WorkloadKeys)}
    tables = {"access": Access, "contents": Contents, "pacing": Pacing}
    tables |= {"job_files": JobFiles, "zoned_drive": ZonedDrive}
    keys = {(name,) for name in WorkloadPattern.model_fields}
    keys |= {(table, name) for table, model in tables.items() for name in model.model_fields}
    assert keys == set(told)
    assert {path for path, one in told.items() if not one.told.panel} == set(WITHOUT_A_FLAG)
    assert set(flags()) <= set(DEFAULTS)


def test_every_option_has_a_text() -> None:
    for name, hint in get_type_hints(IoOptions, include_extras=True).items():
        assert hint.__metadata__[0].help, name


@pytest.mark.provokes("U001", "U002", "U003", "U004", "U005")
@pytest.mark.parametrize(
    ("options", "code", "option"),
    [
        ({"operation": "reed"}, "U005", "--operation"),
        ({"operation": "read:x"}, "U003", "--operation"),
        ({"operation": "read:0"}, "U003", "--operation"),
        ({"operation": ""}, "U003", "--operation"),
        ({"operation": "read:nan"}, "U003", "--operation"),
        ({"access": "sideways"}, "U005", "--access"),
        ({"access": "pareto:lots"}, "U003", "--access"),
        ({"access": "pareto:0"}, "U003", "--access"),
        ({"access": "zipf:1.2"}, "U004", "--access"),
        ({"random_fraction": "150%"}, "U003", "--random-fraction"),
        ({"random_fraction": "0"}, "U003", "--random-fraction"),
        ({"run_blocks": 0}, "U003", "--run-blocks"),
        ({"rewrite": "some"}, "U003", "--rewrite"),
        ({"think": "soon"}, "U002", "--think"),
        ({"think": "1ms", "think_every": 0}, "U003", "--think-every"),
        ({"think": "1ms", "rate": 5.0}, "U004", "--think"),
        ({"block_size": "4k"}, "U001", "--block-size"),
        ({"block_size": "0"}, "U003", "--block-size"),
        ({"block_size": "2GiB"}, "U003", "--block-size"),
        ({"block_size": "4KiB,4KiB:2"}, "U003", "--block-size"),
        ({"file_state": "append", "offset": "4KiB"}, "U003", "--offset"),
        ({"operation": "stat", "files": 2, "file_size": "1", "file_size_min": "2"}, "U003", "--file-size-min"),
        ({"queue_depth": 0}, "U003", "--queue-depth"),
        ({"queue_depth": 5000}, "U003", "--queue-depth"),
        ({"jobs": -1}, "U003", "--jobs"),
        ({"seed": -1}, "U003", "--seed"),
        ({"backend": "spdk"}, "U005", "--backend"),
        ({"durability": "maybe"}, "U005", "--durability"),
        ({"sync_every": 0}, "U003", "--sync-every"),
        ({"rate": -5.0}, "U003", "--rate"),
        ({"rate": float("inf")}, "U003", "--rate"),
        ({"arrivals": "poisson"}, "U004", "--arrivals"),
        ({"rate": 5.0, "arrivals": "sometimes"}, "U005", "--arrivals"),
        ({"pin": "0-"}, "U003", "--pin"),
        ({"pin": "3-1"}, "U003", "--pin"),
        ({"pin": "99999999"}, "U003", "--pin"),
        ({"runtime": "5"}, "U002", "--runtime"),
        ({"count": -1}, "U003", "--count"),
        ({"once": True, "count": 5}, "U004", "--once"),
        ({"interval": "1us"}, "U003", "--interval"),
        ({"file_state": "odd"}, "U005", "--file-state"),
        ({"contents": "lyrics"}, "U005", "--contents"),
        ({"compressible": 1.5}, "U003", "--compressible"),
        ({"zipf_theta": 0.0}, "U003", "--zipf-theta"),
        ({"hot_range": 2.0}, "U003", "--hot-range"),
        ({"count_commands": True}, "U004", "--count-commands"),
        ({"target": "null:", "backend": "sync"}, "U004", "--backend"),
    ],
)
def test_what_makes_no_sense_is_an_error_that_names_the_option(options: dict[str, Any], code: str, option: str) -> None:
    with pytest.raises(DrivelabError) as raised:
        typed(**options)
    assert raised.value.code == code
    assert option in raised.value.where


def test_what_a_rule_of_letters_refuses_is_answered_in_the_words_of_the_flag() -> None:
    with pytest.raises(DrivelabError) as raised:
        typed(contents="pattern", pattern="random")
    assert raised.value.what == "--pattern takes no random"
    assert raised.value.do == "it takes: Bytes that blocks repeat: deadbeef, or %o for the offset."


def test_a_new_file_gets_the_size_that_its_limits_ask_for() -> None:
    asked = typed(operation="write", block_size="512", count=1000)
    assert on_target(asked, new_file()).target.size_bytes == 512_000
    assert on_target(typed(operation="write", bytes="1000", jobs=3), new_file()).target.size_bytes == 3 * 4096
    made = on_target(typed(operation="write", size="1GiB"), new_file()).target
    assert (made.create, made.size_bytes, made.path) == (True, 2**30, "/srv/data.bin")


def test_a_new_file_without_any_limit_needs_a_size() -> None:
    with pytest.raises(DrivelabError, match="needs a size"):
        on_target(typed(operation="write"), new_file())


def test_a_log_grows_by_itself() -> None:
    made = on_target(typed(operation="write", file_state="append", count=10), new_file()).target
    assert (made.create, made.size_bytes) == (True, 0)


def test_a_device_that_is_written_is_opened_for_us_alone() -> None:
    device = TargetFacts("/dev/loop9", "block_device", "/dev/loop9", True, None, (), (), 2**20, 512, False)
    assert on_target(typed(operation="write"), device).target.exclusive
    assert not on_target(typed(operation="read"), device).target.exclusive


def test_no_target_needs_no_path() -> None:
    workload = typed(target="null:")
    assert (workload.backend, on_target(workload, new_file("null:")).target.path) == ("null", "null:")


@pytest.mark.parametrize("more", [{"sync_at_end": True, "durability": "fsync"}, {"durability": "sync_file_range"}])
def test_sync_calls_that_make_no_single_write_durable_have_an_effect(more: dict[str, Any]) -> None:
    asked = IoOptions(target="data.bin", operation="write", **more)
    assert list(options_without_effect(asked, workload_from(asked))) == []
