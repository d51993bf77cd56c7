"""What `make demo` does once drivelab is built: measures here, and ends with the reports' paths.

Everybody: ``drivelab check`` on a directory of this project. Root with the
programs for it: the small-write experiment too, on a scratch drive that
drivelab makes and removes. Runs stay in demo/runs; all else is removed.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from system_packages import find_program

PROJECT = Path(__file__).resolve().parent.parent
DEMO = PROJECT / "demo"
RUNS = DEMO / "runs"
PROGRAM = PROJECT / ".venv" / "bin" / "drivelab"
SCRATCH_SIZE = "1GiB"
# a file system that cannot be made is left out by the run, and named
SCRATCH_PROGRAMS = ("losetup",)
# done, and done with numbers that the report calls not to be trusted, on this machine
GOOD_STATUSES = (0, 4)


def main() -> int:
    """Exit status: that of the first command that failed, 130 when interrupted."""
    # Ctrl-C is for drivelab, which cleans up; its exit status tells of it
    signal.signal(signal.SIGINT, lambda *_: None)
    before = set(reports())
    try:
        with measured_directory() as directory:
            statuses = [show(["check", relative(directory)])]
        reason = why_no_scratch_drive()
        if reason:
            print(f"\nThe experiment on a scratch drive is left out: {reason}.")
        else:
            statuses.append(show(["run", "ssd-latency", f"scratch:{SCRATCH_SIZE}", "--quick"]))
    except KeyboardInterrupt:
        return 130
    made = [path for path in reports() if path not in before]
    print("\nOpen in a browser, offline:" if made else "\nNo report was written.")
    for path in made:
        print(f"  {path}")
    return next((status for status in statuses if status not in GOOD_STATUSES), 0 if made else 1)


def show(arguments: list[str]) -> int:
    """Run drivelab as a person would type it, and return its exit status."""
    print(f"\n$ drivelab {shlex.join(arguments)}", flush=True)
    environment = os.environ | {"DRIVELAB_RUNS": str(RUNS)}
    status = subprocess.run([str(PROGRAM), *arguments], env=environment, cwd=PROJECT).returncode
    if status == 130:
        raise KeyboardInterrupt
    return status


def why_no_scratch_drive() -> str | None:
    """What keeps this machine from making a scratch drive; None when nothing does."""
    if os.geteuid() != 0:
        return "it needs root (sudo make demo)"
    missing = [name for name in SCRATCH_PROGRAMS if find_program(name) is None]
    return f"not installed: {', '.join(missing)}" if missing else None


def reports() -> list[Path]:
    """The reports of the demo's runs, oldest first."""
    return sorted(RUNS.glob("*/*.html"), key=lambda path: path.stat().st_mtime_ns)


@contextmanager
def measured_directory() -> Iterator[Path]:
    """A directory of the project's to be measured, removed again."""
    directory = DEMO / "directory"
    directory.mkdir(parents=True, exist_ok=True)
    try:
        yield directory
    finally:
        shutil.rmtree(directory)


def relative(path: Path) -> str:
    """The path as one types it in the project's directory."""
    return f"./{path.relative_to(PROJECT)}"


if __name__ == "__main__":
    sys.exit(main())
