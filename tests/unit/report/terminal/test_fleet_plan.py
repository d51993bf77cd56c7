"""What a fleet is going to do: what is erased first, and what is refused by reason."""

from __future__ import annotations

from typing import Any

from drivelab.model.fleet_plan import FleetItem, ItemPlan
from drivelab.report.terminal.fleet_plan import fleet_plan_lines

MINUTE_NS = 60 * 10**9


def item(host: str, name: str, drive: dict[str, str] | None = None, **plan: Any) -> FleetItem:
    return FleetItem(f"{host}/{name}", host, f"/dev/{name}", drive=drive or {}, plan=ItemPlan(**plan))


ERASED = {"erases": ("everything on it",), "expected_ns": MINUTE_NS, "bytes_written": 10**9}
REFUSED = "C201: it would be overwritten, and its owner has not named it"


def test_what_is_erased_comes_first_and_a_host_takes_as_long_as_its_drives_together() -> None:
    items = [
        item("fir", "S0", expected_ns=MINUTE_NS // 2),
        item("fir", "S1", consents=("S1",), **ERASED),
        item("fir", "S2", consents=("S2+contents",), **ERASED),
    ]
    assert fleet_plan_lines(items, {}, {}, plain=True) == [
        "ERASES 2 of 3 targets, on 1 host; about 2 min; 1.86 GiB written.",
        "",
        "  target  erases        writes  about",
        "  fir/S1  S1           954 MiB  1 min",
        "  fir/S2  S2+contents  954 MiB  1 min",
        "  fir/S0  nothing            -   30 s",
    ]


def test_missing_consents_are_counted_once_with_the_lines_that_would_be_one() -> None:
    items = [
        item("elm", "loop2", refused=REFUSED, consents=("loop2",)),
        item("oak", "S7", {"serial": "S7"}, refused=REFUSED, consents=("S7+contents",)),
        item("oak", "sdb", refused="C202: sdb is mounted on /"),
    ]
    assert fleet_plan_lines(items, {"ash": "it has left"}, {"elm": ["a note"]}, ["S9"], plain=True) == [
        "Nothing is erased of 3 targets; 3 on 2 hosts cannot be measured so.",
        "",
        "- consent is missing for 2 drives on 2 hosts: to have them erased, list",
        "  elm:loop2, S7+contents",
        "- S9 of the erase list: no drive of the hosts that have answered; it stops",
        "  nothing, since other hosts may have it",
        "- oak/sdb: C202: sdb is mounted on /",
        "- ash: it has left",
        "- elm: a note",
    ]


def test_a_serial_that_means_no_drive_is_told_before_what_names_hosts_that_are_not_asked() -> None:
    unknown = [*(f"ash:loop{number}" for number in range(10)), "S9"]
    refused = [item(f"host{number}", "S1", refused=f"S502: {number}") for number in range(20)]
    told = " ".join(
        " ".join(fleet_plan_lines(refused, {}, {}, [*unknown, "fir:S2"], asked=["fir"], plain=True)).split()
    )
    none = "no drive of the hosts that have answered; it stops nothing, since other hosts may have it"
    assert f"- S9 of the erase list: {none} - fir:S2 of the erase list: fir has not answered; it stops nothing" in told
    assert "- ash:loop0, ash:loop1, ash:loop2 and 7 more of the erase list: ash was not asked; it stops nothing" in told


def test_long_lists_end() -> None:
    items = [item(f"host{number}", "S1", **ERASED) for number in range(100)]
    items += [item(f"full{number}", "S1", refused=f"S502: {number}") for number in range(100)]
    lines = fleet_plan_lines(items, {}, {}, plain=True)
    assert len(lines) < 65
    assert "  and 60 more: --json" in lines
    assert lines[-1] == "and 88 more: --json"
