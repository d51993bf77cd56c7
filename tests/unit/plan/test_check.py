"""Which trials a check consists of, with how much time and space."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivelab.model.errors import DrivelabError
from drivelab.model.plan import Plan, PlannedStep
from drivelab.model.program import Program
from drivelab.model.programs import PROGRAMS
from drivelab.model.target import FilesystemFacts, TargetFacts
from drivelab.model.tree import Tree
from drivelab.model.workload import TargetRange
from drivelab.plan.budget import BETWEEN_STEPS_NS
from drivelab.plan.check import (
    LAYOUT,
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
    """The trials in the order in which they begin."""
    return list(dict.fromkeys(step.trial for step in plan.plan.steps))


def windows_of(plan: CheckPlan, trial: str) -> list[PlannedStep]:
    return [step for step in plan.plan.steps if step.trial == trial]


def layout_of(plan: CheckPlan) -> PlannedStep:
    (found,) = [step for step in plan.plan.steps if step.trial == LAYOUT]
    return found


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
        durable = [step.pattern for step in plan.plan.steps if step.pattern.is_durable]
        counted = sum(step.ends_trial for step in plan.plan.steps if step.pattern.is_durable)
        others = 1.2e9 * counted + 0.1e9 * len(plan.plan.steps)
        # 13 s more where a drive does fewer than 175 durable writes a second
        slow = sum(pattern.runtime - pattern.enough_after for pattern in durable)
        assert plan.longest_ns - slow + others < 55e9
        assert slow <= 13.5e9


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=list(PROGRAMS))
def test_a_program_is_asked_about_with_what_it_issues(program: Program, directory: TargetFacts) -> None:
    plan, write = plan_check(directory, program=program.need), program.write
    assert names(plan)[: len(SIZES) + 1] == [*SIZES, write.trial]
    issued = windows_of(plan, write.trial)[0].pattern.on(TargetRange(path=""), seed=1)
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
    # a simulated one computes what lies at an address
    simulated = existing("simulated", GIB)
    assert [one for one in PROGRAMS if PROGRAMS[one].write.trial in names(plan_check(simulated, program=one))] == [
        one for one in PROGRAMS if one not in ("redis-always", "sqlite")
    ]


def test_write_ahead_logs_are_imitated_by_buffered_appends_each_made_durable(directory: TargetFacts) -> None:
    pattern = plan_check(directory).plan.steps[2].pattern
    assert (pattern.file_state, pattern.durability, pattern.direct) == ("append", "fdatasync", False)
    assert pattern.record_ios


def test_the_file_is_laid_out_before_anything_reads_it(directory: TargetFacts) -> None:
    plan = plan_check(directory)
    layout = layout_of(plan)
    others = [step for step in plan.plan.steps if not step.pattern.is_durable]
    assert others[0] is layout
    assert {step.file_name for step in others} == {layout.file_name}
    assert not any(step.file_name for step in plan.plan.steps if step.pattern.is_durable)
    assert layout.pattern.enough_bytes == plan.working_bytes


@pytest.mark.parametrize("kind", ["file", "block_device"])
def test_what_exists_is_only_read(kind: str) -> None:
    plan = plan_check(existing(kind, 10 * GIB))
    assert names(plan) == READS
    assert not plan.may_write
    assert plan.read_only_reason
    assert plan.written_bytes_max == 0
    assert not any(step.pattern.writes for step in plan.plan.steps)


def test_a_device_may_be_written_when_its_owner_consents() -> None:
    plan = plan_check(existing("block_device", 300 * MIB), may_erase=True)
    assert names(plan) == ALL
    assert plan.working_bytes == 300 * MIB
    assert all(step.pattern.file_state == "overwrite" for step in plan.plan.steps)


def test_consent_to_erase_changes_nothing_for_a_file() -> None:
    assert not plan_check(existing("file", GIB), may_erase=True).may_write


def test_small_blocks_are_never_smaller_than_a_logical_block() -> None:
    plan = plan_check(existing("block_device", GIB, logical_block=16384))
    assert plan.plan.steps[2].pattern.block_size == 16384


def test_everything_that_is_written_is_limited(directory: TargetFacts) -> None:
    plan = plan_check(directory)
    assert all(0 < step.pattern.bytes <= 8 * GIB for step in plan.plan.steps if step.pattern.writes)
    assert plan.to_json()["written_bytes_max"] == plan.written_bytes_max > 0


def test_wear_is_bounded_however_fast_the_drive_is(directory: TargetFacts) -> None:
    for need in ("", "postgres", "sqlite"):
        plan = plan_check(directory, program=need)
        assert plan.written_bytes_max <= WRITTEN_BYTES_MAX == 8 * GIB
        assert layout_of(plan).pattern.bytes >= plan.working_bytes


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
    assert raised.value.do == "make it first (mkdir /x/missing_file), or name a directory that is there"


def test_a_scratch_drive_is_refused(scratch: TargetFacts) -> None:
    with pytest.raises(DrivelabError) as raised:
        plan_check(scratch)
    assert raised.value.code == "T105"


def test_the_layout_ends_only_when_all_is_written(directory: TargetFacts) -> None:
    pattern = layout_of(plan_check(directory)).pattern
    assert (pattern.enough_bytes, pattern.enough_after) == (WORKING_BYTES_MAX, 1_500_000_000)
    assert pattern.runtime > pattern.enough_after


def test_other_trials_take_their_time(directory: TargetFacts) -> None:
    others = [step.pattern for step in plan_check(directory).plan.steps if not step.pattern.is_durable]
    assert [bool(pattern.enough_bytes) for pattern in others] == [True] + [False] * (len(others) - 1)


def test_a_slow_drive_gets_time_for_as_many_synchronous_writes_as_a_p99_needs(directory: TargetFacts) -> None:
    plan = plan_check(directory)
    for trial in SYNC:
        patterns = [step.pattern for step in windows_of(plan, trial)]
        assert sum(pattern.enough_bytes for pattern in patterns) >= 600 * patterns[0].block_size
        assert all(pattern.runtime > 1.5 * pattern.enough_after for pattern in patterns)


def test_a_quick_check_asks_the_same_in_a_fifth_of_the_time(directory: TargetFacts) -> None:
    full, quick = plan_check(directory), plan_check(directory, is_quick=True)
    assert names(quick) == names(full)
    assert quick.longest_ns < full.longest_ns / 3
    assert quick.working_bytes == full.working_bytes


def test_the_ios_of_one_trial_are_kept_and_not_too_many_of_them(directory: TargetFacts) -> None:
    recorded = [step for step in plan_check(directory).plan.steps if step.pattern.record_ios]
    assert [(step.trial, step.pattern.count) for step in recorded] == [("sync-write-4096", 60_000)]


def test_durable_trials_are_measured_at_several_moments(directory: TargetFacts) -> None:
    plan = plan_check(directory)
    layout = layout_of(plan).number
    last_write = windows_of(plan, "random-write-qd1")[0].number
    for trial in SYNC:
        windows = windows_of(plan, trial)
        assert [(one.window, one.window_count) for one in windows] == [(1 + place, 5) for place in range(5)]
        assert [place for place, one in enumerate(windows) if one.number > layout] == [3, 4]
        # what writes at random is the heaviest work, and comes behind all of them
        assert windows[-1].number < last_write
        assert [one.ends_trial for one in windows] == [False] * 4 + [True]


def test_a_quick_check_measures_them_at_one(directory: TargetFacts) -> None:
    plan = plan_check(directory, is_quick=True)
    assert {len(windows_of(plan, trial)) for trial in SYNC} == {1}
    assert all(step.ends_trial for step in plan.plan.steps)


def test_windows_take_as_much_time_and_write_as_much_as_their_trial_did(directory: TargetFacts) -> None:
    plan = plan_check(directory)
    for trial in SYNC:
        patterns = [step.pattern for step in windows_of(plan, trial)]
        assert sum(pattern.enough_after for pattern in patterns) == 4_000_000_000
        assert sum(pattern.runtime for pattern in patterns) == 6_600_000_000
        assert sum(pattern.bytes for pattern in patterns) <= 512 * MIB
    # 0.1 s of ramp were before each of five trials: less than a tenth of a check is added
    durable = [step for step in plan.plan.steps if step.pattern.is_durable]
    added_ns = sum(step.pattern.ramp for step in durable) - 5 * 0.1e9
    # beside it 30 ms to get ready for each window but the first
    assert added_ns + BETWEEN_STEPS_NS * (len(durable) - 5) < 0.1 * 45e9


def test_windows_are_in_another_order_in_each_round_and_the_same_in_each_check(directory: TargetFacts) -> None:
    steps = plan_check(directory).plan.steps
    rounds = [
        [step.trial for step in steps if step.pattern.is_durable and step.window == number] for number in range(1, 6)
    ]
    assert rounds[0] == SYNC
    assert all(sorted(one) == sorted(SYNC) for one in rounds)
    assert len({tuple(one) for one in rounds}) > 3
    assert [step.trial for step in plan_check(directory).plan.steps] == [step.trial for step in steps]


def test_a_plan_with_windows_is_stored_and_read_again(directory: TargetFacts) -> None:
    plan = plan_check(directory).plan
    assert Plan.from_json(plan.to_json()).steps == plan.steps
