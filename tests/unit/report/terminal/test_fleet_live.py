"""What a terminal redraws while a fleet is measured."""

from __future__ import annotations

from itertools import islice
from typing import Any

from drivelab.model.fleet_plan import FleetItem
from drivelab.model.fleet_standing import FleetStanding
from drivelab.report.terminal.fleet_live import counts_text, live_lines, pace_text


def item(number: int, state: str, now: str = "") -> FleetItem:
    return FleetItem(f"h{number}/d", f"h{number}", "/dev/sda", state=state, now=now)  # type: ignore[arg-type]


def standing(**changes: Any) -> FleetStanding:
    known: dict[str, Any] = dict.fromkeys(FleetStanding.__slots__, 0)
    return FleetStanding(**known | {"is_of_bytes": False, "left_ns": None} | changes)


def test_the_head_counts_and_each_target_at_work_has_a_line() -> None:
    items = [item(1, "complete"), item(2, "measuring", "step 3 of 17"), item(3, "measuring"), item(4, "failed")]
    told = standing(targets=5, complete=1, measuring=2, failed=1, cut_off=1, hosts_gone=1)
    assert list(live_lines(told, items, 100, 24, plain=True)) == [
        "1 of 5 targets measured, 2 at work, 1 failed, 1 cut off, 1 host gone",
        "time left not known; no rate now",
        "  h2/d  step 3 of 17",
        "  h3/d  beginning",
    ]


def test_the_head_has_the_rate_of_all_that_tell_one_and_the_time_left() -> None:
    at_work = {"targets": 40, "complete": 12, "measuring": 8, "waiting": 20, "hosts_awaited": 3}
    rates = {"operations_per_s": 1200.0, "bytes_per_s": 4.2e9, "paced": 8, "left_ns": 12 * 60 * 10**9}
    all_told = standing(**at_work, **rates, is_of_bytes=True)
    assert counts_text(all_told) == "12 of 40 targets measured, 8 at work, 20 waiting, 3 hosts awaited"
    assert pace_text(all_told) == "about 12 min left; 4.2 GB/s"
    some = standing(**at_work, **rates | {"paced": 5, "operations_per_s": 98500.0, "left_ns": None})
    assert pace_text(some) == "time left not known; 98 500 I/O/s of 5 targets"


def test_the_time_left_stays_whatever_the_rate_is() -> None:
    known = {"targets": 40, "measuring": 8, "waiting": 20, "hosts_awaited": 3, "left_ns": 12 * 60 * 10**9}
    for rate in (0.0, 1.0, 98_500.0, 1e9):
        told = standing(**known, paced=8 if rate else 0, operations_per_s=rate)
        assert next(islice(live_lines(told, [], 80, 24, plain=True), 1, None)).startswith("about 12 min left; ")


def test_a_row_ends_with_a_whole_word() -> None:
    rows = [item(1, "measuring", "step 3 of 17  a name of many words"), item(2, "measuring", "step 3 of 17")]
    *_, cut, whole = live_lines(standing(targets=2, measuring=2), rows, 32, 24, plain=False)
    assert (cut, whole) == ("  h1/d  step 3 of 17  a name …", "  h2/d  step 3 of 17")


def test_no_more_lines_than_the_terminal_has_and_none_wider() -> None:
    items = [item(number, "measuring", "step 1 of 2, " + "a long name " * 10) for number in range(1000)]
    lines = list(live_lines(standing(targets=1000, measuring=1000), items, 60, 20, plain=True))
    assert len(lines) < 20
    assert max(map(len, lines)) <= 60
    assert lines[-1] == "  and 985 more"
