"""How the zones of a drive are used that takes writes only at write pointers."""

from __future__ import annotations

from drivelab.model.frozen import FrozenModel
from drivelab.model.told import WHERE, key


class ZonedDrive(FrozenModel):
    """What is asked of zones: writes go to write pointers, reads to what was written, and full zones are reset.

    Notes
    -----
    The rules are those of fio's ``zonemode=zbd``. A target that has no zones is divided into zones of
    ``zone_size_bytes``, whose write pointers only drivelab knows.
    """

    # fmt: off
    is_used: bool = key(
        False, "whether I/O keeps to the zones of a zoned drive: writes go to write pointers, reads to what was "
        "written, and full zones are reset before they are written again", WHERE,
        "Keep to the zones of a zoned drive: write at write pointers, reset full zones.", flag="zoned_drive")
    zone_size_bytes: int = key(
        0, "size of the zones that a target without zones is divided into; 0: those that the drive has", WHERE,
        "Zones of a target that has none; of a zoned drive they must be its own.", flag="zone_size", takes="a number",
        written="0", unit="size", ge=0, lt=2**63)
    zone_capacity_bytes: int = key(
        0, "bytes of each of these zones that can be written; 0: all", takes="a number", written="0", unit="size", ge=0,
        lt=2**63)
    max_open_zones: int = key(
        0, "zones that are written at the same time; 0: as many as the drive can", WHERE,
        "Zones written at the same time; 0 is as many as the drive can.", ge=0, le=4096)
    job_max_open_zones: int = key(0, "zones that each job writes at the same time; 0: as many as all", ge=0, le=4096)
    ignores_drive_limit: bool = key(False, "whether the drive's own limit of open zones is left out of account")
    reads_beyond_write_pointer: bool = key(False, "whether reads also go where nothing was written")
    reset_threshold: float = key(
        0.0, "share of the range that holds data before zones are reset that are not full", ge=0, le=1)
    reset_frequency: float = key(
        0.0, "share of the writes before which a zone is reset that is not full; 0: none", ge=0, le=1)
    # fmt: on
