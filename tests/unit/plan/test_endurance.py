"""Which share of a drive's endurance a plan uses up."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from drivelab.model.smart import SmartFacts, nothing_known
from drivelab.plan.endurance import endurance_share

TB, GB = 10**12, 10**9
RATED = SmartFacts(drive="nvme0n1", endurance_bytes=600 * TB, endurance_source="endurance group log")
DERIVED = SmartFacts(
    drive="sda",
    percentage_used=12,
    host_bytes_written=72 * TB,
    endurance_bytes=600 * TB,
    endurance_low_bytes=554 * TB,
    endurance_high_bytes=655 * TB,
    endurance_source="derived",
)


def test_a_rated_drive_tells_the_share() -> None:
    share = endurance_share(12 * GB, RATED)
    assert share.text == "12 GB, 0.002 % of the 600 TB the drive is rated for (endurance group log)"
    assert share.share == share.share_low == share.share_high == pytest.approx(2e-5)


def test_write_amplification_so_far_is_told_where_it_is_known() -> None:
    share = endurance_share(12 * GB, replace(RATED, host_bytes_written=72 * TB, media_bytes_written=151 * TB))
    assert share.write_amplification_so_far == pytest.approx(151 / 72)
    assert share.text.endswith("(endurance group log), 2.1 times that if writes are amplified as those so far were")


def test_a_derived_endurance_comes_with_its_bounds() -> None:
    share = endurance_share(1 * TB, DERIVED)
    assert share.text == (
        "1 TB, 0.15 % to 0.18 % of the 554 TB to 655 TB that the drive's wear so far points to "
        "(derived from 12 % used; its rating is not known)"
    )
    assert share.share_low == 1 / 655
    assert share.share_high == 1 / 554
    assert share.source == "derived"


@pytest.mark.parametrize(
    ("smart", "reason"),
    [
        (None, "the drive was not asked"),
        (SmartFacts(drive="sda"), "the drive does not report it"),
        (nothing_known("vda", "a virtio drive tells nothing of its health"), "a virtio drive tells nothing"),
        (SmartFacts(drive="sda", unknown={"endurance_bytes": "2 % of it is used"}), "2 % of it is used"),
    ],
)
def test_an_unknown_endurance_comes_with_the_reason(smart: SmartFacts | None, reason: str) -> None:
    share = endurance_share(12 * GB, smart)
    assert share.share is None
    assert share.text.startswith(f"12 GB; share of rated endurance unknown: {reason}")


def test_nothing_written_uses_nothing_up() -> None:
    assert endurance_share(0, RATED).text.startswith("0 B, 0 % of")


def test_it_is_plain_data() -> None:
    assert json.loads(json.dumps(endurance_share(12 * GB, DERIVED).to_json()))["bytes_written"] == 12 * GB
