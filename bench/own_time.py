"""What a commit costs each program itself: `python bench/own_time.py`, as root, on a quiet machine.

Its numbers are kept in `drivelab.model.programs`. Programs and log writes run in turn on an ext4 over
memory, where a sync sleeps as it does elsewhere; what a commit takes longer than its log writes is
the program's. The least disturbed rounds count: on a busy machine both only ever become slower.

With `--sync-us 100` each sync of a program sleeps so long besides, and that is taken off again: a processor that
has slept longer is slower to wake. Programs that make system calls without the C library (etcd) don't notice.
"""

from __future__ import annotations

import argparse
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("need", nargs="*", help="programs to look at; all without any")
    parser.add_argument("--sync-us", type=int, default=0, help="how long each sync sleeps besides (default 0)")
    options = parser.parse_args()
    chosen = [real for real in REAL_PROGRAMS if not options.need or real.need in options.need]
    for real in chosen:
        reason = real.missing()
        if reason:
            print(f"{real.need}: left out, {reason}")
            continue
        with write_directory() as (directory, _):
            Path(directory).chmod(0o755)
            own = own_times_us(real, directory, options.sync_us)
        memory = {count: round(time_on_tmpfs_us(real, count), 1) for count in (1, *CLIENT_COUNTS)}
        print(f"{real.need}: own {[round(time, 1) for time in own]} us, on tmpfs {memory} us", flush=True)
    return 0


def own_times_us(real: RealProgram, parent: Path, sync_us: int) -> list[float]:
    """Time of a commit less that of its log writes, of the quick rounds of both, in order."""
    program, commits, writes = PROGRAMS[real.need], [], []
    sync_count = sum("fdatasync" in call for call in program.calls)
    with (
        TemporaryDirectory() as kept,
        own_directory(parent) as directory,
        slow_syncs(Path(kept), sync_us) as slow,
        real.start(directory) as server,
    ):
        slow.leave_others_alone()
        for _ in range(_ROUNDS):
            before = slow.told()
            commit_us = 1e6 / server.commits_per_s(1, _RUN_S)
            commits.append(commit_us - sync_count * slow.slept_us(before))
            writes.append(log_latency_ns(program, directory, 0.4) / 1000)
    quick = slice(_LUCKY, _LUCKY + _LOOKED_AT)
    return [mine - its for mine, its in zip(sorted(commits)[quick], sorted(writes)[quick], strict=True)]


def time_on_tmpfs_us(real: RealProgram, clients: int) -> float:
    """Time of a commit where a sync is no call at all: that of the second quickest round."""
    if clients > 1 and not PROGRAMS[real.need].shares_syncs:
        return float("nan")
    with own_directory(Path("/dev/shm")) as directory, real.start(directory) as server:
        return sorted(1e6 / server.commits_per_s(clients, _RUN_S) for _ in range(_LOOKED_AT))[_LUCKY]


@dataclass(frozen=True)
class SlowSyncs:
    """What makes syncs sleep in the programs that start meanwhile."""

    file: Path
    settings: dict[str, str]

    def leave_others_alone(self) -> None:
        """Programs that start from now on sleep in none."""
        for name in self.settings:
            os.environ.pop(name, None)

    def told(self) -> tuple[int, int]:
        """For how long syncs have slept until now, in nanoseconds, and how many."""
        slept_ns, count = struct.unpack("qq", self.file.read_bytes())
        return slept_ns, count

    def slept_us(self, before: tuple[int, int]) -> float:
        """For how long one sync has slept since `before`, on average."""
        slept_ns, count = (now - then for now, then in zip(self.told(), before, strict=True))
        return slept_ns / count / 1000 if count else 0.0


@contextmanager
def slow_syncs(directory: Path, sync_us: int) -> Iterator[SlowSyncs]:
    """Have each sync sleep in the programs that start now; in none where `sync_us` is 0."""
    directory.chmod(0o755)
    library, told = directory / "slow_sync.so", directory / "slept"
    told.write_bytes(bytes(16))
    told.chmod(0o666)
    settings = {}
    if sync_us:
        source = Path(__file__).with_name("slow_sync.c")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
        settings = {"LD_PRELOAD": str(library), "SLOW_SYNC_TOLD": str(told), "SLOW_SYNC_NS": str(1000 * sync_us)}
    os.environ.update(settings)
    slow = SlowSyncs(told, settings)
    try:
        yield slow
    finally:
        slow.leave_others_alone()


if __name__ == "__main__":
    sys.exit(main())
