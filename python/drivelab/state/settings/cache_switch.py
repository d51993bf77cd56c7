"""Switches a drive's own volatile cache, and has the kernel notice.

At no moment may the drive cache writes while the kernel sends it no flushes:
what was acknowledged as durable then would be lost with the power. So the drive
is switched off before the kernel stops flushing, and on only after the kernel
has begun to flush. No change is saved in the drive: a power cycle undoes it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from drivelab.inventory import hdparm, nvme, sdparm, write_cache
from drivelab.inventory.block_devices import device_node, directory_of, holders_of, partitions_of
from drivelab.inventory.link import nvme_controller, transport_of
from drivelab.inventory.nvme_controllers import controllers_of, namespaces_beside
from drivelab.inventory.sysfs import entries, read_text
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.inventory.tools import ask_drive
from drivelab.model.drive import WriteCacheFacts
from drivelab.model.errors import DrivelabError
from drivelab.state.journal import Journal
from drivelab.state.programs import run_program
from drivelab.state.settings.kernel_attribute import is_settable, read_attribute, write_attribute

KERNEL_VIEW = "queue/write_cache"
_VIRTIO = "cache_type"
# a SATA drive that was switched is looked at again by the kernel's error handler, in its own time
_NOTICE_PATIENCE_S = 5.0


@dataclass(frozen=True, slots=True)
class CacheSwitch:
    """The switch of one drive's cache.

    Attributes
    ----------
    name : str
        Kernel name of the drive.
    """

    name: str
    paths: SystemPaths = SYSTEM

    @property
    def node(self) -> Path:
        """The drive's device node."""
        return device_node(self.name, self.paths)

    @property
    def kernel_mode(self) -> str | None:
        """``write back`` while the kernel flushes, ``write through`` while it does not."""
        return read_attribute(self.name, KERNEL_VIEW, self.paths)

    def ask(self) -> tuple[WriteCacheFacts, str]:
        """What every layer says now, and why nobody answered for the drive; empty when it answered."""
        if self._is_virtio_blk:
            facts = write_cache.write_cache_facts(self.name, {}, self.paths)
            return facts, "" if facts.drive_enabled is not None else "the host does not tell"
        asked, enabled, reason = write_cache.ask(transport_of(self.name, self.paths), self.node, self._controller)
        return write_cache.write_cache_facts(self.name, {asked: enabled}, self.paths), reason

    @property
    def learns_by_itself(self) -> bool:
        """Whether the kernel finds out what the drive was switched to, if only by looking again."""
        return self._is_scsi or self._is_virtio_blk

    def refusal(self) -> str:
        """Why a drive that answers cannot be switched, as far as it shows without trying; empty when it can."""
        if self._is_virtio_blk:
            switchable = is_settable(self.name, _VIRTIO, self.paths)
            return "" if switchable else "the host lets nobody switch the cache of this virtio drive"
        controllers = controllers_of(self.name, self.paths)
        if len(controllers) > 1:
            return f"it is reached over several controllers: {', '.join(controllers)}"
        if self._is_scsi and transport_of(self.name, self.paths) != "sata":
            answer = ask_drive(sdparm.command(self.node), self.node)
            if sdparm.parse_changeable(answer.text) is False:
                return "the drive does not let its write cache be switched"
        return ""

    def turn_off(self, journal: Journal | None = None) -> None:
        """Switch the cache off; what was in it is in the medium then.

        Raises
        ------
        DrivelabError
            R402, R403: the tool is not installed, or failed. R404: the kernel
            refuses, or what is in the cache cannot be flushed.
        """
        flush(self.node)
        self._switch(False, journal)
        # what came between: the kernel still believes in the cache, and so passes the flush on
        flush(self.node)
        self._have_kernel_look()
        self._await_kernel("write through")

    def turn_on(self, journal: Journal | None = None, *, kernel_flushes: bool = True) -> None:
        """Switch the cache on, after the kernel has begun to flush.

        Parameters
        ----------
        journal : Journal, optional
            Kept alive by the tool.
        kernel_flushes : bool
            Whether the kernel is to flush then; False only to put back what was found like that.

        Raises
        ------
        DrivelabError
            R402, R403: the tool is not installed, or failed. R404: the kernel
            refuses, or would send no flushes.
        """
        told = kernel_flushes and self._is_scsi and self.kernel_mode == "write through"
        if told:
            # the kernel's own belief only; it holds until it is lifted below
            write_attribute(self.name, self._scanned, "temporary write back", self.paths)
            if self.kernel_mode == "write through":
                # somebody forbade it flushes before, which it remembers apart from what it believes
                write_attribute(self.name, KERNEL_VIEW, "write back", self.paths)
        if kernel_flushes and not self._is_virtio_blk and self.kernel_mode != "write back":
            what = "the kernel would send no flushes to the cache"
            raise DrivelabError("R404", what, where=str(self.node))
        self._switch(True, journal)
        if told:
            self._lift_belief()
        self._have_kernel_look()
        self._await_kernel("write back")

    def let_kernel_look(self) -> None:
        """Have the kernel ask the drive again, where it can; it forgets what it was told to believe."""
        if self._is_scsi:
            self._lift_belief()
        self._have_kernel_look()

    def silent_layers(self) -> list[str]:
        """Devices that lead to the same cache and pass no flushes on: namespaces beside it, volumes on it."""
        return [name for name, mode in self.layers() if mode == "write through"]

    def layers(self) -> Iterator[tuple[str, str]]:
        """Kernel names of these devices, with their ``queue/write_cache``."""
        beside = namespaces_beside(self.name, self.paths)
        for name in dict.fromkeys((*beside, *_on_top_of((self.name, *beside), self.paths))):
            mode = read_attribute(name, KERNEL_VIEW, self.paths)
            if mode is not None:
                yield name, mode

    def _switch(self, on: bool, journal: Journal | None) -> None:
        if self._is_virtio_blk:
            write_attribute(self.name, _VIRTIO, "write back" if on else "write through", self.paths)
        elif self._controller is not None:
            run_program(nvme.write_cache_command(self._controller, on=on), journal)
        elif transport_of(self.name, self.paths) == "sata":
            run_program(hdparm.write_cache_command(self.node, on=on), journal)
        else:
            run_program(sdparm.write_cache_command(self.node, on=on), journal)

    def _have_kernel_look(self) -> None:
        if self._is_scsi:
            write_attribute(self.name, "device/rescan", "1", self.paths)

    def _lift_belief(self) -> None:
        try:
            # any name but the kernel's own ends the belief before it is refused; these would be saved in the drive
            write_attribute(self.name, self._scanned, "as the drive says", self.paths)
        except DrivelabError:
            pass

    def _await_kernel(self, mode: str) -> None:
        """Wait until the kernel has noticed; where it never does the caller finds that out."""
        deadline = time.monotonic() + (_NOTICE_PATIENCE_S if self._is_scsi else 0)
        while self.kernel_mode != mode and time.monotonic() < deadline:
            time.sleep(0.02)

    @property
    def _is_virtio_blk(self) -> bool:
        return read_text(directory_of(self.name, self.paths) / _VIRTIO) is not None

    @property
    def _is_scsi(self) -> bool:
        return bool(entries(directory_of(self.name, self.paths) / "device" / "scsi_disk"))

    @property
    def _scanned(self) -> str:
        """The attribute that says what the kernel found when it last looked."""
        disk = entries(directory_of(self.name, self.paths) / "device" / "scsi_disk")[0]
        return f"device/scsi_disk/{disk}/cache_type"

    @property
    def _controller(self) -> Path | None:
        name = nvme_controller(self.name, self.paths)
        return device_node(name, self.paths) if name else None


def flush(node: Path) -> None:
    """Have the kernel write everything to a drive, and flush its cache.

    Raises
    ------
    DrivelabError
        R404: it cannot be done.
    """
    try:
        descriptor = os.open(node, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise DrivelabError("R404", f"its cache cannot be flushed: {error.strerror}", where=str(node)) from error


def _on_top_of(names: tuple[str, ...], paths: SystemPaths) -> Iterator[str]:
    """Volumes and arrays that lie on devices or on their partitions, however high."""
    for name in names:
        for holder in (*holders_of(name, paths), *_on_top_of(tuple(partitions_of(name, paths)), paths)):
            yield holder
            yield from _on_top_of((holder,), paths)
