"""Burst credit on 200 random simulated buckets of each kind, and none on 200 noisy drives without any."""

from __future__ import annotations

import numpy as np
import pytest

from bursting_drives import limited, seen_of, unlimited

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
