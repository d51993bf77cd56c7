"""Tries the packages in dist/ in clean systems without compiler or cargo (``make try-package``, as root, some minutes).

A clean system is Debian as mmdebstrap makes it, of the release whose Python is that of the virtual
environment. Each package gets one of its own, without a network, and all are removed in the end.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from package import DIST, WORK, download_libraries

SUITES = {(3, 11): "bookworm", (3, 13): "trixie"}
# mounts last as long as the command does: nothing is left to be taken down, however it ends
IN_ROOT = """
mount --make-rprivate /
mount --bind {root} {root}
mount -t proc proc {root}/proc
mount --rbind /sys {root}/sys
mount --rbind /dev {root}/dev
exec chroot {root} /usr/bin/env -i HOME=/srv LC_ALL=C.UTF-8 PATH=/opt/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    sh -euc {command}
"""
# sh -e passes over a failure before && or behind !: each thing that has to hold has a line
NO_COMPILER = """
for program in cc gcc clang cargo rustc; do if command -v $program; then exit 1; fi; done
"""
MEASURE = """
mkdir -p ~/place
cd ~/place
drivelab --version
status=0; drivelab check . 2> ~/progress || status=$?; cat ~/progress
[ $status = 0 ] || [ $status = 4 ]
if grep failed: ~/progress; then exit 1; fi
"""
PAGE = """
drivelab report LAST --out ~/page.html
grep -q data-packed ~/page.html
drivelab report LAST --out ~/card.png
drivelab sql 'select run, experiment from runs' | grep check
"""
SHARED = """
test -s {share}/man/man1/drivelab.1
test -s {share}/fish/vendor_completions.d/drivelab.fish
test -s {share}/bash-completion/completions/drivelab
test -s {share}/{zsh}/_drivelab
"""
CORE = """
python3 -m venv /opt/venv
pip install --quiet --no-index --find-links /packages /packages/drivelab-*.whl
du -sm /opt/venv/lib/python3*/site-packages --exclude='pip*' --exclude='setuptools*' | sed 's/^/MB installed, core: /'
"""
WITHOUT_EXTRAS = """
test -z "$(find ~/.local/share/drivelab/runs -name report.html)"
drivelab report LAST 2>&1 | grep -F "pip install 'drivelab[report]'"
drivelab report LAST --out ~/card.png 2>&1 | grep -F "pip install 'drivelab[pictures]'"
drivelab sql 'select 1' 2>&1 | grep -F "pip install 'drivelab[sql]'"
"""
ALL = """
pip install --quiet --no-index --find-links /packages "$(echo /packages/drivelab-*.whl)[all]"
du -sm /opt/venv/lib/python3*/site-packages --exclude='pip*' --exclude='setuptools*' | sed 's/^/MB installed, all: /'
"""
DEB = """
dpkg --install /packages/drivelab_*.deb
test -z "$(dpkg --audit)"
du -sm /usr/lib/drivelab | sed 's/^/MB installed: /'
"""
DEB_REMOVED = """
dpkg --purge drivelab
test -z "$(find /usr/lib/drivelab /usr/bin/drivelab /usr/share -name '*drivelab*' 2>/dev/null)"
"""


def make_system(archive: Path) -> None:
    """Make the clean system, as an archive that every trial unpacks for itself."""
    suite = SUITES.get(sys.version_info[:2])
    if suite is None:
        raise SystemExit(f"no release of Debian is known with Python {sys.version_info[0]}.{sys.version_info[1]}")
    if not archive.exists():
        aside = archive.with_name(f"making-{suite}.tar")
        # --no-install-recommends is mmdebstrap's way: pip would bring a compiler
        _run(["mmdebstrap", "--variant=minbase", "--include=python3,python3-venv", suite, str(aside)])
        aside.rename(archive)


@contextmanager
def clean_system(archive: Path, packages: list[Path]) -> Iterator[Path]:
    """A system of its own for one trial, with `packages` in /packages; removed at the end."""
    with tempfile.TemporaryDirectory(prefix="try-", dir=WORK) as directory:
        root = Path(directory) / "root"
        root.mkdir()
        _run(["tar", "--extract", "--file", str(archive), "--directory", str(root), "--exclude=./dev/*"])
        (root / "packages").mkdir()
        for package in packages:
            shutil.copy(package, root / "packages")
        yield root


def tell(root: Path, title: str, *steps: str) -> None:
    """Run steps in a system and say what was tried; a step that fails ends everything."""
    for step in (NO_COMPILER, *steps):
        print(f"\n--- {title}\n{step.strip()}\n", flush=True)
        script = IN_ROOT.format(root=shlex.quote(str(root)), command=shlex.quote(step))
        _run(["unshare", "--mount", "--net", "sh", "-euc", script])


def try_source(source: Path) -> None:
    """Build a wheel of the source distribution, with this machine's cargo, and compare what is in it."""
    with tempfile.TemporaryDirectory(prefix="try-", dir=WORK) as built:
        print(f"--- {source.name}: pip wheel, with this machine's cargo", flush=True)
        _run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", built, str(source)])
        (wheel,) = Path(built).glob("*.whl")
        print(f"built {wheel.name}")


def _run(command: list[str]) -> None:
    if subprocess.run(command).returncode:
        raise SystemExit(f"failed: {' '.join(command[:4])} ...")


def main() -> int:
    """Try the wheel without and with its extras, the .deb, and the source distribution."""
    if os.geteuid() != 0:
        raise SystemExit("chroot needs root: sudo make try-package")
    (wheel,), (deb,), (source,) = (list(DIST.glob(pattern)) for pattern in ("*.whl", "*.deb", "*.tar.gz"))
    archive = WORK / f"system-{sys.version_info[0]}.{sys.version_info[1]}.tar"
    make_system(archive)
    with clean_system(archive, [wheel, *download_libraries()]) as root:
        shared = SHARED.format(share="/opt/venv/share", zsh="zsh/site-functions")
        tell(root, wheel.name, CORE, shared, MEASURE, WITHOUT_EXTRAS)
        tell(root, f"{wheel.name}[all]", ALL, MEASURE, PAGE)
    with clean_system(archive, [deb]) as root:
        shared = SHARED.format(share="/usr/share", zsh="zsh/vendor-completions")
        tell(root, deb.name, DEB, shared, MEASURE, PAGE, DEB_REMOVED)
    try_source(source)
    print("all packages work")
    return 0


if __name__ == "__main__":
    sys.exit(main())
