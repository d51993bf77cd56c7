"""The drives of many hosts: what is odd first, then a line for each."""

from __future__ import annotations

from typing import Any

from drivelab.analyse.fleet_inventory import fleet_drive, odd_facts, shared_drives
from drivelab.model.fleet_inventory import FleetDrive
from drivelab.report.terminal.fleet_drives import fleet_drive_lines


def drive(host: str, name: str = "sda", **changes: Any) -> FleetDrive:
    told: dict[str, Any] = {
        "name": name,
        "model": "Fast 1",
        "firmware": "F1",
        "serials": [f"S-{host}-{name}"],
        "size_bytes": 10**12,
        "touch": {"may_be_erased": True, "reasons": []},
        "write_cache": {"drive_enabled": True, "kernel_mode": "write back"},
        "scheduler": "none",
        "queue_requests": 128,
        "link": None,
        "logical_block_size_bytes": 512,
    }
    return fleet_drive(host, told | changes)


def lines(*drives: FleetDrive, reasons: dict[str, str] | None = None, shows_all: bool = False) -> list[str]:
    odd, shared = odd_facts(drives), shared_drives(drives)
    return fleet_drive_lines(drives, odd, shared, reasons or {}, plain=True, shows_all=shows_all)


def test_alike_drives_are_a_sentence_and_a_table() -> None:
    found = lines(drive("a"), drive("b", touch={"may_be_erased": False, "reasons": ["sda is mounted on /"]}))
    assert found[:3] == ["2 drives in 2 hosts, of 1 model.", "", found[2]]
    assert found[2].split() == ["drive", "model", "firmware", "serial", "size", "may", "be", "erased"]
    assert found[3].split()[:2] == ["a/sda", "Fast"]
    assert found[3].endswith("yes")
    assert "sda is mounted" in found[4]


def test_what_few_of_a_model_differ_in_is_named_with_those_few() -> None:
    others = [drive(f"h{number}") for number in range(6)]
    found = " ".join(" ".join(lines(*others, drive("odd", firmware="F2"))).split())
    assert "- Fast 1: firmware is F1 in 6, but F2 in odd/sda" in found
    many = [drive(f"o{number}", firmware="F2") for number in range(5)]
    assert "F2 in o0/sda, o1/sda, o2/sda and 2 more" in " ".join(" ".join(lines(*others, *many)).split())


def test_health_shared_drives_and_hosts_that_did_not_answer_are_told() -> None:
    worn = drive("a", smart={"health_passed": True, "percentage_used": 93, "media_errors": 2})
    shared = [drive(host, "sdb", serials=["X1"]) for host in ("b", "c")]
    found = " ".join(" ".join(lines(worn, *shared, reasons={"d": "it has left"})).split())
    assert "- d could not be asked: it has left" in found
    assert "- a/sda 93 % of its endurance is used up, 2 media errors" in found
    assert "- b and c see one drive, X1" in found


def test_many_drives_are_all_shown_when_asked_for() -> None:
    drives = [drive(f"h{number}") for number in range(50)]
    assert lines(*drives)[-1] == "and 10 more: --all"
    assert len(lines(*drives, shows_all=True)) == 53


def test_no_drive_is_no_table() -> None:
    assert lines(reasons={"a": "it has left"}) == ["0 drives in 0 hosts.", "", "- a could not be asked: it has left"]
