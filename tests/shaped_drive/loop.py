"""A shaped drive behind a loop device of this machine, at native speed and without a guest.

The kernel here need not know NBD: QEMU's storage daemon shows the drive as a
file (FUSE), and a loop device with direct I/O over that file hands on writes,
flushes and discards one by one. The way adds 0.1 to 0.5 ms to a command. Up to
8 commands outstanding keep to the drive's shape; with more of them, the storage
daemon holds answers back. FUA never arrives: a loop device makes it a flush.
"""

from __future__ import annotations

import mmap
import os
import subprocess
import tempfile
import time
from pathlib import Path

from mounted import is_anything_mounted_below
from shaped_drive.process import MIB, ShapedDrive, run_first

_START_S = 60
_END_S = 60
_PAGE_BYTES = 4096
_WAY_WRITES = 100
_WAY_LATENCY_NS = 3_000_000


class LoopDrive(ShapedDrive):
    """A shaped drive as a block device of this machine; needs root.

    Parameters
    ----------
    directory : pathlib.Path
        An empty file is made here, which stands for the drive while it is attached.
    size_bytes : int
        A multiple of 4096.

    Attributes
    ----------
    path : pathlib.Path
        The loop device; another one after `power_cycle`.
    """

    path: Path

    def __init__(self, directory: Path, size_bytes: int = 256 * MIB) -> None:
        super().__init__(size_bytes)
        self._file = directory / "shaped-drive"
        self._file.touch()
        self._daemon: subprocess.Popen[bytes] | None = None
        self._loop: Path | None = None
        self._cache_mode_before = ""
        self._channels = 1
        try:
            self._attach()
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        """Kernel name, which is also what ``--erase`` wants: a loop device has no serial."""
        return self.path.name

    @property
    def kernel_cache_mode(self) -> Path:
        """The file with the kernel's view of the cache; what a test writes to it is put back at the end."""
        return Path("/sys/class/block", self.name, "queue", "write_cache")

    def shape(self, **changes: int) -> None:
        """Change how fast it is; as for every `ShapedDrive`."""
        super().shape(**changes)
        if changes.get("channels", self._channels) != self._channels:
            self._channels = changes["channels"]
            self._let_through(self._channels)

    def be_new(self) -> None:
        """Be as in the beginning; as for every `ShapedDrive`."""
        super().be_new()
        self._channels = 1
        self._let_through(self._channels)

    def take_off_way(self) -> int:
        """Let the drive's latencies include the way to it from now on; returns how long the way is, in ns.

        The fastest of some writes tells it: waiting for a processor is no part
        of the way. Latencies shorter than the way are then as long as the
        way. The drive answers at once afterwards, its counts begin at zero, and
        its first pages are zeros.
        """
        self.shape(write_latency_ns=_WAY_LATENCY_NS, way_ns=0)
        taken_ns = []
        with mmap.mmap(-1, _PAGE_BYTES) as page:
            descriptor = os.open(self.path, os.O_RDWR | os.O_DIRECT)
            try:
                for number in range(_WAY_WRITES):
                    start_ns = time.monotonic_ns()
                    os.pwrite(descriptor, page, _PAGE_BYTES * number)
                    taken_ns.append(time.monotonic_ns() - start_ns)
            finally:
                os.close(descriptor)
        way_ns = min(taken_ns) - _WAY_LATENCY_NS
        self.shape(write_latency_ns=0, way_ns=way_ns)
        self.reset_counts()
        return way_ns

    def power_cycle(self, kept_fraction: float = 0.0, seed: int = 1) -> int:
        """Cut the power, attach the drive again, and return how many sectors were lost.

        Nothing may have the device open. What the kernel still held for it is
        lost as well: the drive is gone before the loop device is.
        """
        lost = self.cut_power(kept_fraction, seed)
        self._detach(hard=True)
        self._attach()
        return lost

    def close(self) -> None:
        """Give everything back: loop device, mount, daemon and drive, whatever state they are in."""
        try:
            self._detach()
        finally:
            super().close()
            self._file.unlink(missing_ok=True)

    def _attach(self) -> None:
        node = f"driver=nbd,node-name=drive,server.type=unix,server.path={self.socket_path},discard=unmap"
        export = f"type=fuse,id=export,node-name=drive,mountpoint={self._file},writable=on"
        device_before = self._file.stat().st_dev
        daemon = ["qemu-storage-daemon", "--blockdev", node, "--export", export]
        # it ends with the test, even if that is killed
        command = ["setpriv", "--pdeathsig", "TERM", "--", *daemon]
        self._daemon = subprocess.Popen(command, start_new_session=True)
        run_first(self._daemon.pid)
        deadline = time.monotonic() + _START_S
        while self._file.stat().st_dev == device_before:
            if self._daemon.poll() is not None:
                raise RuntimeError("qemu-storage-daemon ended; its complaint is on stderr")
            if time.monotonic() > deadline:
                raise RuntimeError(f"qemu-storage-daemon shows no drive after {_START_S} s")
            time.sleep(0.01)
        self._let_through(self._channels)
        command = ["losetup", "--find", "--show", "--direct-io=on", str(self._file)]
        answer = subprocess.run(command, capture_output=True, text=True)
        if answer.returncode:
            raise RuntimeError(f"losetup: {answer.stderr.strip()}")
        self.path = self._loop = Path(answer.stdout.strip())
        # the setting belongs to the number of the loop device and survives whoever changed it
        self._cache_mode_before = self.kernel_cache_mode.read_text().strip()
        self.kernel_cache_mode.write_text("write back")

    def _let_through(self, commands: int) -> None:
        """How many reads and writes FUSE hands to the daemon before it has answered one."""
        connection = os.minor(self._file.stat().st_dev)
        with tempfile.TemporaryDirectory(prefix="drivelab-fusectl-") as directory:
            subprocess.run(["mount", "-t", "fusectl", "fusectl", directory], check=True)
            try:
                Path(directory, str(connection), "max_background").write_text(str(commands))
            finally:
                subprocess.run(["umount", directory], check=True)

    def _detach(self, *, hard: bool = False) -> None:
        complaints = []
        if self._loop is not None:
            self.kernel_cache_mode.write_text(self._cache_mode_before)
            complaints.append(_run_until_done("losetup", "--detach", str(self._loop)))
            complaints.append(_wait_until_free(self._loop))
            self._loop = None
        if self._daemon is not None:
            if hard:
                self._daemon.kill()
            else:
                self._daemon.terminate()
            try:
                self._daemon.wait(_END_S)
            except subprocess.TimeoutExpired:
                self._daemon.kill()
                self._daemon.wait()
            self._daemon = None
        # a daemon that was killed leaves its mount behind
        if is_anything_mounted_below(self._file):
            complaints.append(_run_until_done("umount", str(self._file)))
        found = "; ".join(filter(None, complaints))
        if found:
            raise RuntimeError(f"the shaped drive is not detached: {found}")


def _run_until_done(*command: str) -> str:
    """Run a command until it succeeds, for a minute; returns what it complained of last.

    The kernel lets go of what a process had open a little after its end.
    """
    deadline = time.monotonic() + _END_S
    while True:
        answer = subprocess.run(command, capture_output=True, text=True)
        if answer.returncode == 0:
            return ""
        if time.monotonic() > deadline:
            return answer.stderr.strip()
        time.sleep(0.05)


def _wait_until_free(loop: Path) -> str:
    """Wait until a loop device really is detached: with somebody in it, losetup only asks for it."""
    deadline = time.monotonic() + _END_S
    while Path("/sys/class/block", loop.name, "loop").exists():
        if time.monotonic() > deadline:
            return f"{loop} is still in use"
        time.sleep(0.02)
    return ""
