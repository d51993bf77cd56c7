"""What a program costs from its start to its end."""

from __future__ import annotations

import math
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

from peers import Cost


class Failed(Exception):
    """A program did not do what it was to do."""


def program_cost(
    words: list[str],
    seconds_max: float = math.inf,
    bytes_max: int | None = None,
    *,
    into: Path | None = None,
    directory: Path | None = None,
) -> Cost:
    """Wall time and peak memory of a program that is to succeed; what it prints goes to the file `into`."""
    limit = ["prlimit", f"--data={bytes_max}", "--"] if bytes_max else []
    begin, peak_mib = time.monotonic(), 0.0
    with (
        TemporaryFile() as told,
        open(into or "/dev/null", "wb") as printed,
        subprocess.Popen([*limit, *words], stdout=printed if into else told, stderr=told, cwd=directory) as process,
    ):
        # a child's own peak as wait4 tells it begins with the memory of its parent
        while process.poll() is None:
            peak_mib = max(peak_mib, _peak_mib(process.pid))
            if time.monotonic() - begin > seconds_max:
                process.kill()
                raise Failed(f"not done after {seconds_max:.0f} s, with {peak_mib:.0f} MiB")
            time.sleep(0.005)
        seconds = time.monotonic() - begin
        if process.returncode:
            told.seek(0)
            lines = told.read().decode(errors="replace").strip().splitlines()
            reason = lines[-1] if lines else f"status {process.returncode}"
            raise Failed(f"{reason} after {seconds:.0f} s, with {peak_mib:.0f} MiB")
    return Cost(iops=0, mean_ns=seconds * 1e9, user_ns_per_io=0, system_ns_per_io=0, peak_memory_mib=peak_mib)


def _peak_mib(pid: int) -> float:
    """The most memory that a process has had since it began its program; 0 once it has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0
