"""What a journal may ask for: places that drivelab itself writes, and values that fit there.

A journal is a file; it may be of another version, damaged, or made by somebody
who means harm. So what it lists is held against this list before any of it is
obeyed, and whatever is not on it is not done.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from drivelab.model.setting import KERNEL_WRITE_CACHE_LEVELS, LINK_POWER_LEVELS

Check = Callable[[Any], bool]

_NUMBER = re.compile(r"\d{1,12}")
_LATENCY = re.compile(r"\d{1,12}|any|auto")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
# "cciss!c0d0": the kernel's way to write a slash
_KERNEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_!.:-]*")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MOUNT_POINT = re.compile(r"/run/drivelab/[^/\s]+-[0-9a-f]{8}")
_SCRATCH_FILE = re.compile(r"drivelab-scratch-[0-9a-f]{12}\.img")
_DATA_DIRECTORY = re.compile(r"drivelab-data-[0-9a-f]{12}")
_WORKING_FILES = re.compile(r"\.drivelab-check-[A-Za-z0-9-]+-")
_FOLLOWED = re.compile(r"\d{8}T\d{6}Z-followed-[a-z0-9.-]+")
_LOOP = re.compile(r"loop\d{1,6}")
# inode and birth; empty where they are not known
_FILE_IDENTITY = re.compile(r"(\d{1,20}:\d{1,20})?")
_RAID_NAME = re.compile(r"drivelab-[0-9a-f]{8}")
_GROUP_OF_PROCESSORS = re.compile(r"policy\d+")


def _text(value: Any) -> bool:
    # names may hold anything but this; whatever prints them makes them printable
    return isinstance(value, str) and "\0" not in value


def _matches(pattern: re.Pattern[str]) -> Check:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _one_of(*values: Any) -> Check:
    return lambda value: isinstance(value, (str, bool)) and value in values


def _or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _plain_path(value: Any) -> bool:
    return _text(value) and value.startswith("/") and os.path.normpath(value) == value and not value.startswith("//")


def _path_named(pattern: re.Pattern[str]) -> Check:
    return lambda value: _plain_path(value) and pattern.fullmatch(os.path.basename(value)) is not None


def _device(value: Any) -> bool:
    return _plain_path(value) and value.startswith("/dev/")


def _devices(value: Any) -> bool:
    return isinstance(value, list) and all(map(_device, value))


# every attribute that a setting writes, and what the kernel has there
ATTRIBUTES: dict[str, Check] = {
    "queue/scheduler": _matches(_NAME),
    "queue/nr_requests": _matches(_NUMBER),
    "queue/max_sectors_kb": _matches(_NUMBER),
    "queue/read_ahead_kb": _matches(_NUMBER),
    "queue/wbt_lat_usec": _matches(_NUMBER),
    "queue/write_cache": _one_of(*KERNEL_WRITE_CACHE_LEVELS),
    "device/queue_depth": _matches(_NUMBER),
    "scsi_host/link_power_management_policy": _one_of(*LINK_POWER_LEVELS),
    "nvme/power/pm_qos_latency_tolerance_us": _matches(_LATENCY),
}
TRACE_FILES: dict[str, Check] = {
    "trace_clock": _matches(_NAME),
    "buffer_size_kb": _matches(_NUMBER),
    "options/overwrite": _one_of("0", "1"),
    "tracing_on": _one_of("0", "1"),
    "current_tracer": _matches(_NAME),
}


def _queue(value: Any) -> bool:
    return isinstance(value, dict) and all(one in ATTRIBUTES and ATTRIBUTES[one](text) for one, text in value.items())


def _reference(value: Any) -> bool:
    checks: dict[str, Check] = {
        "name": _matches(_KERNEL_NAME),
        # compared only; a drive may call itself anything
        "serials": lambda serials: isinstance(serials, list) and all(isinstance(one, str) for one in serials),
        "wwn": _or_none(lambda wwn: isinstance(wwn, str)),
        "diskseq": _or_none(_number),
        "boot": _text,
    }
    optional: dict[str, Check] = {"queue": _or_none(_number)}
    return isinstance(value, dict) and not _misfits(value, checks | optional, optional=optional)


_ON_OR_OFF = _one_of("on", "off")
_FLAG = _one_of(True, False)
RULES: dict[str, dict[str, Check]] = {
    "scratch_file": {"path": _path_named(_SCRATCH_FILE), "identity": _matches(_FILE_IDENTITY)},
    "loop_device": {"backing_file": _path_named(_SCRATCH_FILE), "loop": _matches(_LOOP), "diskseq": _number},
    "data_directory": {"path": _path_named(_DATA_DIRECTORY), "identity": _matches(_FILE_IDENTITY)},
    "working_files": {
        "directory": _plain_path,
        "device": _number,
        "inode": _number,
        "prefix": _matches(_WORKING_FILES),
    },
    "working_tree": {"directory": _plain_path, "device": _number, "inode": _number},
    "followed_directory": {"directory": _path_named(_FOLLOWED), "device": _number, "inode": _number},
    "filesystem": {"device": _device, "filesystem": _matches(_NAME), "uuid": _matches(_UUID)},
    "mount": {"mount_point": _matches(_MOUNT_POINT), "device": _device},
    "raid_set": {"uuid": _matches(_UUID), "name": _matches(_RAID_NAME), "members": _devices, "boot": _text},
    "drive_attribute": {
        "drive": _reference,
        "attribute": _one_of(*ATTRIBUTES),
        "old": _or_none(_text),
        "new": _text,
        "others": _queue,
        "moved": _or_none(_queue),
        "is_cut_off": _FLAG,
    },
    "drive_write_cache": {
        "drive": _reference,
        "old": _or_none(_ON_OR_OFF),
        "new": _ON_OR_OFF,
        "kernel": _or_none(_one_of(*KERNEL_WRITE_CACHE_LEVELS)),
        "others": _queue,
        "is_settled": _FLAG,
    },
    "apm": {"drive": _reference, "old": _matches(re.compile(r"\d{1,3}|off")), "new": _text},
    "governor": {
        "group": _matches(_GROUP_OF_PROCESSORS),
        "old": _matches(_NAME),
        "new": _matches(_NAME),
        "boot": _text,
    },
    "cpu_dma_latency": {"number": _number, "process": _number, "level": _text},
    "ata_password": {"drive": _reference},
    "trace_file": {"name": _one_of(*TRACE_FILES), "old": _text, "new": _text, "boot": _text},
    "block_trace": {"device": _matches(_KERNEL_NAME), "interface": _one_of("switch", "relay"), "boot": _text},
}
# facts whose rule depends on another fact: which, and the rules by its value
_BY_PLACE = {"drive_attribute": ("attribute", ATTRIBUTES), "trace_file": ("name", TRACE_FILES)}


def why_not_obeyed(kind: str, facts: Mapping[str, Any], undo: Callable[..., str]) -> str:
    """Why a change is not undone as its journal says; empty when it is.

    Parameters
    ----------
    kind, facts
        As the journal has them.
    undo : callable
        What undoes this kind; its parameters are the facts, those with a default need not be there.
    """
    parameters = inspect.signature(undo).parameters
    optional = [name for name, parameter in parameters.items() if parameter.default is not inspect.Parameter.empty]
    rules = RULES.get(kind, {name: lambda _value: True for name in parameters})
    misfits = _misfits(facts, rules, optional=optional)
    if misfits or kind not in _BY_PLACE:
        return misfits
    place, checks = _BY_PLACE[kind]
    fits = checks[facts[place]]
    wrong = [name for name in ("old", "new") if facts[name] is not None and not fits(facts[name])]
    return f"{wrong[0]} is no value of {facts[place]}" if wrong else ""


def _misfits(facts: Mapping[str, Any], rules: Mapping[str, Check], *, optional: Any) -> str:
    """What is missing, too much or wrong, in words."""
    for name in facts:
        if name not in rules:
            return f"it has a fact of another version, {name}"
    for name, fits in rules.items():
        if name not in facts:
            if name not in optional:
                return f"it lacks the fact {name}"
        elif not fits(facts[name]):
            return f"{name} is nothing that drivelab has written"
    return ""
