"""Names the system packages that are missing, and the one command that installs them.

Started by make before anything of drivelab is installed, so it needs nothing but
Python's standard library. Goals: ``build`` (without these nothing works),
``demo``, ``test`` and ``package`` (without these parts are left out, by name).
"""

from __future__ import annotations

import argparse
import glob
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
SYSTEM_PATH = "/usr/local/sbin:/usr/sbin:/sbin"
INSTALL_COMMANDS = {
    "apt-get": "apt-get install -y --no-install-recommends",
    "dnf": "dnf install -y",
    "pacman": "pacman -S --needed --noconfirm",
}
INSTALL_RUST = "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal"


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that is looked for, and the package that has it.

    Attributes
    ----------
    program : str
        Name of the executable; ``python:NAME`` is a module of Python instead.
    debian, fedora, arch : str
        The package that brings it.
    """

    program: str
    debian: str
    fedora: str
    arch: str

    def is_installed(self) -> bool:
        """Whether the program is on the path, system directories included."""
        if self.program.startswith("python:"):
            return importlib.util.find_spec(self.program.removeprefix("python:")) is not None
        return find_program(self.program) is not None

    def package(self, installer: str) -> str:
        """The package's name for one of the installers of `INSTALL_COMMANDS`."""
        return {"apt-get": self.debian, "dnf": self.fedora, "pacman": self.arch}[installer]


BUILD_TOOLS = (
    Tool("cc", "gcc", "gcc", "gcc"),
    Tool("python:ensurepip", "python3-venv", "python3-pip", "python"),
    Tool("python:venv", "python3-venv", "python3", "python"),
)
DEMO_TOOLS = (
    Tool("lsblk", "util-linux", "util-linux", "util-linux"),
    Tool("losetup", "mount", "util-linux", "util-linux"),
    Tool("mkfs.ext4", "e2fsprogs", "e2fsprogs", "e2fsprogs"),
    Tool("mkfs.xfs", "xfsprogs", "xfsprogs", "xfsprogs"),
    Tool("smartctl", "smartmontools", "smartmontools", "smartmontools"),
    Tool("nvme", "nvme-cli", "nvme-cli", "nvme-cli"),
    Tool("hdparm", "hdparm", "hdparm", "hdparm"),
)
TEST_TOOLS = (
    *DEMO_TOOLS,
    Tool("fio", "fio", "fio", "fio"),
    # what fio and drivelab ask of the kernel
    Tool("strace", "strace", "strace", "strace"),
    Tool("chromium", "chromium", "chromium", "chromium"),
    # reads the manual page
    Tool("mandoc", "mandoc", "mandoc", "mandoc"),
    # what our reading of block traces is held against
    Tool("blkparse", "blktrace", "blktrace", "blktrace"),
    Tool("btt", "blktrace", "blktrace", "blktrace"),
    # a drive whose speed is known, as a loop device
    Tool("qemu-storage-daemon", "qemu-system-common", "qemu-img", "qemu-tools"),
    Tool("blkdiscard", "util-linux", "util-linux", "util-linux"),
    # the virtual machine with drives of every kind
    Tool("qemu-system-x86_64", "qemu-system-x86", "qemu-system-x86", "qemu-system-x86"),
    Tool("busybox", "busybox-static", "busybox", "busybox"),
    Tool("modprobe", "kmod", "kmod", "kmod"),
    Tool("setpriv", "util-linux", "util-linux", "util-linux"),
    Tool("sdparm", "sdparm", "sdparm", "sdparm"),
    # hosts of a fleet: namespaces of this machine, each with an sshd, one with another clock
    Tool("ip", "iproute2", "iproute", "iproute2"),
    Tool("nsenter", "util-linux", "util-linux", "util-linux"),
    Tool("ss", "iproute2", "iproute", "iproute2"),
    Tool("ssh", "openssh-client", "openssh-clients", "openssh"),
    Tool("ssh-keygen", "openssh-client", "openssh-clients", "openssh"),
    Tool("sshd", "openssh-server", "openssh-server", "openssh"),
    Tool("faketime", "faketime", "libfaketime", "libfaketime"),
    Tool("sudo", "sudo", "sudo", "sudo"),
    # a cluster whose nodes are such hosts
    Tool("munged", "munge", "munge", "munge"),
    Tool("slurmctld", "slurmctld", "slurm-slurmctld", "slurm-llnl"),
    Tool("slurmd", "slurmd", "slurm-slurmd", "slurm-llnl"),
    Tool("srun", "slurm-client", "slurm", "slurm-llnl"),
    Tool("kubectl", "kubernetes-client", "kubernetes-client", "kubectl"),
    # programs that are explained while they work
    Tool("/usr/lib/postgresql/*/bin/postgres", "postgresql", "postgresql-server", "postgresql"),
    Tool("psql", "postgresql-client", "postgresql", "postgresql"),
    Tool("etcd", "etcd-server", "etcd", "etcd"),
    Tool("redis-server", "redis-server", "redis", "redis"),
    Tool("redis-cli", "redis-tools", "redis", "redis"),
    Tool("sqlite3", "sqlite3", "sqlite", "sqlite"),
    Tool("mdadm", "mdadm", "mdadm", "mdadm"),
    # what is made where options of file systems are tried
    Tool("mkfs.btrfs", "btrfs-progs", "btrfs-progs", "btrfs-progs"),
    Tool("mkfs.f2fs", "f2fs-tools", "f2fs-tools", "f2fs-tools"),
)
# makes the .deb, and the clean systems that packages are tried in
PACKAGE_TOOLS = (
    Tool("dpkg-deb", "dpkg", "dpkg", "dpkg"),
    Tool("mmdebstrap", "mmdebstrap", "mmdebstrap", "mmdebstrap"),
)
GOALS = {"build": BUILD_TOOLS, "demo": DEMO_TOOLS, "test": TEST_TOOLS, "package": PACKAGE_TOOLS}


