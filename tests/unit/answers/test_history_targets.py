"""Which runs were made on what was typed."""

from __future__ import annotations

from pathlib import Path

from drivelab.answers.drive_of_run import is_on
from drivelab.store.read import open_run

RUNS = Path(__file__).resolve().parents[2] / "golden" / "runs"


def test_a_scratch_drive_is_found_by_the_word_that_it_was_made_with() -> None:
    record = open_run(RUNS / "ssd-latency-scratch").record
    assert is_on("scratch:1GiB", record)
    assert is_on("scratch", record)
    assert not is_on("scratch:2GiB", record)
    # the device beneath it was whichever was free, and is another drive's by now
    device = record.targets[0]["facts_before"]["path"]
    assert device.startswith("/dev/loop")
    assert not is_on(device, record)
