"""Starts of a recorded load that is issued again, beside fio's replay of the same iolog."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from cases import Row, alternate

SOURCE = Path(__file__).with_name("stamp_reads.c")
# no other read of either program has it
SIZE = 5120
RATE_PER_S = 1000
_FILE_BYTES = 64 << 20
QUANTITIES = (
    ("length beyond the recorded one (%)", "<= 0.1"),
    ("start error, p50 (us)", "<= 1"),
    ("start error, p99 (us)", "<= 50"),
)
_Numbers = tuple[float, float, float]


def replays(rounds: int, seconds: float) -> list[Row]:
    """How late random reads of a file in memory begin, by a clock that both programs are loaded with."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="drivelab-bench-") as name:
        directory = Path(name)
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", directory / "stamp.so", SOURCE, "-ldl"], check=True)
        (directory / "data").write_bytes(os.urandom(_FILE_BYTES))
        recorded_ns = _record(directory, seconds)
        ours, theirs = alternate(
            rounds,
            lambda: _numbers(directory, recorded_ns, _by_drivelab),
            lambda: _numbers(directory, recorded_ns, _by_fio),
        )
    case = f"{len(recorded_ns):,} reads at {RATE_PER_S:,} a second"
    return [
        Row(case, quantity, tuple(one[place] for one in ours), tuple(one[place] for one in theirs), target)
        for place, (quantity, target) in enumerate(QUANTITIES)
    ]


def _record(directory: Path, seconds: float) -> np.ndarray:
    """Writes an iolog of reads at random moments; the moments in ns."""
    chance, now_us = random.Random(1), 0.0
    lines, moments = [], []
    while now_us < seconds * 1e6:
        moments.append(1000 * int(now_us))
        lines.append(f"{int(now_us)} data read {chance.randrange(_FILE_BYTES // SIZE) * SIZE} {SIZE}\n")
        now_us += chance.expovariate(RATE_PER_S / 1e6)
    text = f"fio version 3 iolog\n0 data add\n0 data open\n{''.join(lines)}{int(now_us)} data close\n"
    (directory / "log").write_text(text)
    return np.array(moments, dtype=np.int64)


def _numbers(directory: Path, recorded_ns: np.ndarray, command: Callable[[], list[str]]) -> _Numbers:
    around = {"LD_PRELOAD": str(directory / "stamp.so"), "STAMPED_SIZE": str(SIZE), "STAMPS": str(directory / "stamps")}
    (directory / "stamps").unlink(missing_ok=True)
    # whoever else is at work has the processors only when neither program wants them
    subprocess.run(
        ["chrt", "--fifo", "10", *command()], env=os.environ | around, cwd=directory, capture_output=True, check=False
    )
    moments = np.fromfile(directory / "stamps", dtype=np.uint64).astype(np.int64)
    assert len(moments) == len(recorded_ns), f"{len(moments)} of {len(recorded_ns)} reads"
    # neither program tells when its beginning was: the read that was least late is taken as in time
    late = moments - recorded_ns
    late -= late.min()
    length = 100 * late[-1] / recorded_ns[-1]
    p50, p99 = np.quantile(late, [0.5, 0.99]) / 1000
    return float(length), float(p50), float(p99)


def _by_drivelab() -> list[str]:
    return [sys.executable, "-m", "drivelab", "replay", "log", "data", "--buffered", "--out", "."]


def _by_fio() -> list[str]:
    return ["fio", "--name=replay", "--read_iolog=log", "--ioengine=psync", "--thread"]
