"""Jobs on zoned drives (``zonemode=zbd``), and sizes that are numbers of zones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from drivelab.interop.fio.file_names import names_of
from drivelab.interop.fio.job_file import Setting
from drivelab.interop.fio.job_options import JobOptions
from drivelab.interop.fio.sizes import Amount
from drivelab.interop.fio.translated import Environment

_SIZES = ("size", "io_size", "offset", "offset_increment", "zoneskip")
_OPEN_ZONES_MAX = 4096


def is_zoned(options: JobOptions) -> bool:
    """Whether a job keeps to the zones of a drive."""
    return options.choice("zonemode").word == "zbd"


def with_sizes_in_bytes(options: JobOptions, environment: Environment) -> JobOptions:
    """The same options, with numbers of zones (``4z``) in bytes.

    Raises
    ------
    DrivelabError
        U033: nobody says how large the zones are.
    """
    settings = {name: options.job.settings[name] for name in _SIZES if _is_in_zones(options, name)}
    if not settings:
        return options
    zone_bytes = options.number("zonesize") or _zone_bytes_of_targets(options, environment)
    if not zone_bytes:
        name, setting = next(iter(settings.items()))
        do = "name a zoned drive that is there with filename, or write zonesize"
        raise options.refuse(name, f"{name}={setting.text}: the size of a zone is not known", code="U033", do=do)
    changed = {name: _in_bytes(setting, zone_bytes) for name, setting in settings.items()}
    return JobOptions(replace(options.job, settings={**options.job.settings, **changed}))


def _is_in_zones(options: JobOptions, name: str) -> bool:
    amount = options.amount(name)
    return amount is not None and amount.measure == "zones"


def _in_bytes(setting: Setting, zone_bytes: int) -> Setting:
    zones = setting.value.value if isinstance(setting.value, Amount) else 0
    return replace(setting, value=Amount(zones * zone_bytes))


def _zone_bytes_of_targets(options: JobOptions, environment: Environment) -> int:
    sizes = [environment.zone_size_of(name) for name in names_of(options.text("filename")) or [options.job.section]]
    return next((size for size in sizes if size), 0)


def zoned_drive(options: JobOptions) -> dict[str, Any]:
    """The key ``zoned_drive`` of a workload pattern, for a job on zones.

    Raises
    ------
    DrivelabError
        U033: a share that is none. U035: what cannot be done on zones.
    """
    if not is_zoned(options):
        return {}
    if options.choice("rw").word.endswith("trimwrite"):
        raise options.refuse("rw", "on a zoned drive a trim resets a whole zone, and not the block that is written")
    if options.number("zoneskip"):
        raise options.refuse("zoneskip", "on a zoned drive each zone has its turn", do="leave zoneskip out")
    keys = {
        "is_used": True,
        "zone_size_bytes": options.number("zonesize"),
        "zone_capacity_bytes": options.number("zonecapacity"),
        "max_open_zones": _open_zones(options, "max_open_zones"),
        "job_max_open_zones": _open_zones(options, "job_max_open_zones"),
        "ignores_drive_limit": options.truth("ignore_zone_limits"),
        "reads_beyond_write_pointer": options.truth("read_beyond_wp"),
        "reset_threshold": _share(options, "zone_reset_threshold"),
        "reset_frequency": _share(options, "zone_reset_frequency"),
    }
    if options.number("loops") > 1:
        options.tell("loops", "approximated", "passes are counted by what is written, and not by what zones are passed")
    return {"zoned_drive": keys}


def _open_zones(options: JobOptions, name: str) -> int:
    count = options.number(name)
    if count > _OPEN_ZONES_MAX:
        raise options.refuse(name, f"{name}: at most {_OPEN_ZONES_MAX}, as in fio", code="U033")
    return count


def _share(options: JobOptions, name: str) -> float:
    value = options.value(name)
    share = value[0] if isinstance(value, tuple) and value and isinstance(value[0], float) else 0.0
    if not 0 <= share <= 1:
        raise options.refuse(name, f"{name}: a share from 0 to 1", code="U033")
    return share
