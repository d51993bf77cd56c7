"""What each program issues for a commit: `python bench/program_traces.py [NEED...]`, with strace.

Prints, for each file, the calls of one commit as they came most often. `drivelab.model.programs` keeps them.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from program_forecasts import own_directory
from real_programs import PROGRAMS as REAL_PROGRAMS
from real_programs import RealProgram

_WRITES = "write,pwrite64,writev,pwritev,pwritev2,io_submit"
_CALLS = f"newfstatat,{_WRITES},fdatasync,fsync,sync_file_range,ftruncate,fallocate,unlink"
# file descriptors are followed by their paths: pwrite64(3</a/b>, ""..., 8192, 16384) = 8192
_LINE = re.compile(r"(\w+)\((?:AT_FDCWD(?:<[^>]*>)?, )?(?:\d+<([^>]+)>|\"([^\"]+)\")(?:, \"\"\.\.\.)?((?:, \d+)*)")
_SHOWN = 5


def main() -> int:
    """Trace the programs that were named, or all."""
    with tempfile.TemporaryDirectory() as kept:
        for real in REAL_PROGRAMS:
            if sys.argv[1:] and real.need not in sys.argv[1:]:
                continue
            reason = real.missing()
            if reason:
                print(f"{real.need}: left out, {reason}")
                continue
            print(f"{real.need}: {real.version()}")
            for calls, count in traced(real, Path(kept) / real.need).most_common(_SHOWN):
                print(f"  {count} times: {'; '.join(calls)}")
    return 0


def traced(real: RealProgram, output: Path) -> Counter[tuple[str, ...]]:
    """The calls up to each sync, on files of the program's directory, with how often they came."""
    with own_directory(Path("/var/tmp")) as directory, real.start(directory) as server:
        server.commits_per_s(1, 1)
        load = threading.Thread(target=server.commits_per_s, args=(1, 3))
        load.start()
        time.sleep(1)
        words = ["strace", "-f", "-y", "-qq", "-s", "0", "-e", f"trace={_CALLS}", "-o", str(output)]
        for process_id in server.process_ids():
            words += ["-p", str(process_id)]
        with subprocess.Popen(words) as strace:
            time.sleep(1)
            strace.send_signal(signal.SIGINT)
        load.join()
        return groups(output.read_text(encoding="utf-8", errors="replace"), str(directory))


def groups(text: str, directory: str) -> Counter[tuple[str, ...]]:
    """Calls of a trace on files below a directory, grouped by the sync that ends them; offsets are left out."""
    found: Counter[tuple[str, ...]] = Counter()
    calls: list[str] = []
    for call, by_descriptor, by_name, numbers in _LINE.findall(text):
        path = by_descriptor or by_name
        if not path.startswith(directory):
            continue
        size = numbers.split(", ")[1] if numbers else ""
        calls.append(f"{call} {Path(path).name} {size}".rstrip())
        if call in ("fdatasync", "fsync"):
            found[tuple(calls)] += 1
            calls = []
    return found


if __name__ == "__main__":
    sys.exit(main())
