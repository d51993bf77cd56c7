"""What the guest starts with: busybox, the drivers, and a script that makes this machine's files its own.

The guest's root is this machine's root, read-only (9p), below a layer in
memory: all that is installed here runs there, and nothing it writes stays.
"""

from __future__ import annotations

import lzma
import shlex
from collections.abc import Sequence
from pathlib import Path

from system_packages import find_program
from vm.kernel import Kernel

ROOT_TAG = "root"
_MODULES = (
    # the console to the test, and the root file system
    *("virtio_pci", "virtio_console", "9pnet_virtio", "9p", "overlay"),
    # without an implementation of this checksum sd_mod waits for one
    "crct10dif_generic",
    # every kind of drive
    *("nvme", "ahci", "virtio_blk", "virtio_scsi", "xhci_pci", "usb_storage", "uas", "sd_mod", "sg"),
)
_BUSYBOX_COMMANDS = ("sh", "mount", "mkdir", "ln", "cat", "insmod", "switch_root", "hostname", "ip")
_DYNAMIC_LOADER = b"/lib64/ld-linux-x86-64.so.2"

_INIT = """#!/bin/sh
export PATH=/bin
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
for module in $(cat /modules/order); do insmod /modules/$module || echo "module $module does not load"; done
mount -t 9p -o trans=virtio,version=9p2000.L,ro,msize=512000,cache=loose {root_tag} /lower || exec sh
mount -t tmpfs -o size=60% upper /upper
mkdir /upper/changes /upper/work
mount -t overlay -o lowerdir=/lower,upperdir=/upper/changes,workdir=/upper/work overlay /new
mount -t devtmpfs dev /new/dev
mount -t proc proc /new/proc
mount -t sysfs sys /new/sys
mount -t tmpfs run /new/run
mkdir -p /new/dev/shm /new/dev/pts /new/usr/lib/modules
mount -t tmpfs shm /new/dev/shm
mount -t devpts pts /new/dev/pts
mount -t debugfs debug /new/sys/kernel/debug
mount -t tracefs trace /new/sys/kernel/tracing
mount -t cgroup2 cgroup /new/sys/fs/cgroup
mount --bind /lower{modules} /new/usr/lib/modules
ln -s /proc/self/fd /new/dev/fd
ln -s fd/0 /new/dev/stdin
ln -s fd/1 /new/dev/stdout
ln -s fd/2 /new/dev/stderr
hostname guest
ip link set lo up
exec switch_root /new {agent}
"""


def build(kernel: Kernel, agent: Sequence[str]) -> bytes:
    """The archive of the initial file system.

    Parameters
    ----------
    kernel : Kernel
        Whose drivers go in.
    agent : sequence of str
        The command that becomes process 1 on this machine's files.
    """
    busybox = find_program("busybox")
    program = Path(busybox).read_bytes() if busybox else b""
    # nothing is there yet that could load a dynamic one
    if not program or _DYNAMIC_LOADER in program:
        raise RuntimeError("a static busybox is not installed (Debian package busybox-static)")
    modules = kernel.modules_with_dependencies(_MODULES)
    init = _INIT.format(
        root_tag=ROOT_TAG, modules=shlex.quote(str(kernel.directory / "lib" / "modules")), agent=shlex.join(agent)
    )
    archive = Archive()
    for directory in ("bin", "dev", "proc", "sys", "modules", "lower", "upper", "new"):
        archive.add(directory, 0o040755)
    archive.add("dev/console", 0o020600, device=(5, 1))
    archive.add("bin/busybox", 0o100755, program)
    for command in _BUSYBOX_COMMANDS:
        archive.add(f"bin/{command}", 0o120777, b"busybox")
    for module in modules:
        content = module.read_bytes()
        archive.add(f"modules/{module.stem}", 0o100644, lzma.decompress(content) if module.suffix == ".xz" else content)
    archive.add("modules/order", 0o100644, "\n".join(module.stem for module in modules).encode())
    archive.add("init", 0o100755, init.encode())
    return archive.finish()


class Archive:
    """A cpio archive as the kernel unpacks it (Documentation/driver-api/early-userspace/buffer-format.rst)."""

    def __init__(self) -> None:
        self._content = bytearray()
        self._count = 0

    def add(self, name: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)) -> None:
        """Append an entry; for a link the data are its target."""
        self._count += 1
        encoded = name.encode() + b"\0"
        owner, group, links, time = 0, 0, 1, 0
        numbers = (self._count, mode, owner, group, links, time, len(data), 0, 0, *device, len(encoded), 0)
        self._content += b"070701" + "".join(f"{number:08x}" for number in numbers).encode() + encoded
        self._pad()
        self._content += data
        self._pad()

    def finish(self) -> bytes:
        """The whole archive."""
        self.add("TRAILER!!!", 0)
        return bytes(self._content)

    def _pad(self) -> None:
        self._content += bytes(-len(self._content) % 4)
