"""The program as a user starts it, in a place of its own, and everything that it may leave behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from drivelab.inventory.block_devices import backing_file_of
from drivelab.inventory.mounts import read_mounts
from warm_program import warm_program

SMALL = """
format = 1
name = "small"
question = "What is left after a kill?"
repeats = { full = 3, quick = 3 }

[[factors]]
setting = "filesystem"
levels = ["raw", { type = "ext4", mkfs_options = ["-E", "nodiscard"] }]

[[workloads]]
name = "log"
block_size = "512"
file_state = "append"
backend = "sync"
direct = true
durability = "o_sync"
count = 300
interval = "5ms"
"""


class Drivelab:
    """Starts the program in a place of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = folder / "runs"
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        self.small = folder / "small.toml"
        self.small.write_text(SMALL)
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "XDG_STATE_HOME": str(folder / "state"),
            "DRIVELAB_RUNS": str(self.runs),
            "DRIVELAB_SCRATCH": str(self.scratch),
        }

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "drivelab", *arguments]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=self.environment)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return warm_program().run(arguments, self.environment)

    def left_over(self) -> list[str]:
        """Every scratch file, loop device, mount and journal that is still there."""
        files = [str(path) for path in self.scratch.iterdir()]
        found = list(files)
        for name in Path("/sys/block").glob("loop*/loop/backing_file"):
            # loop devices of other programs come and go, and their files may be called anything
            backing = backing_file_of(name.parts[3]) or ""
            if backing.startswith(str(self.scratch)):
                found.append(backing)
                found += [mount.mount_point for mount in read_mounts() if mount.source == f"/dev/{name.parts[3]}"]
        journals = self.folder / "state" / "drivelab" / "journals"
        return found + [str(path) for path in journals.glob("*")]


def wait_for_line(process: subprocess.Popen[str], begin: str) -> None:
    """Read the program's progress until a line begins so."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(begin):
            return
    raise AssertionError(f"no line began with {begin!r}")


def watch(process: subprocess.Popen[str], look: Callable[[], object], *, every_s: float = 0.005) -> tuple[str, str]:
    """Call `look` again and again until the program has ended; what it printed on stdout and on stderr.

    Its output is read all the while: a program whose pipe is full waits for its reader.
    """
    with ThreadPoolExecutor(1) as reader:
        output = reader.submit(process.communicate)
        while not output.done():
            look()
            time.sleep(every_s)
        return output.result()
