"""Mixes of block sizes, and ranges that do not begin at the beginning."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from drivelab.model.errors import DrivelabError
from drivelab.model.target import TargetFacts
from drivelab.model.workload import TargetRange
from drivelab.model.workload_pattern import WorkloadPattern
from drivelab.plan.budget import bytes_written
from drivelab.plan.make import make_plan

from .conftest import GIB, MakeExperiment

MIB = 2**20
MIX = [{"bytes": "4KiB", "weight": 80}, {"bytes": "64KiB", "weight": 20}]
MEAN = 0.8 * 4096 + 0.2 * 65536


def pattern(**keys: object) -> WorkloadPattern:
    return WorkloadPattern.model_validate({"count": 100} | keys)


def test_a_mix_reaches_the_engine_with_its_weights() -> None:
    workload = pattern(block_sizes=MIX).on(TargetRange(path="/x"), seed=1)
    assert [(share.bytes, share.weight) for share in workload.block_sizes] == [(4096, 80), (65536, 20)]


def test_a_mix_and_one_size_exclude_each_other() -> None:
    with pytest.raises(ValidationError, match="leave one of them out"):
        pattern(block_size="4KiB", block_sizes=MIX)
    with pytest.raises(ValidationError, match="two of the size 4096 B"):
        pattern(block_sizes=[{"bytes": 4096}, {"bytes": "4KiB"}])
    with pytest.raises(ValidationError, match="greater than 0"):
        pattern(block_sizes=[{"bytes": 4096, "weight": 0}])


def test_one_replaces_the_other_when_a_pattern_is_changed() -> None:
    assert pattern(block_sizes=MIX).changed(block_size="8KiB") == pattern(block_size="8KiB")
    assert pattern(block_size="8KiB").changed(block_sizes=MIX) == pattern(block_sizes=MIX)
    assert pattern(block_sizes=MIX, runtime="2s").changed(count=7) == pattern(block_sizes=MIX, runtime="2s", count=7)


def test_a_mix_survives_being_stored() -> None:
    one = pattern(block_sizes=MIX, offset="1MiB")
    assert WorkloadPattern.from_json(one.to_json()) == one


def test_bytes_of_a_mix_are_a_mean_and_its_room_the_most_that_it_can_be() -> None:
    mixed = pattern(block_sizes=MIX)
    assert mixed.mean_block_bytes == pytest.approx(MEAN)
    assert bytes_written(mixed, None, pace="flash") == pytest.approx(100 * MEAN, rel=1e-6)
    assert mixed.most_bytes == 100 * 65536
    limited = pattern(block_sizes=MIX, bytes="1MiB")
    assert limited.count_limit == -(-MIB // int(MEAN))
    assert limited.most_bytes == MIB + 65535


@pytest.mark.parametrize("limit", [{}, {"bytes": "1MiB"}, {"runtime": "1s"}])
def test_one_sync_call_at_the_end_needs_no_known_number_of_writes(limit: dict[str, str]) -> None:
    end = pattern(block_sizes=MIX, sync_every_writes="end", durability="fsync", **limit)
    durability = end.on(TargetRange(path="/x"), seed=1).durability
    assert (durability.method, durability.at_end) == ("fsync", True)
    assert not pattern(block_sizes=MIX, durability="fsync").on(TargetRange(path="/x"), seed=1).durability.at_end


def test_a_mix_needs_whole_logical_blocks_for_direct_io(
    experiment: MakeExperiment, write: dict[str, Any], scratch: TargetFacts
) -> None:
    del write["block_size"]
    odd = [{"bytes": "256"}, {"bytes": "64KiB"}]
    with pytest.raises(DrivelabError, match="256 B is not a multiple") as refusal:
        make_plan(experiment(workloads=[write | {"direct": True, "block_sizes": odd}]), [scratch], seed=1)
    assert refusal.value.code == "P706"
    plan = make_plan(experiment(workloads=[write | {"direct": True, "block_sizes": MIX}]), [scratch], seed=1)
    assert {step.pattern.sizes[1].bytes for step in plan.steps} == {65536}


def test_a_file_for_a_mix_has_room_for_all_of_the_largest(
    experiment: MakeExperiment, write: dict[str, Any], directory: TargetFacts
) -> None:
    del write["block_size"]
    reserved = write | {"block_sizes": MIX, "file_state": "preallocated"}
    plan = make_plan(experiment(workloads=[reserved]), [directory], seed=1)
    assert {step.pattern.file_size for step in plan.steps} == {10 * 65536}


def test_capacities_of_a_mix_are_whole_largest_blocks(experiment: MakeExperiment, scratch: TargetFacts) -> None:
    fill = {"name": "f", "access": "random", "block_sizes": MIX, "capacities": 1}
    plan = make_plan(experiment(workloads=[fill]), [scratch], seed=1)
    assert {step.pattern.bytes for step in plan.steps} == {GIB}


def test_a_range_begins_at_its_offset() -> None:
    half = pattern(offset="512MiB", block_size="1MiB")
    assert half.used_bytes(GIB, 512) == GIB // 2
    assert half.on(TargetRange(path="/x", size_bytes=GIB // 2), seed=1).target.offset_bytes == 512 * MIB
    quarter = pattern(offset="512MiB", block_size="1MiB", fill_level="25%")
    assert quarter.used_bytes(GIB, 512) == GIB // 4
    # never beyond the end
    assert pattern(offset="768MiB", fill_level="50%").used_bytes(GIB, 512) == GIB // 4


def test_what_is_appended_has_no_offset() -> None:
    with pytest.raises(ValidationError, match="leave offset out"):
        pattern(offset="1MiB", file_state="append")


@pytest.mark.provokes("P705")
@pytest.mark.parametrize("place", ["scratch", "directory"])
def test_an_offset_beyond_the_end_is_refused(
    experiment: MakeExperiment, scratch: TargetFacts, directory: TargetFacts, place: str
) -> None:
    target = {"scratch": scratch, "directory": directory}[place]
    workload = {"name": "r", "operation": "read", "count": 1, "file_size": "1GiB", "offset": "1GiB"}
    with pytest.raises(DrivelabError, match="has room for 0 B") as refusal:
        make_plan(experiment(workloads=[workload]), [target], seed=1)
    assert refusal.value.code == "P705"
    fits = workload | {"offset": "1023MiB"}
    assert make_plan(experiment(workloads=[fits]), [target], seed=1).steps
