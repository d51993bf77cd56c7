"""Runs the system's own tools; what they could not tell comes back as a reason, never as an exception."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TIMEOUT_S = 5.0  # a drive that answers no identify command for this long is reported, not waited for
NEEDS_ROOT = "needs root"
# an ordinary user's PATH often lacks the directories in which these tools are; an empty or relative part of it means
# the working directory, where anybody may have put a program
_SEARCH_PATH = os.pathsep.join(
    [
        *(part for part in os.environ.get("PATH", "").split(os.pathsep) if part.startswith("/")),
        *("/usr/local/sbin", "/usr/sbin", "/sbin"),
    ]
)
# what a program needs to be started at all; the rest may send it elsewhere (MKE2FS_CONFIG, BLKID_FILE, LIBMOUNT_FSTAB)
_HANDED_ON = ("HOME", "LD_LIBRARY_PATH", "LD_PRELOAD")


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool printed, or why it printed nothing of use.

    Attributes
    ----------
    text : str
        Standard output; a tool may fail and still have told something.
    reason : str
        Why nothing can be expected of `text` ("smartctl is not installed"); empty otherwise.
    """

    text: str
    reason: str = ""


def run_tool(command: Sequence[str], *, timeout_s: float = TIMEOUT_S) -> ToolOutput:
    """What a tool prints on standard output.

    Parameters
    ----------
    command : sequence of str
        Program and arguments; no shell is involved.
    timeout_s : float
        How long to wait for it.
    """
    program = find_tool(command[0])
    if program is None:
        return ToolOutput("", f"{command[0]} is not installed")
    try:
        done = subprocess.run(
            [program, *command[1:]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            env=tool_environment(),
        )
    except subprocess.TimeoutExpired:
        return ToolOutput("", f"{command[0]} did not answer within {timeout_s:g} s")
    except OSError as error:
        return ToolOutput("", f"{command[0]} could not be started: {error.strerror}")
    text = done.stdout.decode(errors="replace")
    if text.strip():
        return ToolOutput(text)
    complaint = done.stderr.decode(errors="replace").strip().splitlines()
    return ToolOutput("", f"{command[0]}: {complaint[-1]}" if complaint else f"{command[0]} printed nothing")


def ask_drive(command: Sequence[str], node: Path, *, timeout_s: float = TIMEOUT_S) -> ToolOutput:
    """What a tool that must open a drive prints; without the permission it is not even started."""
    if find_tool(command[0]) is None:
        return ToolOutput("", f"{command[0]} is not installed")
    if not os.access(node, os.R_OK):
        return ToolOutput("", NEEDS_ROOT if node.exists() else f"{node} does not exist here")
    return run_tool(command, timeout_s=timeout_s)


def why_refused(node: Path) -> str:
    """Why a device may not be opened, after the kernel refused it."""
    return f"the kernel refuses to open {node}, also for root" if os.geteuid() == 0 else NEEDS_ROOT


def find_tool(name: str) -> str | None:
    """Path of an installed program; None when it is not installed."""
    return shutil.which(name, path=_SEARCH_PATH)


def tool_environment() -> dict[str, str]:
    """The environment that every program of the system is started with: nothing in it says what to read or write."""
    kept = {name: os.environ[name] for name in _HANDED_ON if name in os.environ}
    return {**kept, "PATH": _SEARCH_PATH, "LC_ALL": "C"}
