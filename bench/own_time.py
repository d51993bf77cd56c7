"""What a commit costs each program itself: `python bench/own_time.py`, as root, on a quiet machine.

Its numbers are kept in `drivelab.model.programs`. Programs and log writes run in turn on an ext4 over
memory, where a sync sleeps as it does elsewhere; what a commit takes longer than its log writes is
the program's. The least disturbed rounds count: on a busy machine both only ever become slower.
"""

from __future__ import annotations

import sys
from pathlib import Path

from program_forecasts import log_latency_ns, own_directory
from real_programs import PROGRAMS as REAL_PROGRAMS
from real_programs import RealProgram
from target import write_directory

from drivelab.model.programs import CLIENT_COUNTS, PROGRAMS

_ROUNDS = 12
_RUN_S = 1
# so many of the fastest rounds are left out, as lucky, and so many are looked at
_LUCKY, _LOOKED_AT = 1, 5


def main() -> int:
    """Print what was found of each program, in microseconds."""
    chosen = [real for real in REAL_PROGRAMS if not sys.argv[1:] or real.need in sys.argv[1:]]
    for real in chosen:
        reason = real.missing()
        if reason:
            print(f"{real.need}: left out, {reason}")
            continue
        with write_directory() as (directory, _):
            Path(directory).chmod(0o755)
            own = own_times_us(real, directory)
        memory = {count: round(time_on_tmpfs_us(real, count), 1) for count in (1, *CLIENT_COUNTS)}
        print(f"{real.need}: own {[round(time, 1) for time in own]} us, on tmpfs {memory} us", flush=True)
    return 0


def own_times_us(real: RealProgram, parent: Path) -> list[float]:
    """Time of a commit less that of its log writes, of the quick rounds of both, in order."""
    commits, writes = [], []
    with own_directory(parent) as directory, real.start(directory) as server:
        for _ in range(_ROUNDS):
            commits.append(1e6 / server.commits_per_s(1, _RUN_S))
            writes.append(log_latency_ns(PROGRAMS[real.need], directory, 0.4) / 1000)
    quick = slice(_LUCKY, _LUCKY + _LOOKED_AT)
    return [mine - its for mine, its in zip(sorted(commits)[quick], sorted(writes)[quick], strict=True)]


def time_on_tmpfs_us(real: RealProgram, clients: int) -> float:
    """Time of a commit where a sync is no call at all: that of the second quickest round."""
    if clients > 1 and not PROGRAMS[real.need].shares_syncs:
        return float("nan")
    with own_directory(Path("/dev/shm")) as directory, real.start(directory) as server:
        return sorted(1e6 / server.commits_per_s(clients, _RUN_S) for _ in range(_LOOKED_AT))[_LUCKY]


if __name__ == "__main__":
    sys.exit(main())
