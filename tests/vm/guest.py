"""A virtual machine with drives of every kind in which tests run commands.

QEMU emulates the processor (TCG), so it runs everywhere, and about ten times
slower than the machine: count commands in the guest, do not time it.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vm import initramfs
from vm.drives import KINDS, GuestDrive, asking_about_cache, make_drives, qemu_arguments
from vm.kernel import guest_kernel

_BOOT_S = 300
_COMMAND_S = 180
# what the agent needs to kill a command and answer
_GRACE_S = 60
_DRIVES_S = 60
# a clock that skips idle time runs ahead while the guest waits for a file of this machine
_CLOCK_AHEAD = 1000
_TAIL_LINES = 30
_TROUBLE = ("Kernel panic", "BUG: soft lockup", "detected stall")
_MEMORY_MIB = 1024
# one thread for both processors: with one for each, QEMU 7.2 sometimes keeps its translation of an instruction that the
# other processor has just changed. The kernel changes its own instructions, by way of a breakpoint, whenever an event
# begins or ceases to be traced; a processor that keeps the breakpoint goes round in it for ever
_REAL_TIME = ("-accel", "tcg,thread=single", "-smp", "2")
_VIRTUAL_TIME = ("-accel", "tcg,thread=single", "-smp", "1", "-icount", "shift=0,sleep=off")
# numpy sorts with AVX2 where there is one, and QEMU 7.2 emulates its gathering loads so that sorting keys crashes
_PROCESSOR = "max,la57=off,avx2=off"
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Result:
    """How a command ended: its output as text, and its exit status (negative: the signal that ended it)."""

    exit_code: int
    stdout: str
    stderr: str


class GuestError(RuntimeError):
    """The guest, or a command in it, did not do what it should; the end of its console is in the message."""


class Guest:
    """A running guest until `close`; use it with ``with``.

    Parameters
    ----------
    kinds : sequence of str
        A drive for each, of `vm.drives.KINDS`; a kind may be named twice.
    size_bytes : int
        Of each drive.
    has_virtual_time : bool
        Whether the guest's clock counts instructions (1 ns each, idle time is
        skipped) on one processor. Drives that live in the guest's kernel
        (null_blk, scsi_debug, dm-delay) are then as slow as they were told to
        be, whatever this machine is busy with; QEMU's own drives are not.
    more : sequence of GuestDrive
        Drives that it has besides, and closes.

    Attributes
    ----------
    drives : list of GuestDrive
        In the order of `kinds`, `more` behind them; ``guest.drive("nvme")`` is the first of a kind.
    """

    def __init__(
        self,
        kinds: Sequence[str] = KINDS,
        size_bytes: int = 256 << 20,
        *,
        has_virtual_time: bool = False,
        more: Sequence[GuestDrive] = (),
    ) -> None:
        self._has_virtual_time = has_virtual_time
        self._kernel = guest_kernel()
        self._directory = Path(tempfile.mkdtemp(prefix="drivelab-guest-"))
        self._qemu: subprocess.Popen[bytes] | None = None
        self._port: socket.socket | None = None
        self._received = b""
        self._is_usable = False
        self._state_after_boot: Any = None
        self.drives: list[GuestDrive] = []
        try:
            self.drives = [*make_drives(kinds, size_bytes), *more]
            self._boot()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Guest:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def drive(self, kind: str) -> GuestDrive:
        """The first drive of a kind."""
        return next(drive for drive in self.drives if drive.kind == kind)

    @property
    def is_usable(self) -> bool:
        """Whether it runs and answered the last command."""
        return self._is_usable and self._qemu is not None and self._qemu.poll() is None

    def run(
        self,
        *command: str | os.PathLike[str],
        stdin: str = "",
        environment: dict[str, str] | None = None,
        timeout_s: float = _COMMAND_S,
        check: bool = True,
    ) -> Result:
        """Run a command in the guest, as root, and return what came of it.

        Parameters
        ----------
        *command : str or path
            Program and arguments; programs of this project's environment are found first.
        stdin : str
            What it reads.
        environment : dict of str to str, optional
            Added to the guest's.
        timeout_s : float
            After that it is killed.
        check : bool
            Whether an exit status other than 0 is an error.

        Raises
        ------
        GuestError
            It failed (with `check`) or took too long, or the guest is gone.
        """
        words = [os.fspath(part) for part in command]
        order = {
            "do": "run",
            "command": words,
            "stdin": stdin,
            "timeout_s": timeout_s * (_CLOCK_AHEAD if self._has_virtual_time else 1),
            "python": {"executable": sys.executable, "path": [path for path in sys.path if path]},
            "environment": {
                "PATH": f"{Path(sys.executable).parent}:{_SYSTEM_PATH}",
                "HOME": "/tmp",
                "LC_ALL": "C.UTF-8",
                "TERM": "dumb",
                # a program that is killed because it does not end says first where it is
                "PYTHONFAULTHANDLER": "1",
                # there is no udev to wait for
                "DM_DISABLE_UDEV": "1",
            }
            | (environment or {}),
        }
        answer = self._ask(order, timeout_s + _GRACE_S)
        result = Result(answer["exit_code"], answer["stdout"], answer["stderr"])
        what = " ".join(words)
        if answer["was_doing"]:
            raise self._error(f"`{what}` was killed after {timeout_s:g} s", result, answer["was_doing"])
        if check and result.exit_code:
            raise self._error(f"`{what}` ended with {result.exit_code}", result)
        return result

    def shell(self, script: str, **options: Any) -> Result:
        """Run lines of shell; the first command that fails ends it. Options as for `run`."""
        return self.run("sh", "-euc", script, **options)

    def power_cut(self, kept_fraction: float = 0.0, seed: int = 1) -> dict[str, int]:
        """Cut the power, switch on again, and return how many sectors each drive lost, by serial.

        What was not flushed is gone; settings that drives forget without power
        are at their defaults; everything written outside the drives is gone as well.

        Parameters
        ----------
        kept_fraction : float
            Part of the cached sectors that reached the media all the same.
        seed : int
            Chooses those.
        """
        self._stop()
        lost = {drive.serial: drive.cut_power(kept_fraction, seed) for drive in self.drives}
        self._boot()
        return lost

    def be_new(self) -> None:
        """Give the next test empty drives, as they are when they leave the factory.

        The guest boots again only if it does not answer, or if a setting, a
        mount, an array or a partition of the drives is not as after the boot.
        """
        if not self.is_usable or self._drive_state() != self._state_after_boot:
            self._stop()
        for drive in self.drives:
            drive.be_new()
        if self._qemu is None:
            self._boot()

    def close(self) -> None:
        """End it; its drives and their contents are gone."""
        self._stop()
        for drive in self.drives:
            drive.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def console(self) -> str:
        """What the kernel and QEMU have said since the last boot."""
        texts = [
            path.read_text(errors="replace")
            for name in ("console", "qemu")
            if (path := self._directory / name).exists()
        ]
        return "".join(texts)

    def _boot(self) -> None:
        agent = [os.path.realpath(sys.executable), "-I", "-S", "-B", str(Path(__file__).with_name("agent.py"))]
        image = self._directory / "initramfs"
        if not image.exists():
            image.write_bytes(initramfs.build(self._kernel, agent))
        self._received = b""
        self._port, theirs = socket.socketpair()
        # a guest that hangs takes nothing any more
        self._port.settimeout(_COMMAND_S)
        with theirs, (self._directory / "qemu").open("wb") as log:
            # QEMU ends with the test, even if that is killed
            self._qemu = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *self._qemu_command(image, theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._read_answer(_BOOT_S, "it booted")
        self._is_usable = True
        self._find_drives()

    def _qemu_command(self, image: Path, port: int) -> list[str]:
        kernel_arguments = "console=ttyS0 loglevel=5 panic=-1 mitigations=off nokaslr random.trust_cpu=on"
        return [
            *("qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"),
            *("-machine", "q35", "-cpu", _PROCESSOR, "-m", str(_MEMORY_MIB)),
            *(_VIRTUAL_TIME if self._has_virtual_time else _REAL_TIME),
            *("-kernel", str(self._kernel.image), "-initrd", str(image), "-append", kernel_arguments),
            *("-serial", f"file:{self._directory / 'console'}"),
            *("-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap"),
            *("-device", f"virtio-9p-pci,fsdev=root,mount_tag={initramfs.ROOT_TAG}"),
            *("-chardev", f"socket,id=port,fd={port}"),
            *("-device", "virtio-serial-pci", "-device", "virtserialport,nr=1,chardev=port"),
            *qemu_arguments(self.drives),
        ]

    def _find_drives(self) -> None:
        deadline = time.monotonic() + _DRIVES_S
        while True:
            paths = self._ask({"do": "drives"}, _COMMAND_S)
            missing = [drive.serial for drive in self.drives if drive.serial not in paths]
            if not missing:
                break
            if time.monotonic() > deadline:
                raise self._error(f"the guest does not show {', '.join(missing)}, only {paths}")
            time.sleep(0.05)
        for drive in self.drives:
            drive.path = paths[drive.serial]
        self._state_after_boot = self._drive_state()

    def _drive_state(self) -> Any:
        """All that a test can change about the drives except their contents."""
        commands = [f"{asking_about_cache(drive)} || true" for drive in self.drives if asking_about_cache(drive)]
        settings = self._ask({"do": "settings", "names": [drive.name for drive in self.drives]}, _COMMAND_S)
        return settings, self.shell("\n".join(commands)).stdout

    def _ask(self, order: Any, timeout_s: float) -> Any:
        if not self.is_usable or self._port is None:
            raise self._error("the guest is not running, or did not answer before")
        self._is_usable = False
        try:
            self._port.sendall(json.dumps(order).encode() + b"\n")
        except OSError as error:
            raise self._error(f"the guest takes no command: {error}") from error
        answer = self._read_answer(timeout_s, "it answered")
        self._is_usable = True
        return answer

    def _read_answer(self, timeout_s: float, what: str) -> Any:
        assert self._port is not None
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._received:
            ready, _, _ = select.select([self._port], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise self._error(f"{timeout_s:g} s were over before {what}")
            piece = self._port.recv(1 << 20)
            if not piece:
                raise self._error(f"the guest ended before {what}")
            self._received += piece
        line, _, self._received = self._received.partition(b"\n")
        return json.loads(line)

    def _error(self, what: str, result: Result | None = None, was_doing: str = "") -> GuestError:
        output = f"\n--- stdout\n{result.stdout}\n--- stderr\n{result.stderr}" if result else ""
        if was_doing:
            output += f"\n--- what it was doing\n{was_doing}"
        lines = self.console().splitlines()
        # a kernel in trouble says first why, and then by which way it came there, at a length that differs
        troubles = [number for number, line in enumerate(lines) if any(word in line for word in _TROUBLE)]
        begin = troubles[0] if troubles else len(lines) - _TAIL_LINES
        tail = "\n".join(lines[max(0, min(begin, len(lines) - _TAIL_LINES)) :])
        return GuestError(f"{what}{output}\n--- console\n{tail}")

    def _stop(self) -> None:
        """End QEMU at once, as a power cut does."""
        self._is_usable = False
        if self._qemu is not None:
            self._qemu.kill()
            self._qemu.wait()
            self._qemu = None
        if self._port is not None:
            self._port.close()
            self._port = None
