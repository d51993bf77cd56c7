"""Which share of a drive's endurance a plan uses up."""

from __future__ import annotations

from dataclasses import dataclass

from drivelab.model.plain import Plain
from drivelab.model.smart import SmartFacts
from drivelab.model.units import format_decimal_bytes, format_percent


@dataclass(frozen=True, slots=True)
class EnduranceShare(Plain):
    """What writing so much means for the life of a drive.

    Attributes
    ----------
    share, share_low, share_high : float or None
        Over the endurance, 1 for all of it, with the bounds that a derived
        endurance leaves; None when the endurance is not known.
    source : str
        Who states the endurance, or ``derived``; empty when it is not known.
    write_amplification_so_far : float or None
        Bytes written to the flash over bytes written by hosts, in the drive's
        whole life; None when the drive does not count both.
    """

    bytes_written: int
    share: float | None
    share_low: float | None
    share_high: float | None
    source: str
    write_amplification_so_far: float | None
    text: str


def endurance_share(bytes_written: int, smart: SmartFacts | None) -> EnduranceShare:
    """Which share of a drive's endurance some writes use up.

    Parameters
    ----------
    bytes_written : int
        What is to be written.
    smart : SmartFacts or None
        What the drive says of itself; None when it was not asked.

    Notes
    -----
    The endurance of the NVMe endurance group log holds for a write amplification
    of 1; a drive that writes more to its flash than it is sent is used up faster.
    A derived endurance already has the drive's write amplification so far in it.
    """
    written = format_decimal_bytes(bytes_written)
    rated = smart.endurance_bytes if smart is not None else None
    if smart is None or not rated:
        reason = "the drive was not asked" if smart is None else smart.why_unknown("endurance_bytes")
        text = f"{written}; share of rated endurance unknown: {reason}"
        return EnduranceShare(bytes_written, None, None, None, "", None, text)
    least, most = smart.endurance_low_bytes or rated, smart.endurance_high_bytes or rated
    share, low, high = bytes_written / rated, bytes_written / most, bytes_written / least
    amplification = _amplification_so_far(smart)
    if smart.endurance_low_bytes is None:
        text = f"{written}, {format_percent(share)} of the {format_decimal_bytes(rated)} the drive is rated for"
        text += f" ({smart.endurance_source})"
        if amplification is not None:
            text += f", {amplification:.3g} times that if writes are amplified as those so far were"
    else:
        text = (
            f"{written}, {format_percent(low)} to {format_percent(high)} of the {format_decimal_bytes(least)} to "
            f"{format_decimal_bytes(most)} that the drive's wear so far points to (derived from "
            f"{smart.percentage_used} % used; its rating is not known)"
        )
    return EnduranceShare(bytes_written, share, low, high, smart.endurance_source, amplification, text)


def _amplification_so_far(smart: SmartFacts) -> float | None:
    if not smart.media_bytes_written or not smart.host_bytes_written:
        return None
    return smart.media_bytes_written / smart.host_bytes_written
