"""Programs of the system are started without what could send them elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from drivelab.inventory.tools import run_tool
from drivelab.state.filesystem import missing_filesystems
from drivelab.state.programs import run_program

MISLEADING = (
    *("MKE2FS_CONFIG", "MKE2FS_DEVICE_SECTSIZE", "E2FSPROGS_UNDO_DIR", "BLKID_FILE", "BLKID_CONF", "LIBMOUNT_FSTAB"),
    *(
        "MDADM_NO_UDEV",
        "MDADM_GROW_ALLOW_OLD",
        "POSIXLY_CORRECT",
        "LOCK_BLOCK_DEVICE",
        "TMPDIR",
        "BASH_ENV",
        "LANGUAGE",
    ),
)


def test_file_systems_whose_mkfs_is_missing_are_named_with_their_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "drivelab.state.programs.find_tool", lambda name: None if name == "mkfs.xfs" else f"/sbin/{name}"
    )
    assert missing_filesystems() == {"xfs": "mkfs.xfs is not installed: apt-get install xfsprogs"}


@pytest.mark.parametrize("run", [lambda: run_program(["env"]), lambda: run_tool(["env"]).text], ids=["change", "ask"])
def test_no_variable_tells_a_program_what_to_read_or_write(
    run: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in MISLEADING:
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    assert callable(run)
    told = dict(line.split("=", 1) for line in run().splitlines())
    assert told["LC_ALL"] == "C"
    assert set(told) <= {"LC_ALL", "PATH", "HOME", "LD_LIBRARY_PATH", "LD_PRELOAD"}
    assert all(part.startswith("/") for part in told["PATH"].split(os.pathsep))


@pytest.mark.needs_tool("mkfs.ext4")
def test_a_program_in_the_working_directory_is_never_started(tmp_path: Path) -> None:
    """Where the search path has an empty or relative part, which means that directory."""
    trap = tmp_path / "mkfs.ext4"
    trap.write_text("#!/bin/sh\ntouch trapped\n")
    trap.chmod(0o755)
    program = "from drivelab.inventory.tools import find_tool; print(find_tool('mkfs.ext4'))"
    for path in ("", ".", "::", f".:{os.environ['PATH']}"):
        environment = {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", program]
        found = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        assert found.stdout.strip() != "mkfs.ext4"
        assert Path(found.stdout.strip()).parent != tmp_path
        assert found.stdout.startswith("/")
