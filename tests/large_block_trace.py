"""A made-up block trace of very many I/Os, written as fast as Python can."""

from __future__ import annotations

import struct
from pathlib import Path

from block_trace import MAGIC, QUEUE, READ, SDA, STAGE_BITS, C, D, G, I, P, Q


def write_many(directory: Path, name: str, count: int, *, cpus: int = 2, depth: int = 8) -> list[Path]:
    """A recording of `count` reads with 6 records each (Q G P I D C), fast enough for a million; memory is constant.

    I/O number n is queued at 1 ms + n * 10 us on CPU n % `cpus` and issued 3 us later; it completes 4 us after the Q of
    the one that comes `depth` (rounded down to a multiple of `cpus`) after it.
    """
    layout = struct.Struct("<IIQQIIIIIHH")
    magic, size = MAGIC | 7, 4096
    paths = [directory / f"{name}.blktrace.{cpu}" for cpu in range(cpus)]
    actions = {action: (READ | STAGE_BITS[action]) << 16 | action for action in (Q, G, I, D, C)} | {P: QUEUE << 16 | P}
    for cpu, path in enumerate(paths):
        sequence = 0
        with path.open("wb", buffering=1 << 20) as file:
            for index in range(cpu, count + (depth + 1) * cpus, cpus):
                now = 1_000_000 + index * 10_000
                sector = index * 7919 % 1_000_003 * 8
                lines = []
                if index < count:
                    lines = [(now, Q), (now + 700, G), (now + 900, P), (now + 2_000, I), (now + 3_000, D)]
                for time_ns, action in lines:
                    sequence += 1
                    place = (0, 0) if action == P else (sector, size)
                    file.write(layout.pack(magic, sequence, time_ns, *place, actions[action], 70, SDA, cpu, 0, 0))
                done = index - depth // cpus * cpus
                if 0 <= done < count:
                    sequence += 1
                    file.write(
                        layout.pack(
                            magic,
                            sequence,
                            now + 4_000,
                            done * 7919 % 1_000_003 * 8,
                            size,
                            actions[C],
                            0,
                            SDA,
                            cpu,
                            0,
                            0,
                        )
                    )
    return paths
