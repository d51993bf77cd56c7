"""SMART facts of ATA drives from smartctl's JSON.

Device Statistics are defined by the ATA standard and come first. Attributes are
each maker's own: what one means, and in which unit it counts, is known only
from smartctl's database of drives, whose names carry the unit. Names without a
unit (``Total_Writes_GB`` that may be GiB, ``NAND_Writes``) are counters among
the attributes and no fact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from drivelab.inventory.smart_gathered import Gathered, leading_number, rows, section, whole_number

MIB, GIB = 2**20, 2**30
SECTOR_BYTES = 512
STATISTICS = "ATA Device Statistics"
# ATA Command Set (ACS-4), Device Statistics log: page and offset of a statistic
_STATISTICS = {
    (1, 0x08): "power_cycles",
    (1, 0x10): "power_on_hours",
    (3, 0x20): "reallocated_sectors",
    (3, 0x38): "pending_sectors",
    (4, 0x08): "media_errors",
    (5, 0x08): "temperature_celsius",
    (5, 0x50): "over_warning_temperature_min",
    (5, 0x58): "temperature_warning_celsius",
    (6, 0x18): "crc_errors",
    (7, 0x08): "percentage_used",
}
_STATISTICS_SECTORS = {(1, 0x18): "host_bytes_written", (1, 0x28): "host_bytes_read"}
_BYTE_ATTRIBUTES = {
    "host_bytes_written": {
        "Host_Writes_32MiB": 32 * MIB,
        "Host_Writes_MiB": MIB,
        "Host_Writes_GiB": GIB,
        "Lifetime_Writes_GiB": GIB,
        "Total_Writes_GiB": GIB,
    },
    "host_bytes_read": {
        "Host_Reads_32MiB": 32 * MIB,
        "Host_Reads_MiB": MIB,
        "Host_Reads_GiB": GIB,
        "Lifetime_Reads_GiB": GIB,
        "Total_Reads_GiB": GIB,
    },
    "media_bytes_written": {
        "NAND_Writes_32MiB": 32 * MIB,
        "Flash_Writes_32MiB": 32 * MIB,
        "NAND_Writes_1GiB": GIB,
        "NAND_Writes_GiB": GIB,
        "NAND_GiB_Written": GIB,
        "Flash_Writes_GiB": GIB,
        "Total_NAND_Writes_GiB": GIB,
        "Total_NAND_Prog_Ct_GiB": GIB,
        "Lifetime_NAND_Prg_GiB": GIB,
    },
}
# smartctl gives these names to drives that it does not know, too: they say nothing there
_SECTOR_ATTRIBUTES = {
    (241, "Total_LBAs_Written"): "host_bytes_written",
    (246, "Total_LBAs_Written"): "host_bytes_written",
    (242, "Total_LBAs_Read"): "host_bytes_read",
}
_COUNT_ATTRIBUTES = {
    "reallocated_sectors": (
        "Reallocated_Sector_Ct",
        "Reallocated_Block_Count",
        "Reallocate_NAND_Blk_Cnt",
        "Realloc_Flash_Blocks_Ct",
        "Retired_Block_Count",
    ),
    "pending_sectors": ("Current_Pending_Sector", "Current_Pending_ECC_Cnt", "Pending_Sector_Count"),
    "media_errors": ("Reported_Uncorrect", "Uncorrectable_Error_Cnt", "Reported_Uncorr_Errors"),
    "crc_errors": (
        "UDMA_CRC_Error_Count",
        "CRC_Error_Count",
        "SATA_CRC_Error_Count",
        "SATA_CRC_Error",
        "SATA_FIS_CRC_Errors",
        "CRC_Errors",
    ),
    "unsafe_shutdowns": (
        "Unsafe_Shutdown_Count",
        "Unexpect_Power_Loss_Ct",
        "Unexpect_Power_Loss_Cnt",
        "Unexpect_Power_Loss",
        "Unexpect_PwrLoss_Ct",
        "Unexpected_Power_Loss",
        "Unexpected_Pwr_Loss_Ct",
        "Unexpected_Pwr_Loss_Cnt",
        "POR_Recovery_Count",
    ),
}
# percent of life that is left: the normalised value of these, by their makers' data sheets (Intel, Samsung, Micron)
_LIFE_LEFT_NORMALISED = ((233, "Media_Wearout_Indicator"), (177, "Wear_Leveling_Count"))
# of others, makers put it into the normalised value, the raw value, or one of them and something else into the other
_LIFE_LEFT_BOTH = (
    "SSD_Life_Left",
    "SSD_Life_Left_Perc",
    "Percent_Life_Remaining",
    "Perc_Rated_Life_Remain",
    "PCT_Life_Remaining",
    "Lifetime_Left",
)
_LIFE_LEFT_RAW_USED = "Percent_Lifetime_Remain"
_SPARE_LEFT = "Available_Reservd_Space"
_BY_USUAL_MEANING = " (its usual meaning: smartctl's database does not have this drive)"


def gather(document: Mapping[str, Any]) -> Gathered:
    """Facts from what smartctl printed about an ATA drive."""
    found = Gathered("ata")
    passed = section(document, "smart_status").get("passed")
    found.put("health_passed", passed if isinstance(passed, bool) else None, "SMART status")
    _device_statistics(document, found)
    attributes = rows(section(document, "ata_smart_attributes"), "table")
    is_in_database = document.get("in_smartctl_database") is True
    for row in attributes:
        number = leading_number(section(row, "raw").get("string"))
        found.add_attribute(str(row.get("name")), number, str(row.get("id")))
    _counts(attributes, found, is_in_database=is_in_database)
    if is_in_database:
        _bytes(attributes, found, has_usual_sectors=document.get("logical_block_size") == SECTOR_BYTES)
        _wear(attributes, found)
    elif attributes:
        reason = "smartctl's database does not have this drive, so what its attributes mean is not known"
        for name in ("host_bytes_written", "host_bytes_read", "media_bytes_written", "percentage_used"):
            found.explain(name, reason)
    _totals(document, found)
    return found


def _device_statistics(document: Mapping[str, Any], found: Gathered) -> None:
    # Logical Sectors Written counts logical sectors, whatever their size
    sector_bytes = whole_number(document.get("logical_block_size"))
    for page in rows(section(document, "ata_device_statistics"), "pages"):
        for row in rows(page, "table"):
            value = whole_number(row.get("value"))
            if section(row, "flags").get("valid") is not True or value is None:
                continue
            place = (whole_number(page.get("number")) or 0, whole_number(row.get("offset")) or 0)
            source = f"{STATISTICS}, {row.get('name')}"
            found.add_attribute(str(row.get("name")), value, f"page_{place[0]}")
            if place in _STATISTICS:
                found.put(_STATISTICS[place], value, source)
            elif place in _STATISTICS_SECTORS and sector_bytes:
                found.put_bytes(_STATISTICS_SECTORS[place], value, sector_bytes, source)


def _counts(attributes: list[dict[str, Any]], found: Gathered, *, is_in_database: bool) -> None:
    for name, names in _COUNT_ATTRIBUTES.items():
        for row, number in _named(attributes, names):
            found.put(name, number, _source(row) + ("" if is_in_database else _BY_USUAL_MEANING))


def _bytes(attributes: list[dict[str, Any]], found: Gathered, *, has_usual_sectors: bool) -> None:
    for name, units in _BYTE_ATTRIBUTES.items():
        for row, number in _named(attributes, tuple(units)):
            found.put_bytes(name, number, units[str(row["name"])], _source(row))
    for row in attributes:
        sectors_name = _SECTOR_ATTRIBUTES.get((whole_number(row.get("id")) or 0, str(row.get("name"))))
        if sectors_name and has_usual_sectors:
            sectors = leading_number(section(row, "raw").get("string"))
            found.put_bytes(sectors_name, sectors, SECTOR_BYTES, _source(row))


def _wear(attributes: list[dict[str, Any]], found: Gathered) -> None:
    for row in attributes:
        name, normal = row.get("name"), whole_number(row.get("value"))
        raw = leading_number(section(row, "raw").get("string"))
        if normal is None or not 0 <= normal <= 100:
            continue
        is_left = (row.get("id"), name) in _LIFE_LEFT_NORMALISED
        is_left = is_left or (name in _LIFE_LEFT_BOTH and raw == normal)
        is_left = is_left or (name == _LIFE_LEFT_RAW_USED and raw == 100 - normal)
        if is_left:
            found.put("percentage_used", 100 - normal, f"{_source(row)}, 100 minus its normalised value")
        elif name in (*_LIFE_LEFT_BOTH, _LIFE_LEFT_RAW_USED):
            reason = f"attribute {name} says {normal} normalised and {raw} raw: one cannot be told from the other"
            found.explain("percentage_used", reason)
        if name == _SPARE_LEFT:
            found.put("available_spare_percent", normal, f"{_source(row)}, its normalised value")


def _totals(document: Mapping[str, Any], found: Gathered) -> None:
    """What smartctl itself has put together, and its other logs."""
    found.put("power_on_hours", whole_number(section(document, "power_on_time").get("hours")), "attribute 9")
    found.put("power_cycles", whole_number(document.get("power_cycle_count")), "attribute 12")
    found.put("temperature_celsius", whole_number(section(document, "temperature").get("current")), "SMART")
    status = section(document, "ata_sct_status", "temperature")
    limit = whole_number(status.get("op_limit_max"))
    # 0 and values that no drive stands are left by firmware that does not fill the field
    found.put("temperature_warning_celsius", limit if limit and 30 <= limit <= 125 else None, "SCT status")
    errors = section(document, "ata_smart_error_log", "summary").get("count")
    found.put("error_log_entries", whole_number(errors), "ATA error log")
    found.explain("critical_warning", "only NVMe drives have one")
    found.explain("media_bytes_written", "no attribute with a known meaning tells it")


def _named(attributes: list[dict[str, Any]], names: tuple[str, ...]) -> Iterator[tuple[dict[str, Any], int]]:
    """The attributes that have one of the names and a raw value that is a number."""
    for row in attributes:
        number = leading_number(section(row, "raw").get("string"))
        if row.get("name") in names and number is not None:
            yield row, number


def _source(row: Mapping[str, Any]) -> str:
    return f"attribute {row.get('id')} {row.get('name')}"
