"""Burst credit on 200 random simulated buckets of each kind, and none on 200 noisy drives without any."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_trials import evidence

from bursting_drives import limited, outlasting, read_for, seen_of, unlimited
from drivelab.analyse.findings import burst_ended, burst_possible
from drivelab.model.simulated import SimulatedModel

_DRIVES = 200
# each test has a limit of time
_AT_A_TIME = 25


@pytest.mark.parametrize("first", range(0, _DRIVES, _AT_A_TIME))
@pytest.mark.parametrize("token", ["I/Os", "bytes"])
def test_buckets_are_found_within_5_percent(token: str, first: int) -> None:
    off = {"base": [], "refill": [], "size": [], "burst": []}
    missed = []
    for seed in range(first, first + _AT_A_TIME):
        limit, found = seen_of(limited(token, seed), token, seed)
        assert limit is not None
        assert found is not None
        if found.verdict != "bucket" or not found.lasts_s:
            missed.append((seed, found.verdict))
            continue
        true_burst = limit.rate + limit.burst / found.lasts_s
        assert found.base_per_s
        assert found.refill_per_s
        assert found.size
        assert found.burst_per_s
        off["base"].append(found.base_per_s / limit.rate - 1)
        off["refill"].append(found.refill_per_s / limit.rate - 1)
        off["size"].append(found.size / limit.burst - 1)
        off["burst"].append(found.burst_per_s / true_burst - 1)
    worst = {name: float(np.abs(values).max()) for name, values in off.items()}
    print(
        f"\n  {token}: {_AT_A_TIME - len(missed)} of {_AT_A_TIME} found, at most off {worst}, missed {missed}", end=""
    )
    assert not missed
    assert max(worst.values()) <= 0.05


@pytest.mark.parametrize("first", range(0, _DRIVES, _AT_A_TIME))
def test_no_bucket_is_claimed_where_there_is_none(first: int) -> None:
    seen = {seed: seen_of(unlimited(seed), "I/Os", seed)[1] for seed in range(first, first + _AT_A_TIME)}
    claimed = [seed for seed, one in seen.items() if one is None or one.is_bucket]
    print(f"\n  {len(claimed)} of {_AT_A_TIME} unlimited drives", end="")
    assert not claimed


def told_of(model: SimulatedModel, seed: int, runtime_s: float) -> set[str]:
    """Which of the two findings about a burst are told of reads of a drive that nobody watches for one."""
    read = evidence(*read_for(model, seed, runtime_s))
    return {one.code for kind in (burst_ended, burst_possible) for one in kind.find(read)}


@pytest.mark.parametrize("first", range(0, _DRIVES, _AT_A_TIME))
def test_a_burst_that_ends_in_a_trial_is_told(first: int) -> None:
    told = []
    for seed in range(first, first + _AT_A_TIME):
        model = limited("I/Os", seed)
        assert model.io_limit is not None
        # it empties, and the lower rate is seen for as long at least
        empties_s = model.io_limit.burst / (1e9 / model.command - model.io_limit.rate)
        runtime_s = empties_s * np.random.default_rng(seed).uniform(2, 5)
        told.append(burst_ended.CODE in told_of(model, seed, runtime_s))
    print(f"\n  burst-ended: {sum(told)} of {len(told)}", end="")
    assert sum(told) >= 0.98 * len(told) - 1


@pytest.mark.parametrize("first", range(0, _DRIVES, _AT_A_TIME))
def test_a_burst_that_outlasts_a_trial_is_told_as_possible(first: int) -> None:
    told = [told_of(outlasting(seed), seed, 5.0) for seed in range(first, first + _AT_A_TIME)]
    print(f"\n  burst-possible: {sum(burst_possible.CODE in codes for codes in told)} of {len(told)}", end="")
    assert all(codes == {burst_possible.CODE} for codes in told)


@pytest.mark.parametrize("first", range(0, 5 * _DRIVES, 5 * _AT_A_TIME))
def test_no_burst_is_told_of_drives_without_a_limit(first: int) -> None:
    told = [told_of(unlimited(seed), seed, 5.0) for seed in range(first, first + 5 * _AT_A_TIME) if seed % 3 != 2]
    for kind in (burst_ended, burst_possible):
        count = sum(kind.CODE in codes for codes in told)
        print(f"\n  {kind.CODE} of {len(told)} drives without a limit: {count}", end="")
        assert count <= 0.02 * len(told)
