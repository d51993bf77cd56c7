"""Which runs were made on what was typed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from drivelab.answers.drive_of_run import is_on
from drivelab.store.read import open_run

RUNS = Path(__file__).resolve().parents[2] / "golden" / "runs"


def test_a_scratch_drive_is_found_by_the_word_that_it_was_made_with() -> None:
    record = open_run(RUNS / "ssd-latency-scratch").record
    assert is_on("scratch:1GiB", record)
    assert is_on("scratch", record)
    assert not is_on("scratch:2GiB", record)


def test_the_device_of_a_scratch_drive_is_another_drives_by_now() -> None:
    record = open_run(RUNS / "ssd-latency-scratch").record
    (target,) = record.targets
    facts = {**target["facts_before"], "path": "/dev/loop77", "kind": "block_device", "drives": [{"name": "loop77"}]}
    assert not is_on("/dev/loop77", replace(record, targets=[{**target, "facts_before": facts}]))
    own = {**facts, "text": "/dev/loop77"}
    assert is_on("/dev/loop77", replace(record, targets=[{**target, "facts_before": own}]))
