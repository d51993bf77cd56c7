"""The list of drives that may be erased: which drive a line means, and which mean none."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from drivelab.fleet.erase_list import EraseList, load_erase_list, name_to_type_again, not_measured, word_to_type_again
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet_plan import FleetItem, ItemPlan


def drive(name: str, *serials: str) -> dict[str, Any]:
    return {"name": name, "serials": list(serials)}


def test_the_erase_list_has_a_serial_a_line_and_notes(tmp_path: Path) -> None:
    path = tmp_path / "serials.txt"
    path.write_text("# rack 7\nS1\n\nS2+partitions  # the old one\nhost1:loop0\n")
    assert load_erase_list(path, ["host1"]).lines == ("S1", "S2+partitions", "host1:loop0")
    assert load_erase_list(None, ["host1"]).lines == ()


def test_a_byte_order_mark_is_no_part_of_a_serial(tmp_path: Path) -> None:
    path = tmp_path / "serials.txt"
    path.write_text("host1:loop0\r\n", encoding="utf-8-sig", newline="")
    assert load_erase_list(path, ["host1"]).lines == ("host1:loop0",)


@pytest.mark.provokes("F902")
def test_a_line_of_several_words_is_no_serial(tmp_path: Path) -> None:
    path = tmp_path / "serials.txt"
    path.write_text("S1\nS2 S3\n")
    with pytest.raises(DrivelabError, match="'S2 S3' is not one serial") as caught:
        load_erase_list(path, ["host1"])
    assert (caught.value.code, caught.value.where) == ("F902", f"{path}:2")
    with pytest.raises(DrivelabError, match="cannot be read") as missing:
        load_erase_list(tmp_path / "none.txt", [])
    assert missing.value.code == "F902"


@pytest.mark.parametrize("line", ["*", "fir:*", "-", '""', "/dev/sda", "S1,S2", "elm:loop0"])
def test_a_line_that_can_mean_no_drive_is_refused_with_its_place(tmp_path: Path, line: str) -> None:
    path = tmp_path / "erase.txt"
    path.write_text(f"S1\n{line}\n")
    with pytest.raises(DrivelabError) as caught:
        load_erase_list(path, ["fir", "oak"])
    assert (caught.value.code, caught.value.where) == ("F902", f"{path}:2")


@pytest.mark.parametrize(
    ("lines", "host", "found"),
    [
        (("S1+contents", "S2", "sda"), "a", ("S1+contents",)),
        (("a:sda", "b:sda", "b:S1"), "a", ("sda",)),
        (("a:sda",), "b", ()),
        (("a:S1+contents", "wwn-1"), "a", ("wwn-1", "S1+contents")),
    ],
)
def test_consent_is_for_a_serial_or_for_a_name_on_one_host(
    lines: tuple[str, ...], host: str, found: tuple[str, ...]
) -> None:
    assert EraseList(lines).consent(host, drive("sda", "S1", "wwn-1")) == found


def test_the_name_of_a_drive_without_a_serial_is_no_consent_on_every_host() -> None:
    assert EraseList(["loop0", "a:loop0"]).consent("a", drive("loop0")) == ("loop0",)


DRIVES = {"fir": [drive("loop0"), drive("sda", "S1")]}
LINES = ["fir:loop0", "fir:S1", "S1+contents", "fir:loop9", "oak:loop3", "S7", "fir"]


def test_a_line_that_means_no_drive_is_known_by_the_drives_that_were_told() -> None:
    none, unknown = EraseList(LINES).without_drive(DRIVES, are_all=False)
    assert (none, unknown) == (["fir:loop9"], ["oak:loop3", "S7", "fir"])
    none, unknown = EraseList(LINES).without_drive(DRIVES, are_all=True)
    assert (none, unknown) == (["fir:loop9", "oak:loop3", "S7", "fir"], [])


def test_a_list_for_all_hosts_serves_those_that_are_meant_now(tmp_path: Path) -> None:
    path = tmp_path / "erase.txt"
    path.write_text("fir:loop0\noak:loop1\nS9\n")
    # a fleet that was begun with some of the hosts does not know the others
    for listed in (load_erase_list(path, None), load_erase_list(path, ["fir", "oak"], chosen=["fir"])):
        assert listed.without_drive(DRIVES, are_all=True) == ([], ["oak:loop1", "S9"])
    whole = load_erase_list(path, ["fir", "oak"], chosen=["fir", "oak"])
    assert whole.without_drive(DRIVES | {"oak": []}, are_all=True) == (["oak:loop1", "S9"], [])


def test_lines_of_drives_that_are_measured_are_of_no_interest_any_more() -> None:
    plan = ItemPlan(consents=("loop0+contents",))
    items = [
        FleetItem("fir/S1", "fir", "/dev/sda", drive={"serial": "S1", "wwn": "wwn-1"}, state="complete"),
        FleetItem("fir/loop0", "fir", "/dev/loop0", plan=plan, state="complete"),
        FleetItem("oak/S2", "oak", "/dev/sda", drive={"serial": "S2"}, state="cut_off"),
    ]
    measured = ["S1", "fir:S1+contents", "fir:sda", "wwn-1", "fir:loop0+contents"]
    others = ["S2", "oak:sda", "S9", "loop0", "elm:loop0"]
    assert not_measured([*measured, *others], items) == others


def test_a_list_that_comes_by_a_pipe_is_read_and_has_to_be_named_again(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    try:
        os.write(writing, b"S1\nfir:loop0\n")
        os.close(writing)
        path = Path(f"/dev/fd/{reading}")
        assert load_erase_list(path, ["fir"]).lines == ("S1", "fir:loop0")
        assert name_to_type_again(path) == Path("FILE")
    finally:
        os.close(reading)
    assert name_to_type_again(tmp_path / "a") == tmp_path / "a"
    typed = ["--erase-list", "/dev/fd/63", "--erase-list=/proc/self/fd/11", "--size=4KiB", "oak:loop5"]
    assert [*map(word_to_type_again, typed)] == [
        "--erase-list",
        "FILE",
        "--erase-list=FILE",
        "--size=4KiB",
        "oak:loop5",
    ]
    assert name_to_type_again(None) is None


@pytest.mark.provokes("F902")
def test_no_more_is_read_from_a_pipe_than_a_list_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivelab.fleet.erase_list.FILE_BYTES_MAX", 1024)
    reading, writing = os.pipe()
    try:
        # nobody ends it, and still it is refused
        os.write(writing, b"S1\n" * 1000)
        with pytest.raises(DrivelabError, match="more than 1 KiB came by a pipe") as caught:
            load_erase_list(Path(f"/dev/fd/{reading}"), ["fir"])
        assert caught.value.code == "F902"
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.provokes("F902")
def test_a_pipe_that_has_a_name_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(DrivelabError, match="it is a pipe, and no regular file") as caught:
        load_erase_list(tmp_path / "fifo", ["fir"])
    assert caught.value.code == "F902"
