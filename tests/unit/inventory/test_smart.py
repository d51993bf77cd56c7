"""What drives say of their health is read right, units are never guessed, and no answer raises."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivelab.inventory import smart
from drivelab.inventory.smart_gathered import leading_number, whole_number
from drivelab.inventory.tools import ToolOutput
from drivelab.model.drive import BlockUse, DiscardFacts, DriveFacts, DriveIdentity, WriteCacheFacts
from drivelab.model.smart import EVERYTHING, SmartFacts

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "inventory"
RECORDINGS = sorted(path.name for path in GOLDEN.glob("smart_*.json"))
GIB, TB = 2**30, 10**12


def drive(transport: str = "sata", virtual: str = "", path: str = "/dev/sda") -> DriveFacts:
    return DriveFacts(
        name="sda",
        path=path,
        vendor=None,
        model="Disk",
        firmware=None,
        serials=("S1",),
        wwn=None,
        size_bytes=2**30,
        is_rotational=False,
        transport=transport,
        virtual=virtual,
        link=None,
        logical_block_size_bytes=512,
        physical_block_size_bytes=4096,
        optimal_io_size_bytes=0,
        write_cache=WriteCacheFacts(True, "hdparm", "write back", False),
        scheduler="none",
        queue_requests=64,
        discard=DiscardFacts(4096, 2**30),
        is_read_only=False,
        is_removable=False,
        use=BlockUse("sda", "/dev/sda", "disk", 2**30, contents=""),
        identity=DriveIdentity("sda", "8:0", 2**30, ("S1",), None, 1),
    )


def recorded(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((GOLDEN / name).read_text())
    return document


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Callable[..., SmartFacts]:
    """Reads a drive whose tools answer from a dict of command to answer; a str stands for a complaint."""

    def read(answers: dict[str, Any], transport: str = "sata") -> SmartFacts:
        def answer(command: Sequence[str], node: Path, *, timeout_s: float) -> ToolOutput:
            words = [word for word in command if not word.startswith(("-", "/"))]
            told = answers.get(" ".join(words), f"{words[0]} is not installed")
            return ToolOutput("", told) if isinstance(told, str) else ToolOutput(json.dumps(told))

        monkeypatch.setattr(smart, "ask_drive", answer)
        return smart.read_smart(drive(transport))

    return read


def test_an_nvme_drive_tells_everything_it_can(ask: Callable[..., SmartFacts]) -> None:
    facts = ask(recorded("smart_nvme.json"), "nvme")
    assert (facts.protocol, facts.health_passed, facts.critical_warning) == ("nvme", True, 0)
    assert facts.temperature_celsius == 38
    assert (facts.temperature_warning_celsius, facts.temperature_critical_celsius) == (70, 85)
    assert (facts.power_on_hours, facts.power_cycles, facts.unsafe_shutdowns) == (9123, 87, 14)
    assert (facts.percentage_used, facts.available_spare_percent) == (12, 98)
    assert (facts.media_errors, facts.error_log_entries) == (0, 5)
    assert (facts.throttle_count, facts.throttled_s) == (0, 0)
    # NVMe base specification: a data unit is 1000 times 512 bytes
    assert (facts.host_bytes_written, facts.resolution_bytes["host_bytes_written"]) == (140625000 * 512000, 512000)
    assert facts.host_bytes_read == 98765432 * 512000
    assert (facts.media_bytes_written, facts.sources["media_bytes_written"][:3]) == (151_200_000_000_000, "OCP")
    assert (facts.endurance_bytes, facts.endurance_source) == (600 * TB, "endurance group log")
    assert facts.endurance_low_bytes is None
    assert facts.attributes["thm_temp1_trans_count"] == 0
    assert facts.attributes["host_writes"] == 2_500_000_000
    assert facts.unknown["crc_errors"] == "NVMe drives do not count them"


def test_without_an_ocp_log_flash_writes_come_from_the_endurance_group(ask: Callable[..., SmartFacts]) -> None:
    facts = ask({**recorded("smart_nvme.json"), "nvme ocp smart-add-log": "nvme: refused"}, "nvme")
    assert facts.media_bytes_written == 151_200 * 10**9
    assert facts.resolution_bytes["media_bytes_written"] == 10**9
    assert facts.error_log_entries_when_done == 5
    assert (facts.endurance_bytes, facts.endurance_source) == (600 * TB, "endurance group log")


def test_a_group_without_an_estimate_leaves_the_endurance_to_the_wear(ask: Callable[..., SmartFacts]) -> None:
    answers = recorded("smart_nvme.json")
    answers["nvme endurance-log"]["endurance_estimate"] = "0"
    facts = ask(answers, "nvme")
    assert (facts.endurance_bytes, facts.endurance_source) == (600 * TB, "derived")
    answers["nvme endurance-log"] = "nvme: refused"
    answers["nvme smart-log"]["percent_used"] = answers["smartctl"]["nvme_smart_health_information_log"][
        "percentage_used"
    ] = 255
    facts = ask(answers, "nvme")
    assert "refused" in facts.unknown["endurance_bytes"]
    assert "end of its scale" in facts.unknown["endurance_bytes"]


def test_without_nvme_cli_endurance_is_derived_and_the_rest_says_why(ask: Callable[..., SmartFacts]) -> None:
    facts = ask({"smartctl": recorded("smart_nvme.json")["smartctl"]}, "nvme")
    # 12 % of the life for 72 TB: between 13 % and 11 %
    assert (facts.endurance_bytes, facts.endurance_source) == (600 * TB, "derived")
    assert facts.endurance_low_bytes == round(72 * TB * 100 / 13)
    assert facts.endurance_high_bytes == round(72 * TB * 100 / 11)
    assert facts.why_unknown("throttle_count") == "nvme is not installed"
    assert facts.why_unknown("media_bytes_written") == "nvme is not installed"


def test_without_smartctl_nvme_cli_tells_nearly_the_same(ask: Callable[..., SmartFacts]) -> None:
    both, alone = recorded("smart_nvme.json"), {**recorded("smart_nvme.json")}
    del alone["smartctl"]
    one, other = ask(both, "nvme"), ask(alone, "nvme")
    differing = {one.name for one in fields(SmartFacts)} - {"attributes"}
    assert {name: getattr(one, name) for name in differing} == {name: getattr(other, name) for name in differing}
    assert other.attributes["data_units_written"] == 140625000


def test_an_nvme_drive_of_a_virtual_machine_tells_what_it_lacks(ask: Callable[..., SmartFacts]) -> None:
    facts = ask(recorded("smart_qemu_nvme.json"), "nvme")
    assert facts.host_bytes_written == 0
    assert facts.temperature_celsius == 50
    assert "no endurance group log; it cannot be derived yet: 0 % of it is used" in facts.unknown["endurance_bytes"]
    assert "the drive gave no OCP log" in facts.unknown["media_bytes_written"]


def test_device_statistics_come_before_attributes(ask: Callable[..., SmartFacts]) -> None:
    facts = ask(recorded("smart_sata_statistics.json"))
    assert facts.host_bytes_written == 64812345678 * 512
    assert "Logical Sectors Written" in facts.sources["host_bytes_written"]
    assert facts.attributes["Total_LBAs_Written"] == 64800000000
    assert (facts.media_errors, facts.attributes["Uncorrectable_Error_Cnt"]) == (1, 0)
    assert (facts.percentage_used, facts.crc_errors) == (19, 7)
    assert (facts.temperature_celsius, facts.temperature_warning_celsius) == (36, 70)
    assert facts.over_warning_temperature_min == 5
    # no device statistic tells these
    assert (facts.reallocated_sectors, facts.unsafe_shutdowns) == (2, 14)
    assert facts.endurance_source == "derived"
    assert facts.why_unknown("critical_warning") == "only NVMe drives have one"


def test_a_statistic_that_is_not_valid_is_not_read(ask: Callable[..., SmartFacts]) -> None:
    document = recorded("smart_sata_statistics.json")
    for page in document["smartctl"]["ata_device_statistics"]["pages"]:
        for row in page["table"]:
            row["flags"]["valid"] = False
    facts = ask(document)
    assert facts.host_bytes_written == 64800000000 * 512
    assert facts.sources["host_bytes_written"] == "attribute 241 Total_LBAs_Written"


def test_attributes_are_read_in_the_unit_of_their_name(ask: Callable[..., SmartFacts]) -> None:
    facts = ask(recorded("smart_sata_attributes.json"))
    assert facts.host_bytes_written == 2145767 * 32 * 2**20
    assert facts.host_bytes_read == 1507328 * 32 * 2**20
    assert facts.media_bytes_written == 4505600 * 32 * 2**20
    assert set(facts.resolution_bytes.values()) == {32 * 2**20}
    assert (facts.percentage_used, facts.available_spare_percent) == (12, 100)
    assert (facts.crc_errors, facts.pending_sectors, facts.unsafe_shutdowns) == (3, 0, 14)
    # two attributes of one name are both kept
    assert facts.attributes["Host_Writes_32MiB"] == facts.attributes["Host_Writes_32MiB_241"]
    assert facts.temperature_warning_celsius == 70


def attribute(number: int, name: str, raw: str, value: int = 100) -> dict[str, Any]:
    return {"id": number, "name": name, "value": value, "raw": {"value": 0, "string": raw}}


def ata(*rows: dict[str, Any], **changes: Any) -> dict[str, Any]:
    document = {"device": {"protocol": "ATA"}, "in_smartctl_database": True, "logical_block_size": 512}
    return {"smartctl": {**document, "ata_smart_attributes": {"table": list(rows)}, **changes}}


def test_a_drive_that_smartctl_does_not_know_has_no_units(ask: Callable[..., SmartFacts]) -> None:
    rows = attribute(241, "Total_LBAs_Written", "5000"), attribute(177, "Wear_Leveling_Count", "3", 90)
    facts = ask(ata(*rows, in_smartctl_database=False))
    assert (facts.host_bytes_written, facts.percentage_used) == (None, None)
    assert "database does not have this drive" in facts.unknown["host_bytes_written"]
    assert facts.attributes["Total_LBAs_Written"] == 5000
    known = ask(ata(*rows))
    assert (known.host_bytes_written, known.percentage_used) == (5000 * 512, 10)


def test_a_count_of_a_drive_that_smartctl_does_not_know_is_marked(ask: Callable[..., SmartFacts]) -> None:
    facts = ask(recorded("smart_qemu_sata.json"))
    assert facts.reallocated_sectors == 0
    assert "usual meaning" in facts.sources["reallocated_sectors"]
    assert facts.host_bytes_written is None


@pytest.mark.parametrize(
    "row",
    [
        attribute(241, "Total_Writes_GB", "77"),  # GB or GiB
        attribute(251, "NAND_Writes", "77"),
        attribute(233, "Total_LBAs_Written", "77"),  # of Dell's Intel drives, where 241 is another count
        attribute(241, "Host_Writes_GiB", "0x000000004d"),
        attribute(241, "Total_LBAs_Written_Low", "77"),
    ],
    ids=lambda row: f"{row['id']} {row['name']}",
)
def test_a_unit_is_never_guessed(row: dict[str, Any], ask: Callable[..., SmartFacts]) -> None:
    facts = ask(ata(row))
    assert (facts.host_bytes_written, facts.media_bytes_written) == (None, None)


def test_sectors_of_a_drive_with_large_ones_are_not_guessed(ask: Callable[..., SmartFacts]) -> None:
    assert ask(ata(attribute(241, "Total_LBAs_Written", "77"), logical_block_size=4096)).host_bytes_written is None


def test_life_left_that_two_values_disagree_about_is_unknown(ask: Callable[..., SmartFacts]) -> None:
    agreed = ask(ata(attribute(231, "SSD_Life_Left", "98", 98)))
    assert (agreed.percentage_used, agreed.sources["percentage_used"][:13]) == (2, "attribute 231")
    disputed = ask(ata(attribute(231, "SSD_Life_Left", "74", 100)))
    assert disputed.percentage_used is None
    assert "100 normalised and 74 raw" in disputed.unknown["percentage_used"]
    assert ask(ata(attribute(202, "Percent_Lifetime_Remain", "1", 99))).percentage_used == 1
    assert ask(ata(attribute(202, "Percent_Lifetime_Remain", "7", 99))).percentage_used is None


def test_a_sas_drive_tells_in_log_pages(ask: Callable[..., SmartFacts]) -> None:
    facts = ask(recorded("smart_sas.json"), "sas")
    assert (facts.temperature_celsius, facts.temperature_warning_celsius) == (41, 70)
    assert (facts.percentage_used, facts.reallocated_sectors, facts.media_errors) == (9, 5, 1)
    # smartctl prints 72123.457, that is 10^9 bytes with three decimals
    assert (facts.host_bytes_written, facts.resolution_bytes["host_bytes_written"]) == (72_123_457_000_000, 10**6)
    assert facts.host_bytes_read == 150 * TB
    assert facts.attributes["read_total_errors_corrected"] == 12
    assert facts.power_cycles is None


def test_a_scsi_counter_of_0_bytes_is_no_counter(ask: Callable[..., SmartFacts]) -> None:
    document = recorded("smart_sas.json")
    document["smartctl"]["scsi_error_counter_log"]["write"]["gigabytes_processed"] = "0.000"
    facts = ask(document, "sas")
    assert facts.host_bytes_written is None
    assert "does not count them" in facts.unknown["host_bytes_written"]


def test_a_drive_that_sleeps_is_left_alone(ask: Callable[..., SmartFacts]) -> None:
    facts = ask(recorded("smart_sata_asleep.json"))
    assert (facts.is_known, facts.unknown) == (False, {EVERYTHING: "the drive sleeps, and was not woken"})


def test_a_drive_without_smart_says_so(ask: Callable[..., SmartFacts]) -> None:
    facts = ask(recorded("smart_qemu_scsi.json"), "scsi")
    assert facts.unknown == {EVERYTHING: "the drive tells nothing of its health"}
    refused = ask({"smartctl": json.loads((GOLDEN / "smartctl_usb_refused.json").read_text())}, "usb")
    assert "Unknown USB bridge" in refused.unknown[EVERYTHING]


def test_every_missing_fact_has_a_reason(ask: Callable[..., SmartFacts]) -> None:
    for name in RECORDINGS:
        facts = ask(recorded(name), "nvme" if "nvme" in name else "sata")
        for one in fields(SmartFacts):
            if getattr(facts, one.name) in (None, ""):
                assert facts.why_unknown(one.name), (name, one.name)
            else:
                assert not facts.why_unknown(one.name)


@pytest.mark.parametrize("transport", ["virtio", "loop", "zram", "unknown", "mmc"])
def test_drives_that_have_no_smart_are_not_asked(transport: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(smart, "ask_drive")
    facts = smart.read_smart(drive(transport))
    assert not facts.is_known
    assert facts.unknown[EVERYTHING].endswith("tells nothing of its health")
    assert facts.drive == "sda"


def test_a_tool_that_is_missing_or_slow_is_the_reason(ask: Callable[..., SmartFacts]) -> None:
    assert ask({}).unknown == {EVERYTHING: "smartctl is not installed"}
    assert ask({}, "nvme").unknown == {EVERYTHING: "smartctl is not installed; nvme is not installed"}
    assert ask({"smartctl": "needs root", "nvme smart-log": "needs root"}, "nvme").unknown == {EVERYTHING: "needs root"}
    slow = ask({"smartctl": "smartctl did not answer within 20 s"})
    assert slow.unknown == {EVERYTHING: "smartctl did not answer within 20 s"}


def test_several_drives_are_told_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smart, "read_smart", lambda one: SmartFacts(drive=one.path))
    asked = [drive(path=f"/dev/sd{letter}") for letter in "cab"]
    assert [facts.drive for facts in smart.read_all_smart(asked)] == ["/dev/sdc", "/dev/sda", "/dev/sdb"]


@pytest.mark.parametrize("name", RECORDINGS)
def test_facts_survive_being_stored(name: str, ask: Callable[..., SmartFacts]) -> None:
    facts = ask(recorded(name), "nvme" if "nvme" in name else "sata")
    stored = json.loads(json.dumps(facts.to_json()))
    assert SmartFacts.from_json(stored) == facts
    assert SmartFacts.from_json({**stored, "from_a_later_version": 1}) == facts


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def places(document: object, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every place within a document."""
    found = [at] if at else []
    if isinstance(document, dict):
        found += [place for name, value in document.items() for place in places(value, (*at, name))]
    elif isinstance(document, list):
        found += [place for number, value in enumerate(document) for place in places(value, (*at, number))]
    return found