def find_program(name: str) -> str | None:
    """Path of a program, looked for in the system directories too, or by a pattern; None when absent."""
    if name.startswith("/"):
        return max(glob.glob(name), default=None)
    return shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:{SYSTEM_PATH}")


def missing_tools(goal: str) -> list[Tool]:
    """The tools of a goal that are not installed."""
    return [tool for tool in GOALS[goal] if not tool.is_installed()]


def find_installer() -> str | None:
    """The package installer of this system; None when it is none we know."""
    return next((name for name in INSTALL_COMMANDS if find_program(name)), None)


def install_command(tools: Sequence[Tool], installer: str | None, *, as_root: bool) -> str:
    """The one command that installs `tools`; a plain list of names when the installer is unknown."""
    if installer is None:
        return "install these programs: " + " ".join(tool.program for tool in tools)
    packages = dict.fromkeys(tool.package(installer) for tool in tools)
    command = f"{INSTALL_COMMANDS[installer]} {' '.join(packages)}"
    return command if as_root else f"sudo {command}"


def wanted_rust() -> tuple[int, int]:
    """The oldest Rust that builds the crates, from Cargo.toml's rust-version."""
    match = re.search(r'rust-version = "(\d+)\.(\d+)', (PROJECT / "Cargo.toml").read_text())
    if match is None:
        raise SystemExit("Cargo.toml names no rust-version")
    return int(match[1]), int(match[2])


def rust_complaint(version_text: str | None) -> str | None:
    """What is wrong with the Rust that is installed; None when it will do.

    Parameters
    ----------
    version_text : str or None
        What ``cargo --version`` printed; None when there is no cargo.
    """
    wanted = wanted_rust()
    if version_text is None:
        return "cargo (Rust) is not installed"
    match = re.search(r"cargo (\d+)\.(\d+)", version_text)
    if match is None or (int(match[1]), int(match[2])) < wanted:
        return f"Rust {wanted[0]}.{wanted[1]} or newer is needed; this is {version_text.strip() or 'unreadable'}"
    return None


def cargo_version() -> str | None:
    """What ``cargo --version`` prints; None when there is no cargo."""
    cargo = find_program("cargo")
    if cargo is None:
        return None
    answer = subprocess.run([cargo, "--version"], capture_output=True, text=True, cwd=PROJECT)
    return answer.stdout or answer.stderr


def install(tools: Sequence[Tool]) -> None:
    """Install `tools` with apt-get; what it could not install stays missing."""
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    packages = list(dict.fromkeys(tool.debian for tool in tools))
    print(f"installing {' '.join(packages)}", file=sys.stderr)
    subprocess.run(["apt-get", "update", "-qq"], env=environment, stdout=sys.stderr)
    subprocess.run(
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages], env=environment, stdout=sys.stderr
    )


def report_missing(goal: str, tools: Sequence[Tool], *, as_root: bool) -> None:
    """Say what is missing and print the one command."""
    names = ", ".join(tool.program.removeprefix("python:") for tool in tools)
    consequence = "the build needs them" if goal == "build" else f"parts of `make {goal}` are left out without them"
    print(f"not installed: {names} ({consequence}). Install with:", file=sys.stderr)
    print(f"  {install_command(tools, find_installer(), as_root=as_root)}", file=sys.stderr)


def main() -> int:
    """Exit status: 0 nothing that is needed is missing, 2 the build cannot go on."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("goal", choices=sorted(GOALS))
    parser.add_argument("--install", action="store_true", help="install them, when root and apt-get allow it")
    options = parser.parse_args()
    as_root = os.geteuid() == 0
    tools = missing_tools(options.goal)
    if tools and options.install and as_root and find_program("apt-get"):
        install(tools)
        importlib.invalidate_caches()
        tools = missing_tools(options.goal)
    if tools:
        report_missing(options.goal, tools, as_root=as_root)
    if options.goal != "build":
        return 0
    complaint = rust_complaint(cargo_version())
    if complaint:
        print(f"{complaint}. Install with:\n  {INSTALL_RUST}", file=sys.stderr)
    return 2 if tools or complaint else 0


if __name__ == "__main__":
    sys.exit(main())
