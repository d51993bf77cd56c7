"""The drives of many hosts: what is odd first, then a line for each."""

from __future__ import annotations

from typing import Any

from drivelab.analyse.fleet_inventory import fleet_drive, odd_facts, shared_drives
from drivelab.model.fleet_inventory import FleetDrive
from drivelab.report.terminal.fleet_drives import fleet_drive_lines


def drive(host: str, name: str = "sda", *, is_meant: bool = False, **changes: Any) -> FleetDrive:
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
    return fleet_drive(host, told | changes, is_meant=is_meant)


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


def test_what_several_hosts_see_is_what_a_fleet_takes_for_one_drive() -> None:
    """Serials of virtual machines are no serials, a WWN is one, and containers have the devices of one kernel."""
    kernel = {"serials": [], "kernel": "k1", "virtual": "loop device"}
    loops = [
        drive(host, f"loop{number}", identity={"device_number": f"7:{number}", "diskseq": number}, **kernel)
        for host in ("a", "b")
        for number in range(5)
    ]
    virtual = [drive(host, "vda", serials=["QM00001"], virtual="QEMU") for host in ("a", "b")]
    paths = [drive(host, name, serials=[], wwn="naa.1") for host in ("b", "c") for name in ("sdc", "sdd")]
    found = " ".join(" ".join(lines(*loops, *virtual, *paths)).split())
    assert "- a and b see the same 5 drives: loop0, loop1, loop2 and 2 more - b and c see one drive, naa.1 " in found
    assert "QM00001" not in found.partition("may be erased")[0]


def test_drives_that_several_hosts_see_count_once() -> None:
    seen = [drive(host, name, serials=[name], is_meant=True) for host in ("a", "b", "c") for name in ("sda", "sdb")]
    assert lines(*seen)[0] == "2 drives, seen from 3 hosts, of 1 model; 2 of them are meant."
    assert lines(*seen, drive("c", "sdc"))[0] == "3 drives, seen from 3 hosts, of 1 model; 2 of them are meant."


def test_drives_that_are_meant_are_marked_and_come_first() -> None:
    drives = [*(drive(f"h{number}") for number in range(50)), drive("last", is_meant=True)]
    found = lines(*drives)
    assert found[0] == "51 drives in 51 hosts, of 1 model; 1 of them is meant."
    head, first, second = (line.split() for line in found[2:5])
    assert head[:2] == ["drive", "meant"]
    assert (first[:2], second[:2]) == (["last/sda", "yes"], ["h0/sda", "-"])


def test_many_drives_are_all_shown_when_asked_for() -> None:
    drives = [drive(f"h{number}") for number in range(50)]
    assert lines(*drives)[-1] == "and 10 more: --all"
    assert len(lines(*drives, shows_all=True)) == 53


def test_no_drive_is_no_table() -> None:
    assert lines(reasons={"a": "it has left"}) == ["0 drives in 0 hosts.", "", "- a could not be asked: it has left"]
