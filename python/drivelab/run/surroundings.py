"""What goes on around a trial: pressure on processors, memory and I/O, stolen time, temperature.

Read before and after, it tells whether the numbers between are the drive's or
those of a busy computer.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drivelab.run.other_programs import ProgramsReading, programs_between, read_programs
from drivelab.run.processor_time import ProcessorReading, processors_between, read_processors

SYSFS_BLOCK = Path("/sys/class/block")
_PRESSURES = (("cpu", "some"), ("io", "some"), ("io", "full"), ("memory", "some"))
# fields of the cpu line of /proc/stat, from 0
_IDLE, _IOWAIT, _STEAL = 3, 4, 7
_COUNTED_FIELDS = 8


@dataclass(frozen=True, slots=True)
class SurroundingsReading:
    """Running totals at one moment.

    Attributes
    ----------
    pressure_us : dict of str to int
        Time that tasks were held up, by ``cpu_some`` and the like.
    processor_ticks : tuple of int
        The cpu line of /proc/stat.
    processors : ProcessorReading or None
        Whose time the processors spent.
    """

    read_at_ns: int
    pressure_us: dict[str, int]
    processor_ticks: tuple[int, ...]
    temperature_celsius: float | None
    processors: ProcessorReading | None = None
    programs: ProgramsReading | None = None


def read_surroundings(drives: Sequence[str] = ()) -> SurroundingsReading:
    """The totals now, with the temperature of the hottest of the drives that a trial uses."""
    temperatures = [value for name in drives if (value := temperature_celsius(name)) is not None]
    return SurroundingsReading(
        read_at_ns=time.monotonic_ns(),
        pressure_us=_pressure_us(),
        processor_ticks=_processor_ticks(),
        temperature_celsius=max(temperatures, default=None),
        processors=read_processors(),
        programs=read_programs(drives),
    )


def surroundings_between(before: SurroundingsReading, after: SurroundingsReading) -> dict[str, Any]:
    """What went on between two readings, as shares of the time; None where the kernel does not say.

    Returns
    -------
    dict
        ``processors`` (see `processors_between`), ``other_programs`` (see `programs_between`), ``pressure``
        (cpu_some_share, io_some_share, io_full_share, memory_some_share), ``cpu_steal_share``, ``cpu_busy_share``,
        ``temperature_celsius_before``, ``temperature_celsius_after``.
    """
    elapsed_us = max(1, (after.read_at_ns - before.read_at_ns) // 1000)
    pressure: dict[str, float | None] = {}
    for resource, kind in _PRESSURES:
        key = f"{resource}_{kind}"
        known = key in before.pressure_us and key in after.pressure_us
        held_up = after.pressure_us[key] - before.pressure_us[key] if known else None
        pressure[f"{key}_share"] = None if held_up is None else min(1.0, held_up / elapsed_us)
    ticks = [late - early for early, late in zip(before.processor_ticks, after.processor_ticks, strict=True)]
    total = sum(ticks)
    return {
        "pressure": pressure,
        "processors": processors_between(before.processors, after.processors),
        "other_programs": programs_between(before.programs, after.programs),
        "cpu_steal_share": ticks[_STEAL] / total if total else None,
        "cpu_busy_share": 1 - (ticks[_IDLE] + ticks[_IOWAIT]) / total if total else None,
        "temperature_celsius_before": before.temperature_celsius,
        "temperature_celsius_after": after.temperature_celsius,
    }


def _pressure_us() -> dict[str, int]:
    found: dict[str, int] = {}
    for resource in ("cpu", "io", "memory"):
        try:
            lines = Path(f"/proc/pressure/{resource}").read_text().splitlines()
        except OSError:
            # the kernel was built or started without pressure accounting
            continue
        for line in lines:
            kind, *fields = line.split()
            totals = [field for field in fields if field.startswith("total=")]
            found[f"{resource}_{kind}"] = int(totals[0].removeprefix("total="))
    return found


def _processor_ticks() -> tuple[int, ...]:
    words = Path("/proc/stat").read_text().splitlines()[0].split()[1 : 1 + _COUNTED_FIELDS]
    ticks = [int(word) for word in words]
    return tuple(ticks + [0] * (_COUNTED_FIELDS - len(ticks)))


def temperature_celsius(drive: str) -> float | None:
    """Temperature of a drive from its hwmon entry (NVMe, or SATA with the drivetemp module); None without one."""
    device = SYSFS_BLOCK / drive / "device"
    inputs = [*device.glob("hwmon*/temp1_input"), *device.glob("hwmon/hwmon*/temp1_input")]
    inputs += device.glob("device/hwmon/hwmon*/temp1_input")
    for path in inputs:
        try:
            return int(path.read_text()) / 1000
        except (OSError, ValueError):
            continue
    return None
