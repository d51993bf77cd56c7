"""The self-check of commands: an alarm where flushes are missing, a note where there are too many, else silence."""

from __future__ import annotations

from dataclasses import replace

import pytest
from simulated_trials import durable_workload, workload

from drivelab.analyse.command_check import CountedCommands, Stack, command_check
from drivelab.analyse.expected_commands import EXPECTED_COMMANDS, CacheKind
from drivelab.analyse.explanation import TracedPass, explanation_of
from drivelab.analyse.operation_parts import operation_parts
from drivelab.model.workload import BlockSizeShare
from made_up_operations import APPEND_NS, APPEND_WORK, CONDUCT, OVERWRITE_NS, OVERWRITE_WORK, operations


def stack(
    filesystem: str = "ext4",
    method: str = "fdatasync",
    state: str = "overwrite",
    cache: CacheKind | None = "write_back",
    *,
    direct: bool = False,
    backend: str = "sync",
    **changes: object,
) -> Stack:
    asked = durable_workload(method, file_state=state, **changes)
    return Stack(asked, backend, direct, filesystem, cache)


def verdict(flushes: float, on: Stack, *, fua: float = 0.0, writes: float = 1.0, operations: int = 1000) -> str:
    return command_check(CountedCommands(operations, flushes, fua, writes), on).verdict


@pytest.mark.parametrize("row", EXPECTED_COMMANDS, ids=lambda row: f"{row.filesystem}-{'-'.join(row.calls)}")
@pytest.mark.parametrize("cache", ["write_back", "write_back_fua", "write_through"])
def test_what_the_table_says_passes_and_what_it_does_not_fails(row: object, cache: CacheKind) -> None:
    expected = row.by_cache[cache]  # type: ignore[attr-defined]
    methods = {"fdatasync": "fdatasync", "fsync": "fsync", "dsync": "o_dsync", "o_sync": "o_sync"}
    on = stack(
        row.filesystem,  # type: ignore[attr-defined]
        methods[row.calls[0]],  # type: ignore[attr-defined]
        (row.states or ("overwrite",))[0],  # type: ignore[attr-defined]
        cache,
        direct=bool(row.direct),  # type: ignore[attr-defined]
        backend="uring" if row.asynchronous else "sync",  # type: ignore[attr-defined]
    )
    for place in (0, 1):
        counts = {"fua": expected.fua_writes[place], "writes": expected.writes[place]}
        assert verdict(expected.flushes[place], on, **counts) == "ok"
    counts = {"fua": expected.fua_writes[1], "writes": expected.writes[1]}
    assert verdict(expected.flushes[1] + 0.21, on, **counts) == "too_many"
    assert verdict(expected.flushes[1] + 0.2, on, **counts) == "ok"
    if cache == "write_back":
        assert verdict(expected.flushes[0] - 0.06, on, **counts) == "too_few_flushes"


def test_the_journal_is_blamed_for_more_flushes_where_it_was_seen_to_write() -> None:
    found = command_check(CountedCommands(1000, 1.25, 0.0, 1.12, journal_writes=0.12), stack())
    assert found.verdict == "too_many"
    assert found.text.endswith("most likely for commits of its journal, which wrote 0.12 times per operation")
    unseen = command_check(CountedCommands(1000, 1.25, 0.0, 1.0), stack())
    # an append commits each time, and that is expected
    due = command_check(CountedCommands(1000, 2.25, 0.0, 3.0, journal_writes=2.0), stack(state="append"))
    assert all("a layer between" in one.text for one in (unseen, due))


def test_a_volatile_cache_that_is_not_told_is_an_alarm_on_any_file_system() -> None:
    found = command_check(CountedCommands(1000, 0.1, 0.0, 1.0), stack("zfs"))
    assert found.verdict == "too_few_flushes"
    assert "0.10 times for each" in found.text
    assert verdict(1.0, stack("zfs")) == "unknown"
    # nobody need tell a cache that is not there
    assert verdict(0.0, stack(cache="write_through")) == "ok"


def test_flushes_of_several_threads_merge() -> None:
    several = stack(job_count=8)
    assert verdict(0.3, several) == "unknown"
    assert verdict(0.0, several) == "too_few_flushes"


@pytest.mark.parametrize("outstanding", [2, 32, 256])
def test_a_flush_serves_no_more_operations_than_are_outstanding(outstanding: int) -> None:
    on = stack("raw", "o_dsync", direct=True, backend="uring", queue_depth=outstanding)
    assert verdict(1 / outstanding, on) == "unknown"
    assert verdict(0.9 / outstanding, on) == "too_few_flushes"


