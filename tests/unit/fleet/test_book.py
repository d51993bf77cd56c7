"""How a fleet stands while its hosts tell how far they are."""

from __future__ import annotations

from pathlib import Path

from drivelab.fleet.book import FleetBook
from drivelab.fleet.record import new_fleet
from drivelab.model.fleet_hosts import HostEntry
from drivelab.model.fleet_plan import FleetItem, FleetWork

RATES = {"left_ns": 60 * 10**9, "operations_per_s": 100.0, "bytes_per_s": 409600}


def test_what_hosts_tell_adds_up_until_they_tell_something_else(tmp_path: Path) -> None:
    items = [FleetItem(f"{host}/S1", host, "/dev/sda", state="measuring") for host in ("a", "b")]
    book = FleetBook(new_fleet(FleetWork("run"), {"a": HostEntry(), "b": HostEntry()}, tmp_path).with_items(items))
    for item in items:
        book.hear(item.key, {"line": "measuring", **RATES})
    assert (book.standing().paced, book.standing().operations_per_s) == (2, 200)
    # a line without numbers says nothing of the rate
    book.hear("a/S1", {"line": "step 1 of 2"})
    assert book.standing().paced == 2
    book.hear("a/S1", {"line": "getting ready", **RATES, "operations_per_s": 0, "bytes_per_s": 0})
    assert (book.standing().paced, book.standing().operations_per_s) == (1, 100)
    book.change("b/S1", state="complete")
    assert (book.standing().paced, book.standing().measuring) == (0, 1)
