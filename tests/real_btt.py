"""The real blkparse and btt, for tests that hold ours beside them (marked ``needs_tool("blkparse", "btt")``)."""

from __future__ import annotations

import subprocess
from pathlib import Path

_ALL, _PER_DEVICE, _AFTER = (f"{'=' * 20} {name}" for name in ("All Devices", "Per Device", "Device Overhead"))


def all_rows(output: str) -> str:
    """The rows below "All Devices", without the heads and the blank line among them."""
    if _ALL not in output:
        return ""
    lines = output.split(_ALL)[1].split(_AFTER)[0].splitlines()[4:]
    return "".join(f"{line}\n" for line in lines if line)


def per_device_section(output: str) -> str:
    """The section "Per Device" of ``btt -A``."""
    return _PER_DEVICE + output.split(_PER_DEVICE)[1].split(_ALL)[0]


def real_btt(merged: Path, directory: Path) -> str:
    """What ``btt -A`` prints of a merged dump; it leaves files in `directory`."""
    answer = subprocess.run(["btt", "-A", "-i", merged.resolve()], cwd=directory, capture_output=True, text=True)
    assert answer.returncode == 0, f"btt: {answer.stderr}"
    return answer.stdout


def merged_by_blkparse(base: Path, directory: Path) -> Path:
    """The dump that blkparse makes of the files of all CPUs."""
    merged = directory / f"{base.name}.merged"
    words = ["blkparse", "-q", "-O", "-D", str(base.parent), "-i", base.name, "-d", str(merged)]
    answer = subprocess.run(words, cwd=directory, capture_output=True, text=True)
    assert answer.returncode == 0, f"blkparse: {answer.stderr}"
    return merged