@given(st.data())
def test_odd_answers_never_raise(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(RECORDINGS))
    answers = recorded(name)
    *above, last = data.draw(st.sampled_from(places(answers)))
    target: Any = answers
    for step in above:
        target = target[step]
    target[last] = data.draw(VALUES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(smart, "ask_drive", lambda command, node, *, timeout_s: told(answers, command))
        facts = smart.read_smart(drive("nvme" if "nvme" in name else "sata"))
    json.dumps(facts.to_json())


def told(answers: dict[str, Any], command: Sequence[str]) -> ToolOutput:
    words = [word for word in command if not word.startswith(("-", "/"))]
    return ToolOutput(json.dumps(answers.get(" ".join(words))))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (12, 12),
        ("12", 12),
        ("1,234", 1234),
        (12.0, 12),
        ({"hi": 1, "lo": 2}, (1 << 64) + 2),
        ({"hi": "x", "lo": 2}, None),
        (12.5, None),
        (float("inf"), None),
        (True, None),
        (None, None),
        ("0x10", None),
        ("²", None),
        ([12], None),
    ],
)
def test_numbers_as_tools_write_them(value: object, expected: int | None) -> None:
    assert whole_number(value) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("31 (Min/Max 22/40)", 31), ("12 (0 3)", 12), ("7", 7), ("0x001f", None), ("12/34", None), ("9h+2m", None)],
)
def test_raw_values_as_smartctl_shows_them(text: str, expected: int | None) -> None:
    assert leading_number(text) == expected
