"""How a trace was taken: what the devices are called whose numbers stand in its events."""

from __future__ import annotations

from typing import Any

from drivelab.model.trace_conduct import TraceConduct


def device(name: str, number: str, kind: str, detail: str = "") -> dict[str, Any]:
    return {"name": name, "device_number": number, "kind": kind, "detail": detail}


def test_layers_and_drives_go_by_the_names_that_an_explanation_has() -> None:
    layers = ("dm-crypt home", "md RAID-1 md0", "loop0")
    conduct = TraceConduct("tracefs", "", layers=layers, drives={"8:0": "sda", "8:16": "sdb"})
    devices = [
        device("sda", "8:0", "disk"),
        device("sda1", "8:1", "part"),
        device("md0", "9:0", "md", "raid1"),
        device("dm-3", "253:3", "dm", "CRYPT volume home"),
        device("loop0", "7:0", "loop", "/srv/a file.img"),
        device("dm-4", "253:4", "dm", "LVM volume vg-other"),
    ]
    assert conduct.names_of_devices({"devices": devices}) == {
        "8:0": "sda",
        "8:1": "sda1",
        "8:16": "sdb",
        "9:0": "md RAID-1 md0",
        "253:3": "dm-crypt home",
        "7:0": "loop0",
        "253:4": "dm-4",
    }


def test_of_a_trace_that_tells_no_devices_none_has_a_name() -> None:
    assert TraceConduct("relay", "", device="sdb").names_of_devices({"devices": None}) == {}
