"""The guest's kernel: Debian's stock kernel package, fetched by apt once and unpacked, never installed.

The stock kernel and not the smaller cloud one, which has no drivers for SATA
and USB drives.
"""

from __future__ import annotations

import fcntl
import lzma
import os
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "linux-image-amd64"
_FETCH_S = 300
# half of the modules, for which no test has a device
_UNUSED_DRIVERS = ("gpu", "media", "net", "infiniband", "iio", "../sound")
_XZ_MAGIC = b"\xfd7zXZ\x00"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that is unpacked into a directory.

    Attributes
    ----------
    directory : pathlib.Path
        ``boot/`` and ``lib/modules/RELEASE/`` are in it.
    release : str
        As ``uname -r`` prints it in the guest.
    """

    directory: Path
    release: str

    @property
    def image(self) -> Path:
        """What QEMU boots."""
        unpacked = self.directory / "vmlinux"
        return unpacked if unpacked.exists() else self.directory / "boot" / f"vmlinuz-{self.release}"

    def modules_with_dependencies(self, names: Iterable[str]) -> list[Path]:
        """Files of modules in the order in which they can be loaded one by one."""
        found: dict[Path, None] = {}
        for name in names:
            command = ["modprobe", "--dirname", str(self.directory), "--set-version", self.release, "--show-depends"]
            answer = subprocess.run([*command, name], capture_output=True, text=True)
            if answer.returncode:
                raise RuntimeError(f"the guest's kernel {self.release} has no module {name}: {answer.stderr.strip()}")
            for line in answer.stdout.splitlines():
                action, _, path = line.strip().partition(" ")
                if action == "insmod":
                    found[Path(path.split()[0])] = None
        return list(found)


def cache_directory() -> Path:
    """Where kernels are kept from one run to the next."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "drivelab", "guest")


def guest_kernel() -> Kernel:
    """The kernel in the cache, fetched when there is none.

    Raises
    ------
    RuntimeError
        It cannot be fetched, with what apt said.
    """
    cache = cache_directory()
    found = list(_kernels_in(cache))
    if not found:
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / "lock").open("w") as lock:
            # guests that start side by side: apt serves one at a time, and one kernel is enough
            fcntl.flock(lock, fcntl.LOCK_EX)
            found = list(_kernels_in(cache)) or [_fetched(cache)]
    return found[-1]


def _fetched(cache: Path) -> Kernel:
    """A kernel that is in the cache from now on."""
    with tempfile.TemporaryDirectory(dir=cache, prefix="fetching-") as directory:
        release = _fetch(Path(directory))
        (Path(directory) / "kernel").rename(cache / release)
    return Kernel(cache / release, release)


def _kernels_in(cache: Path) -> Iterator[Kernel]:
    for directory in sorted(cache.glob("[0-9]*")):
        yield Kernel(directory, directory.name)


def _fetch(directory: Path) -> str:
    """Download and unpack into ``directory/kernel``; returns the kernel's release."""
    package = _real_package()
    if package is None or _apt("apt-get", "download", package, cwd=directory).returncode:
        # the package lists are missing, or older than the archive
        updated = _apt("apt-get", "update")
        package = _real_package()
        if package is None:
            raise RuntimeError(f"apt knows no package {PACKAGE} (apt-get update said: {updated.stderr.strip()})")
        answer = _apt("apt-get", "download", package, cwd=directory)
        if answer.returncode:
            raise RuntimeError(f"apt-get download {package}: {answer.stderr.strip()}")
    unpacked = directory / "kernel"
    archive = next(directory.glob("*.deb"))
    subprocess.run(["dpkg-deb", "--extract", str(archive), str(unpacked)], check=True)
    archive.unlink()
    shutil.rmtree(unpacked / "usr")
    release = next((unpacked / "lib" / "modules").iterdir()).name
    for name in _UNUSED_DRIVERS:
        shutil.rmtree(unpacked / "lib" / "modules" / release / "kernel" / "drivers" / name)
    subprocess.run(["depmod", "--basedir", str(unpacked), release], check=True)
    _unpack_image(unpacked / "boot" / f"vmlinuz-{release}", unpacked / "vmlinux")
    return release


def _real_package() -> str | None:
    """The package with the files, on which the one that always names the newest depends."""
    answer = _apt("apt-cache", "depends", PACKAGE)
    match = re.search(r"Depends: (linux-image-\S+)", answer.stdout)
    return match[1] if match else None


def _apt(*command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, timeout=_FETCH_S)


def _unpack_image(compressed: Path, unpacked: Path) -> None:
    """Take the kernel out of its compressed image, which spares an emulated processor five seconds.

    The places are those of the kernel's boot protocol (Documentation/arch/x86/boot.rst):
    setup_sects, payload_offset and payload_length. Other compressions than xz stay as they are.
    """
    content = compressed.read_bytes()
    setup_sectors = content[0x1F1] or 4
    offset, length = struct.unpack_from("<II", content, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    payload = content[start : start + length]
    if payload.startswith(_XZ_MAGIC):
        # the size of the kernel follows the compressed data
        unpacked.write_bytes(lzma.LZMADecompressor().decompress(payload))
