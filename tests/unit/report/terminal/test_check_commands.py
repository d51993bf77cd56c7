"""Commands of the drive for each durable write on the screen of a check."""

from __future__ import annotations

import io
from collections.abc import Callable

from drivelab.model.estimate import Estimate
from drivelab.report.content import ReportContent, TrialContent
from drivelab.report.terminal.check_screen import render_check_screen
from drivelab.report.terminal.text import text_console


def test_commands_that_are_only_bounded_are_told_by_their_bounds(make_estimate: Callable[..., Estimate]) -> None:
    estimates = {
        "iops": make_estimate(2630, 2600, 2660, "1/s"),
        "device_writes_per_operation": make_estimate(None, 1.37, 2.39, "1"),
        "device_flushes_per_operation": make_estimate(1, 1, 1, "1"),
    }
    trial = TrialContent("sync-write-512", "512 B appended + fdatasync", "durable_write", estimates=estimates)
    file = io.StringIO()
    text_console(file).print(render_check_screen(ReportContent("check-a", "Check", "Is it fit?", (trial,))))
    (line,) = (one for one in file.getvalue().splitlines() if one.startswith("512 B"))
    assert line.split()[-2:] == ["1.37–2.39", "1"]
