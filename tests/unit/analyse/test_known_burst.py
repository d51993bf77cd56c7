"""What an earlier run found of a volume's burst credit limits what a short check may promise."""

from __future__ import annotations

from dataclasses import replace

import pytest
from simulated_estimates import POSTGRES, near
from simulated_trials import reads_at

from drivelab.analyse.findings import burst_possible
from drivelab.analyse.known_burst import KnownBurst, with_known_bursts
from drivelab.analyse.verdict import judge_need
from drivelab.model.judged_metric import MEAN_LATENCY
from drivelab.model.programs import POSTGRESQL
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.workload import BlockSizeShare

KNOWN = KnownBurst("I/Os", 300.0, "3 000 IOPS for 2000 s, then 300 IOPS", "20261126T000000Z-burst-vdb")


def test_what_is_known_takes_the_place_of_what_may_be() -> None:
    fast = reads_at(*[3000.0] * 10)
    perhaps = burst_possible.find(fast)
    (found,) = with_known_bursts(perhaps, [KNOWN], fast.measured, fast.summary)
    assert found.code == "burst-credit"
    assert found.evidence == {"token": "I/Os", "base_per_s": 300.0, "known_from": KNOWN.run}
    assert found.text == (
        "on burst credit, and 300 a second without it: run 20261126T000000Z-burst-vdb found 3 000 IOPS for 2000 s, "
        "then 300 IOPS"
    )
    assert with_known_bursts(perhaps, [], fast.measured, fast.summary) == perhaps


@pytest.mark.parametrize("base_per_s", [2900.0, 3000.0, 12_000.0])
def test_a_rate_that_the_volume_gives_for_good_is_on_no_credit(base_per_s: float) -> None:
    seen = reads_at(*[3000.0] * 10)
    known = replace(KNOWN, base_per_s=base_per_s)
    assert with_known_bursts(burst_possible.find(seen), [known], seen.measured, seen.summary) == []


def test_commits_are_told_with_what_is_left_of_them() -> None:
    log = TrialSummary(POSTGRESQL.write.trial, "", "durable_write", {MEAN_LATENCY: near(1.3e6)})
    seen = reads_at(*[3000.0] * 10)
    found = with_known_bursts([], [KNOWN], seen.measured, seen.summary)
    sentence = judge_need(POSTGRES, [log], found).sentence
    assert " about 300 times a second here with one client, 743 (range: 619 to 838) on burst credit" in sentence
    assert "; without it between an Intel 530 (105 here) and a Crucial M4 (" in sentence
    # a slower disk commits more seldom than the volume lets it
    slow = replace(log, estimates={MEAN_LATENCY: near(8e6)})
    assert "burst credit" not in judge_need(POSTGRES, [slow], found).sentence


def test_a_burst_of_bytes_limits_large_ios_alone() -> None:
    of_bytes = KnownBurst("bytes", 5e6, "5.24 GB/s for 4.17 s, then 5.00 MB/s", "20261126T000000Z-burst-vdb")
    small = reads_at(*[3000.0] * 10)
    asked = small.measured.workload.model_copy(update={"block_sizes": (BlockSizeShare(bytes=2**20),)})
    large = replace(small, measured=replace(small.measured, workload=asked))
    assert "burst-credit" not in {one.code for one in with_known_bursts([], [of_bytes], small.measured, small.summary)}
    (found,) = with_known_bursts([], [of_bytes], large.measured, large.summary)
    assert found.text.startswith("on burst credit, and 5 MB/s without it: ")
