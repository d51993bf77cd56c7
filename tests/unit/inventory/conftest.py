"""Small trees of files that stand for the kernel's, recorded or made up."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from drivelab.inventory.system_paths import SystemPaths

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "inventory"
LINK = "-> "
MakeSystem = Callable[[Mapping[str, str]], SystemPaths]


@pytest.fixture
def golden() -> Callable[[str], str]:
    """Text of a recorded output."""
    return lambda name: (GOLDEN / name).read_text()


@pytest.fixture
def make_system(tmp_path: Path) -> MakeSystem:
    """Writes a made-up system: paths from ``/`` to their text, or to ``-> TARGET`` for a link."""

    def make(files: Mapping[str, str]) -> SystemPaths:
        for path, text in files.items():
            _write(tmp_path, path, {"link": text.removeprefix(LINK)} if text.startswith(LINK) else {"text": text})
        return system_at(tmp_path)

    return make


@pytest.fixture
def recorded_system(tmp_path: Path) -> SystemPaths:
    """The recorded virtual machine with a partitioned SATA drive, LVM, an array, btrfs and loop devices."""
    for path, content in json.loads((GOLDEN / "guest.json").read_text()).items():
        _write(tmp_path, path, content)
    return system_at(tmp_path)


def system_at(root: Path) -> SystemPaths:
    """Paths of a system whose tree begins at `root`."""
    (root / "dev").mkdir(exist_ok=True)
    return SystemPaths(sys=root / "sys", proc=root / "proc", dev=root / "dev", root=root)


def _write(root: Path, path: str, content: Mapping[str, str]) -> None:
    place = root / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    if "link" in content:
        place.symlink_to(content["link"])
    elif "hex" in content:
        place.write_bytes(bytes.fromhex(content["hex"]))
    else:
        place.write_text(content["text"])
