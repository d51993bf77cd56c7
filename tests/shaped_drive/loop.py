"""A shaped drive behind a loop device of this machine, at native speed and without a guest.

The kernel here need not know NBD: QEMU's storage daemon shows the drive as a
file (FUSE), and a loop device with direct I/O over that file hands on writes,
flushes and discards one by one. The way adds 0.1 to 0.5 ms to a command. Up to
8 commands outstanding keep to the drive's shape; with more of them, the storage
daemon holds answers back. FUA never arrives: a loop device makes it a flush.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from shaped_drive.process import MIB, ShapedDrive, run_first

_START_S = 20
_END_S = 10


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
        """The file with the kernel's view of the cache; what a test writes to it is put back in the end."""
        return Path("/sys/class/block", self.name, "queue", "write_cache")

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
        command = ["losetup", "--find", "--show", "--direct-io=on", str(self._file)]
        answer = subprocess.run(command, capture_output=True, text=True)
        if answer.returncode:
            raise RuntimeError(f"losetup: {answer.stderr.strip()}")
        self.path = self._loop = Path(answer.stdout.strip())
        # the setting belongs to the number of the loop device and survives whoever changed it
        self._cache_mode_before = self.kernel_cache_mode.read_text().strip()
        self.kernel_cache_mode.write_text("write back")

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
        if str(self._file) in Path("/proc/self/mounts").read_text():
            complaints.append(_run_until_done("umount", str(self._file)))
        found = "; ".join(filter(None, complaints))
        if found:
            raise RuntimeError(f"the shaped drive is not detached: {found}")


def _run_until_done(*command: str) -> str:
    """Run a command until it succeeds, for some seconds; returns what it complained of last.

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
