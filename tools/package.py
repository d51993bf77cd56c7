"""Makes the packages in dist/: a wheel that old systems take, a source distribution, and a .deb (``make package``)."""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import man_page
from drivelab import __version__
from drivelab.cli.completion import completion_script

PROJECT = Path(__file__).resolve().parent.parent
DIST = PROJECT / "dist"
WORK = PROJECT / "target" / "package"
DEB = PROJECT / "packaging" / "deb"
WHEELS = WORK / "wheels"
COMPATIBILITY = "manylinux_2_28"
WHEEL_BYTES_MAX = 8_000_000
PYTHON = sys.version_info[:2]
# where Debian's zsh looks for what packages bring
DEBIAN_ZSH = "zsh/vendor-completions/_drivelab"


def shared_files() -> dict[str, bytes]:
    """The manual page and the completions, by their place below share/."""
    made = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", datetime.now(UTC).timestamp())), UTC)
    texts = {
        "man/man1/drivelab.1": man_page.man_page(made),
        "bash-completion/completions/drivelab": completion_script("bash"),
        "zsh/site-functions/_drivelab": completion_script("zsh"),
        "fish/vendor_completions.d/drivelab.fish": completion_script("fish"),
    }
    return {place: text.encode() for place, text in texts.items()}


def build_wheel(arch: str) -> Path:
    """The wheel, with the manual page and the completions; it fits every Python from 3.11 and glibc from 2.28.

    Parameters
    ----------
    arch : str
        The processors it is for: x86_64 or aarch64.
    """
    built = WORK / f"wheel-{arch}"
    shutil.rmtree(built, ignore_errors=True)
    options = ["--release", "--locked", "--strip", "--zig", "--compatibility", COMPATIBILITY]
    _run("maturin", "build", *options, "--target", f"{arch}-unknown-linux-gnu", "--out", str(built))
    (wheel,) = built.glob("*.whl")
    finished = DIST / wheel.name
    with_data(wheel, finished, {f"share/{place}": content for place, content in shared_files().items()})
    size = finished.stat().st_size
    if size > WHEEL_BYTES_MAX:
        raise SystemExit(f"{finished.name} has {size:,} bytes, more than {WHEEL_BYTES_MAX:,}")
    return finished


def with_data(wheel: Path, finished: Path, files: Mapping[str, bytes]) -> None:
    """Write a copy of a wheel that also installs `files`, by their place below the prefix, and lists them."""
    name = "-".join(wheel.name.split("-")[:2])
    record = f"{name}.dist-info/RECORD"
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(finished, "w", zipfile.ZIP_DEFLATED) as target:
        for entry in source.infolist():
            if entry.filename != record:
                target.writestr(entry, source.read(entry), zipfile.ZIP_DEFLATED)
        listed = source.read(record).decode().rstrip("\n")
        for place, content in files.items():
            path = f"{name}.data/data/{place}"
            target.writestr(zipfile.ZipInfo(path), content, zipfile.ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            listed += f"\n{path},sha256={digest},{len(content)}"
        target.writestr(zipfile.ZipInfo(record), f"{listed}\n", zipfile.ZIP_DEFLATED)


def build_source() -> None:
    """The source distribution; whoever installs it needs cargo and a C compiler."""
    _run("maturin", "sdist", "--out", str(DIST))


def download_libraries() -> list[Path]:
    """The wheels of all libraries that drivelab uses, as locked, for the Python that runs this."""
    shutil.rmtree(WHEELS, ignore_errors=True)
    _pip("download", "--only-binary=:all:", "--no-deps", "--require-hashes", "--dest", str(WHEELS), "-r", _run_lock())
    # what builds, and does not run
    return sorted(path for path in WHEELS.iterdir() if not path.name.startswith("maturin-"))


def build_deb(wheel: Path) -> Path:
    """The Debian package for this machine's processors and the Python that runs this."""
    root = WORK / "deb"
    shutil.rmtree(root, ignore_errors=True)
    libraries = root / "usr" / "lib" / "drivelab"
    wheels = [*map(str, download_libraries()), str(wheel)]
    _pip("install", "--no-deps", "--no-index", "--no-compile", "--target", str(libraries), *wheels)
    for unused in ("bin", "share"):
        shutil.rmtree(libraries / unused, ignore_errors=True)
    _write(root / "usr" / "bin" / "drivelab", (DEB / "drivelab").read_bytes(), 0o755)
    for place, content in shared_files().items():
        debian_place = DEBIAN_ZSH if place.startswith("zsh/") else place
        _write(root / "usr" / "share" / debian_place, content, 0o644)
    for script in ("postinst", "prerm"):
        _write(root / "DEBIAN" / script, (DEB / script).read_bytes(), 0o755)
    control = (
        (DEB / "control")
        .read_text()
        .format(
            version=f"{__version__}+python{PYTHON[0]}.{PYTHON[1]}",
            python=f"{PYTHON[0]}.{PYTHON[1]}",
            next_python=f"{PYTHON[0]}.{PYTHON[1] + 1}",
            size_kib=sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) // 1024,
        )
    )
    _write(root / "DEBIAN" / "control", control.encode(), 0o644)
    _run("dpkg-deb", "--root-owner-group", "-Zxz", "-z1", "--build", str(root), str(DIST))
    (deb,) = DIST.glob("*.deb")
    return deb


def _run_lock() -> str:
    return str(PROJECT / "requirements" / "run.lock")


def _write(path: Path, content: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)


def _pip(*arguments: str) -> None:
    _run(sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments)


def _run(*command: str) -> None:
    """Run a program of the virtual environment or of the system; its failure ends this one."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    program = shutil.which(command[0], path=path)
    if program is None:
        raise SystemExit(f"{command[0]} is not installed: python3 tools/system_packages.py package")
    if subprocess.run([program, *command[1:]], cwd=PROJECT, env=os.environ | {"PATH": path}).returncode:
        raise SystemExit(f"{command[0]} failed")


def main() -> int:
    """Make all packages of this machine's processors, or the wheel alone of others."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheel-for", metavar="ARCH", help="only a wheel for these processors: x86_64, aarch64")
    only = parser.parse_args().wheel_for
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    wheel = build_wheel(only or "x86_64")
    if not only:
        build_source()
        build_deb(wheel)
    for path in sorted(DIST.iterdir()):
        print(f"{path.relative_to(PROJECT)}  {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