def test_a_journal_with_fua_needs_the_flush_before_it() -> None:
    # the commit block alone is durable: the data before it are not
    on = stack(state="append", cache="write_back_fua")
    assert verdict(1.0, on, fua=1.0, writes=3.0) == "ok"
    assert verdict(0.0, on, fua=1.0, writes=3.0) == "too_few_flushes"


def test_a_flush_does_all_that_a_fua_write_does() -> None:
    on = stack("raw", "o_dsync", cache="write_back_fua", direct=True, backend="uring")
    assert verdict(0.0, on, fua=1.0) == "ok"
    assert verdict(1.0, on, fua=0.0) == "too_many"


def test_more_writes_than_known_are_another_layer_and_fewer_are_merged() -> None:
    assert verdict(1.0, stack(), writes=2.0) == "too_many"
    assert verdict(2.0, stack(state="append"), writes=2.0) == "ok"


def test_what_is_added_below_the_file_system_is_named_and_no_alarm() -> None:
    mirror = replace(stack(), layers=("md RAID-1 md0",), drives=2)
    found = command_check(CountedCommands(1000, 2.0, 0.0, 2.0), mirror)
    assert found.verdict == "unknown"
    assert found.text == (
        "2.00 writes, 2.00 flushes at the 2 drives below md RAID-1 md0, where ext4 on a volatile cache should send "
        "1 write, 1 flush: the rest is added by md RAID-1 md0"
    )
    volume = replace(stack(), layers=("dm-linear vg-home", "dm-crypt disk"))
    found = command_check(CountedCommands(1000, 1.0, 0.0, 1.0), volume)
    assert found.verdict == "ok"
    assert found.text == (
        "1.00 writes, 1.00 flushes at the drive below dm-linear vg-home and dm-crypt disk, as ext4 on a volatile "
        "cache should send: 1 write, 1 flush; nothing is added below"
    )
    assert command_check(CountedCommands(1000, 0.5, 0.0, 2.0), mirror).verdict == "too_few_flushes"


def test_no_write_at_all_is_never_what_should_be() -> None:
    found = command_check(CountedCommands(1000, 1.0, 0.0, 0.0), stack())
    assert found.verdict == "unknown"
    assert "0.00 writes" in found.text
    assert "as ext4" not in found.text


def test_sync_file_range_makes_nothing_durable() -> None:
    found = command_check(CountedCommands(1000, 0.0), stack("ext4", "sync_file_range"))
    assert found.verdict == "unknown"
    assert "nothing was made durable" in found.text


def test_nothing_is_said_of_what_nobody_counted() -> None:
    large = stack(block_sizes=(BlockSizeShare(bytes=1 << 20),))
    assert "fdatasync on ext4 on a volatile cache" in command_check(CountedCommands(1000, 1.0), large).text
    assert verdict(1.0, stack(cache=None)) == "unknown"
    assert verdict(1.0, stack(), operations=19) == "unknown"
    assert verdict(1.0, stack(), operations=99) == "unknown"
    read = Stack(workload(), "sync", True, "raw", "write_back")
    assert "no flush is due" in command_check(CountedCommands(1000, 0.0), read).text
    assert command_check(CountedCommands(1000, 0.0), None).verdict == "unknown"


def test_what_a_file_system_or_a_neighbour_does_now_and_then_is_no_layer_that_nobody_knows() -> None:
    # one checkpoint in a hundred operations
    assert verdict(1.09, stack(), operations=100) == "ok"
    # a neighbour's commits on the same volume
    assert verdict(1.06, stack(), operations=20_000) == "ok"
    # every third operation costs one more
    assert verdict(1.33, stack(), operations=1000) == "too_many"
    # what is missing has no such room
    assert verdict(0.93, stack(), operations=1000) == "too_few_flushes"


def test_a_traced_pass_is_checked_by_its_own_counts() -> None:
    def check(table: object, on: Stack) -> str:
        one = TracedPass("t", operation_parts(table, "durable_write"), CONDUCT)  # type: ignore[arg-type]
        return explanation_of([one], "durable_write", stack=on).check.verdict

    append = operations(300, APPEND_NS, APPEND_WORK)
    # the bio asks for FUA, and a drive without it gets a flush instead: that is not one more
    assert check(append, stack(state="append")) == "ok"
    assert check(operations(300, APPEND_NS, APPEND_WORK | {"flushes": 0}), stack(state="append")) == "too_few_flushes"
    assert check(operations(300, OVERWRITE_NS, OVERWRITE_WORK), stack()) == "ok"
    assert check(operations(300, OVERWRITE_NS, OVERWRITE_WORK | {"flushes": 2}), stack()) == "too_many"
    fua = APPEND_WORK | {"flushes": 1}
    assert check(operations(300, APPEND_NS, fua), stack(state="append", cache="write_back_fua")) == "ok"
