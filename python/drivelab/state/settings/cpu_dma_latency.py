"""How long the processors may take to wake up: bounds how deep they sleep while a drive works.

The bound holds as long as a file is held open, so the kernel itself lifts it
when drivelab ends, however it ends.
"""

from __future__ import annotations

import itertools
import os
import struct
from collections.abc import Callable
from pathlib import Path

from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.inventory.tools import NEEDS_ROOT
from drivelab.model.drive import DriveFacts
from drivelab.model.errors import DrivelabError
from drivelab.model.setting import SettingFacts
from drivelab.state.journal import Journal
from drivelab.state.programs import require_root

_KIND = "cpu_dma_latency"
_UNLIMITED = "unlimited"
# PM_QOS_CPU_LATENCY_DEFAULT_VALUE of the kernel: nobody asks for less
_UNLIMITED_US = 2_000_000_000
_NUMBER = struct.Struct("i")
# open files by the number that the journal has them under
_held: dict[int, int] = {}
_numbers = itertools.count(1)


class CpuDmaLatency:
    """Levels are microseconds, or ``unlimited``; undoing a change closes its file."""

    name = "cpu-dma-latency"
    is_of_host = True

    def __init__(self, paths: SystemPaths = SYSTEM) -> None:
        self._path = paths.dev / "cpu_dma_latency"
        self.undo: dict[str, Callable[..., str]] = {_KIND: undo_cpu_dma_latency}

    def read(self, drive: DriveFacts | None = None) -> SettingFacts:
        """The bound in effect: the smallest that any program asks for."""
        try:
            microseconds = _NUMBER.unpack(_read(self._path))[0]
        except FileNotFoundError:
            return SettingFacts(self.name, reason=f"there is no {self._path}")
        except PermissionError:
            return SettingFacts(self.name, reason=NEEDS_ROOT)
        except (OSError, struct.error) as error:
            return SettingFacts(self.name, reason=f"{self._path} cannot be read: {error}")
        value = _UNLIMITED if microseconds >= _UNLIMITED_US else str(microseconds)
        views = {"cpu_dma_latency": str(microseconds)}
        return SettingFacts(self.name, value, views, levels=(_UNLIMITED,), minimum=0, maximum=_UNLIMITED_US - 1)

    def set(self, drive: DriveFacts | None, level: str, journal: Journal) -> str:
        """Ask for a bound until the change is undone; the bound as read back."""
        require_root(f"setting {self.name}")
        refusal = self.read().refusal(level)
        if refusal:
            raise DrivelabError("R404", f"{self.name} cannot be {level}: {refusal}", where=str(self._path))
        if level != _UNLIMITED:
            number = next(_numbers)
            journal.will_change(_KIND, number=number, process=os.getpid(), level=level)
            _held[number] = _hold(self._path, int(level))
        achieved = self.read().value
        if achieved != level:
            what = f"{self.name} cannot be {level}: another program holds it at {achieved}"
            raise DrivelabError("R404", what, where=str(self._path), do="end that program (tuned, for instance)")
        return level


def undo_cpu_dma_latency(number: int, process: int, level: str) -> str:
    """Close the file that holds a bound; what was done, in words, or nothing.

    Whoever held it in another process has ended, and its bound with it.
    """
    descriptor = _held.pop(number, None) if process == os.getpid() else None
    if descriptor is None:
        return ""
    os.close(descriptor)
    return f"lifted the bound of {level} us on how long processors take to wake up"


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _NUMBER.size)
    finally:
        os.close(descriptor)


def _hold(path: Path, microseconds: int) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise DrivelabError("R404", f"cannot be opened: {error.strerror}", where=str(path)) from error
    try:
        os.write(descriptor, _NUMBER.pack(microseconds))
    except OSError as error:
        os.close(descriptor)
        what = f"a bound of {microseconds} us is not taken: {error.strerror}"
        raise DrivelabError("R404", what, where=str(path)) from error
    return descriptor
