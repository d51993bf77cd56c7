"""What a terminal redraws while a fleet is measured."""

from __future__ import annotations

from drivelab.model.fleet_plan import FleetItem
from drivelab.report.terminal.fleet_live import live_lines


def item(number: int, state: str, now: str = "") -> FleetItem:
    return FleetItem(f"h{number}/d", f"h{number}", "/dev/sda", state=state, now=now)  # type: ignore[arg-type]


def test_the_head_counts_and_each_target_at_work_has_a_line() -> None:
    items = [item(1, "complete"), item(2, "measuring", "step 3 of 17"), item(3, "measuring"), item(4, "failed")]
    assert list(live_lines([*items, item(5, "cut_off")], 1, 100, 24, plain=True)) == [
        "1 of 5 targets measured, 2 at work, 1 failed, 1 cut off, 1 host gone",
        "  h2/d  step 3 of 17",
        "  h3/d  beginning",
    ]


def test_no_more_lines_than_the_terminal_has_and_none_wider() -> None:
    items = [item(number, "measuring", "step 1 of 2, " + "a long name " * 10) for number in range(1000)]
    lines = list(live_lines(items, 0, 60, 20, plain=True))
    assert len(lines) < 20
    assert max(map(len, lines)) <= 60
    assert lines[-1] == "  and 984 more"
