"""Which trials a check consists of, with how much time and space."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivelab.model.errors import DrivelabError
from drivelab.model.program import Program
from drivelab.model.programs import PROGRAMS
from drivelab.model.target import FilesystemFacts, TargetFacts
from drivelab.model.workload import Tree
from drivelab.plan.check import (
    MIB,
    TARGET_BYTES_MIN,
    WORKING_BYTES_MAX,
    WORKING_BYTES_MAX_IN_MEMORY,
    WORKING_BYTES_MIN,
    WRITTEN_BYTES_MAX,
    CheckPlan,
    plan_check,
    working_bytes,
)

GIB = 2**30
SIZES = ["sync-write-512", "sync-write-2300", "sync-write-4096", "sync-write-16384"]
SYNC = [*SIZES, "sync-write-postgres"]
READS = ["sequential-read-qd1", "sequential-read-qd8", "random-read-qd1", "random-read-qd32"]
WRITES = ["random-write-qd1", "random-write-qd32"]
COMPRESSION = ["compression-random-1", "compression-zeros-1", "compression-zeros-2", "compression-random-2"]
ALL = [*SYNC, "sequential-write-qd8", "sequential-write-qd1", *READS, *WRITES, *COMPRESSION]


def names(plan: CheckPlan) -> list[str]:
    return [trial.name for trial in plan.trials]


def filesystem(total: int, available: int, *, is_memory: bool = False) -> FilesystemFacts:
    return FilesystemFacts(
        "ext4", "/dev/sda1", "/srv", ("rw",), "8:1", total, available, available, 4096, False, is_memory=is_memory
    )


def existing(kind: str, size: int, logical_block: int = 512) -> TargetFacts:
    path = f"/x/{kind}"
    return TargetFacts(path, kind, path, True, None, (), (), size, logical_block, False)  # type: ignore[arg-type]


def test_a_directory_gets_every_question_in_order(directory: TargetFacts) -> None:
    plan = plan_check(directory)
    assert names(plan) == ALL
    assert plan.may_write
    assert plan.working_bytes == WORKING_BYTES_MAX


def test_a_check_is_over_within_a_minute(directory: TargetFacts) -> None:
    # each sequence of synchronous writes is followed by at most 1.2 s of counting, each trial by 0.1 s of looking
    for need in ("", "postgres", "sqlite"):
        plan = plan_check(directory, program=need)
        counting = 1.2e9 * sum(trial.counts_commands for trial in plan.trials)
        assert plan.longest_ns + counting + 0.1e9 * len(plan.trials) < 55e9


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=list(PROGRAMS))
def test_a_program_is_asked_about_with_what_it_issues(program: Program, directory: TargetFacts) -> None:
    plan, write = plan_check(directory, program=program.need), program.write
    assert names(plan)[: len(SIZES) + 1] == [*SIZES, write.trial]
    issued = plan.trials[len(SIZES)].workload
    assert (issued.durability.method, issued.durability.every_writes) == ("fdatasync", 1)
    assert (issued.file_state, issued.access.kind, issued.direct) == (write.file_state, write.access, write.direct)
    assert issued.pacing.think_ns == program.own.one_ns
    if write.is_behind_journal:
        assert (issued.tree, issued.durability.directory) == (
            Tree(file_count=1, file_bytes_min=MIB, file_bytes_max=MIB),
            True,
        )
    else:
        assert [share.bytes for share in issued.block_sizes] == [write.size_bytes]
    assert plan.written_bytes_max <= WRITTEN_BYTES_MAX


def test_a_bare_device_has_no_files_that_come_or_grow() -> None:
    device = existing("block_device", GIB)
    for program in ("redis-always", "sqlite"):
        assert names(plan_check(device, program=program, may_erase=True))[:5] == [*SIZES, "sequential-write-qd8"]
    assert "sync-write-mariadb" in names(plan_check(device, program="mariadb", may_erase=True))


def test_write_ahead_logs_are_imitated_by_buffered_appends_each_made_durable(directory: TargetFacts) -> None:
    trial = plan_check(directory).trials[2]
    workload = trial.at("/srv/data/file")
    assert (workload.file_state, workload.durability.method, workload.direct) == ("append", "fdatasync", False)
    assert workload.record_ios
    assert workload.target.path == "/srv/data/file"
    assert trial.counts_commands


def test_the_file_is_laid_out_before_anything_reads_it(directory: TargetFacts) -> None:
    plan = plan_check(directory)
    layout = next(number for number, trial in enumerate(plan.trials) if trial.lays_out)
    others = list(plan.trials[layout + 1 :])
    assert all(not trial.needs_own_file for trial in others)
    assert all(trial.needs_own_file for trial in plan.trials[: layout + 1])
    assert plan.trials[layout].wanted_bytes == plan.working_bytes


def test_later_trials_stay_within_what_was_laid_out(directory: TargetFacts) -> None:
    trial = plan_check(directory).trials[-1]
    assert trial.at("/x", length_bytes=5 * MIB).target.size_bytes == 5 * MIB
    assert trial.at("/x").target.size_bytes == WORKING_BYTES_MAX


def test_a_file_system_that_refuses_direct_io_is_used_buffered(directory: TargetFacts) -> None:
    plan = plan_check(directory)
    assert not any(trial.at("/x", direct=False).direct for trial in plan.trials)


@pytest.mark.parametrize("kind", ["file", "block_device"])
def test_what_exists_is_only_read(kind: str) -> None:
    plan = plan_check(existing(kind, 10 * GIB))
    assert names(plan) == READS
    assert not plan.may_write
    assert plan.read_only_reason
    assert plan.written_bytes_max == 0
    assert not any(trial.writes for trial in plan.trials)


def test_a_device_may_be_written_when_its_owner_consents() -> None:
    plan = plan_check(existing("block_device", 300 * MIB), may_erase=True)
    assert names(plan) == ALL
    assert plan.working_bytes == 300 * MIB
    writing = [trial for trial in plan.trials if trial.writes]
    assert all(trial.workload.target.exclusive for trial in writing)
    assert not any(trial.workload.target.create or trial.workload.file_state != "overwrite" for trial in plan.trials)


def test_consent_to_erase_changes_nothing_for_a_file() -> None:
    assert not plan_check(existing("file", GIB), may_erase=True).may_write


def test_small_blocks_are_never_smaller_than_a_logical_block() -> None:
    plan = plan_check(existing("block_device", GIB, logical_block=16384))
    assert plan.trials[2].workload.block_sizes[0].bytes == 16384


def test_everything_that_is_written_is_limited(directory: TargetFacts) -> None:
    plan = plan_check(directory)
    assert all(0 < trial.workload.limits.bytes <= 8 * GIB for trial in plan.trials if trial.writes)
    assert plan.to_json()["written_bytes_max"] == plan.written_bytes_max > 0


def test_wear_is_bounded_however_fast_the_drive_is(directory: TargetFacts) -> None:
    for need in ("", "postgres", "sqlite"):
        plan = plan_check(directory, program=need)
        assert plan.written_bytes_max <= WRITTEN_BYTES_MAX == 8 * GIB
        layout = next(trial for trial in plan.trials if trial.lays_out)
        assert layout.workload.limits.bytes >= plan.working_bytes


@given(
    total=st.integers(0, 2**50),
    share=st.floats(0, 1),
    is_memory=st.booleans(),
)
def test_room_for_others_is_always_left(total: int, share: float, is_memory: bool) -> None:
    available = int(total * share)
    try:
        size = working_bytes(filesystem(total, available, is_memory=is_memory))
    except DrivelabError as error:
        assert error.code == "R452"
        return
    assert WORKING_BYTES_MIN <= size <= (WORKING_BYTES_MAX_IN_MEMORY if is_memory else WORKING_BYTES_MAX)
    assert size % MIB == 0
    assert available - size >= 64 * MIB


@pytest.mark.provokes("R452")
def test_a_full_file_system_is_refused(directory: TargetFacts) -> None:
    full = replace(directory, filesystem=filesystem(20 * GIB, 90 * MIB))
    with pytest.raises(DrivelabError, match=r"90 MiB are free, and a check needs 1\.03 GiB") as raised:
        plan_check(full)
    assert raised.value.code == "R452"


@pytest.mark.provokes("R453")
def test_a_tiny_target_is_refused() -> None:
    with pytest.raises(DrivelabError, match="needs 8 MiB") as raised:
        plan_check(existing("file", TARGET_BYTES_MIN - 1))
    assert raised.value.code == "R453"


def test_what_does_not_exist_is_refused() -> None:
    with pytest.raises(DrivelabError) as raised:
        plan_check(existing("missing_file", 0))
    assert raised.value.code == "T101"
    assert raised.value.do == "check its directory: drivelab check /x"


def test_a_scratch_drive_is_refused(scratch: TargetFacts) -> None:
    with pytest.raises(DrivelabError) as raised:
        plan_check(scratch)
    assert raised.value.code == "T105"


def test_the_layout_ends_only_when_all_is_written(directory: TargetFacts) -> None:
    layout = next(trial for trial in plan_check(directory).trials if trial.lays_out)
    assert not layout.is_enough(measured_ns=5 * 10**9, moved_bytes=WORKING_BYTES_MAX - 1)
    assert not layout.is_enough(measured_ns=10**9, moved_bytes=WORKING_BYTES_MAX)
    assert layout.is_enough(measured_ns=5 * 10**9, moved_bytes=WORKING_BYTES_MAX)


def test_other_trials_take_their_time(directory: TargetFacts) -> None:
    others = [trial for trial in plan_check(directory).trials if not trial.lays_out]
    assert not any(trial.is_enough(measured_ns=10**12, moved_bytes=10**15) for trial in others)


def test_a_quick_check_asks_the_same_in_a_fifth_of_the_time(directory: TargetFacts) -> None:
    full, quick = plan_check(directory), plan_check(directory, is_quick=True)
    assert names(quick) == names(full)
    assert quick.longest_ns < full.longest_ns / 3
    assert quick.working_bytes == full.working_bytes


def test_the_ios_of_one_trial_are_kept_and_not_too_many_of_them(directory: TargetFacts) -> None:
    recorded = [trial for trial in plan_check(directory).trials if trial.workload.record_ios]
    assert [trial.name for trial in recorded] == ["sync-write-4096"]
    assert recorded[0].workload.limits.count == 60_000
