"""The list of settings, by their names, and what puts each of their changes back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from drivelab.inventory.block_devices import backing_file_of
from drivelab.inventory.drives import drive_names, read_drives
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.model.drive import DriveFacts
from drivelab.model.setting import SettingFacts
from drivelab.state.settings.apm import Apm
from drivelab.state.settings.apst import Apst
from drivelab.state.settings.cpu_dma_latency import CpuDmaLatency
from drivelab.state.settings.device_queue_depth import DeviceQueueDepth
from drivelab.state.settings.governor import Governor
from drivelab.state.settings.kernel_write_cache import KernelWriteCache
from drivelab.state.settings.link_power import LinkPower
from drivelab.state.settings.max_sectors import MaxSectors
from drivelab.state.settings.nr_requests import NrRequests
from drivelab.state.settings.read_ahead import ReadAhead
from drivelab.state.settings.scheduler import Scheduler
from drivelab.state.settings.setting import Setting, Undo
from drivelab.state.settings.write_back_throttling import WriteBackThrottling
from drivelab.state.settings.write_cache import WriteCache


def make_settings(paths: SystemPaths = SYSTEM) -> dict[str, Setting]:
    """Every setting by its name, in the order in which they have to be set.

    A setting comes after those that change it as a side effect: a scheduler brings
    its own number of requests.
    """
    made: tuple[Setting, ...] = (
        WriteCache(paths),
        KernelWriteCache(paths),
        Scheduler(paths),
        NrRequests(paths),
        DeviceQueueDepth(paths),
        ReadAhead(paths),
        MaxSectors(paths),
        WriteBackThrottling(paths),
        Apm(paths),
        LinkPower(paths),
        Apst(paths),
        Governor(paths),
        CpuDmaLatency(paths),
    )
    return {setting.name: setting for setting in made}


SETTINGS = make_settings()
UNDO: dict[str, Undo] = {kind: undo for setting in SETTINGS.values() for kind, undo in setting.undo.items()}


def read_settings(
    drive: DriveFacts | None, names: Iterable[str], paths: SystemPaths = SYSTEM
) -> dict[str, SettingFacts]:
    """Settings of a drive and of the computer as they are now, by their names.

    Parameters
    ----------
    drive : DriveFacts or None
        None for a scratch drive that is not made yet: it will be a loop device
        like those that are there.
    names : iterable of str
        Names of `drivelab.model.setting.SETTING_NAMES`.
    """
    settings = SETTINGS if paths == SYSTEM else make_settings(paths)
    names = list(names)
    of_drive = [name for name in names if not settings[name].is_of_host]
    asked = drive if drive is not None or not of_drive else _loop_device(paths)
    found = {}
    for name in names:
        if settings[name].is_of_host or asked is not None:
            found[name] = settings[name].read(asked)
        else:
            found[name] = SettingFacts(name, reason="there is no loop device yet that could be looked at")
    if drive is None and asked is not None and "kernel-write-cache" in found:
        # of those that nobody uses the kernel says what it likes; a scratch drive always begins like this
        found["kernel-write-cache"] = replace(found["kernel-write-cache"], value="write back", views={})
    return found


def _loop_device(paths: SystemPaths) -> DriveFacts | None:
    """A loop device of this computer, one that is in use if there is any."""
    names = [name for name in drive_names(paths) if name.startswith("loop")]
    names.sort(key=lambda name: backing_file_of(name, paths) is None)
    return read_drives(names[:1], paths, ask_tools=False)[0] if names else None
