"""Which drives a host's rules mean, what they are called in a fleet, and why a rule means none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drivelab.fleet import host_tasks
from drivelab.model.fleet_hosts import DriveRule, HostEntry
from drivelab.model.fleet_plan import FleetItem, FleetWork, ItemPlan, seen_by_several
from drivelab.plan.fleet import items_of_host, plan_unasked, rule_text, unmet_rules


def drive(name: str, *serials: str, **facts: Any) -> dict[str, Any]:
    known = {
        "name": name,
        "path": f"/dev/{name}",
        "serials": list(serials),
        "wwn": None,
        "model": "Fast 1",
        "firmware": "F1",
        "transport": "nvme",
        "is_rotational": False,
        "size_bytes": 10**12,
        "virtual": None,
        "touch": {"verdict": "free", "reasons": []},
        "identity": {"device_number": "7:0", "diskseq": 37},
        "kernel": "",
    }
    return known | facts


IN_USE = {"verdict": "in_use", "reasons": ["sdb is mounted on /"]}
DRIVES = [
    drive("nvme0n1", "S1", "eui.1"),
    drive("sda", "S2", transport="sata", is_rotational=True, size_bytes=4 * 10**12, model=None, firmware=None),
    drive("sdb", "S3", transport="sata", touch=IN_USE),
    drive("loop0", transport="loop", model=None, firmware=None, virtual="loop device"),
]


def items(*rules: DriveRule, targets: tuple[str, ...] = (), drives: list[dict[str, Any]] = DRIVES) -> list[FleetItem]:
    entry = HostEntry(drives=rules, targets=targets)
    return items_of_host("one", entry, drives, lambda host, found: (f"{host}:{found['name']}",))


@pytest.mark.parametrize(
    ("rule", "meant"),
    [
        ({}, ["nvme0n1", "sda", "loop0"]),
        ({"serial": "S1"}, ["nvme0n1"]),
        ({"serial": "eui.1"}, ["nvme0n1"]),
        ({"name": "loop0"}, ["loop0"]),
        ({"model": "Fast*"}, ["nvme0n1"]),
        ({"transport": "sata"}, ["sda"]),
        ({"transport": "sata", "in_use": True}, ["sda", "sdb"]),
        ({"rotational": False}, ["nvme0n1", "loop0"]),
        ({"min_size": 2 * 10**12}, ["sda"]),
        ({"serial": "S1", "transport": "sata"}, []),
        ({"serial": "S3"}, []),
    ],
)
def test_a_rule_means_the_drives_that_meet_all_of_it(rule: dict[str, Any], meant: list[str]) -> None:
    assert [item.target for item in items(DriveRule(**rule))] == [f"/dev/{name}" for name in meant]


def test_without_rules_no_drive_is_meant() -> None:
    assert items() == []


def test_a_drive_of_several_rules_is_one_item_with_what_is_known_of_it() -> None:
    (item,) = items(DriveRule(serial="S1"), DriveRule(model="Fast*"))
    assert item == FleetItem(
        "one/S1",
        "one",
        "/dev/nvme0n1",
        ("one:nvme0n1",),
        {"model": "Fast 1", "firmware": "F1", "serial": "S1"},
    )
    (loop,) = items(DriveRule(name="loop0"))
    assert (loop.key, loop.drive) == ("one/loop0", {"device": "7:0 37 of "})


def test_namespaces_and_ways_that_share_a_serial_are_items_of_their_own_one_at_a_time() -> None:
    namespaces = [drive("nvme0n1", "S1"), drive("nvme0n2", "S1"), drive("sda", "S2")]
    found = items(DriveRule(), drives=namespaces)
    assert [item.key for item in found] == ["one/S1-nvme0n1", "one/S1-nvme0n2", "one/S2"]
    # whichever of them a rule means, its name is the same
    (alone,) = items(DriveRule(name="nvme0n2"), drives=namespaces[::-1])
    assert alone.key == "one/S1-nvme0n2"


def test_targets_of_alike_names_are_items_of_their_own() -> None:
    found = items(targets=("/srv/a", "/srv-a", "sim:disk-7200", "/srv/a", "/"))
    assert [(item.key, item.target) for item in found] == [
        ("one/srv-a", "/srv/a"),
        ("one/srv-a-2", "/srv-a"),
        ("one/sim-disk-7200", "sim:disk-7200"),
        ("one/target", "/"),
    ]


def test_a_rule_that_means_no_drive_says_why() -> None:
    entry = HostEntry(
        drives=(
            DriveRule(serial="S1"),
            DriveRule(serial="S3"),
            DriveRule(name="sda", transport="nvme"),
            DriveRule(serial="S9"),
            DriveRule(model="Slow*", min_size=2**50),
        )
    )
    assert unmet_rules(entry, DRIVES) == [
        "no drive meets serial S3: sdb is mounted on /",
        "no drive meets name sda, transport nvme: sda: it is connected by sata",
        "no drive meets serial S9",
        "no drive meets model Slow*, min_size 1024 TiB",
    ]
    assert rule_text(DriveRule()) == "any drive that is not in use"


def test_what_is_said_of_a_host_is_said_of_each_of_its_runs() -> None:
    entry = HostEntry(targets=("/srv/a",), tags={"rack": "r07"})
    (item,) = items_of_host("one", entry, [], lambda _host, _drive: ())
    assert item.tags == {"rack": "r07"}
    words = host_tasks._words(Path("/runs"), item, FleetWork("check"), "")
    assert words[words.index("--tag") + 1] == "rack=r07"


def test_a_check_erases_what_is_listed_and_what_it_was_to_erase_it_does_not_read_instead() -> None:
    work, quick = FleetWork("check"), FleetWork("check", ("--quick",))
    item = FleetItem("one/S1", "one", "/dev/sda")
    assert plan_unasked(item, work) is None
    plan = plan_unasked(replace(item, erase=("S1",)), work)
    assert plan == ItemPlan(("everything on it",), ("S1",), "", 45 * 10**9, 8 * 2**30)
    assert plan_unasked(replace(item, erase=("S1",)), quick) == replace(plan, expected_ns=10 * 10**9)
    later = plan_unasked(replace(item, plan=plan), work)
    assert later is not None
    assert later.is_not_listed
    words = host_tasks._words(Path("/runs"), replace(item, erase=("S1",)), work, "")
    assert words[words.index("--erase") + 1] == "S1"
    assert plan_unasked(item, FleetWork("io")) == ItemPlan()


def test_a_drive_that_several_hosts_see_is_known_by_its_serial_or_else_by_its_wwn() -> None:
    rule = HostEntry(drives=(DriveRule(),))

    def seen(*drives: dict[str, Any], kernels: Sequence[str] = ("k1", "k2")) -> dict[str, list[str]]:
        found = [
            items_of_host(host, rule, [one | {"kernel": kernel} for one in drives], lambda _host, _drive: ())
            for host, kernel in zip(("a", "b"), kernels, strict=True)
        ]
        return seen_by_several(item for of_host in found for item in of_host)

    assert seen(drive("sda", "S1", wwn="naa.1")) == {"S1": ["a/S1", "b/S1"]}
    assert seen(drive("sda", wwn="naa.1")) == {"naa.1": ["a/sda", "b/sda"]}
    # two ways of one host to it are no two hosts
    assert seen(drive("sda", "S1"), drive("sdb", "S1")) == {"S1": ["a/S1-sda", "b/S1-sda"]}
    assert seen(drive("sda"), drive("vda", "QM00001", virtual="QEMU", wwn="naa.2")) == {}
    # containers of one computer have one kernel, and so has a drive that tells neither
    assert seen(drive("loop0", virtual="loop device"), kernels=("k1", "k1")) == {"7:0 37 of k1": ["a/loop0", "b/loop0"]}
