"""Decodes identity pages that the kernel keeps of SCSI and ATA drives, readable without root.

sysfs cuts an ATA model to 16 and its firmware to 4 characters; the ATA
information page (VPD 0x89) holds the whole IDENTIFY DEVICE answer.
"""

from __future__ import annotations

from dataclasses import dataclass

_IDENTIFY_OFFSET = 60  # of the IDENTIFY DEVICE data in VPD page 0x89 (SAT-4, 12.4.2)
_IDENTIFY_BYTES = 512
_SATA_RATES_BITS_PER_S = ((8, 6_000_000_000), (4, 3_000_000_000), (2, 1_500_000_000))


@dataclass(frozen=True, slots=True)
class AtaIdentity:
    """What an ATA drive says about itself; empty where it says nothing."""

    serial: str
    firmware: str
    model: str
    sata_rate_bits_per_s_max: int | None


def parse_ata_page(page: bytes | None) -> AtaIdentity | None:
    """Identity from VPD page 0x89; None when the page is missing or cut short."""
    if page is None or len(page) < _IDENTIFY_OFFSET + _IDENTIFY_BYTES:
        return None
    data = page[_IDENTIFY_OFFSET:]
    # word 76: Serial ATA capabilities; 0 and 0xffff mean that it is not a SATA drive
    capabilities = int.from_bytes(data[152:154], "little")
    rates = [rate for bit, rate in _SATA_RATES_BITS_PER_S if capabilities & bit]
    return AtaIdentity(
        serial=_ata_text(data, 10, 20),
        firmware=_ata_text(data, 23, 27),
        model=_ata_text(data, 27, 47),
        sata_rate_bits_per_s_max=rates[0] if rates and capabilities != 0xFFFF else None,
    )


def parse_serial_page(page: bytes | None) -> str:
    """Serial from VPD page 0x80; empty when there is none."""
    if page is None or len(page) < 4:
        return ""
    length = int.from_bytes(page[2:4], "big")
    return _clean(page[4 : 4 + length])


def _ata_text(data: bytes, first_word: int, end_word: int) -> str:
    """Text of some words; each word holds its two characters swapped."""
    raw = data[2 * first_word : 2 * end_word]
    swapped = b"".join(raw[index + 1 : index + 2] + raw[index : index + 1] for index in range(0, len(raw), 2))
    return _clean(swapped)


def _clean(raw: bytes) -> str:
    text = raw.decode("ascii", errors="replace").replace("\0", " ")
    return "".join(character for character in text if character.isprintable()).strip()
