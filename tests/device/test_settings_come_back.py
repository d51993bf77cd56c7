"""On a real queue: whatever it was set to, and however a run was ended, it is as it was."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from device.impatient_runs import FILES, impatient_runs, queue_of
from drivelab.inventory.drives import read_drives
from drivelab.state.journal import begin_journal, take_journal
from drivelab.state.settings.catalogue import SETTINGS
from drivelab.state.undo import undo_all

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup")]

LEVELS = {
    "scheduler": "bfq",
    "nr-requests": "16",
    "read-ahead": "65536",
    "max-sectors": "65536",
    "write-back-throttling": "3000000",
    "kernel-write-cache": "write through",
}
SCHEDULERS = ("none", "mq-deadline", "kyber", "bfq")


def test_every_start_comes_back_from_any_order_of_levels(make_loop_device, tmp_path: Path) -> None:
    device: Path = make_loop_device(16 * 2**20)
    drive = read_drives([device.name], ask_tools=False)[0]
    queue = Path(f"/sys/block/{device.name}/queue")
    orders = itertools.cycle(list(itertools.permutations(LEVELS))[::53])
    offered = (queue / "scheduler").read_text().replace("[", "").replace("]", "").split()
    found = queue_of(device)
    starts = itertools.product([name for name in SCHEDULERS if name in offered], ("33", "128"), ("0", "4096"))
    for number, (start, order) in enumerate(zip(starts, orders, strict=False)):
        for file, value in zip(("scheduler", "nr_requests", "read_ahead_kb"), start, strict=True):
            (queue / file).write_text(value)
        before = queue_of(device)
        journal = begin_journal(tmp_path / "journals")
        for name in order:
            level = LEVELS[name] if name != "scheduler" else offered[(offered.index(start[0]) + 1) % len(offered)]
            SETTINGS[name].set(drive, level, journal)
        if number % 2:
            # killed, and taken by the next one
            os.close(journal.descriptor)
            taken = take_journal(journal.path)
            assert taken is not None
            journal = taken
        undo_all(journal)
        journal.close()
        assert queue_of(device) == before, (start, order)
    chosen = found["scheduler"].partition("[")[2].partition("]")[0]
    for file in FILES:
        (queue / file).write_text(chosen if file == "scheduler" else found[file])


@pytest.mark.alone
def test_impatience_leaves_nothing_changed() -> None:
    runs = 1000 if os.environ.get("DRIVELAB_PROVE") else 8
    assert impatient_runs(range(runs), 4) == []
